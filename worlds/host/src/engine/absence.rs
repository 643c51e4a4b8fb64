//! OSDs that go down and come back: why, since when, and what follows from being away for long.

use super::host_node::HostNode;
use crate::DiskProblem;
use loadline_osd::{DiskFault, OsdId};
use loadline_store::paged::superblock::SuperblockFault;
use loadline_store::paged::{Fault, RestartFault};
use std::fmt;
use std::path::Path;

/// Why an OSD does not serve although nobody took it down: all that a log line, `status` or a refusal to start may name.
#[derive(Debug)]
pub(super) enum Absence<'a> {
    /// There is no file or device at its path.
    NotThere,
    /// It cannot be opened.
    Unopened(&'a DiskProblem),
    /// Not even a store is on it, nor anything else.
    Blank(OsdId, &'a Path),
    /// What it holds is of no use, which these other disks have a part in.
    Fault(DiskFault, Vec<&'a Path>),
}

impl fmt::Display for Absence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absence::NotThere => f.write_str("its disk is not there"),
            Absence::Unopened(problem) => write!(f, "its disk cannot be used: {problem}"),
            Absence::Blank(osd, path) => {
                let path = path.display();
                write!(
                    f,
                    "there is no store here, nor anything else: `loadline osd replace {osd} {path}` lets the others fill it"
                )
            }
            Absence::Fault(fault, others) => {
                fault.fmt(f)?;
                others
                    .iter()
                    .try_for_each(|path| write!(f, "; the other disk is {}", path.display()))
            }
        }
    }
}

impl HostNode {
    /// Why an OSD does not serve, if nobody took it down.
    pub(super) fn absent_osd(&self, osd: OsdId) -> Option<Absence<'_>> {
        let disk = &self.disks.of[osd];
        match (&disk.unopened, self.node.cluster().fault(osd)) {
            // What comes of the disk that is on its way is not known yet.
            _ if disk.is_to_come() => None,
            (Some(DiskProblem::Missing), _) => Some(Absence::NotThere),
            (Some(problem), _) => Some(Absence::Unopened(problem)),
            (None, Some(fault)) if disk.is_blank && is_no_store(fault) => {
                Some(Absence::Blank(osd, &disk.path))
            }
            (None, fault) => {
                fault.map(|fault| Absence::Fault(fault, self.disks_beside(osd, fault)))
            }
        }
    }

    /// Where the other disks are that a disk's fault speaks of.
    fn disks_beside(&self, osd: OsdId, fault: DiskFault) -> Vec<&Path> {
        let is_other = |other: &OsdId| match fault {
            DiskFault::Copy(of) | DiskFault::Stale(of) => *other == of,
            DiskFault::Twice(_) => self.node.cluster().fault(*other) == Some(fault),
            _ => false,
        };
        let others = self.disks.of.ids().filter(|other| *other != osd && is_other(other));
        others.map(|other| &*self.disks.of[other].path).collect()
    }

    /// The same in words.
    pub(super) fn why_down(&self, osd: OsdId) -> Option<String> {
        let absent = self.absent_osd(osd)?;
        let has_fault = matches!(absent, Absence::Fault(..));
        Some(match self.why_not_healed(osd).filter(|_| has_fault) {
            Some(reason) => format!("{absent}; {reason}"),
            None => absent.to_string(),
        })
    }

    /// Notes which OSDs went up or down since the last look.
    pub(super) fn note_changes(&mut self) {
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            let up = self.node.cluster().map().osds()[osd].up;
            let disk = &mut self.disks.of[osd];
            if disk.was_up == up {
                continue;
            }
            (disk.was_up, disk.since) = (up, self.now);
            match (up, self.why_down(osd)) {
                (true, _) => tracing::info!(%osd, "up"),
                (false, Some(why)) => tracing::warn!(%osd, "down: {why}"),
                (false, None) => tracing::info!(%osd, "down"),
            }
        }
    }

    /// Lets placement use those again that were taken out because they were down for long, in this life of the node or an earlier one,
    /// and are up.
    pub(super) fn use_who_is_back(&mut self) {
        let cluster = self.node.cluster();
        let is_back =
            |osd: &OsdId| cluster.map().is_taken_out(*osd) && cluster.map().osds()[*osd].up;
        let back = self.disks.of.ids().filter(|osd| cluster.is_serving() && is_back(osd));
        for osd in back.collect::<Vec<_>>() {
            tracing::info!(%osd, "back: it was taken out because it was down for long, and is used again");
            self.node.change(self.now, |cluster, fx| cluster.place_osd(osd, true, fx));
        }
    }

    /// Takes OSDs out that have been down for long, so that their data gets its copies elsewhere
    /// (`mon_osd_down_out_interval`).
    pub(super) fn take_out_the_absent(&mut self) {
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            let state = self.node.cluster().map().osds()[osd];
            let is_gone = self.is_long_absent(osd) || self.node.cluster().is_given_up(osd);
            if !state.up && state.is_in && is_gone && self.can_do_without(osd) {
                tracing::warn!(%osd, "down for long, or given up: taken out, its data gets its copies elsewhere");
                self.node.change(self.now, |cluster, fx| cluster.take_out(osd, fx));
            }
        }
    }

    fn is_long_absent(&self, osd: OsdId) -> bool {
        let patience = self.settings.levels.down_out_interval(osd);
        patience.is_some_and(|patience| self.now.since(self.disks.of[osd].since) >= patience)
    }

    /// Whether enough others are left for every pool's copies. Where they are not, the copies of an OSD that is out have
    /// no other place.
    fn can_do_without(&self, osd: OsdId) -> bool {
        let map = self.node.cluster().map();
        let others =
            map.osds().iter().filter(|(other, state)| *other != osd && state.is_in).count();
        map.pools().values().all(|pool| pool.spec.copies as usize <= others)
    }
}

fn is_no_store(fault: DiskFault) -> bool {
    matches!(
        fault,
        DiskFault::Store(Fault::Restart(RestartFault::Superblock(SuperblockFault::Foreign)))
    )
}
