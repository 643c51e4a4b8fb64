//! What a cluster tells of itself to whoever looks.

use crate::cluster::Cluster;
use crate::quorum::is_quorum;
use crate::router::IssuedOp;
use loadline_osd::OsdSet;

impl Cluster {
    /// How much of all the epochs that a map can have is used, in percent. There is no way back: with the last ones the
    /// cluster ends.
    pub fn epochs_used_percent(&self) -> u32 {
        (u64::from(self.map.epoch()) * 100 / u64::from(u32::MAX)) as u32
    }

    /// The ops without a reply, the oldest first.
    pub fn open_ops(&self) -> Vec<&IssuedOp> {
        self.router.all_open_ops()
    }

    /// The OSDs of which some must come back before any change of the map can be kept; none if a quorum runs.
    pub fn missing_holders(&self) -> OsdSet {
        let commit = self.durable.as_ref().and_then(|durable| durable.saving.commit.as_ref());
        let Some(kept) = commit.and_then(|commit| commit.committed()) else { return OsdSet::EMPTY };
        let (holders, up) = (kept.holders.now, self.up_osds());
        match is_quorum(holders, up) {
            true => OsdSet::EMPTY,
            false => holders.iter().filter(|osd| !up.contains(*osd)).collect(),
        }
    }
}
