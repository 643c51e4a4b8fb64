//! What copies tell each other while they are scrubbed.

use super::found::ScrubErrors;
use super::kind::ScrubKind;
use super::record::ScrubRecord;
use super::recorded::RecordedDigest;
use crate::snapshots::SnapshotNo;
use loadline_store::{ObjectMeta, ObjectNo};
use std::collections::BTreeMap;

/// The objects that are compared at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubRange {
    /// Its primary uses no number twice.
    pub number: u32,
    /// Exclusive lower end; `None` is the start.
    pub after: Option<ObjectNo>,
    /// Inclusive upper end; `None` is the end.
    pub last: Option<ObjectNo>,
}

impl ScrubRange {
    /// Whether an object is one of them.
    pub(crate) fn contains(&self, object: ObjectNo) -> bool {
        self.after.is_none_or(|after| object > after) && self.last.is_none_or(|last| object <= last)
    }
}

/// What a copy is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanAsked {
    /// Which objects.
    pub range: ScrubRange,
    /// How closely.
    pub kind: ScrubKind,
    /// Whether an operator asked for it.
    pub is_requested: bool,
    /// Whether a write that comes meanwhile ends it.
    pub may_be_preempted: bool,
}

/// One state of an object as one copy has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScannedState {
    /// Version and length.
    pub meta: ObjectMeta,
    /// CRC-32C of its bytes, if they were read.
    pub digest: Option<u32>,
    /// The digest that this copy has recorded for this version, if it was read and has one.
    pub recorded: Option<u32>,
    /// What is wrong with it whatever the others have.
    pub errors: ScrubErrors,
}

/// The objects of a range as one copy has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubMap {
    /// The number of the range.
    pub number: u32,
    /// Every state of every object; the present one is that of [`SnapshotNo::HEAD`].
    pub states: BTreeMap<(ObjectNo, SnapshotNo), ScannedState>,
    /// Of objects with a past: a digest of which states it has, since when.
    pub pasts: BTreeMap<ObjectNo, u64>,
    /// Bytes that were read.
    pub read_bytes: u64,
}

/// What one OSD tells another about the scrub of a placement group.
#[derive(Clone, Debug, PartialEq)]
pub enum ScrubMessage {
    /// May this placement group be scrubbed on you? Answers name the number of the run that asks: an earlier one's are nothing to it.
    Reserve(u32),
    /// Yes, until released.
    Granted(u32),
    /// Not now: there is no slot. It stands in line, and is called.
    Waits(u32),
    /// There is a slot now, unless somebody else comes first. Whoever is called asks for it, or gives the place up.
    Called(u32),
    /// No: there is no slot.
    Refused(u32),
    /// The slot, or the place in line, is no longer needed.
    Released,
    /// What do you have of these objects?
    Scan(ScanAsked),
    /// This.
    Map(Box<ScrubMap>),
    /// These digests are those of all copies.
    Record(Vec<RecordedDigest>),
    /// This is known of its scrubs, for whoever leads next: one has ended, or was asked for.
    Known(Box<ScrubRecord>),
    /// What do you know of them? This disk, which is to lead, has never seen one.
    Recall,
}
