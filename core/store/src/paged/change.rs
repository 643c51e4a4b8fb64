//! What a transaction does, as it is carried out and as it stands in the log.
//!
//! It differs from what was [asked](super::api::Edit) in one thing: a large write has been split into its ragged ends, whose
//! bytes stand here, and its whole pages, whose bytes are on the device already, so that only their places and checksums
//! stand here.
//!
//! A transaction's record is its changes one after the other: a tag byte, then the fields as varints and byte strings in the
//! order of the enum. An object is collection, number, snapshot.

use super::api::ObjectId;
use super::codec::{Reader, put_bytes, put_varint};
use super::ids::PageNo;
use crate::objects::{CollectionId, ObjectNo, Version};
use std::borrow::Cow;

/// A run of pages that a write filled beside the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledRun {
    /// The first page.
    pub first: PageNo,
    /// The checksum of each page.
    pub sums: Vec<u32>,
}

/// One change. Its fields are those of the [`Edit`](super::api::Edit) that it carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the edit's fields are documented where they are asked for")]
pub enum Change<'a> {
    /// Sets a key.
    Put { key: Cow<'a, [u8]>, value: Cow<'a, [u8]> },
    /// Removes a key.
    Delete { key: Cow<'a, [u8]> },
    /// Writes bytes of an object.
    Write { object: ObjectId, version: Version, offset: u64, data: Cow<'a, [u8]> },
    /// Gives an object whole pages from page index `index` on that are on the device already.
    Place { object: ObjectId, version: Version, index: u64, runs: Vec<FilledRun> },
    /// Makes a range of an object read as zeros.
    Punch { object: ObjectId, version: Version, from: u64, to: u64 },
    /// Sets an object's length.
    Truncate { object: ObjectId, version: Version, length: u64 },
    /// Removes an object.
    Remove { object: ObjectId },
    /// Makes `to` what `from` is.
    Clone { from: ObjectId, to: ObjectId },
    /// Sets an attribute.
    SetAttribute { object: ObjectId, name: Cow<'a, [u8]>, value: Cow<'a, [u8]> },
    /// Removes an attribute.
    RemoveAttribute { object: ObjectId, name: Cow<'a, [u8]> },
}

const PUT: u8 = 1;
const DELETE: u8 = 2;
const WRITE: u8 = 3;
const PLACE: u8 = 4;
const PUNCH: u8 = 5;
const TRUNCATE: u8 = 6;
const REMOVE: u8 = 7;
const CLONE: u8 = 8;
const SET_ATTRIBUTE: u8 = 9;
const REMOVE_ATTRIBUTE: u8 = 10;

impl Change<'_> {
    /// Appends the change as it stands in the log.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Change::Put { key, value } => {
                out.push(PUT);
                put_bytes(out, key);
                put_bytes(out, value);
            }
            Change::Delete { key } => {
                out.push(DELETE);
                put_bytes(out, key);
            }
            Change::Write { object, version, offset, data } => {
                begin(out, WRITE, *object, &[version.0, *offset]);
                put_bytes(out, data);
            }
            Change::Place { object, version, index, runs } => {
                begin(out, PLACE, *object, &[version.0, *index, runs.len() as u64]);
                for run in runs {
                    put_varint(out, run.first.0);
                    put_varint(out, run.sums.len() as u64);
                    run.sums.iter().for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
                }
            }
            Change::Punch { object, version, from, to } => {
                begin(out, PUNCH, *object, &[version.0, *from, *to]);
            }
            Change::Truncate { object, version, length } => {
                begin(out, TRUNCATE, *object, &[version.0, *length]);
            }
            Change::Remove { object } => begin(out, REMOVE, *object, &[]),
            Change::Clone { from, to } => {
                begin(out, CLONE, *from, &[]);
                put_object(out, *to);
            }
            Change::SetAttribute { object, name, value } => {
                begin(out, SET_ATTRIBUTE, *object, &[]);
                put_bytes(out, name);
                put_bytes(out, value);
            }
            Change::RemoveAttribute { object, name } => {
                begin(out, REMOVE_ATTRIBUTE, *object, &[]);
                put_bytes(out, name);
            }
        }
    }

    /// Reads the next change of a record's body.
    pub fn decode<'a>(reader: &mut Reader<'a>) -> Option<Change<'a>> {
        Some(match reader.byte()? {
            PUT => Change::Put { key: reader.bytes()?.into(), value: reader.bytes()?.into() },
            DELETE => Change::Delete { key: reader.bytes()?.into() },
            WRITE => Change::Write {
                object: object(reader)?,
                version: Version(reader.varint()?),
                offset: reader.varint()?,
                data: reader.bytes()?.into(),
            },
            PLACE => Change::Place {
                object: object(reader)?,
                version: Version(reader.varint()?),
                index: reader.varint()?,
                runs: runs(reader)?,
            },
            PUNCH => Change::Punch {
                object: object(reader)?,
                version: Version(reader.varint()?),
                from: reader.varint()?,
                to: reader.varint()?,
            },
            TRUNCATE => Change::Truncate {
                object: object(reader)?,
                version: Version(reader.varint()?),
                length: reader.varint()?,
            },
            REMOVE => Change::Remove { object: object(reader)? },
            CLONE => Change::Clone { from: object(reader)?, to: object(reader)? },
            SET_ATTRIBUTE => Change::SetAttribute {
                object: object(reader)?,
                name: reader.bytes()?.into(),
                value: reader.bytes()?.into(),
            },
            REMOVE_ATTRIBUTE => {
                Change::RemoveAttribute { object: object(reader)?, name: reader.bytes()?.into() }
            }
            _ => return None,
        })
    }

    /// The same change, owning its bytes.
    pub fn into_owned(self) -> Change<'static> {
        let own = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        match self {
            Change::Put { key, value } => Change::Put { key: own(key), value: own(value) },
            Change::Delete { key } => Change::Delete { key: own(key) },
            Change::Write { object, version, offset, data } => {
                Change::Write { object, version, offset, data: own(data) }
            }
            Change::Place { object, version, index, runs } => {
                Change::Place { object, version, index, runs }
            }
            Change::Punch { object, version, from, to } => {
                Change::Punch { object, version, from, to }
            }
            Change::Truncate { object, version, length } => {
                Change::Truncate { object, version, length }
            }
            Change::Remove { object } => Change::Remove { object },
            Change::Clone { from, to } => Change::Clone { from, to },
            Change::SetAttribute { object, name, value } => {
                Change::SetAttribute { object, name: own(name), value: own(value) }
            }
            Change::RemoveAttribute { object, name } => {
                Change::RemoveAttribute { object, name: own(name) }
            }
        }
    }
}

