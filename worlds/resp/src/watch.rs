//! Watched keys, as the database watches them.
//!
//! It says itself whether one was changed since, by a commit that has its place behind the watching. A mark that a writer sets here as it begins
//! would not do: its commit may take effect later, and who watches in between reads the former value without a mark.

use crate::budget::{ConnectionMemory, HeldBytes};
use crate::refusal::RespRefusal;
use loadline_kv::{Db, DbWatch, Keyspace, now_ms};
use std::collections::BTreeSet;
use std::rc::Rc;

/// What one connection may watch, in bytes of keys.
const WATCHED_BYTES_MAX: usize = 1 << 20;
/// What a key takes beside its bytes, here and at the database.
const WATCHED_KEY: u64 = 400;

/// What one connection watches; `None` in it if nothing.
#[derive(Default)]
pub(crate) struct KeyWatch {
    watched: Option<WatchedKeys>,
}

struct WatchedKeys {
    watch: DbWatch,
    keys: BTreeSet<(u8, Vec<u8>)>,
    bytes: usize,
    held: HeldBytes,
    /// When the first of the keys expires: the database does not count that as a change.
    expires_ms: Option<u64>,
}

/// Keys that were watched.
pub(crate) enum WatchedReads {
    /// One of them has expired since.
    Expired,
    /// The database knows whether one was changed since.
    Kept(DbWatch),
}

impl KeyWatch {
    /// Watches one more key from now on.
    pub(crate) async fn add(
        &mut self,
        db: &Db,
        memory: &Rc<ConnectionMemory>,
        (database, keyspace): (u8, &Keyspace),
        key: &[u8],
    ) -> Result<(), RespRefusal> {
        if self.watched.is_none() {
            let (watch, held) = (db.watch_later().await?, memory.note(0));
            let (keys, bytes, expires_ms) = (BTreeSet::new(), 0, None);
            self.watched = Some(WatchedKeys { watch, keys, bytes, held, expires_ms });
        }
        let watched = self.watched.as_mut().expect("it was made");
        let own = (database, key.to_vec());
        if watched.keys.contains(&own) {
            return Ok(());
        }
        watched.bytes += key.len();
        if watched.bytes > WATCHED_BYTES_MAX {
            return Err(RespRefusal::WatchedBytes(WATCHED_BYTES_MAX));
        }
        // The database keeps the key too, by its watch and by its name.
        let kept = watched.held.bytes() + 3 * key.len() as u64 + WATCHED_KEY;
        if !watched.held.try_set(kept) {
            return Err(RespRefusal::Memory);
        }
        watched.keys.insert(own);
        watched.watch.add_later(keyspace, key).await?;
        let entry = db.entry_later(keyspace, key).await?;
        let expires_ms = entry.and_then(|entry| entry.expires_ms);
        watched.expires_ms = expires_ms.into_iter().chain(watched.expires_ms).min();
        Ok(())
    }

    /// Whether anything is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.watched.is_none()
    }

    /// What is known of the keys that were watched, if any were.
    pub(crate) fn into_reads(self) -> Option<WatchedReads> {
        let watched = self.watched?;
        Some(match watched.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms()) {
            true => WatchedReads::Expired,
            false => WatchedReads::Kept(watched.watch),
        })
    }
}
