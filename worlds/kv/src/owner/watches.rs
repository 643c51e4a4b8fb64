//! Keys that are watched, and whether one was changed since.
//!
//! A transaction is told that of what it has read by the former values that are kept for its snapshot, and those are kept of every key that is changed, since it may read on. Whoever
//! only wants to know whether some keys are changed has that noted here when a commit gets its number, and nothing is kept for it but these keys.

use crate::error::DbError;
use crate::record;
use std::collections::{BTreeMap, BTreeSet};

/// A watch of this life of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(u64);

/// See [above](self).
#[derive(Debug, Default)]
pub(super) struct KeyWatches {
    last_id: u64,
    live: BTreeMap<WatchId, LiveWatch>,
    watchers: BTreeMap<Vec<u8>, BTreeSet<WatchId>>,
}

#[derive(Debug)]
struct LiveWatch {
    keys: BTreeSet<Vec<u8>>,
    /// The first of them that was changed.
    changed: Option<Vec<u8>>,
    /// Who needs it: its handle, and its update on the way to its commit.
    holders: u32,
}

impl KeyWatches {
    /// A new watch, of no key yet.
    pub(super) fn begin(&mut self) -> WatchId {
        self.last_id += 1;
        let id = WatchId(self.last_id);
        self.live.insert(id, LiveWatch { keys: BTreeSet::new(), changed: None, holders: 1 });
        id
    }

    /// Commits that have no number yet are noticed if they change this key.
    pub(super) fn add(&mut self, id: WatchId, key: Vec<u8>) {
        let Some(watch) = self.live.get_mut(&id) else { return };
        self.watchers.entry(key.clone()).or_default().insert(id);
        watch.keys.insert(key);
    }

    /// A watch is needed once more, until it is ended once more.
    pub(super) fn keep(&mut self, id: WatchId) {
        self.live.get_mut(&id).into_iter().for_each(|watch| watch.holders += 1);
    }

    /// Somebody needs a watch no more.
    pub(super) fn end(&mut self, id: WatchId) {
        let Some(watch) = self.live.get_mut(&id) else { return };
        watch.holders -= 1;
        if watch.holders > 0 {
            return;
        }
        let watch = self.live.remove(&id).expect("it was there");
        for key in watch.keys {
            let Some(watchers) = self.watchers.get_mut(&key) else { continue };
            watchers.remove(&id);
            if watchers.is_empty() {
                self.watchers.remove(&key);
            }
        }
    }

    /// A commit that has its number now changes this key.
    pub(super) fn changed(&mut self, key: &[u8]) {
        // Once is enough.
        for id in self.watchers.remove(key).unwrap_or_default() {
            let watch = self.live.get_mut(&id).expect("who watches a key lives");
            watch.changed.get_or_insert_with(|| key.to_vec());
        }
    }

    /// The first key of a watch that was changed, as an error.
    pub(super) fn validate(&self, id: WatchId) -> Result<(), DbError> {
        match self.live.get(&id).and_then(|watch| watch.changed.as_deref()) {
            Some(key) => Err(record::conflict(key)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_told_of_its_own_keys_from_their_adding_on() {
        let mut watches = KeyWatches::default();
        let key = |name: &str| [&[1][..], b"k", name.as_bytes()].concat();
        let (one, two) = (watches.begin(), watches.begin());
        watches.changed(&key("a"));
        watches.add(one, key("a"));
        watches.add(two, key("a"));
        watches.add(two, key("b"));
        watches.changed(&key("c"));
        assert_eq!((watches.validate(one), watches.validate(two)), (Ok(()), Ok(())));
        watches.changed(&key("b"));
        let conflict = Err(DbError::Conflict { keyspace: b"k".to_vec(), key: b"b".to_vec() });
        assert_eq!((watches.validate(one), watches.validate(two)), (Ok(()), conflict));
        watches.keep(one);
        watches.end(one);
        watches.end(two);
        watches.changed(&key("a"));
        assert!(watches.validate(one).is_err(), "its update is on its way");
        watches.end(one);
        assert!(watches.live.is_empty() && watches.watchers.is_empty(), "{watches:?}");
    }
}