/// The changes of a transaction's record, one after the other; `None` where there is no change, after which the rest
/// means nothing either.
pub fn decode_each(body: &[u8]) -> impl Iterator<Item = Option<Change<'_>>> {
    let mut reader = Reader::new(body);
    std::iter::from_fn(move || (!reader.is_empty()).then(|| Change::decode(&mut reader)))
}

/// All changes of a transaction's record, or `None` if it is not one.
pub fn decode_all(body: &[u8]) -> Option<Vec<Change<'_>>> {
    let mut reader = Reader::new(body);
    let mut changes = Vec::with_capacity(1);
    while !reader.is_empty() {
        changes.push(Change::decode(&mut reader)?);
    }
    Some(changes)
}

fn begin(out: &mut Vec<u8>, tag: u8, object: ObjectId, numbers: &[u64]) {
    out.push(tag);
    put_object(out, object);
    numbers.iter().for_each(|number| put_varint(out, *number));
}

fn put_object(out: &mut Vec<u8>, object: ObjectId) {
    put_varint(out, u64::from(object.collection.get()));
    put_varint(out, object.object.0);
    put_varint(out, object.snapshot);
}

fn object(reader: &mut Reader<'_>) -> Option<ObjectId> {
    Some(ObjectId {
        collection: CollectionId::new(u32::try_from(reader.varint()?).ok()?),
        object: ObjectNo(reader.varint()?),
        snapshot: reader.varint()?,
    })
}

fn runs(reader: &mut Reader<'_>) -> Option<Vec<FilledRun>> {
    let count = reader.varint()?;
    let mut runs = Vec::new();
    for _ in 0..count {
        let first = PageNo(reader.varint()?);
        let sums = reader.varint()?.checked_mul(4).and_then(|bytes| usize::try_from(bytes).ok())?;
        let sums = reader.take(sums)?.as_chunks().0.iter().map(|sum| u32::from_le_bytes(*sum));
        runs.push(FilledRun { first, sums: sums.collect() });
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_change_reads_back() {
        let id = |object| ObjectId {
            collection: CollectionId::new(5),
            object: ObjectNo(object),
            snapshot: object * 1000,
        };
        let version = Version(77);
        let changes = [
            Change::Put { key: b"k"[..].into(), value: b"v"[..].into() },
            Change::Delete { key: b"k"[..].into() },
            Change::Write { object: id(1), version, offset: 9, data: b"data"[..].into() },
            Change::Place {
                object: id(2),
                version,
                index: 3,
                runs: vec![FilledRun { first: PageNo(1000), sums: vec![1, u32::MAX] }],
            },
            Change::Punch { object: id(3), version, from: 1, to: 400 },
            Change::Truncate { object: id(4), version, length: 1 << 40 },
            Change::Remove { object: id(5) },
            Change::Clone { from: id(6), to: id(7) },
            Change::SetAttribute { object: id(8), name: b"n"[..].into(), value: b""[..].into() },
            Change::RemoveAttribute { object: id(9), name: b"n"[..].into() },
        ];
        let mut body = Vec::new();
        changes.iter().for_each(|change| change.encode(&mut body));
        assert_eq!(decode_all(&body).as_deref(), Some(&changes[..]));
        for cut in 1..body.len() {
            if let Some(read) = decode_all(&body[..cut]) {
                assert!(changes.starts_with(&read), "a cut at {cut} invents nothing");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic(body: Vec<u8>) {
            let _ = decode_all(&body);
        }
    }
}
