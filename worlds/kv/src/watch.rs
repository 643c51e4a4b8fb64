//! Watches: whether one of some keys was changed, without a state of the database that is kept for it.

use crate::handle::DbHandle;
use crate::keyspace::Keyspace;
use crate::owner::{CommitReads, DbAsk, Lease, WatchId};
use crate::pending::Pending;
use crate::update::{DbUpdate, UpdateKeys};
use std::sync::Arc;

/// Keys that are watched until an update ends that, which is carried out if none of them was changed meanwhile. A transaction knows the same of what it has read, but it
/// may read on: what others change is kept for it, until there is too much of that. Nothing is kept for a watch, however long it lasts. [`Db::watch_later`](crate::Db::watch_later)
/// begins one.
pub struct DbWatch {
    handle: Arc<DbHandle>,
    lease: Lease<WatchId>,
}

impl DbWatch {
    pub(crate) fn new(handle: Arc<DbHandle>, lease: Lease<WatchId>) -> DbWatch {
        DbWatch { handle, lease }
    }

    /// Watches one more key. Who reads it behind the answer reads what it will be if it is not changed.
    pub fn add_later(&mut self, keyspace: &Keyspace, key: &[u8]) -> Pending<()> {
        let (id, key) = (self.lease.id(), keyspace.key(key));
        self.handle.ask(|answer| DbAsk::Watch(id, key, answer))
    }

    /// Ends with an update ([`Db::update_later`](crate::Db::update_later)), which is carried out if nothing that is watched was changed: at one moment, like a commit.
    pub fn update_later<T: Send + 'static>(
        self,
        keys: UpdateKeys,
        work: impl FnMut(&mut DbUpdate<'_>) -> T + Send + 'static,
    ) -> Pending<T> {
        self.handle.update(keys, Some(CommitReads::Watched(self.lease.id())), work)
    }
}
