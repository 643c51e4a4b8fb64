//! The keys that a command names, as they were and as it leaves them.

use crate::refusal::RespRefusal;
use crate::value::{HashField, HashFields, Stored, StoredValue};
use loadline_kv::DbEntry;
use std::collections::BTreeMap;

/// What a command works on: the keys that were read for it, and what it makes of them. One that was not read counts as not there.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    keys: BTreeMap<Vec<u8>, KeyState>,
}

#[derive(Debug)]
struct KeyState {
    stored: Option<Stored>,
    is_changed: bool,
}

impl KeyTable {
    /// Puts down what was read.
    pub(crate) fn note(&mut self, key: &[u8], entry: Option<DbEntry>) -> Result<(), RespRefusal> {
        let stored = entry.map(Stored::read).transpose()?;
        self.keys.insert(key.to_vec(), KeyState { stored, is_changed: false });
        Ok(())
    }

    /// Whether a key was read.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// What stands under a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Stored> {
        self.keys.get(key)?.stored.as_ref()
    }

    /// The string under a key.
    pub(crate) fn text(&self, key: &[u8]) -> Result<Option<&[u8]>, RespRefusal> {
        match self.get(key).map(|stored| &stored.value) {
            None => Ok(None),
            Some(StoredValue::Text(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(RespRefusal::WrongType),
        }
    }

    /// The fields of the hash under a key; none if there is no key.
    pub(crate) fn hash(&self, key: &[u8]) -> Result<&[HashField], RespRefusal> {
        match self.get(key).map(|stored| &stored.value) {
            None => Ok(&[]),
            Some(StoredValue::Hash(fields)) => Ok(fields),
            Some(_) => Err(RespRefusal::WrongType),
        }
    }

    /// Sets a key, and when it expires.
    pub(crate) fn put(&mut self, key: &[u8], stored: Stored) {
        self.keys.insert(key.to_vec(), KeyState { stored: Some(stored), is_changed: true });
    }

    /// Sets what a key holds; when it expires stays.
    pub(crate) fn put_text(&mut self, key: &[u8], bytes: Vec<u8>) {
        let expires_ms = self.get(key).and_then(|stored| stored.expires_ms);
        self.put(key, Stored { value: StoredValue::Text(bytes), expires_ms });
    }

    /// The same of a hash, which is gone with its last field.
    pub(crate) fn put_hash(&mut self, key: &[u8], fields: HashFields) {
        if fields.is_empty() {
            self.remove(key);
            return;
        }
        let expires_ms = self.get(key).and_then(|stored| stored.expires_ms);
        self.put(key, Stored { value: StoredValue::Hash(fields), expires_ms });
    }

    /// Removes a key, and says whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let was_there = self.get(key).is_some();
        self.keys.insert(key.to_vec(), KeyState { stored: None, is_changed: true });
        was_there
    }

    /// What was changed: keys with what they hold now.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&Stored>)> {
        let changed = self.keys.iter().filter(|(_, state)| state.is_changed);
        changed.map(|(key, state)| (&key[..], state.stored.as_ref()))
    }
}
