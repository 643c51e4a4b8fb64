//! The disks at a start: each is opened, or its OSD is left out with the reason; those that stand in another OSD's place are put
//! right; and a new node makes those that are missing.

use super::Engine;
use super::absence::Absence;
use super::boot::{BootError, open_or_make};
use super::config::DiskSpec;
use super::disk_table::EngineDisk;
use super::former_disks::FormerDisks;
use super::host_node::HostNode;
use crate::event_loop::check_free;
use crate::{DiskOpen, DiskOpenError, DiskProblem, Holding, OpenedDisk, why, write_store};
use loadline_base::Bytes;
use loadline_cluster::StartError;
use loadline_osd::{DiskFault, OsdId, OsdSet};
use loadline_store::paged::Fault;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

impl HostNode {
    fn has_no_disk(&self) -> bool {
        self.disks.of.values().all(|disk| disk.open.is_none())
    }

    /// A disk of a new node that is there and cannot be opened may hold something: then nothing is made.
    fn refuse_what_cannot_be_opened(&self) -> Result<(), BootError> {
        let unopened =
            || self.absent().filter(|(_, absent)| matches!(absent, Absence::Unopened(_)));
        let Some((_, Absence::Unopened(first))) = unopened().next() else { return Ok(()) };
        let (kind, all) = (first.kind(), self.in_words(unopened()));
        Err(match self.has_no_disk() {
            true => BootError::NoneUsable(kind, all),
            false => BootError::NewWithout(kind, all),
        })
    }

    fn open_existing(&self, spec: &DiskSpec) -> Result<OpenedDisk, DiskOpenError> {
        let DiskSpec { path, size } = spec.clone();
        DiskOpen { size, ..self.config.disk_open(path) }.open()
    }

    /// A disk that holds nothing: part of a new node, if somebody said so; in a node that has data a disk that was lost.
    fn use_empty(&mut self, osd: OsdId, spec: &DiskSpec, makes: bool) -> Result<(), BootError> {
        if makes && !self.config.format_empty {
            return Err(BootError::Empty(spec.path.display().to_string()));
        }
        if makes {
            return self.make_store(osd, spec);
        }
        // Whose place it takes, and so what is to be done, is known when the others stand in theirs.
        self.disks.of[osd].is_blank = true;
        let opened = self.open_existing(spec);
        self.use_disk(osd, opened);
        Ok(())
    }

    /// Writes an empty store onto a disk of a new node that holds nothing of worth.
    fn make_store(&mut self, osd: OsdId, spec: &DiskSpec) -> Result<(), BootError> {
        let disk = self.open_existing(spec)?;
        write_store(&spec.path, disk.size(), self.config.protection)?;
        self.use_disk(osd, Ok(disk));
        Ok(())
    }

    /// Gives a new node the disks that are not there: all of them or none, so that what there is no room for in whole takes none.
    fn make_missing_disks(&mut self) -> Result<(), BootError> {
        let specs = self.config.disks.clone();
        let missing: Vec<(OsdId, &DiskSpec)> = specs
            .iter()
            .enumerate()
            .map(|(number, spec)| (OsdId::from(number), spec))
            .filter(|(osd, spec)| self.disks.of[*osd].open.is_none() && spec.size.is_some())
            .collect();
        let mut made: Vec<(OsdId, OpenedDisk)> = Vec::new();
        for (osd, spec) in &missing {
            match open_or_make(spec, &self.config) {
                Ok(disk) => made.push((*osd, disk)),
                Err(error) => {
                    made.into_iter().for_each(|(_, disk)| disk.unmake());
                    return Err(of_all(error, &missing));
                }
            }
        }
        for (osd, disk) in made {
            self.disks.made.extend(disk.was_created().then(|| disk.path().to_owned()));
            self.use_disk(osd, Ok(disk));
        }
        Ok(())
    }

    fn use_disk(&mut self, osd: OsdId, opened: Result<OpenedDisk, DiskOpenError>) {
        match opened {
            Ok(disk) => self.open_on(osd, disk),
            Err(error) => self.disks.of[osd].unopened = Some(error.problem),
        }
    }

    /// Names each OSD that cannot serve, and why.
    pub(super) fn tell_absent(&self) {
        for (osd, absent) in self.absent() {
            let path = self.disks.of[osd].path.display();
            tracing::warn!(%osd, %path, "the OSD is left out: {absent}");
        }
    }

