//! Updates: a function of what some keys hold, carried out by the database's owner on what they hold then.
//!
//! A transaction reads, comes back to its thread, and may find at its commit that somebody was faster. A key that many count in would have each of
//! them begin again for every other's commit, or wait for its flush. An update's function goes to the owner instead: it finds the state that the
//! last commit has left, whether or not that is durable yet, and nobody is told what came of it before both are. Updates of one key that
//! have come together are one commit.

use crate::error::DbError;
use crate::keyspace::Keyspace;
use crate::pending::Answerer;
use crate::record::{self, DbEntry};
use crate::wall;
use loadline_base::Span;
use loadline_store::paged::LogMode;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What keys of the store hold, with tails.
pub(crate) type StoredValues = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The keys of an update, and when it is answered.
#[derive(Clone, Debug, Default)]
pub struct UpdateKeys {
    keys: Vec<Vec<u8>>,
    promise: Option<LogMode>,
}

impl UpdateKeys {
    /// These keys of a keyspace.
    pub fn of<K: AsRef<[u8]>>(
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
    ) -> UpdateKeys {
        UpdateKeys::default().and(keyspace, keys)
    }

    /// These as well.
    #[must_use]
    pub fn and<K: AsRef<[u8]>>(
        mut self,
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
    ) -> UpdateKeys {
        self.keys.extend(keys.into_iter().map(|key| keyspace.key(key.as_ref())));
        self
    }

    /// Lets the update be answered when `promise` is kept, as [`WriteBatch::promise`](crate::WriteBatch::promise) does.
    #[must_use]
    pub fn promise(mut self, promise: LogMode) -> UpdateKeys {
        self.promise = Some(promise);
        self
    }

    /// The store's keys, each once, and the promise.
    pub(crate) fn into_parts(mut self) -> (Vec<Vec<u8>>, Option<LogMode>) {
        self.keys.sort_unstable();
        self.keys.dedup();
        (self.keys, self.promise)
    }
}

/// The keys of an update, as they are and as it leaves them.
pub struct DbUpdate<'u> {
    found: &'u StoredValues,
    changes: &'u mut StoredValues,
    /// One time for all that it looks at, if that matters to any of it.
    now_ms: LazyCell<u64>,
}

impl DbUpdate<'_> {
    /// What stands under a key, with when it expires.
    ///
    /// # Panics
    /// If the key is none of those that the update was asked for with: what others hold nobody has read.
    pub fn get(&self, keyspace: &Keyspace, key: &[u8]) -> Option<DbEntry> {
        let key = keyspace.key(key);
        let found = self.found.get(&key).expect("an update looks at the keys that it was given");
        let stored = self.changes.get(&key).unwrap_or(found);
        stored.clone().and_then(|stored| record::live_entry(stored, || *self.now_ms))
    }

    /// Sets a key.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) {
        self.change(keyspace, key, Some(record::with_tail(value, None)));
    }

    /// Sets a key that is gone when so much time has passed.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn put_for(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8], lives: Span) {
        let expires = wall::expires_ms(lives);
        self.change(keyspace, key, Some(record::with_tail(value, Some(expires))));
    }

    /// Sets a key to a value that is gone at a time of its own, or stays.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn put_entry(&mut self, keyspace: &Keyspace, key: &[u8], entry: &DbEntry) {
        let stored = record::with_tail(&entry.value, entry.expires_ms);
        self.change(keyspace, key, Some(stored));
    }

    /// Removes a key, if it is there.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn remove(&mut self, keyspace: &Keyspace, key: &[u8]) {
        self.change(keyspace, key, None);
    }

    fn change(&mut self, keyspace: &Keyspace, key: &[u8], stored: Option<Vec<u8>>) {
        let key = keyspace.key(key);
        assert!(self.found.contains_key(&key), "an update changes the keys that it was given");
        self.changes.insert(key, stored);
    }
}

/// An update on its way, whatever it answers.
pub(crate) trait UpdateWork: Send {
    /// Carries it out behind changes that go with it in one commit. What fails has changed nothing. It may be done again.
    fn carry_out(
        &mut self,
        found: &StoredValues,
        changes: &mut StoredValues,
    ) -> Result<(), DbError>;

    /// It is as durable as it was promised, or did not happen.
    fn answer(self: Box<Self>, result: Result<(), DbError>);
}

/// An update by a function, and who waits for what that answers.
pub(crate) struct KeyUpdate<T, F> {
    work: F,
    made: Option<T>,
    answerer: Answerer<T>,
}

impl<T, F: FnMut(&mut DbUpdate<'_>) -> T> KeyUpdate<T, F> {
    /// An update that was not carried out yet.
    pub(crate) fn new(work: F, answerer: Answerer<T>) -> KeyUpdate<T, F> {
        KeyUpdate { work, made: None, answerer }
    }
}

impl<T: Send, F: FnMut(&mut DbUpdate<'_>) -> T + Send> UpdateWork for KeyUpdate<T, F> {
    fn carry_out(
        &mut self,
        found: &StoredValues,
        changes: &mut StoredValues,
    ) -> Result<(), DbError> {
        let before = changes.clone();
        let mut update = DbUpdate { found, changes, now_ms: LazyCell::new(wall::now_ms) };
        // The owner is everybody's: what panics here is one function's matter, and its changes are taken back.
        match catch_unwind(AssertUnwindSafe(|| (self.work)(&mut update))) {
            Ok(made) => {
                self.made = Some(made);
                Ok(())
            }
            Err(_) => {
                *changes = before;
                Err(DbError::Panicked)
            }
        }
    }

    fn answer(self: Box<Self>, result: Result<(), DbError>) {
        let KeyUpdate { made, answerer, .. } = *self;
        answerer.give(result.map(|()| made.expect("what is answered was carried out")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pending::pending;

    #[test]
    fn functions_that_go_together_see_each_other_and_one_that_panics_has_changed_nothing() {
        let keyspace = Keyspace::new("ks").expect("a name");
        let found = BTreeMap::from([(keyspace.key(b"a"), Some(record::with_tail(b"1", None)))]);
        let mut changes = StoredValues::new();
        let mut updates = Vec::new();
        for step in 0..3 {
            let keyspace = keyspace.clone();
            let (answered, answerer) = pending();
            let work = move |update: &mut DbUpdate<'_>| {
                let mut value = update.get(&keyspace, b"a").expect("it is there").value;
                value.push(b'+');
                update.put(&keyspace, b"a", &value);
                assert!(step != 1, "the second one panics behind its change");
                value
            };
            let mut update = Box::new(KeyUpdate::new(work, answerer));
            let result = update.carry_out(&found, &mut changes);
            updates.push((update, result, answered));
        }
        let answers = updates.into_iter().map(|(update, result, answered)| {
            update.answer(result);
            answered.wait()
        });
        let answers: Vec<_> = answers.collect();
        assert_eq!(answers, [Ok(b"1+".to_vec()), Err(DbError::Panicked), Ok(b"1++".to_vec())]);
    }
}
