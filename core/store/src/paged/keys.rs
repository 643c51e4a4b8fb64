//! The keys of the one tree: a letter for the kind of thing, then what tells it from others, so that related things
//! stand together and in the order in which they are listed.
//!
//! | first byte | rest | value |
//! |---|---|---|
//! | `a` | object (20), attribute's name | the attribute's value |
//! | `e` | object (20), page index in the object (8) | an [`Extent`](super::extent::Extent) |
//! | `k` | user's key | 0 and the value, or 1 and the value's length (4), if it stands in pieces |
//! | `o` | object (20) | length (8), version (8) |
//! | `s` | first page (8) | a shared range: pages (8), owners (4) |
//! | `p` | nothing | how far the transaction is that was under way: changes (8), inside the next (8) |
//! | `v` | length of the user's key (2), the key, piece number (4) | a piece of a long value |
//!
//! Integers inside keys are big-endian, so that bytes sort as numbers. An object is collection (4), number (8),
//! snapshot (8).

use super::ids::{ObjectId, PageNo};
use crate::objects::{CollectionId, ObjectNo};
use std::ops::{Range, RangeInclusive};

/// Bytes of an object inside a key.
const OBJECT: usize = 20;
/// Bytes of an extent's key.
pub const EXTENT_KEY: usize = 1 + OBJECT + 8;
/// Bytes of an object's own key.
pub const OBJECT_KEY: usize = 1 + OBJECT;
/// Bytes of a shared range's key.
pub const SHARED_KEY: usize = 1 + 8;
/// First byte of attribute keys.
pub const ATTRIBUTE: u8 = b'a';
/// First byte of extent keys.
pub const EXTENT: u8 = b'e';
/// First byte of users' keys.
pub const USER: u8 = b'k';
/// First byte of object keys.
pub const OBJECTS: u8 = b'o';
/// First byte of shared ranges' keys.
pub const SHARED: u8 = b's';
/// First byte and the whole of the one key of how far a transaction is. It is there while one is carried out in several steps.
pub const PROGRESS: &[u8] = b"p";
/// First byte of the pieces of long values.
pub const PIECE: u8 = b'v';

/// Keys of up to so many bytes are built without asking for memory.
const SHORT: usize = 64;

/// A key under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBuffer {
    short: [u8; SHORT],
    long: Vec<u8>,
}

impl Default for KeyBuffer {
    fn default() -> KeyBuffer {
        KeyBuffer { short: [0; SHORT], long: Vec::new() }
    }
}

impl KeyBuffer {
    /// A user's key.
    pub fn user(&mut self, key: &[u8]) -> &[u8] {
        self.join([&[USER], key, &[], &[]])
    }

    /// A piece of a long value.
    pub fn piece(&mut self, key: &[u8], piece: u32) -> &[u8] {
        let length = u16::try_from(key.len()).expect("a key is short");
        self.join([&[PIECE], &length.to_be_bytes(), key, &piece.to_be_bytes()])
    }

