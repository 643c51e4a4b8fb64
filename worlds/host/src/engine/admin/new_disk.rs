//! Disks that operators give OSDs while the node runs: for one that is new, or in place of another.
//!
//! A disk is opened, and made where it is missing, by a thread of its own: that may take seconds, and clients are not to
//! wait for it. The thread sends the open disk by mail; then it takes its place as soon as nothing is in flight.

use super::desk::{CommandOutcome, DONE, DiskReady, Executed, Is, Joining, NewDisk, Ticket};
use super::osds::size_of;
use crate::admin::api::{Added, AdminAnswer, AdminRefusal, OsdAsked};
use crate::engine::Engine;
use crate::engine::disk_table::EngineDisk;
use crate::engine::host_node::HostNode;
use crate::engine::mail::Mail;
use crate::engine::settings::most_on_a_drive;
use crate::folder::folder_of;
use crate::write_store;
use crate::{DiskOpen, DiskOpenError, DiskProblem, Holding, OpenedDisk, why};
use loadline_cluster::OsdState;
use loadline_osd::{DiskFault, OsdId, OsdSet};
use loadline_store::paged::{Fault, Protection, RestartFault};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl HostNode {
    /// Closes the disk of an OSD that is down.
    fn let_go(&mut self, osd: OsdId) {
        drop(self.take_back(osd));
    }

    /// The OSD that has a file or device open, by whatever name.
    fn owner_of(&self, path: &Path) -> Option<OsdId> {
        let asked = path.metadata().ok()?;
        let same = |osd: &OsdId| {
            let open = self.disks.of[*osd].open;
            open.is_some_and(|open| open.identity == (asked.dev(), asked.ino()))
        };
        self.disks.of.ids().find(same)
    }

    /// Gives a disk its place; a new OSD is made for one without an owner.
    fn take_disk(&mut self, osd: Option<OsdId>, disk: OpenedDisk) -> Result<OsdId, AdminRefusal> {
        let osd = match osd {
            None => {
                self.take_changes()?;
                self.take_memory_for_osd()?;
                self.make_osd()
            }
            Some(osd) => {
                self.known_number(osd)?;
                if let Some(why) = self.being_emptied(osd) {
                    return Err(AdminRefusal::conflict(why));
                }
                if self.node.cluster().map().osds()[osd].up || self.is_coming_up(osd) {
                    return Err(AdminRefusal::conflict(format!(
                        "{osd} has come up with its own disk"
                    )));
                }
                osd
            }
        };
        self.node.cluster_mut().expect_new_disk(osd);
        self.node.cluster_mut().hold_osd(osd);
        self.forget_capacity(osd);
        // If it is taken down before it has begun, this is the disk that it comes up with.
        let of = &mut self.disks.of[osd];
        (of.path, of.is_blank) = (disk.path().to_owned(), false);
        self.open_on(osd, disk);
        self.keep_known_disks();
        Ok(osd)
    }

    /// One more OSD, down and out, without a disk.
    fn make_osd(&mut self) -> OsdId {
        let osd = self.settings.levels.add_osd(self.config.medium);
        self.settings.levels.set_drive_limits(osd, self.config.drive_limits);
        self.settings.levels.start(osd);
        let (policy, options) = (self.settings.policy(osd), self.settings.options(osd));
        let stores = self.settings.store(&self.config, most_on_a_drive(&self.config.disks));
        assert_eq!(self.node.add_osd(policy, options, stores), osd, "OSDs are counted alike");
        self.disks.of.push(EngineDisk { since: self.now, ..Default::default() });
        osd
    }

    /// A new OSD is up, and placement uses it.
    fn joined(&mut self, osd: OsdId) -> AdminAnswer {
        let state = OsdState { up: true, is_in: true };
        self.node.change(self.now, |cluster, fx| cluster.set_osd(osd, state, fx));
        AdminAnswer::Added(Added { osd: osd.get() })
    }

    fn did_not_join(&mut self, osd: OsdId, is: Is) -> AdminRefusal {
        self.node.change(self.now, |cluster, fx| cluster.let_osd(osd, fx));
        let why = self.why_down(osd).unwrap_or_else(|| "it was taken down".to_owned());
        let path = self.disks.of[osd].path.display().to_string();
        let remedy = self.overwriting(osd).filter(|_| is != Is::There);
        let refusal = match self.goes_if_it_stays_down(osd, is) && self.take_back_osd(osd) {
            true => AdminRefusal::conflict(format!("{path} cannot be a new OSD's disk: {why}")),
            false => AdminRefusal::conflict(format!("{osd} stays down: {why}")),
        };
        match remedy {
            Some(remedy) => refusal.wants(remedy),
            None => refusal,
        }
    }

    /// Whether nobody has this number if its OSD does not come up: it is new, or was a removed one's.
    fn goes_if_it_stays_down(&self, osd: OsdId, is: Is) -> bool {
        is == Is::New || self.node.cluster().map().is_removed(osd)
    }

    /// What an operator may say who gave an OSD this disk, if what it holds is nothing that somebody here may still need.
    fn overwriting(&self, osd: OsdId) -> Option<String> {
        let (cluster, says) = (self.node.cluster(), "--overwrite if what it holds may be lost");
        match cluster.fault(osd)? {
            DiskFault::OtherOsd(owner) => {
                let map = cluster.map();
                match map.osds().get(owner) {
                    Some(state) if state.up => {
                        Some(format!("another disk; {says}, as {owner} serves from another one"))
                    }
                    Some(_) if !map.is_removed(owner) => None,
                    _ => Some(format!("another disk; {says}, as there is no {owner} any more")),
                }
            }
            DiskFault::OtherCluster | DiskFault::GivenUp(_) | DiskFault::Contents => {
                Some(format!("another disk; {says}"))
            }
            DiskFault::Store(Fault::Restart(RestartFault::Size { .. })) => {
                Some(format!("a disk as large as its store; {says}"))
            }
            DiskFault::Store(Fault::Restart(fault)) if fault.is_damage() => {
                Some(format!("another disk; {says}"))
            }
            _ => None,
        }
    }
}

