//! How values stand in the database: a string or a hash, and behind it one byte that says which.
//!
//! | last byte | what is before it |
//! |---|---|
//! | 1 | a string's bytes |
//! | 2 | a hash's fields in the order of their setting: length (4 bytes, little-endian) and bytes of the field, the same of its value |
//!
//! A hash is one value: cheap for records of some hundred fields, and a large one costs all of it with every change.

use crate::fields::HashFields;
use crate::refusal::RespRefusal;
use loadline_kv::DbEntry;

const STRING: u8 = 1;
const HASH: u8 = 2;

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) value: StoredValue,
    /// When the key expires, in milliseconds since 1970.
    pub(crate) expires_ms: Option<u64>,
}

/// See [above](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredValue {
    /// Bytes.
    Text(Vec<u8>),
    /// Fields, none of them twice.
    Hash(HashFields),
}

impl Stored {
    /// A string that stays.
    pub(crate) fn text(bytes: impl Into<Vec<u8>>) -> Stored {
        Stored { value: StoredValue::Text(bytes.into()), expires_ms: None }
    }

    /// Its type's name.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            StoredValue::Text(_) => "string",
            StoredValue::Hash(_) => "hash",
        }
    }

    /// Bytes that its value has in the database, with what says its type and when it expires.
    pub(crate) fn bytes(&self) -> usize {
        let value = match &self.value {
            StoredValue::Text(bytes) => bytes.len(),
            StoredValue::Hash(fields) => fields.bytes(),
        };
        value + 2 + self.expires_ms.map_or(0, |_| size_of::<u64>())
    }

    /// What the database has.
    pub(crate) fn read(entry: DbEntry) -> Result<Stored, RespRefusal> {
        let DbEntry { mut value, expires_ms } = entry;
        let value = match value.pop() {
            Some(STRING) => StoredValue::Text(value),
            Some(HASH) => StoredValue::Hash(read_fields(&value).ok_or(RespRefusal::Foreign)?),
            _ => return Err(RespRefusal::Foreign),
        };
        Ok(Stored { value, expires_ms })
    }

    /// What the database is to have.
    pub(crate) fn entry(&self) -> DbEntry {
        let value = match &self.value {
            StoredValue::Text(bytes) => [&bytes[..], &[STRING]].concat(),
            StoredValue::Hash(fields) => {
                let mut bytes = Vec::new();
                for text in fields.iter().flat_map(|(field, value)| [field, value]) {
                    // No string of a request is longer than 4 GiB.
                    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(text);
                }
                bytes.push(HASH);
                bytes
            }
        };
        DbEntry { value, expires_ms: self.expires_ms }
    }
}

fn read_fields(mut bytes: &[u8]) -> Option<HashFields> {
    let mut fields = HashFields::new();
    if bytes.is_empty() {
        return Some(fields);
    }
    let mut text = || {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some((text, rest.is_empty()))
    };
    loop {
        let (field, _) = text()?;
        let (value, is_last) = text()?;
        fields.push(field, value);
        if is_last {
            return Some(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_reads_back() {
        let hash = |fields: &[(&str, &str)]| {
            let mut all = HashFields::new();
            fields.iter().for_each(|(field, value)| all.push(field.as_bytes(), value.as_bytes()));
            StoredValue::Hash(all)
        };
        for value in [
            StoredValue::Text(Vec::new()),
            StoredValue::Text(b"x".to_vec()),
            hash(&[("a", "1"), ("", "")]),
            hash(&[("a", "")]),
        ] {
            let stored = Stored { value, expires_ms: Some(7) };
            assert_eq!(Stored::read(stored.entry()), Ok(stored));
        }
    }

    #[test]
    fn what_others_have_written_is_refused() {
        for value in [&b""[..], b"abc", b"\x09\0\0\0abc\x02", b"\x01\0\0\0a\x02"] {
            let entry = DbEntry { value: value.to_vec(), expires_ms: None };
            assert_eq!(Stored::read(entry), Err(RespRefusal::Foreign), "{}", value.escape_ascii());
        }
    }
}