    fn join(&mut self, parts: [&[u8]; 4]) -> &[u8] {
        let length = parts.iter().map(|part| part.len()).sum();
        if length > SHORT {
            self.long.clear();
            parts.iter().for_each(|part| self.long.extend_from_slice(part));
            return &self.long;
        }
        let mut at = 0;
        for part in parts {
            self.short[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        &self.short[..length]
    }
}

fn object_key(kind: u8, object: ObjectId, more: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + OBJECT + more);
    key.push(kind);
    key.extend_from_slice(&object_bytes(object));
    key
}

/// What names an object inside a key.
#[inline]
fn object_bytes(object: ObjectId) -> [u8; OBJECT] {
    let mut bytes = [0; OBJECT];
    bytes[..4].copy_from_slice(&object.collection.get().to_be_bytes());
    bytes[4..12].copy_from_slice(&object.object.0.to_be_bytes());
    bytes[12..].copy_from_slice(&object.snapshot.to_be_bytes());
    bytes
}

/// Whether a key is short: all but those that have a user's key or an attribute's name in them.
pub fn is_short(key: &[u8]) -> bool {
    !matches!(key.first(), Some(&(ATTRIBUTE | USER | PIECE)))
}

/// The key of an object.
pub fn object(object: ObjectId) -> Vec<u8> {
    object_key(OBJECTS, object, 0)
}

/// The key of an object's attribute.
pub fn attribute(object: ObjectId, name: &[u8]) -> Vec<u8> {
    let mut key = object_key(ATTRIBUTE, object, name.len());
    key.extend_from_slice(name);
    key
}

/// The key of the extent that begins at a page index of an object.
pub fn extent(object: ObjectId, index: u64) -> Vec<u8> {
    extent_key(object, index).to_vec()
}

/// The same, for who only looks for it.
pub fn extent_key(object: ObjectId, index: u64) -> [u8; EXTENT_KEY] {
    let mut key = [EXTENT; EXTENT_KEY];
    key[1..=OBJECT].copy_from_slice(&object_bytes(object));
    key[1 + OBJECT..].copy_from_slice(&index.to_be_bytes());
    key
}

/// All keys of a kind that are of these objects of a collection, as the first of them and the first one behind.
pub fn of_objects(
    kind: u8,
    collection: CollectionId,
    objects: &RangeInclusive<ObjectNo>,
) -> Range<Vec<u8>> {
    let of = |object: ObjectNo| {
        let key = object_key(kind, ObjectId { collection, object, snapshot: 0 }, 0);
        key[..1 + OBJECT - 8].to_vec()
    };
    of(*objects.start())..behind(of(*objects.end()))
}

/// The first key behind all that begin so.
pub fn behind(mut prefix: Vec<u8>) -> Vec<u8> {
    while prefix.pop_if(|last| *last == u8::MAX).is_some() {}
    if let Some(last) = prefix.last_mut() {
        *last += 1;
    }
    prefix
}

/// The key of the shared range that begins at a page.
pub fn shared(page: PageNo) -> Vec<u8> {
    let mut key = vec![SHARED];
    key.extend_from_slice(&page.0.to_be_bytes());
    key
}

/// The object of an `a`, `e` or `o` key, and the rest of the key.
pub fn read_object(key: &[u8]) -> Option<(ObjectId, &[u8])> {
    let (object, rest) = key.get(1..)?.split_at_checked(OBJECT)?;
    let collection = CollectionId::new(u32::from_be_bytes(object[..4].try_into().ok()?));
    let number = ObjectNo(u64::from_be_bytes(object[4..12].try_into().ok()?));
    let snapshot = u64::from_be_bytes(object[12..].try_into().ok()?);
    Some((ObjectId { collection, object: number, snapshot }, rest))
}

/// The object and the page index of an extent's key.
pub fn read_extent(key: &[u8]) -> Option<(ObjectId, u64)> {
    let (object, rest) = read_object(key)?;
    let index = u64::from_be_bytes(rest.try_into().ok()?);
    (key[0] == EXTENT).then_some((object, index))
}

/// The first page of a shared range's key.
pub fn read_shared(key: &[u8]) -> Option<PageNo> {
    let (kind, rest) = key.split_first()?;
    let page = PageNo(u64::from_be_bytes(rest.try_into().ok()?));
    (*kind == SHARED).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_sort_by_number() {
        let id = |number, snapshot| ObjectId {
            collection: CollectionId::new(3),
            object: ObjectNo(number),
            snapshot,
        };
        assert!(object(id(255, 9)) < object(id(256, 0)));
        assert!(extent(id(1, 0), 255) < extent(id(1, 0), 256));
        let all = of_objects(EXTENT, CollectionId::new(3), &(ObjectNo(7)..=ObjectNo(255)));
        assert!(all.contains(&extent(id(7, 0), 0)) && all.contains(&extent(id(255, u64::MAX), 9)));
        assert!(!all.contains(&extent(id(256, 0), 0)) && !all.contains(&extent(id(6, 9), 9)));
        let last =
            of_objects(EXTENT, CollectionId::new(u32::MAX), &(ObjectNo(0)..=ObjectNo(u64::MAX)));
        assert_eq!(last.end, [EXTENT + 1]);
        assert_eq!(read_extent(&extent(id(7, 8), 300)), Some((id(7, 8), 300)));
        assert_eq!(read_object(&attribute(id(7, 8), b"size")), Some((id(7, 8), &b"size"[..])));
        assert_eq!(read_shared(&shared(PageNo(70000))), Some(PageNo(70000)));
        assert_eq!(read_extent(&object(id(7, 8))), None);
    }
}
