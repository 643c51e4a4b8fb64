//! What a scrub finds wrong, in the words of the field.

use crate::ids::{OsdId, OsdSet};
use crate::snapshots::SnapshotNo;
use loadline_store::ObjectNo;

/// What may be wrong with one copy of one state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScrubError {
    /// It is not there.
    Missing,
    /// It has another length than the copy that counts.
    Size,
    /// It is in another version than the copy that counts.
    ObjectInfo,
    /// The object has other former states, or since when they are is told otherwise.
    Snapset,
    /// The disk tells another length or version than the OSD knows, or none.
    Stat,
    /// Its bytes cannot be read, or are not those that were written here.
    Read,
    /// Its bytes are others than those of the copy that counts.
    DataDigest,
    /// Its bytes are others than those that an earlier deep scrub has recorded for its version.
    RecordedDigest,
}

impl ScrubError {
    /// Every kind.
    pub const ALL: [ScrubError; 8] = [
        ScrubError::Missing,
        ScrubError::Size,
        ScrubError::ObjectInfo,
        ScrubError::Snapset,
        ScrubError::Stat,
        ScrubError::Read,
        ScrubError::DataDigest,
        ScrubError::RecordedDigest,
    ];

    /// What the field calls it.
    pub const fn name(self) -> &'static str {
        match self {
            ScrubError::Missing => "missing",
            ScrubError::Size => "size_mismatch",
            ScrubError::ObjectInfo => "object_info_inconsistency",
            ScrubError::Snapset => "snapset_inconsistency",
            ScrubError::Stat => "stat_error",
            ScrubError::Read => "read_error",
            ScrubError::DataDigest => "data_digest_mismatch",
            ScrubError::RecordedDigest => "data_digest_mismatch_info",
        }
    }

    /// Whether only a deep scrub finds it.
    pub const fn is_deep(self) -> bool {
        matches!(self, ScrubError::Read | ScrubError::DataDigest | ScrubError::RecordedDigest)
    }
}

/// All that is wrong with one copy of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubErrors(u8);

impl ScrubErrors {
    /// Nothing.
    pub const NONE: ScrubErrors = ScrubErrors(0);

    /// This alone.
    pub const fn one(error: ScrubError) -> ScrubErrors {
        ScrubErrors(1 << error as u8)
    }

    /// One more.
    pub fn add(&mut self, error: ScrubError) {
        self.0 |= 1 << error as u8;
    }

    /// Whether nothing is wrong.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this is among what is wrong.
    pub const fn has(self, error: ScrubError) -> bool {
        self.0 >> error as u8 & 1 == 1
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = ScrubError> {
        ScrubError::ALL.into_iter().filter(move |error| self.has(*error))
    }

    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    /// Each bit means something.
    pub(super) const fn of_bits(bits: u8) -> ScrubErrors {
        const { assert!(ScrubError::ALL.len() == u8::BITS as usize) };
        ScrubErrors(bits)
    }
}

/// A state of an object whose copies are not alike, or not as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InconsistentState {
    /// The object.
    pub object: ObjectNo,
    /// The state; [`SnapshotNo::HEAD`] is the present one.
    pub label: SnapshotNo,
    /// The copy that counts; `None` if all are bad.
    pub authority: Option<OsdId>,
    /// Where an earlier deep scrub has recorded what the bytes were in this version: whose copies are so, none if none is.
    pub as_recorded: Option<OsdSet>,
    /// What is wrong with which copy.
    pub bad: Vec<(OsdId, ScrubErrors)>,
}

/// How many errors a scrub has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubErrorCounts {
    /// Those that a shallow scrub finds.
    pub shallow: u64,
    /// Those that take a deep one.
    pub deep: u64,
}

impl ScrubErrorCounts {
    /// Both.
    pub fn all(&self) -> u64 {
        self.shallow + self.deep
    }

    /// Counts what is wrong with a state.
    pub(super) fn count(&mut self, state: &InconsistentState) {
        for error in state.bad.iter().flat_map(|(_, errors)| errors.iter()) {
            match error.is_deep() {
                true => self.deep += 1,
                false => self.shallow += 1,
            }
        }
    }
}
