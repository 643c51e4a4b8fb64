//! A state of the database that stays as it is while others write.

use crate::error::DbError;
use crate::handle::{DbHandle, HeldSnapshot};
use crate::keyspace::Keyspace;
use crate::owner::{Lease, LiveSnapshotId};
use crate::pending::Pending;
use crate::record::DbEntry;
use crate::scan::DbScan;
use std::sync::Arc;

/// What every commit before its beginning has left, and no later one. It lives until its last copy and iterator are dropped, or until the
/// memory for former values is used up, which [`DbError::SnapshotTooOld`] says.
#[derive(Clone)]
pub struct DbSnapshot {
    held: Arc<HeldSnapshot>,
}

impl DbSnapshot {
    pub(crate) fn new(handle: Arc<DbHandle>, lease: Lease<LiveSnapshotId>) -> DbSnapshot {
        DbSnapshot { held: HeldSnapshot::new(handle, lease) }
    }

    pub(crate) fn held(&self) -> &Arc<HeldSnapshot> {
        &self.held
    }

    /// The number of the last commit that it sees.
    pub fn commit(&self) -> u64 {
        self.held.id().sees()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`DbError::SnapshotTooOld`], and what the disk does not let.
    pub fn get(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        self.get_later(keyspace, key).wait()
    }

    /// The same, to be awaited.
    pub fn get_later(&self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<Vec<u8>>> {
        self.held.get(keyspace.key(key))
    }

    /// The value of a key with when it expires, to be awaited.
    pub fn entry_later(&self, keyspace: &Keyspace, key: &[u8]) -> Pending<Option<DbEntry>> {
        self.held.entry(keyspace.key(key), usize::MAX)
    }

    /// The same, if the value has no more bytes than so many, as [`Db::entry_within_later`](crate::Db::entry_within_later).
    pub fn entry_within_later(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        most: usize,
    ) -> Pending<Option<DbEntry>> {
        self.held.entry(keyspace.key(key), most)
    }

    /// The keys of a keyspace, in order.
    pub fn scan(&self, keyspace: &Keyspace) -> DbScan {
        DbScan::new(self.held.clone(), keyspace)
    }
}