    fn in_words<'a>(&self, absent: impl Iterator<Item = (OsdId, Absence<'a>)>) -> String {
        let one = |(osd, absent): (OsdId, Absence<'_>)| {
            format!("{osd} on {}: {absent}", self.disks.of[osd].path.display())
        };
        absent.map(one).collect::<Vec<_>>().join("; ")
    }

    /// Why the OSDs that are there make no cluster.
    pub(super) fn cannot_start(&self, why: StartError) -> BootError {
        let told = match &why {
            StartError::NoDisk(osd, _) => Some(*osd),
            _ => None,
        };
        // Of whom the reason speaks, only the place is left to say.
        let place = told.map(|osd| format!("{osd} is {}", self.disks.of[osd].path.display()));
        let others = self.in_words(self.absent().filter(|(osd, _)| Some(*osd) != told));
        let others = Some(others).filter(|others| !others.is_empty());
        let left_out: Vec<String> = place.into_iter().chain(others).collect();
        let left_out = match left_out.is_empty() {
            true => String::new(),
            false => format!(" ({})", left_out.join("; ")),
        };
        let way_out = way_out(&why).unwrap_or_default();
        let known = self.where_others_were(&why).unwrap_or_default();
        BootError::Start { why, left_out: left_out + &known + way_out }
    }

    /// Where the disks were that a start was not told of.
    fn where_others_were(&self, why: &StartError) -> Option<String> {
        let StartError::Osds { map, given } = why else { return None };
        let known = FormerDisks::read(self.config.disks_file.as_ref().filter(|_| map > given)?);
        let left_out = known.left_out(self.config.disks.iter().map(|disk| disk.path.as_path()));
        left_out.map(|disks| format!("; {disks}"))
    }

    /// A node whose disks are all missing, as where something is not mounted, is not begun anew: what it held would be forgotten.
    fn refuse_where_a_node_was(&self) -> Result<(), BootError> {
        let Some(file) = &self.config.disks_file else { return Ok(()) };
        match FormerDisks::read(file).left_out(std::iter::empty()) {
            Some(disks) => Err(BootError::HadDisks { file: file.clone(), disks }),
            None => Ok(()),
        }
    }

    /// Keeps where the disks are for a later start that is told of too few.
    pub(super) fn keep_known_disks(&self) {
        let Some(file) = &self.config.disks_file else { return };
        let disks = FormerDisks::of(self.disks.of.values().map(|disk| disk.path.as_path()));
        if let Err(error) = disks.write(file) {
            let error = why(&error);
            tracing::warn!(file = %file.display(), error, "where the disks are is not kept for later starts");
        }
    }

    /// The OSDs that do not serve though nobody took them down, and why.
    fn absent(&self) -> impl Iterator<Item = (OsdId, Absence<'_>)> {
        let map = self.node.cluster().map();
        let osds = self.disks.of.ids().filter(|osd| !map.is_removed(*osd));
        osds.filter_map(|osd| Some((osd, self.absent_osd(osd)?)))
    }
}

impl Engine {
    /// Opens every disk that is there; the others' OSDs stay down. Only where no disk belongs to a cluster yet, the missing
    /// ones are made.
    pub(super) fn open_disks(&mut self) -> Result<(), BootError> {
        let specs = self.host.config.disks.clone();
        for spec in &specs {
            self.host
                .disks
                .of
                .push(EngineDisk { path: spec.path.clone(), ..EngineDisk::default() });
        }
        let holdings: Vec<Option<Holding>> = specs.iter().map(|spec| holding(&spec.path)).collect();
        let has_store = holdings.contains(&Some(Holding::Store));
        for (number, spec) in specs.iter().enumerate() {
            let (osd, path) = (OsdId::from(number), spec.path.display());
            match holdings[number] {
                Some(Holding::Nothing | Holding::Unfinished) => continue,
                Some(other @ Holding::Other(_)) if !has_store => {
                    return Err(BootError::Holds(path.to_string(), other));
                }
                Some(other @ Holding::Other(_)) => {
                    tracing::warn!(%osd, %path, "the disk holds {other} and is left alone");
                }
                Some(Holding::Store) | None => {}
            }
            let opened = self.host.open_existing(spec);
            self.host.use_disk(osd, opened);
        }
        self.run_until(|engine| !engine.host.node.cluster().is_opening())?;
        let makes = self.host.node.cluster().holds_nothing();
        if makes && self.host.config.give_up != OsdSet::EMPTY {
            return Err(BootError::NothingToGiveUp);
        }
        if makes {
            self.host.refuse_what_cannot_be_opened()?;
            // Where somebody has formatted every disk, nothing is made that nobody asked for.
            if holdings.iter().any(|holding| *holding != Some(Holding::Store)) {
                self.host.refuse_where_a_node_was()?;
            }
            self.host.config.listens_at().iter().try_for_each(|at| check_free(at, None))?;
        }
        for (number, spec) in specs.iter().enumerate() {
            let osd = OsdId::from(number);
            match holdings[number] {
                Some(Holding::Nothing) => self.host.use_empty(osd, spec, makes)?,
                // Whoever began to make it had been asked to.
                Some(Holding::Unfinished) if makes => self.host.make_store(osd, spec)?,
                Some(Holding::Unfinished) => {
                    let opened = self.host.open_existing(spec);
                    self.host.use_disk(osd, opened);
                }
                Some(Holding::Store | Holding::Other(_)) | None => {}
            }
        }
        if makes {
            self.host.make_missing_disks()?;
        }
        if self.host.has_no_disk() {
            let paths = specs.iter().map(|spec| spec.path.display().to_string());
            return Err(BootError::NoDisks(paths.collect::<Vec<_>>().join(", ")));
        }
        self.run_until(|engine| !engine.host.node.cluster().is_opening())?;
        self.put_disks_right()
    }

