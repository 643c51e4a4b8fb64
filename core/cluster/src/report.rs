//! What a cluster tells of itself to whoever looks.

use crate::cluster::Cluster;
use crate::map::PgState;
use crate::quorum::is_quorum;
use crate::router::IssuedOp;
use loadline_osd::{Damage, OsdId, OsdSet, PgId, Progress, Received, RecoveryState};

/// A placement group as an operator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgReport {
    /// Nobody serves it: its last copies are on OSDs that are down.
    pub down: bool,
    /// Ops are carried out; otherwise the interval has not begun on all disks.
    pub active: bool,
    /// Every copy is where it should be.
    pub clean: bool,
    /// It has fewer members than it should have copies.
    pub undersized: bool,
    /// Those who serve it are not those that placement wants.
    pub remapped: bool,
    /// What its primary does about it.
    pub recovery: Option<RecoveryState>,
    /// Copies that are not as they should be.
    pub progress: Progress,
    /// Copies that there should be, of the objects that its primary knows.
    pub copies: u64,
    /// Objects that some OSD should get and that can be read on no other.
    pub unfound: u64,
}

impl Cluster {
    /// How much of all the epochs that a map can have is used, in percent. There is no way back: with the last ones the
    /// cluster ends.
    pub fn epochs_used_percent(&self) -> u32 {
        (u64::from(self.map.epoch()) * 100 / u64::from(u32::MAX)) as u32
    }

    /// How a placement group is.
    pub fn pg_report(&mut self, id: PgId) -> PgReport {
        let copies = self.map.pool_of(id).1.spec.copies;
        let PgState { up, acting, clean, ready, .. } = self.map.pg(id);
        let mut report = PgReport {
            down: acting.is_empty(),
            active: *ready && !acting.is_empty(),
            clean: *clean,
            undersized: acting.len() < copies as usize,
            remapped: acting != up,
            recovery: None,
            progress: Progress::default(),
            copies: 0,
            unfound: 0,
        };
        if let Some(&primary) = acting.first() {
            let primary = &mut self.osds[primary];
            report.recovery = primary.recovery_of(id);
            report.progress = primary.progress_of(id);
            report.unfound = primary.unfound(id);
            report.copies = primary.objects(id).len() as u64 * u64::from(copies);
        }
        report
    }

    /// How many placement groups an OSD has a copy of.
    pub fn pgs_on(&self, osd: OsdId) -> u32 {
        self.map.pgs().filter(|(pg, _)| self.osds[osd].copy(*pg).is_some()).count() as u32
    }

    /// The ops without a reply, the oldest first.
    pub fn open_ops(&self) -> Vec<&IssuedOp> {
        self.router.all_open_ops()
    }

    /// What an OSD's disk could not read.
    pub fn damage(&self, osd: OsdId) -> Damage {
        self.osds[osd].damage()
    }

    /// What recovery and backfill have brought to all OSDs.
    pub fn received(&self) -> Received {
        let mut sum = Received::default();
        for osd in self.osds.values() {
            sum += osd.received();
        }
        sum
    }

    /// The OSDs of which some must come back before any change of the map can be kept; none if a quorum runs.
    pub fn missing_holders(&self) -> OsdSet {
        let commit = self.durable.as_ref().and_then(|durable| durable.commit.as_ref());
        let Some(kept) = commit.and_then(|commit| commit.committed()) else { return OsdSet::EMPTY };
        let (holders, up) = (kept.holders.now, self.up_osds());
        match is_quorum(holders, up) {
            true => OsdSet::EMPTY,
            false => holders.iter().filter(|osd| !up.contains(*osd)).collect(),
        }
    }
}
