//! What an OSD counts of its life, for whoever looks.

use crate::waits::Waits;

/// Objects that recovery and backfill brought to an OSD, or took from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many.
    pub objects: u64,
    /// The bytes of data in them.
    pub bytes: u64,
}

/// Objects that an OSD should have and could not read, or not change because of what stands around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamageCounts {
    /// How often that was found.
    pub found: u64,
    /// Objects that were replaced since, with what another copy has.
    pub repaired: u64,
    /// Ops that were told so because no copy could help.
    pub failed_ops: u64,
}

impl std::ops::AddAssign for Received {
    fn add_assign(&mut self, other: Received) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

/// What scrubs have done here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounts {
    /// Objects and former states of objects that were looked at, as primary or as replica.
    pub objects: u64,
    /// Bytes of them that were read.
    pub read_bytes: u64,
    /// Scrubs of groups that this OSD led to their end.
    pub ended: u64,
    /// Digests of states of objects that were recorded here.
    pub recorded: u64,
    /// Copies of objects that it had replaced.
    pub repaired: u64,
    /// Chunks that a write broke off.
    pub preempted: u64,
    /// Writes that waited for a chunk.
    pub blocked_writes: u64,
}

/// What an OSD has trimmed, of groups that it led.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimCounts {
    /// States of objects that were given back, or given to an older snapshot that still shows them.
    pub objects: u64,
    /// Removed snapshots of which a group keeps nothing any more, once for each group.
    pub snapshots: u64,
}

/// The counters of one OSD since it was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Who waited where.
    pub waits: Waits,
    /// What recovery and backfill have brought.
    pub received: Received,
    /// Requests that the device ended for time.
    pub over_limit: u64,
    pub damage: DamageCounts,
    pub scrub: ScrubCounts,
    pub trim: TrimCounts,
    /// States of objects of copies that have left.
    pub deleted: u64,
}