    /// Lets each OSD have the disk that says it is its own, wherever it was found. A disk that stood there before takes the
    /// place that has become free.
    fn put_disks_right(&mut self) -> Result<(), BootError> {
        let moves: BTreeMap<OsdId, OsdId> =
            self.host.node.cluster().misplaced().into_iter().collect();
        let targets: BTreeSet<OsdId> = moves.values().copied().collect();
        let left = moves.keys().filter(|seat| !targets.contains(seat));
        let displaced = targets.iter().filter(|seat| !moves.contains_key(seat));
        let back: Vec<(OsdId, OsdId)> =
            displaced.copied().zip(left.copied().collect::<Vec<_>>()).collect();
        let all: Vec<(OsdId, OsdId)> = moves.into_iter().chain(back).collect();
        if all.is_empty() {
            return Ok(());
        }
        for (seat, _) in &all {
            self.host.node.change(self.host.now, |cluster, fx| cluster.close_osd(*seat, fx));
        }
        let seats: Vec<OsdId> = all.iter().map(|(seat, _)| *seat).collect();
        self.run_until(|engine| seats.iter().all(|seat| engine.host.is_at_rest(*seat)))?;
        // Another loop may turn the OSD that a disk is for.
        let take = |seat: &OsdId| {
            let opened = self.host.take_back(*seat);
            (std::mem::take(&mut self.host.disks.of[*seat]), opened)
        };
        let taken: Vec<_> = seats.iter().map(take).collect();
        for ((seat, osd), (disk, opened)) in all.iter().zip(taken) {
            let path = disk.path.display();
            if targets.contains(osd) {
                tracing::warn!(%osd, %path, "the disk in the place of {seat} is {osd}'s, which takes it: put it in its place, or correct its path");
            }
            self.host.disks.of[*osd] = disk;
            if let Some(opened) = opened {
                self.host.open_on(*osd, opened);
            }
        }
        self.run_until(|engine| !engine.host.node.cluster().is_opening())
    }
}

/// Why none of the missing disks was made: where one has no room, whoever makes some has to know what all of them take.
fn of_all(error: BootError, missing: &[(OsdId, &DiskSpec)]) -> BootError {
    match error {
        BootError::Disk(error) if matches!(error.problem, DiskProblem::NoRoom { .. }) => {
            let sizes = missing.iter().filter_map(|(_, spec)| spec.size);
            let together = Bytes::new(sizes.map(Bytes::get).sum());
            BootError::NoRoom { error, disks: missing.len(), together }
        }
        other => other,
    }
}

/// What somebody can do whose disks are damaged, all of them that are here. None can be given up, as nothing is left to go on with.
fn way_out(why: &StartError) -> Option<&'static str> {
    let is_damaged = match why {
        StartError::NoDisk(_, DiskFault::Store(Fault::Restart(fault))) => fault.is_damage(),
        StartError::NoDisk(_, DiskFault::Contents) => true,
        _ => false,
    };
    is_damaged.then_some(
        ": if the node has had other OSDs, bring back their disks, from which `loadline osd replace` fills this one; else restore the images from a backup into a new node",
    )
}

/// What a disk holds. What cannot be looked at, or is no disk, says so when it is opened; a pipe would let nobody look.
fn holding(path: &Path) -> Option<Holding> {
    let kind = path.metadata().ok()?.file_type();
    let is_disk = kind.is_file() || kind.is_block_device();
    is_disk.then(|| Holding::of(path).ok()).flatten()
}
