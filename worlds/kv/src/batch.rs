//! Changes that happen together or not at all.

use crate::keyspace::Keyspace;
use crate::record::{self, DbEntry};
use crate::wall;
use loadline_base::Span;
use loadline_store::paged::{Edit, LogMode};

/// A list of changes in their order, of any keyspaces of one database.
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    edits: Vec<Edit>,
    promise: Option<LogMode>,
    first_look_ms: Option<u64>,
}

/// What is committed.
pub(crate) struct BatchParts {
    pub(crate) edits: Vec<Edit>,
    pub(crate) promise: Option<LogMode>,
    /// When the first of its keys that expire is to be looked at.
    pub(crate) first_look_ms: Option<u64>,
}

impl WriteBatch {
    /// No changes.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets a key.
    pub fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> &mut WriteBatch {
        self.put_raw(keyspace.key(key), record::with_tail(value, None));
        self
    }

    /// Sets a key that is gone when so much time has passed.
    pub fn put_for(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        value: &[u8],
        lives: Span,
    ) -> &mut WriteBatch {
        let expires = wall::expires_ms(lives);
        self.put_raw(keyspace.key(key), record::with_tail(value, Some(expires)));
        self
    }

    /// Sets a key to a value that is gone at a time of its own, or stays.
    pub fn put_entry(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        entry: &DbEntry,
    ) -> &mut WriteBatch {
        self.put_raw(keyspace.key(key), record::with_tail(&entry.value, entry.expires_ms));
        self
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, keyspace: &Keyspace, key: &[u8]) -> &mut WriteBatch {
        self.remove_raw(keyspace.key(key));
        self
    }

    /// Lets this commit be answered when `promise` is kept, whatever the database's own mode. One that asks for less may wait for one before it that
    /// asks for more. A database that is open without a log promises nothing before a checkpoint, but for [`LogMode::Fsync`], which waits for one.
    pub fn promise(&mut self, promise: LogMode) -> &mut WriteBatch {
        self.promise = Some(promise);
        self
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Sets a key of the store to a value with its tail, and notes when to look at it if it expires.
    pub(crate) fn put_raw(&mut self, key: Vec<u8>, value: Vec<u8>) {
        if let Some((_, Some(at))) = record::tail(&value) {
            let look_ms = record::look_ms(at, wall::now_ms());
            let entry = record::expiry_entry(look_ms, &key);
            self.edits.push(Edit::Put { key: entry, value: Vec::new() });
            self.first_look_ms = self.first_look_ms.into_iter().chain([look_ms]).min();
        }
        self.edits.push(Edit::Put { key, value });
    }

    /// Removes a key of the store.
    pub(crate) fn remove_raw(&mut self, key: Vec<u8>) {
        self.edits.push(Edit::Delete { key });
    }

    pub(crate) fn into_parts(self) -> BatchParts {
        let WriteBatch { edits, promise, first_look_ms } = self;
        BatchParts { edits, promise, first_look_ms }
    }
}
