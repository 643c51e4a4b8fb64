//! How keys and values stand in the store.
//!
//! | first byte of the store's key | what follows | value |
//! |---|---|---|
//! | 1 to 32: length of the keyspace's name | the name, then the user's key | the user's value, then its *tail* |
//! | 254 | when to look whether it has expired (ms since 1970, big-endian, 8 bytes), then the whole key above | nothing |
//!
//! The tail says when the value expires: one byte 0 if never, else the time (8 bytes, big-endian) and one byte 1. It stands behind the
//! value, so that reading cuts it off and moves nothing. An entry of the second sort is a note of when to look: one whose key has
//! a later time by then is dropped, and that time has a note of its own.

use crate::error::DbError;
use std::ops::Range;

/// Keys of the store with their values and tails.
pub(crate) type StoredPairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A value, and when it is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DbEntry {
    /// The value.
    pub value: Vec<u8>,
    /// When its key expires, in milliseconds since 1970; `None` if it stays.
    pub expires_ms: Option<u64>,
}

/// Bytes of a keyspace's name at most.
pub const KEYSPACE_BYTES_MAX: usize = 32;
/// Bytes of a value's tail at most.
const TAIL_MAX: usize = 9;
/// First byte of entries that say when to look whether a key has expired.
const EXPIRES: u8 = 254;
/// Bytes of a key and a value together that any backup may have: what its reader is ready to keep in memory at once.
pub const ENTRY_BYTES_MAX: usize = 4 << 20;

/// The beginning of every key of a keyspace.
pub(crate) fn prefix(name: &[u8]) -> Result<Vec<u8>, DbError> {
    match name.len() {
        length @ 1..=KEYSPACE_BYTES_MAX => Ok([&[length as u8][..], name].concat()),
        _ => Err(DbError::KeyspaceName),
    }
}

/// Every key of every keyspace, and nothing else.
pub(crate) fn all_keys() -> Range<Vec<u8>> {
    vec![1]..vec![KEYSPACE_BYTES_MAX as u8 + 1]
}

/// Whether a key of the store is a user's.
pub(crate) fn is_users(key: &[u8]) -> bool {
    key.first().is_some_and(|first| (1..=KEYSPACE_BYTES_MAX as u8).contains(first))
}

/// The keyspace's name and the user's key in a key of the store.
pub(crate) fn split(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.split_first().filter(|_| is_users(key))?;
    rest.split_at_checked(usize::from(*length))
}

/// What a commit is told that has read this key of the store, or watched it.
pub(crate) fn conflict(key: &[u8]) -> DbError {
    let (keyspace, key) = split(key).unwrap_or_default();
    DbError::Conflict { keyspace: keyspace.to_vec(), key: key.to_vec() }
}

/// The least key that is greater than all that begin so; `None` if there is no such.
pub(crate) fn behind_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut behind = prefix[..=kept].to_vec();
    behind[kept] += 1;
    Some(behind)
}

/// A value with its tail.
pub(crate) fn with_tail(value: &[u8], expires_ms: Option<u64>) -> Vec<u8> {
    let mut stored = Vec::with_capacity(value.len() + TAIL_MAX);
    stored.extend_from_slice(value);
    match expires_ms {
        None => stored.push(0),
        Some(at) => {
            stored.extend_from_slice(&at.to_be_bytes());
            stored.push(1);
        }
    }
    stored
}

/// Where the tail of a stored value begins, and when it expires. `None` if it has no tail that means anything.
pub(crate) fn tail(stored: &[u8]) -> Option<(usize, Option<u64>)> {
    match stored {
        [value @ .., 0] => Some((value.len(), None)),
        [rest @ .., 1] => {
            let (value, at) = rest.split_last_chunk::<8>()?;
            Some((value.len(), Some(u64::from_be_bytes(*at))))
        }
        _ => None,
    }
}

/// The value as it is to be seen at that time: `None` once it has expired.
pub(crate) fn live(stored: Vec<u8>, now_ms: u64) -> Option<Vec<u8>> {
    live_entry(stored, || now_ms).map(|entry| entry.value)
}

