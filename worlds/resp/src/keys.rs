//! The keys that a command names, as they were and as it leaves them.

use crate::fields::HashFields;
use crate::refusal::RespRefusal;
use crate::value::{Stored, StoredValue};
use loadline_kv::{Bound, DbEntry, DbError, Exceeded, StoreLimits};
use std::collections::BTreeMap;

/// Bytes of values that one command, or one transaction, may read or answer.
pub(crate) const ANSWER_BYTES_MAX: usize = 32 << 20;

/// What a command works on: the keys that were read for it, and what it makes of them. One that was not read counts as not there.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    keys: BTreeMap<Vec<u8>, KeyState>,
    /// Bytes of what the changed ones hold now, and of the longest that one has held.
    changed_bytes: usize,
    longest: usize,
    /// Bytes that were copied from key to key.
    copied_bytes: usize,
}

#[derive(Debug, Default)]
struct KeyState {
    /// Most requests name keys that have little or nothing, and some name hundreds of thousands.
    stored: Option<Box<Stored>>,
    is_changed: bool,
    /// What of it counts among the changed bytes.
    bytes: usize,
}

/// What a key holds that is not there, asked for as a hash.
static NO_FIELDS: HashFields = HashFields::new();

impl KeyTable {
    /// Puts down what was read.
    pub(crate) fn note(&mut self, key: &[u8], entry: Option<DbEntry>) -> Result<(), RespRefusal> {
        let stored = entry.map(Stored::read).transpose()?.map(Box::new);
        self.keys.insert(key.to_vec(), KeyState { stored, ..KeyState::default() });
        Ok(())
    }

    /// Whether a key was read.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// What stands under a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Stored> {
        self.keys.get(key)?.stored.as_deref()
    }

    /// The string under a key.
    pub(crate) fn text(&self, key: &[u8]) -> Result<Option<&[u8]>, RespRefusal> {
        match self.get(key).map(|stored| &stored.value) {
            None => Ok(None),
            Some(StoredValue::Text(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(RespRefusal::WrongType),
        }
    }

    /// The hash under a key, of which so many fields will be looked for; one without fields if there is no key.
    pub(crate) fn hash(&mut self, key: &[u8], lookups: usize) -> Result<&HashFields, RespRefusal> {
        match self.keys.get_mut(key).and_then(|state| state.stored.as_deref_mut()) {
            None => Ok(&NO_FIELDS),
            Some(Stored { value: StoredValue::Hash(fields), .. }) => {
                fields.expect_lookups(lookups);
                Ok(fields)
            }
            Some(_) => Err(RespRefusal::WrongType),
        }
    }

    /// Refuses to go on where more was made than the database takes of one transaction: a few bytes of commands can make many. What keys and changes take beside their values
    /// comes to light there.
    pub(crate) fn check(&self, limits: &StoreLimits) -> Result<(), RespRefusal> {
        let exceeded = |bound, asked: usize, most: usize| {
            let (asked, most) = (asked as u64, most as u64);
            Err(DbError::Exceeds(Exceeded { bound, asked, most }).into())
        };
        let StoreLimits { value_bytes, transaction_bytes, .. } = *limits;
        if self.longest > value_bytes {
            return exceeded(Bound::ValueBytes, self.longest, value_bytes);
        }
        if self.changed_bytes > transaction_bytes {
            return exceeded(Bound::TransactionBytes, self.changed_bytes, transaction_bytes);
        }
        match self.copied_bytes > ANSWER_BYTES_MAX {
            true => Err(RespRefusal::AnswerBytes(ANSWER_BYTES_MAX as u64)),
            false => Ok(()),
        }
    }

    /// Sets a key to what another one holds, if it holds something.
    pub(crate) fn copy(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some(stored) = self.get(from).cloned() else { return false };
        self.copied_bytes += stored.bytes();
        self.put(to, stored);
        true
    }

    /// Sets a key, and when it expires.
    pub(crate) fn put(&mut self, key: &[u8], stored: Stored) {
        self.change(key, |place| *place = Some(Box::new(stored)));
    }

    /// Changes the string under a key where it is, which is empty if there is no key; when it expires stays.
    pub(crate) fn change_text(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), RespRefusal> {
        // What is no string is refused before it counts as changed.
        self.text(key)?;
        self.change(key, |place| {
            let stored = place.get_or_insert_with(|| Box::new(Stored::text(Vec::new())));
            if let StoredValue::Text(bytes) = &mut stored.value {
                change(bytes);
            }
        });
        Ok(())
    }

    /// The same of a hash, of which so many fields will be looked for. It is gone with its last field.
    pub(crate) fn change_hash<T: Default>(
        &mut self,
        key: &[u8],
        lookups: usize,
        change: impl FnOnce(&mut HashFields) -> T,
    ) -> Result<T, RespRefusal> {
        self.hash(key, 0)?;
        Ok(self.change(key, |place| {
            let empty = StoredValue::Hash(HashFields::new());
            let new = || Box::new(Stored { value: empty, expires_ms: None });
            let stored = place.get_or_insert_with(new);
            let StoredValue::Hash(fields) = &mut stored.value else { return T::default() };
            fields.expect_lookups(lookups);
            let made = change(fields);
            if fields.is_empty() {
                *place = None;
            }
            made
        }))
    }

    /// Sets when a key expires that is there, or lets it stay.
    pub(crate) fn expire(&mut self, key: &[u8], expires_ms: Option<u64>) {
        self.change(key, |place| place.iter_mut().for_each(|it| it.expires_ms = expires_ms));
    }

    /// Removes a key, and says whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        self.take(key).is_some()
    }

    /// Removes a key, and answers what it held.
    pub(crate) fn take(&mut self, key: &[u8]) -> Option<Stored> {
        self.change(key, Option::take).map(|stored| *stored)
    }

    fn change<T>(&mut self, key: &[u8], change: impl FnOnce(&mut Option<Box<Stored>>) -> T) -> T {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.to_vec(), KeyState::default());
        }
        let state = self.keys.get_mut(key).expect("it stands there by now");
        state.is_changed = true;
        let made = change(&mut state.stored);
        let bytes = state.stored.as_deref().map_or(0, Stored::bytes);
        self.changed_bytes = self.changed_bytes - state.bytes + bytes;
        self.longest = self.longest.max(bytes);
        state.bytes = bytes;
        made
    }

    /// What was changed: keys with what they hold now.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&Stored>)> {
        let changed = self.keys.iter().filter(|(_, state)| state.is_changed);
        changed.map(|(key, state)| (&key[..], state.stored.as_deref()))
    }
}
