//! The keys that a command names, as they were and as it leaves them.

use crate::fields::HashFields;
use crate::refusal::RespRefusal;
use crate::value::{Stored, StoredValue};
use loadline_kv::DbEntry;
use std::collections::BTreeMap;

/// What a command works on: the keys that were read for it, and what it makes of them. One that was not read counts as not there.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    keys: BTreeMap<Vec<u8>, KeyState>,
}

#[derive(Debug, Default)]
struct KeyState {
    stored: Option<Stored>,
    is_changed: bool,
}

/// What a key holds that is not there, asked for as a hash.
static NO_FIELDS: HashFields = HashFields::new();

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

    /// The hash under a key, of which so many fields will be looked for; one without fields if there is no key.
    pub(crate) fn hash(&mut self, key: &[u8], lookups: usize) -> Result<&HashFields, RespRefusal> {
        match self.keys.get_mut(key).and_then(|state| state.stored.as_mut()) {
            None => Ok(&NO_FIELDS),
            Some(Stored { value: StoredValue::Hash(fields), .. }) => {
                fields.expect_lookups(lookups);
                Ok(fields)
            }
            Some(_) => Err(RespRefusal::WrongType),
        }
    }

    /// Sets a key, and when it expires.
    pub(crate) fn put(&mut self, key: &[u8], stored: Stored) {
        self.change(key, |place| *place = Some(stored));
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
            let stored = place.get_or_insert_with(|| Stored::text(Vec::new()));
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
            let stored = place.get_or_insert_with(|| Stored {
                value: StoredValue::Hash(HashFields::new()),
                expires_ms: None,
            });
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
        self.change(key, Option::take)
    }

    fn change<T>(&mut self, key: &[u8], change: impl FnOnce(&mut Option<Stored>) -> T) -> T {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.to_vec(), KeyState::default());
        }
        let state = self.keys.get_mut(key).expect("it stands there by now");
        state.is_changed = true;
        change(&mut state.stored)
    }

    /// What was changed: keys with what they hold now.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&Stored>)> {
        let changed = self.keys.iter().filter(|(_, state)| state.is_changed);
        changed.map(|(key, state)| (&key[..], state.stored.as_ref()))
    }
}