/// The same, with when it expires. Most have no such time, and for those nobody looks at the calendar.
pub(crate) fn live_entry(mut stored: Vec<u8>, now_ms: impl FnOnce() -> u64) -> Option<DbEntry> {
    let (length, expires_ms) = tail(&stored)?;
    stored.truncate(length);
    let entry = DbEntry { value: stored, expires_ms };
    expires_ms.is_none_or(|at| now_ms() < at).then_some(entry)
}

/// When to look at a key that expires then: at that time or up to a sixteenth of what it has left later, but for a second at least. A key whose time is set again and again leaves the
/// notes of its former times behind where nobody reads it first, and so there are no more than some dozens of them.
pub(crate) fn look_ms(expires_ms: u64, now_ms: u64) -> u64 {
    let left = expires_ms.saturating_sub(now_ms);
    // A power of two, so that times that are set one after the other meet at the same steps.
    let step = 1 << (left / 16).max(1024).ilog2();
    expires_ms.div_ceil(step).saturating_mul(step)
}

/// The entry that says when to look at a key.
pub(crate) fn expiry_entry(at_ms: u64, key: &[u8]) -> Vec<u8> {
    [&[EXPIRES][..], &at_ms.to_be_bytes(), key].concat()
}

/// First key of all entries that say when to look at keys.
pub(crate) fn first_expiry() -> Vec<u8> {
    vec![EXPIRES]
}

/// The first key of the store behind all of them.
pub(crate) fn behind_expiries() -> Vec<u8> {
    vec![EXPIRES + 1]
}

/// The time and the key of such an entry.
pub(crate) fn read_expiry(entry: &[u8]) -> Option<(u64, &[u8])> {
    let (at, key) = entry.strip_prefix(&[EXPIRES])?.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*at), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_reads_back() {
        for (value, expires) in [(&b""[..], None), (b"v", Some(5)), (&[1; 9], None), (b"x", None)] {
            let stored = with_tail(value, expires);
            assert_eq!(tail(&stored), Some((value.len(), expires)));
            assert_eq!(live(stored.clone(), 4), Some(value.to_vec()));
            assert_eq!(live(stored, 5), expires.is_none().then(|| value.to_vec()));
        }
        assert_eq!((tail(b""), tail(&[7]), tail(&[3, 1])), (None, None, None));
        let key = [&prefix(b"space").expect("a name")[..], b"key"].concat();
        assert_eq!(split(&key), Some((&b"space"[..], &b"key"[..])));
        let entry = expiry_entry(9, &key);
        assert_eq!(read_expiry(&entry), Some((9, &key[..])));
        assert!(is_users(&key) && !is_users(&entry) && all_keys().contains(&key));
        assert!(!all_keys().contains(&entry));
    }

    /// Each `SETEX` left a note of its own: a session that is renewed with every request, for a day each time, left a day's requests of them.
    #[test]
    fn a_time_that_is_set_again_and_again_leaves_few_notes() {
        for lives_ms in [0, 500, 60_000, 24 * 3600 * 1000] {
            let times = (0..2000u64).map(|turn| 1_800_000_000_123 + turn * lives_ms / 2000);
            let notes = times.map(|now_ms| {
                let expires_ms = now_ms + lives_ms;
                let look_ms = look_ms(expires_ms, now_ms);
                assert!(look_ms >= expires_ms, "it has expired when it is looked at");
                assert!(look_ms - expires_ms <= (lives_ms / 16).max(1024));
                look_ms
            });
            let notes: std::collections::BTreeSet<u64> = notes.collect();
            assert!(notes.len() <= 33, "{} notes for {lives_ms} ms", notes.len());
        }
        assert_eq!(look_ms(u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn names_and_prefixes_have_their_bounds() {
        assert!(prefix(b"").is_err() && prefix(&[1; 33]).is_err() && prefix(&[1; 32]).is_ok());
        assert_eq!(behind_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(behind_prefix(&[1, 255, 255]), Some(vec![2]));
        assert_eq!(behind_prefix(&[255]), None);
    }
}
