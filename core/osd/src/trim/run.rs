//! The trim of one placement group, as a value: which snapshot it is at, and what it waits for.

use crate::ids::PgId;
use crate::message::WriteTag;
use crate::snapshots::SnapshotKey;

/// The trim of a removed snapshot in one placement group.
#[derive(Debug)]
pub(super) struct TrimRun {
    /// Tells its items from those of earlier ones.
    pub number: u32,
    pub snapshot: SnapshotKey,
    pub phase: TrimPhase,
}

/// What it waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TrimPhase {
    /// A slot of this OSD.
    Reserving,
    /// The turn of its item.
    Queued,
    /// These updates, until all copies have them.
    Writing(Vec<WriteTag>),
    /// The end of its pause.
    Sleeping,
}

/// What a primary does about what is kept for removed snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimState {
    /// It trims (`snaptrim`).
    Trimming,
    /// It waits for a slot (`snaptrim_wait`).
    Waiting,
    /// An object could not be trimmed; it waits for the next interval (`snaptrim_error`).
    Failed,
}

/// The turn of the next objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimItem {
    /// The placement group.
    pub pg: PgId,
    /// The number of the run.
    pub number: u32,
    /// Objects that it is about to trim.
    pub objects: u32,
    /// The average size of the group's objects, in bytes.
    pub object_bytes: u64,
}

impl TrimRun {
    /// One of the updates is on all copies. Whether it was the last.
    pub(super) fn wrote(&mut self, tag: WriteTag) -> bool {
        let TrimPhase::Writing(tags) = &mut self.phase else { return false };
        let before = tags.len();
        tags.retain(|other| *other != tag);
        tags.is_empty() && before > 0
    }
}
