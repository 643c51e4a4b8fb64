//! What the drive counts: limits that were not kept, per descriptor (cdl.md 1.7), and the medium's work.

use super::limits::Missed;
use loadline_device::cdl::DESCRIPTORS;

/// Everything that a drive has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Reads, by descriptor; descriptor 1 is the first.
    pub reads: [DescriptorCounts; DESCRIPTORS],
    /// Writes, by descriptor.
    pub writes: [DescriptorCounts; DESCRIPTORS],
    /// What the medium did.
    pub medium: MediumCounts,
}

/// Commands under one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptorCounts {
    /// That named it and have ended.
    pub commands: u64,
    /// Whose inactive time ran out.
    pub inactive_missed: u64,
    /// Whose active time ran out.
    pub active_missed: u64,
    /// Whose inactive time or active time ran out.
    pub either_missed: u64,
    /// Whose guideline ran out.
    pub guideline_missed: u64,
    /// That were ended by a policy.
    pub ended: u64,
}

/// What the arm and the heads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumCounts {
    /// Commands carried out on the medium.
    pub commands: u64,
    /// Commands answered from the write cache.
    pub from_cache: u64,
    /// Commands that needed more than one turn for their sectors.
    pub recovered: u64,
    /// Reads that failed.
    pub unreadable: u64,
    /// How long the arm was busy.
    pub busy_nanos: u64,
}

impl DescriptorCounts {
    pub(super) fn count(&mut self, missed: Missed, ended: bool) {
        self.commands += 1;
        self.inactive_missed += u64::from(missed.inactive);
        self.active_missed += u64::from(missed.active);
        self.either_missed += u64::from(missed.inactive || missed.active);
        self.guideline_missed += u64::from(missed.guideline);
        self.ended += u64::from(ended);
    }
}
