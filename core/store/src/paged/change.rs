//! What a transaction does, as it is carried out and as it stands in the log.
//!
//! It differs from what was [asked](super::api::Edit) in one thing: a large write has been split into its ragged ends, whose
//! bytes stand here, and its whole pages, whose bytes are on the device already, so that only their places and checksums
//! stand here.
//!
//! A transaction's record is its changes one after the other: a tag byte, then the fields as varints and byte strings in the
//! order of the enum. An object is collection, number, snapshot.

use super::api::{LostEnds, ObjectId};
use super::codec::{Reader, put_bytes, put_varint};
use super::extent::LOST_SUM;
use super::ids::PageNo;
use super::space::PageRun;
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

impl FilledRun {
    /// A page whose bytes are lost: it is never written, and reads as damaged.
    pub fn lost(first: PageNo) -> FilledRun {
        FilledRun { first, sums: vec![LOST_SUM] }
    }

    /// Its pages.
    pub fn pages(&self) -> PageRun {
        PageRun { first: self.first, count: self.sums.len() as u64 }
    }

    /// Whether its bytes are lost.
    pub fn is_lost(&self) -> bool {
        self.sums == [LOST_SUM]
    }
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
    /// Whether it takes no more of the device than it gives back.
    pub fn gives_back(&self) -> bool {
        match self {
            Change::Delete { .. }
            | Change::Remove { .. }
            | Change::Punch { .. }
            | Change::Truncate { .. }
            | Change::RemoveAttribute { .. } => true,
            Change::Place { runs, .. } => runs.iter().all(FilledRun::is_lost),
            _ => false,
        }
    }
}

/// Where a page of an object lies in it.
#[derive(Clone, Copy, Debug)]
pub struct LostPage {
    /// Whose page it is.
    pub object: ObjectId,
    /// Which of the object's pages.
    pub index: u64,
    /// What it is in the object, in bytes.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
}

impl Change<'static> {
    /// Which ends of the change are lost with this page, and its object's version after the change; `None` if it does nothing to a part of the
    /// page.
    pub fn lost_ends(&self, lost: &LostPage) -> Option<(LostEnds, Version)> {
        let (object, version, from, to) = match self {
            Change::Write { object, version, offset, data } => {
                (*object, *version, *offset, offset + data.len() as u64)
            }
            Change::Punch { object, version, from, to } => (*object, *version, *from, *to),
            Change::Truncate { object, version, length } => (*object, *version, *length, u64::MAX),
            _ => return None,
        };
        let is_met = object == lost.object && from < to && from < lost.to && lost.from < to;
        let ends = LostEnds { first: lost.from < from, last: to < lost.to };
        (is_met && ends.any()).then_some((ends, version))
    }

    /// The change without what it does to a part of this page. One that sets the object's end in it takes the whole page, which is to be lost.
    pub fn without(self, lost: &LostPage) -> Vec<Change<'static>> {
        if self.lost_ends(lost).is_none() {
            return vec![self];
        }
        let object = lost.object;
        match self {
            Change::Write { version, offset, data, .. } => {
                let end = offset + data.len() as u64;
                let part = |from: u64, to: u64| Change::Write {
                    object,
                    version,
                    offset: from,
                    data: data[(from - offset) as usize..(to - offset) as usize].to_vec().into(),
                };
                // The second may be empty: it sets the object's end.
                vec![part(offset, lost.from.max(offset)), part(lost.to.min(end), end)]
            }
            Change::Punch { version, from, to, .. } => {
                // The first may be of nothing: it sets the object's version.
                let before = Change::Punch { object, version, from, to: lost.from.max(from) };
                let behind = Change::Punch { object, version, from: lost.to.min(to), to };
                let is_empty = lost.to >= to;
                [before].into_iter().chain((!is_empty).then_some(behind)).collect()
            }
            Change::Truncate { version, length, .. } => {
                let cut = Change::Truncate { object, version, length: lost.from };
                let data = Vec::new().into();
                vec![cut, Change::Write { object, version, offset: length, data }]
            }
            other => unreachable!("it changes no part of a page: {other:?}"),
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

    /// What a change does to other pages it does still, and the object's end is where it would have been.
    #[test]
    fn what_goes_past_a_lost_page_leaves_that_page_alone() {
        let object =
            ObjectId { collection: CollectionId::new(5), object: ObjectNo(1), snapshot: 0 };
        let version = Version(7);
        let lost = LostPage { object, index: 1, from: 100, to: 200 };
        let write = |offset, bytes: &[u8]| Change::Write {
            object,
            version,
            offset,
            data: bytes.to_vec().into(),
        };
        let check = |change: Change<'static>, wanted: Option<Vec<Change<'static>>>| {
            let wanted = wanted.unwrap_or_else(|| vec![change.clone()]);
            assert_eq!(change.without(&lost), wanted);
        };
        check(write(0, &[1; 100]), None);
        check(write(100, &[1; 100]), None);
        check(write(90, &[1; 120]), None);
        check(write(200, &[1; 9]), None);
        check(write(90, &[1; 20]), Some(vec![write(90, &[1; 10]), write(110, &[])]));
        check(write(150, &[1; 9]), Some(vec![write(150, &[]), write(159, &[])]));
        check(write(150, &[1; 60]), Some(vec![write(150, &[]), write(200, &[1; 10])]));
        let punch = |from, to| Change::Punch { object, version, from, to };
        check(punch(100, 200), None);
        check(punch(150, 160), Some(vec![punch(150, 150)]));
        check(punch(50, 160), Some(vec![punch(50, 100)]));
        check(punch(150, 360), Some(vec![punch(150, 150), punch(200, 360)]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic(body: Vec<u8>) {
            let _ = decode_all(&body);
        }
    }
}