impl HostNode {
    /// Refuses one more OSD that `--memory` has no room for.
    fn take_memory_for_osd(&self) -> Result<(), AdminRefusal> {
        let found = self.has_memory_for_osd();
        found.map_err(|refused| {
            AdminRefusal::conflict(format!("{refused}, and start the node again with that"))
        })
    }
}

impl Engine {
    pub(super) fn osd_add(&mut self, ticket: Ticket, asked: OsdAsked) -> Executed {
        let OsdAsked { path, size_bytes, overwrite } = asked;
        let size = size_of(size_bytes)?;
        self.host.take_changes()?;
        if self.host.node.cluster().map().osds().len() >= OsdSet::OSDS_MAX as usize {
            let most = OsdSet::OSDS_MAX;
            return Err(AdminRefusal::conflict(format!("a node has at most {most} OSDs")));
        }
        if let Some(owner) = self.host.owner_of(Path::new(&path)) {
            return Err(AdminRefusal::conflict(format!("{path} is {owner}'s disk already")));
        }
        // Where nothing is and nothing is to be made, that is why, whatever memory there is: the thread that opens disks says so.
        if size.is_some() || Path::new(&path).exists() {
            self.host.take_memory_for_osd()?;
        }
        Ok(self.prepare_disk(None, path.into(), NewDisk { size, overwrite }, ticket))
    }

    pub(super) fn osd_replace(&mut self, ticket: Ticket, osd: OsdId, asked: OsdAsked) -> Executed {
        self.host.known_number(osd)?;
        if let Some(why) = self.host.being_emptied(osd) {
            return Ok(CommandOutcome::Busy(why));
        }
        let OsdAsked { path, size_bytes, overwrite } = asked;
        let size = size_of(size_bytes)?;
        if self.host.node.cluster().map().is_removed(osd) {
            self.host.take_memory_for_osd()?;
        }
        if self.host.node.cluster().map().osds()[osd].up
            || self.host.node.cluster().is_opening_disk(osd)
        {
            return Err(AdminRefusal::conflict(format!(
                "{osd} serves from its disk: take it down first"
            )));
        }
        self.host.take_changes()?;
        match self.host.owner_of(Path::new(&path)) {
            // An operator says that this disk, which is open already, may be filled if it is empty.
            Some(owner) if owner == osd => match self.busy_disk(osd) {
                Some(why) => return Ok(CommandOutcome::Busy(why)),
                None => self.host.let_go(osd),
            },
            Some(owner) => {
                return Err(AdminRefusal::conflict(format!("{path} is {owner}'s disk already")));
            }
            None => {}
        }
        Ok(self.prepare_disk(Some(osd), path.into(), NewDisk { size, overwrite }, ticket))
    }

