//! A keyspace: keys with a name of their own before them.

use crate::error::DbError;
use crate::record;
use loadline_store::paged::StoreLimits;
use std::ops::Range;
use std::sync::Arc;

/// A keyspace of a database. It needs no making: it is there as long as it has keys. Copies are cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyspace {
    prefix: Arc<[u8]>,
}

impl Keyspace {
    /// The keyspace of this name, which has 1 to 32 bytes.
    ///
    /// # Errors
    /// [`DbError::KeyspaceName`].
    pub fn new(name: impl AsRef<[u8]>) -> Result<Keyspace, DbError> {
        Ok(Keyspace { prefix: record::prefix(name.as_ref())?.into() })
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.prefix[1..]
    }

    /// What a database with these limits takes of its keys and values, in the bytes that are given: the store counts the keyspace's name and marks with them, and of those
    /// that expire a note of when to look, too.
    pub fn longest(&self, limits: StoreLimits, expires: bool) -> StoreLimits {
        let key = match expires {
            true => record::expiry_entry(0, &self.prefix),
            false => self.prefix.to_vec(),
        };
        let value = record::with_tail(&[], expires.then_some(0));
        let (key_bytes, value_bytes) =
            (limits.key_bytes - key.len(), limits.value_bytes - value.len());
        StoreLimits { key_bytes, value_bytes, ..limits }
    }

    /// The store's key for one of its keys.
    pub(crate) fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// Whether a key of the store is one of its own.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// The user's key in one of the store's.
    pub(crate) fn strip<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.strip_prefix(&self.prefix[..]).unwrap_or_default()
    }

    /// All its keys that begin so, in the store.
    pub(crate) fn range(&self, prefix: &[u8]) -> Range<Vec<u8>> {
        let from = self.key(prefix);
        // The length that every key begins with is small, so there is always a key behind.
        let behind = record::behind_prefix(&from).expect("a keyspace's prefix begins with 1 to 32");
        from..behind
    }

    /// The first key of the store behind all of this keyspace.
    pub(crate) fn behind(&self) -> Vec<u8> {
        self.range(&[]).end
    }
}
