//! What a scrub is asked to do.

use crate::ids::PgId;
use loadline_qos::Work;

/// How closely a scrub looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScrubKind {
    /// What is known of objects: which there are, versions, lengths, pasts.
    Shallow,
    /// All of their bytes as well.
    Deep,
}

impl ScrubKind {
    /// Its name in commands and tables.
    pub const fn name(self) -> &'static str {
        match self {
            ScrubKind::Shallow => "shallow",
            ScrubKind::Deep => "deep",
        }
    }
}

/// A scrub of one placement group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubRequest {
    /// How closely it looks.
    pub kind: ScrubKind,
    /// Whether an operator asked for it.
    pub is_requested: bool,
    /// Whether what it finds is replaced from copies that are right.
    pub repairs: bool,
}

impl ScrubRequest {
    /// Whether one that does this does all that another one asks.
    pub(super) fn does(self, other: ScrubRequest) -> bool {
        self.kind >= other.kind && (self.repairs || !other.repairs)
    }

    /// One that does both.
    pub(super) fn with(self, other: ScrubRequest) -> ScrubRequest {
        ScrubRequest {
            kind: self.kind.max(other.kind),
            is_requested: self.is_requested || other.is_requested,
            repairs: self.repairs || other.repairs,
        }
    }
}

/// A step of a scrub that waits in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubStep {
    /// The primary chooses the next objects.
    Choose,
    /// Nothing stands in the way of looking at them: the primary asks the copies.
    Free,
    /// A replica lists the objects.
    List,
    /// A copy looks at them, or goes on.
    Scan,
    /// The primary compares the copies.
    Compare,
    /// The primary goes on behind them, after a pause.
    Next,
    /// The primary ends the scrub.
    Finish,
}

/// Such a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubItem {
    /// The placement group.
    pub pg: PgId,
    /// The number of the run, or of the range that is looked at.
    pub number: u32,
    /// What is to be done.
    pub step: ScrubStep,
    /// Whether an operator asked for the scrub.
    pub is_requested: bool,
    /// Whether it is as urgent as clients' ops, because some wait or because it holds a range.
    pub is_urgent: bool,
    /// Whether it looks at objects, and no write waits for that: on a disk that paces background work it begins when it may.
    pub may_wait: bool,
    /// Of the steps that name a chunk: objects and former states of objects in it, or at most.
    pub states: u32,
    /// Of the same, where the scrub is deep: the average size of the group's objects, in bytes.
    pub object_bytes: u64,
    /// Bytes that the step is about to read.
    pub bytes: u32,
}

impl ScrubItem {
    /// One that names no objects and reads nothing.
    pub(crate) fn plain(pg: PgId, number: u32, step: ScrubStep) -> ScrubItem {
        ScrubItem {
            pg,
            number,
            step,
            is_requested: false,
            is_urgent: false,
            may_wait: false,
            states: 0,
            object_bytes: 0,
            bytes: 0,
        }
    }

    /// Which kind of work it is.
    pub(crate) fn work(&self) -> Work {
        match (self.is_urgent, self.is_requested) {
            (true, _) => Work::BlockingScrubEvent,
            (false, true) => Work::RequestedScrubEvent,
            (false, false) => Work::ScrubEvent,
        }
    }
}