    /// Has a disk opened by a thread.
    #[expect(
        clippy::disallowed_methods,
        reason = "a disk takes its time to open, and clients do not wait"
    )]
    pub(super) fn prepare_disk(
        &mut self,
        osd: Option<OsdId>,
        path: PathBuf,
        wanted: NewDisk,
        ticket: Ticket,
    ) -> CommandOutcome {
        // A disk that nobody has a number for yet belongs to the next one.
        let named = osd.unwrap_or_else(|| OsdId::from(self.host.disks.of.len()));
        if self.admin.is_joining(named) {
            return CommandOutcome::Busy(format!("{named} is getting a disk already"));
        }
        self.admin.joining.push(Joining { osd: named, ticket, opening: None, measured: false });
        let protection = self.host.config.protection;
        let how = self.host.config.disk_open(&path);
        let mailbox = self.host.world.mailbox();
        std::thread::spawn(move || {
            let disk = open(how, wanted, protection);
            // A node that has ended meanwhile needs no disk.
            let _ = mailbox.post(Mail::Disk(Box::new(DiskReady { ticket, osd, disk })));
        });
        CommandOutcome::Later
    }

    /// A thread has opened a disk, or could not.
    pub(in crate::engine) fn disk_ready(&mut self, ready: DiskReady) {
        let DiskReady { ticket, osd, disk } = ready;
        self.admin.joining.retain(|joining| joining.ticket != ticket);
        let opened = disk.and_then(|disk| self.host.take_disk(osd, disk));
        match opened {
            Ok(taken) => {
                let is = if osd.is_some() { Is::Replaced } else { Is::New };
                self.await_osd(taken, ticket, is);
            }
            Err(refusal) => self.admin_ended(ticket, Err(refusal)),
        }
    }

    /// Answers when an OSD is up, or is known to stay down.
    pub(super) fn await_osd(&mut self, osd: OsdId, ticket: Ticket, is: Is) {
        self.admin.joining.push(Joining { osd, ticket, opening: Some(is), measured: false });
    }

    /// Tells of the OSDs that are up by now, and of those that will not be.
    pub(super) fn join_settle(&mut self) {
        let opening = self.admin.joining.iter().filter(|joining| joining.opening.is_some());
        let awaited: BTreeSet<OsdId> = opening.map(|joining| joining.osd).collect();
        for osd in awaited {
            match self.host.node.cluster().is_held_open(osd) {
                true => self.measure_or_let(osd),
                false => self.settle_joining(osd),
            }
        }
    }

    /// Answers all who wait for an OSD, if it is up or is known to stay down: one that does not join may be none any more after that.
    fn settle_joining(&mut self, osd: OsdId) {
        let up = self.host.node.cluster().map().osds()[osd].up;
        let awaited = |joining: &Joining| joining.opening.filter(|_| joining.osd == osd);
        let is = self.admin.joining.iter().filter_map(awaited).max().expect("somebody waits");
        // A store that has just opened may still be writing; a number is taken back when its disk is at rest.
        let is_to_go = self.host.goes_if_it_stays_down(osd, is);
        let has_to_rest = is_to_go && !self.host.is_at_rest(osd);
        if !up && (self.host.is_coming_up(osd) || has_to_rest) {
            return;
        }
        let told = self.admin.joining.extract_if(.., |joining| awaited(joining).is_some());
        let told: Vec<Joining> = told.collect();
        let refusal = (!up).then(|| self.host.did_not_join(osd, is));
        for joining in told {
            let answer = match (&refusal, joining.opening) {
                (None, Some(Is::New)) => Ok(self.host.joined(osd)),
                (None, _) => Ok(DONE),
                (Some(refusal), _) => Err(refusal.clone()),
            };
            self.admin_ended(joining.ticket, answer);
        }
    }

    /// A new disk is measured before its OSD takes part, and before backfill keeps it busy.
    fn measure_or_let(&mut self, osd: OsdId) {
        if !self.bench.is_idle() {
            return;
        }
        let is_measured = self.admin.joining.iter().any(|it| it.osd == osd && it.measured);
        if is_measured || !self.measure_held(osd) {
            return self.host.node.change(self.host.now, |cluster, fx| cluster.let_osd(osd, fx));
        }
        let joining = self.admin.joining.iter_mut().filter(|joining| joining.osd == osd);
        joining.for_each(|joining| joining.measured = true);
    }
}

/// Opens a disk and makes sure that it holds a store.
fn open(
    how: DiskOpen,
    wanted: NewDisk,
    protection: Protection,
) -> Result<OpenedDisk, AdminRefusal> {
    let NewDisk { size: create, overwrite } = wanted;
    let how = DiskOpen { create, size: create, ..how };
    let (disk, path) = (how.open()?, how.path.as_path());
    let writes = overwrite || disk.was_created() || is_empty(path)?;
    if writes && let Err(error) = write_store(path, disk.size(), protection) {
        // What cannot be written is better not there at all than half a disk.
        disk.unmake();
        return Err(AdminRefusal::by_system(error.kind(), error.to_string()));
    }
    Ok(disk)
}

/// Whether a disk holds nothing. What holds something that is no store is refused.
fn is_empty(path: &Path) -> Result<bool, AdminRefusal> {
    let shown = path.display();
    match Holding::of(path) {
        Ok(Holding::Nothing | Holding::Unfinished) => Ok(true),
        Ok(Holding::Store) => Ok(false),
        Ok(other) => Err(AdminRefusal::conflict(format!("{shown} holds {other}, and is left alone"))
            .wants(
                "a path where nothing is, or a disk whose first and last MiB are zeros; --overwrite if what it holds may be lost"
            )),
        Err(error) => {
            let text = format!("{shown}: cannot be read: {}", why(&error));
            Err(AdminRefusal::by_system(error.kind(), text))
        }
    }
}

impl From<DiskOpenError> for AdminRefusal {
    fn from(error: DiskOpenError) -> AdminRefusal {
        let refusal = AdminRefusal::by_system(error.problem.kind(), error.to_string());
        let folder = folder_of(&error.path);
        match error.problem {
            // No size would make a file there.
            DiskProblem::Missing if !folder.exists() => AdminRefusal::bad(format!(
                "{}: there is no folder {}",
                error.path.display(),
                folder.display()
            ))
            .wants("a path in a folder that is there"),
            DiskProblem::Missing => {
                refusal.wants("a disk, or the size of a file that is to be made")
            }
            _ => refusal,
        }
    }
}

#[cfg(test)]
mod tests;
