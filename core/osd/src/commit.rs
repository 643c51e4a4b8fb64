//! What is to happen when the store has carried out an access.

use crate::delay::Delay;
use crate::ids::{OpId, OsdId};
use crate::message::{BadRange, Push, WriteTag};
use crate::snapshots::SnapshotNo;
use loadline_qos::{Urgency, Work};
use loadline_store::Version;
use loadline_store::paged::RoomClaim;

/// The token of a store access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// A client's update on its primary, as this kind of work.
    Op(WriteTag, Work, UpdateOp),
    /// A client's read.
    Read(WriteTag, Work, Option<OpId>),
    /// A replica's write, to be acknowledged, and what it has waited for longest here.
    Replica(RecoverySender, WriteTag, UpdateOp, Delay),
    /// That an update was missed here, to be told to its primary.
    Missed(RecoverySender, WriteTag),
    /// What counts as an object from now on, to be told to the primary.
    Settled(RecoverySender),
    /// An object read to be pushed, in this interval; to its targets, or to the primary that pulls it. What was read is in
    /// what it differs from this state, if from any.
    PushRead(u32, Option<RecoverySender>, Option<SnapshotNo>),
    /// This state of an object with a past, read before anything of it goes, in this interval; to its targets, or to the primary
    /// that pulls it.
    PastRead(u32, Option<RecoverySender>, SnapshotNo),
    /// A range of a copy that is being mended, for the primary that has it mended; read here or elsewhere, or written.
    Mend(RecoverySender, MendAccess, BadRange),
    /// A pushed object, to be confirmed to its sender.
    Pushed(RecoverySender, Push),
    /// A former state of an object, read to be pushed, and what it was compared with.
    StateRead(RecoverySender, SnapshotNo, Option<SnapshotNo>),
    /// A step of the push of an object with a past, to be confirmed to its sender.
    HistoryStored(RecoverySender, SnapshotNo),
    /// The next objects of a placement group that has left.
    Deleted,
    /// What a scrub looks at.
    Scrubbed(ScrubRead),
    /// What is known of a group's scrubs.
    ScrubKept,
    /// Digests that a scrub has recorded.
    DigestsKept,
    /// What the owner of the map will rely on; it is to be made durable before it is told.
    Keeping(Kept),
    /// The same, durable.
    Kept(Kept),
    /// Everything that was answered before, for the one who asked under this number.
    Synced(u32),
    /// A put of a key that this disk alone keeps, with its client's token.
    Put(u64),
    /// An access of the benchmark.
    Bench,
    /// An answer while what the disk holds is read.
    Loaded,
    /// Nobody waits for it.
    Nothing,
}

/// What is done to a range where a copy is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MendAccess {
    /// The copy itself reads it, to see whether it can.
    Look,
    /// Another copy reads what that one cannot.
    Lend,
    /// One that does not count as having the object reads it in the state with this label, which has this version.
    LendFormer(SnapshotNo, Version),
    /// The copy writes what it was given.
    Fill,
}

/// What a scrub reads of a range of this number, in this interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrubRead {
    /// Which states of objects there are.
    List { interval: u32, number: u32 },
    /// The objects of which the next chunk is chosen.
    Choose { interval: u32, number: u32 },
    /// Pages of the store's own making.
    Own { interval: u32, number: u32 },
    /// The bytes of one.
    State { interval: u32, number: u32, label: SnapshotNo },
}

/// The client's op that an update carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateOp {
    pub id: OpId,
    pub is_traced: bool,
}

impl UpdateOp {
    /// The op, if it is traced.
    fn traced(self) -> Option<OpId> {
        self.is_traced.then_some(self.id)
    }
}

/// What a disk keeps for the owner of the map. It decides by it who has what after the next start, so it is durable before it is
/// told, whatever the log mode answers for clients' writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All that a copy was when it was asked under this number, and whether it had led its interval to its end.
    Copy { number: u32, recovered: bool },
    /// The state with which a copy takes part in this interval.
    Interval(u32),
    /// Who the disk is, and that it has seen this term.
    Term(u64),
    /// The map of this epoch.
    Map(u32),
}

/// Who sent a recovery message: the answer is for the same interval, and as urgent as the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecoverySender {
    pub osd: OsdId,
    pub interval: u32,
    pub urgency: Urgency,
}

impl Commit {
    /// Of an update: the client's op.
    pub(crate) fn update(&self) -> Option<OpId> {
        match self {
            Commit::Op(_, _, op) | Commit::Replica(_, _, op, _) => Some(op.id),
            _ => None,
        }
    }

    /// What becomes of it where its disk is full. Whoever brings an object, mends one, puts a key of its own or tries the disk out can be told
    /// that there is no room, and digests are recorded another time. Everything else is owed: other copies have an update as well, or go by what this one
    /// has told.
    pub(crate) fn claim(&self) -> RoomClaim {
        match self {
            Commit::Pushed(..)
            | Commit::HistoryStored(..)
            | Commit::Mend(..)
            | Commit::Put(_)
            | Commit::Bench
            | Commit::DigestsKept => RoomClaim::Yields,
            _ => RoomClaim::Owed,
        }
    }

    /// Which kind of work the access belongs to, and the op if it is traced.
    pub(crate) fn work(&self) -> (Work, Option<OpId>) {
        match self {
            Commit::Op(_, work, op) => (*work, op.traced()),
            Commit::Read(_, work, traced) => (*work, *traced),
            Commit::Replica(_, _, op, _) => (Work::ReplicaWrite, op.traced()),
            Commit::Missed(..) | Commit::Settled(_) => (Work::ReplicaWrite, None),
            Commit::PushRead(..) | Commit::PastRead(..) | Commit::StateRead(..) => {
                (Work::RecoveryItem, None)
            }
            Commit::Mend(
                _,
                MendAccess::Look | MendAccess::Lend | MendAccess::LendFormer(..),
                _,
            ) => (Work::RecoveryItem, None),
            Commit::Pushed(..)
            | Commit::HistoryStored(..)
            | Commit::Mend(_, MendAccess::Fill, _) => (Work::Push, None),
            Commit::Put(_) => (Work::ClientOp, None),
            Commit::Deleted => (Work::PgDelete, None),
            Commit::Scrubbed(_) | Commit::ScrubKept | Commit::DigestsKept => {
                (Work::ScrubEvent, None)
            }
            Commit::Keeping(_)
            | Commit::Kept(_)
            | Commit::Synced(_)
            | Commit::Bench
            | Commit::Loaded
            | Commit::Nothing => (Work::PeeringEvent, None),
        }
    }
}
