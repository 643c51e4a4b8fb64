//! Read-write transactions: optimistic and serialisable.

use crate::batch::WriteBatch;
use crate::error::DbError;
use crate::handle::{DbHandle, HeldSnapshot};
use crate::keyspace::Keyspace;
use crate::owner::{CommitReads, DbAsk, Lease, LiveSnapshotId, ReadSet};
use crate::pending::Pending;
use crate::record::{self, DbEntry};
use crate::scan::{DbScan, OwnWrites, RangesRead};
use crate::wall;
use loadline_base::Span;
use loadline_store::paged::LogMode;
use std::sync::Arc;

/// Reads as of its beginning, with its own changes; what it has changed is seen by others all at once when it commits, if by then nobody has
/// changed what it has read: keys, and all there was and was not in the ranges that it has scanned. So all transactions behave as if
/// each had been alone, in the order of their commits. Dropped without a commit it has changed nothing.
///
/// The clock is no part of that: it sees no key that had expired when it began, and one that expires meanwhile to its end.
pub struct DbTransaction {
    held: Arc<HeldSnapshot>,
    own: OwnWrites,
    keys_read: Vec<Vec<u8>>,
    ranges_read: RangesRead,
    promise: Option<LogMode>,
}

impl DbTransaction {
    pub(crate) fn new(handle: Arc<DbHandle>, lease: Lease<LiveSnapshotId>) -> DbTransaction {
        DbTransaction {
            held: HeldSnapshot::new(handle, lease),
            own: OwnWrites::new(),
            keys_read: Vec::new(),
            ranges_read: RangesRead::default(),
            promise: None,
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`DbError::SnapshotTooOld`], and what the disk does not let.
    pub fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        self.get_later(keyspace, key).wait()
    }

    /// The same, to be awaited.
    pub fn get_later(&mut self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<Vec<u8>>> {
        let key = keyspace.key(key);
        if let Some(own) = self.own.get(&key) {
            let now_ms = self.held.seen_at().now_ms;
            let live = own.clone().and_then(|stored| record::live(stored, now_ms));
            return Pending::ready(Ok(live));
        }
        self.keys_read.push(key.clone());
        self.held.get(key)
    }

    /// The value of a key with when it expires, to be awaited.
    pub fn entry_later(&mut self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<DbEntry>> {
        let key = keyspace.key(key);
        if let Some(own) = self.own.get(&key) {
            let now_ms = self.held.seen_at().now_ms;
            let live = own.clone().and_then(|stored| record::live_entry(stored, || now_ms));
            return Pending::ready(Ok(live));
        }
        self.keys_read.push(key.clone());
        self.held.entry(key, usize::MAX)
    }

    /// The keys of a keyspace, in order, with what this transaction has changed so far.
    pub fn scan(&mut self, keyspace: &Keyspace) -> DbScan {
        DbScan::new(self.held.clone(), keyspace).of_transaction(&self.own, &self.ranges_read)
    }

    /// Sets a key.
    pub fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) {
        self.own.insert(keyspace.key(key), Some(record::with_tail(value, None)));
    }

    /// Sets a key that is gone when so much time has passed.
    pub fn put_for(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8], lives: Span) {
        let expires = wall::expires_ms(lives);
        self.own.insert(keyspace.key(key), Some(record::with_tail(value, Some(expires))));
    }

    /// Sets a key to a value that is gone at a time of its own, or stays.
    pub fn put_entry(&mut self, keyspace: &Keyspace, key: &[u8], entry: &DbEntry) {
        let stored = record::with_tail(&entry.value, entry.expires_ms);
        self.own.insert(keyspace.key(key), Some(stored));
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, keyspace: &Keyspace, key: &[u8]) {
        self.own.insert(keyspace.key(key), None);
    }

    /// Lets its commit be answered when `promise` is kept, as [`WriteBatch::promise`] does.
    pub fn promise(&mut self, promise: LogMode) {
        self.promise = Some(promise);
    }

    /// Whether a commit would find all that was read so far as it was. A commit that is not answered yet counts as soon as it has its place in the
    /// order of commits.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn check(&self) -> Result<(), DbError> {
        self.check_later().wait()
    }

    /// The same, to be awaited.
    pub fn check_later(&self) -> Pending<()> {
        let reads = self.read_set();
        self.held.handle().ask(|answer| DbAsk::Check(reads, answer))
    }

    fn read_set(&self) -> ReadSet {
        let ranges = self.ranges_read.lock().expect("nobody panics while a range is noted").clone();
        let mut keys = self.keys_read.clone();
        keys.sort_unstable();
        keys.dedup();
        ReadSet { snapshot: self.held.id(), keys, ranges }
    }

    /// Commits. Answers the commit's number: a transaction with a higher one comes after it. One that has changed nothing is as of its beginning, and has
    /// the number of the last commit that it has seen.
    ///
    /// # Errors
    /// [`DbError::Conflict`] with the key, where somebody has changed what was read; then nothing was changed.
    pub fn commit(self) -> Result<u64, DbError> {
        self.commit_later().wait()
    }

    /// The same as [`commit`](Self::commit), to be awaited.
    pub fn commit_later(self) -> Pending<u64> {
        if self.own.is_empty() {
            return Pending::ready(Ok(self.held.id().sees()));
        }
        let reads = self.read_set();
        let DbTransaction { held, own, promise, .. } = self;
        let mut batch = WriteBatch::new();
        promise.into_iter().for_each(|promise| {
            batch.promise(promise);
        });
        for (key, stored) in own {
            match stored {
                Some(stored) => batch.put_raw(key, stored),
                None => batch.remove_raw(key),
            }
        }
        // The owner hears of the commit before the snapshot ends here.
        held.handle().commit(batch.into_parts(), Some(CommitReads::Read(reads)))
    }
}
