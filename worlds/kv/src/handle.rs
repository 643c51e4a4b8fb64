//! What every handle of a database has in common: the way to its owner, which ends with the last of them; and snapshots that live.

use crate::batch::BatchParts;
use crate::error::DbError;
use crate::owner::{
    CommitReads, Committer, DbAsk, GetAnswer, Lease, LiveSnapshotId, NewCommit, SeenAt,
    StartedOwner,
};
use crate::pending::{Answerer, Pending, pending};
use crate::record::{self, DbEntry};
use crate::update::{DbUpdate, KeyUpdate, UpdateKeys};
use crate::wall;
use loadline_host::Mailbox;
use loadline_store::paged::bounds::StoreLimits;
use loadline_store::paged::{Edit, LogMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The way to an owner.
pub(crate) struct DbHandle {
    mailbox: Mailbox<DbAsk>,
    thread: Option<JoinHandle<Result<(), DbError>>>,
    limits: StoreLimits,
    log_mode: LogMode,
    file: PathBuf,
}

impl DbHandle {
    /// The way to an owner that has this file open.
    pub(crate) fn new(started: StartedOwner, log_mode: LogMode, file: PathBuf) -> Arc<DbHandle> {
        let StartedOwner { mailbox, thread, limits } = started;
        Arc::new(DbHandle { mailbox, thread: Some(thread), limits, log_mode, file })
    }

    /// Asks the owner. One that is gone answers that the database is closed.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(Answerer<T>) -> DbAsk) -> Pending<T> {
        let (pending, answerer) = pending();
        self.tell(ask(answerer));
        pending.owed_by(self.thread.as_ref().map(|owner| owner.thread().id()))
    }

    /// Tells the owner something. What an owner that is gone would have answered is answered by the dropping of it.
    pub(crate) fn tell(&self, ask: DbAsk) {
        drop(self.mailbox.post(ask));
    }

    /// Asks for what stands under a key of the store, if it has no more bytes than so many.
    pub(crate) fn get<T>(
        &self,
        key: Vec<u8>,
        at: Option<SeenAt>,
        most: usize,
        answer: impl FnOnce(Answerer<T>) -> GetAnswer,
    ) -> Pending<T> {
        self.ask(|answerer| DbAsk::Get { key, at, most, answer: answer(answerer) })
    }

    /// Asks for a commit; the answer is its number.
    pub(crate) fn commit(&self, parts: BatchParts, reads: Option<CommitReads>) -> Pending<u64> {
        let BatchParts { edits, promise, first_look_ms } = parts;
        let users = edits.iter().filter_map(|edit| match edit {
            Edit::Put { key, .. } | Edit::Delete { key } => Some(key),
            _ => None,
        });
        let mut keys: Vec<Vec<u8>> = users.filter(|key| record::is_users(key)).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        let promise = promise.unwrap_or(self.log_mode);
        self.ask(|answer| {
            let committer = Committer::Batch(answer);
            let commit = NewCommit { edits, keys, reads, promise, first_look_ms, committer };
            DbAsk::Commit(Box::new(commit))
        })
    }

    /// Asks for an update, which is carried out if `reads` still holds.
    pub(crate) fn update<T: Send + 'static>(
        &self,
        keys: UpdateKeys,
        reads: Option<CommitReads>,
        work: impl FnMut(&mut DbUpdate<'_>) -> T + Send + 'static,
    ) -> Pending<T> {
        let (keys, promise) = keys.into_parts();
        let promise = promise.unwrap_or(self.log_mode);
        self.ask(|answer| {
            let work = Box::new(KeyUpdate::new(work, answer));
            let committer = Committer::Update { work, goes_alone: false };
            let (edits, first_look_ms) = (Vec::new(), None);
            let commit = NewCommit { edits, keys, reads, promise, first_look_ms, committer };
            DbAsk::Commit(Box::new(commit))
        })
    }

    /// The largest things that its store takes.
    pub(crate) fn limits(&self) -> StoreLimits {
        self.limits
    }

    /// Its file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Waits until everything that was asked is carried out and as durable as a sync makes it, and answers whether it is. Where the owner itself has the last handle, with
    /// the function of an update, nobody waits: it comes to its end by itself.
    pub(crate) fn close(&mut self) -> Result<(), DbError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.tell(DbAsk::Close);
        if thread.thread().id() == thread::current().id() {
            return Ok(());
        }
        // An owner that has panicked has said so.
        thread.join().unwrap_or(Err(DbError::Closed))
    }
}

impl Drop for DbHandle {
    fn drop(&mut self) {
        // There is nobody here to tell.
        drop(self.close());
    }
}

/// A snapshot that lives, as long as this does.
pub(crate) struct HeldSnapshot {
    handle: Arc<DbHandle>,
    lease: Lease<LiveSnapshotId>,
    now_ms: u64,
}

impl HeldSnapshot {
    /// A snapshot of this database.
    pub(crate) fn new(handle: Arc<DbHandle>, lease: Lease<LiveSnapshotId>) -> Arc<HeldSnapshot> {
        Arc::new(HeldSnapshot { handle, lease, now_ms: wall::now_ms() })
    }

    pub(crate) fn handle(&self) -> &Arc<DbHandle> {
        &self.handle
    }

    pub(crate) fn id(&self) -> LiveSnapshotId {
        self.lease.id()
    }

    /// What it sees, without what had expired when it began.
    pub(crate) fn seen_at(&self) -> SeenAt {
        SeenAt { snapshot: self.lease.id(), now_ms: self.now_ms }
    }

    /// A key of the store as it sees it, without its tail.
    pub(crate) fn get(&self, key: Vec<u8>) -> Pending<Option<Vec<u8>>> {
        self.handle.get(key, Some(self.seen_at()), usize::MAX, GetAnswer::Value)
    }

    /// The same, with when it expires, if the value has no more bytes than so many.
    pub(crate) fn entry(&self, key: Vec<u8>, most: usize) -> Pending<Option<DbEntry>> {
        self.handle.get(key, Some(self.seen_at()), most, GetAnswer::Entry)
    }
}
