//! What threads ask of the owner.

use super::commits::NewCommit;
use super::statistics::DbStatistics;
use super::versions::{LiveSnapshotId, ReadSet, ScanOrder};
use super::watches::WatchId;
use crate::error::DbError;
use crate::notes::NoteWalk;
use crate::pending::Answerer;
use crate::record::DbEntry;
use loadline_host::Mailbox;
use loadline_store::paged::ids::CheckpointId;
use loadline_store::paged::metrics::CheckpointReport;
use std::ops::Range;

/// One question.
pub(crate) enum DbAsk {
    /// What stands under a key of the store, if it has no more bytes than so many.
    Get { key: Vec<u8>, at: Option<SeenAt>, most: usize, answer: GetAnswer },
    /// Some of what a snapshot sees in a range.
    Scan { scan: ScanAsk, answer: Answerer<ScanPart> },
    /// A snapshot.
    Begin(Answerer<Lease<LiveSnapshotId>>),
    /// It is read from front to back, and what is before this key was read.
    Advance(LiveSnapshotId, Vec<u8>),
    /// Nobody reads it any more.
    End(LiveSnapshotId),
    /// A watch.
    BeginWatch(Answerer<Lease<WatchId>>),
    /// Whether this key is changed from the answer on is wanted to be known.
    Watch(WatchId, Vec<u8>, Answerer<()>),
    /// It is no more.
    EndWatch(WatchId),
    /// Whether what a transaction has read is still so.
    Check(ReadSet, Answerer<()>),
    /// Changes.
    Commit(Box<NewCommit>),
    /// Some of the notes that nobody needs any more go. The answer is where the walk goes on.
    DropNotes(NoteWalk, Answerer<Option<NoteWalk>>),
    /// Everything that was answered is to survive a power cut.
    Sync(Answerer<()>),
    /// A checkpoint, and its end.
    Checkpoint(Answerer<()>),
    /// No checkpoint runs or begins after the answer, until as many have released it.
    Hold(Answerer<()>),
    /// See above.
    Release,
    /// What was counted.
    Statistics(Answerer<DbStatistics>),
    /// The checkpoints that have ended after this one.
    Checkpoints(CheckpointId, Answerer<Vec<CheckpointReport>>),
    /// The last handle is gone.
    Close,
}

/// Who has asked for a key, and for how much of it.
pub(crate) enum GetAnswer {
    /// The value alone.
    Value(Answerer<Option<Vec<u8>>>),
    /// When it expires too.
    Entry(Answerer<Option<DbEntry>>),
}

impl GetAnswer {
    pub(super) fn give(self, found: Result<Option<DbEntry>, DbError>) {
        match self {
            GetAnswer::Value(answer) => answer.give(found.map(|entry| Some(entry?.value))),
            GetAnswer::Entry(answer) => answer.give(found),
        }
    }
}

/// As of when something is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenAt {
    /// What a snapshot sees,
    pub(crate) snapshot: LiveSnapshotId,
    /// without what had expired by then.
    pub(crate) now_ms: u64,
}

/// A snapshot or a watch that has begun, until this is dropped: also where nobody has waited for it any more.
pub(crate) struct Lease<T: Copy> {
    id: T,
    end: fn(T) -> DbAsk,
    mailbox: Mailbox<DbAsk>,
}

impl<T: Copy> Lease<T> {
    /// Something of the owner with this mailbox, who is told its `end`.
    pub(super) fn new(id: T, end: fn(T) -> DbAsk, mailbox: Mailbox<DbAsk>) -> Lease<T> {
        Lease { id, end, mailbox }
    }

    /// Which one.
    pub(crate) fn id(&self) -> T {
        self.id
    }
}

impl<T: Copy> Drop for Lease<T> {
    fn drop(&mut self) {
        // An owner that is gone keeps nothing for it.
        drop(self.mailbox.post((self.end)(self.id)));
    }
}

/// Bytes of keys and values with which a part of a scan has enough, however few keys those are. What the store copies of a part it copies again for each page that is
/// not in memory, and both ends keep a part as a whole.
pub const SCAN_PART_BYTES: usize = 256 << 10;

/// A part of a scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanAsk {
    pub(crate) snapshot: LiveSnapshotId,
    /// Values are cut and expired ones left out as of this time; without it they come with their tails.
    pub(crate) now_ms: Option<u64>,
    /// Keys of the store.
    pub(crate) range: Range<Vec<u8>>,
    pub(crate) order: ScanOrder,
    /// How many keys are looked at, at most.
    pub(crate) most: usize,
}

/// What a part of a scan has found.
#[derive(Clone, Debug)]
pub(crate) struct ScanPart {
    /// Keys of the store with values, in the scan's order.
    pub(crate) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// What of the range is left; `None` if nothing is.
    pub(crate) rest: Option<Range<Vec<u8>>>,
}
