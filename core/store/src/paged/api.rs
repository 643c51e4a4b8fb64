//! What one may ask of a paged store, and what it answers. The front door; no algorithms.
//!
//! The store is stepped: [`PagedStore::submit`](super::PagedStore::submit), `done` and `tick` take `now` and append to an [`Outbox`]:
//! requests for the devices, and completions of ops. The world carries each request out and hands its answer
//! back with `done`; it calls `tick` when the time of `next_tick` has come.

pub use super::ids::ObjectId;

use super::exceeded::Exceeded;
use super::ids::{CheckpointId, PageNo};
use super::wait::LongestWait;
use crate::objects::{CollectionId, ObjectNo, Version};
use loadline_base::{SlotId, Span, Time};
use loadline_device::{ClassTag, Outcome, Request};
use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// The data of a write: given bytes, or a pattern that costs no memory before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, which others need as well.
    Shared(Arc<Vec<u8>>),
    /// Bytes `offset..offset + length` of the endless pattern of `seed`.
    Pattern {
        /// Which pattern.
        seed: u64,
        /// Where in the pattern it begins.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
}

/// One change. A transaction is a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets a key, creating it if need be.
    Put {
        /// The key, of at most [`Limits::key_bytes`](super::bounds::StoreLimits::key_bytes).
        key: Vec<u8>,
        /// The value, of at most [`Limits::value_bytes`](super::bounds::StoreLimits::value_bytes).
        value: Vec<u8>,
    },
    /// Removes a key, if it is there.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// Writes a range of an object, creating it if need be.
    Write {
        /// The object.
        object: ObjectId,
        /// First byte.
        offset: u64,
        /// What to write there.
        data: Payload,
        /// The object's version from now on.
        version: Version,
    },
    /// Makes a range of an object read as zeros and gives its whole pages back. The object's length stays.
    Punch {
        /// The object.
        object: ObjectId,
        /// The range.
        range: Range<u64>,
        /// The object's version from now on.
        version: Version,
    },
    /// Sets the length of an object, creating it if need be.
    Truncate {
        /// The object.
        object: ObjectId,
        /// One past its last byte.
        length: u64,
        /// The object's version from now on.
        version: Version,
    },
    /// Removes an object with its attributes, if it is there.
    Remove {
        /// The object.
        object: ObjectId,
    },
    /// Makes `to` what `from` is now, data and attributes, sharing its pages. Whatever `to` was is removed.
    Clone {
        /// The source. If it does not exist, `to` does not exist afterwards either.
        from: ObjectId,
        /// The copy.
        to: ObjectId,
    },
    /// Sets an attribute of an object, creating the object if need be.
    SetAttribute {
        /// The object.
        object: ObjectId,
        /// The attribute's name.
        name: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// Removes an attribute, if it is there.
    RemoveAttribute {
        /// The object.
        object: ObjectId,
        /// The attribute's name.
        name: Vec<u8>,
    },
}

/// When a scan has found enough: as soon as one of these is reached. The key that reaches it is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanBounds {
    /// Keys.
    pub keys: usize,
    /// Bytes of keys and values. A scan whose pages are not in memory begins again with each that it misses, and copies what it has found again: who asks for keys whose values may be
    /// long says how much that is.
    pub bytes: usize,
}

impl ScanBounds {
    /// So many keys, however long their values are.
    pub const fn keys(keys: usize) -> ScanBounds {
        ScanBounds { keys, bytes: usize::MAX }
    }

    /// Whether this is enough.
    pub fn are_reached(self, pairs: &[(Vec<u8>, Vec<u8>)]) -> bool {
        let bytes = || pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        pairs.len() >= self.keys || (self.bytes < usize::MAX && bytes() >= self.bytes)
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Carries all edits out, or none.
    Transaction(Vec<Edit>),
    /// The value of a key.
    Get(Vec<u8>),
    /// Keys from `from` on with their values, in order.
    Scan {
        /// First key, inclusive.
        from: Vec<u8>,
        /// How many.
        most: ScanBounds,
    },
    /// Keys below `until` with their values, the greatest first.
    ScanBack {
        /// The key above the first one, exclusive.
        until: Vec<u8>,
        /// How many.
        most: ScanBounds,
    },
    /// Bytes of an object; holes read as zeros, and what is past its end is left out.
    Read {
        /// The object.
        object: ObjectId,
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// What of an object holds data, or is other than in another object, as far as its end.
    Sparse {
        /// The object.
        object: ObjectId,
        /// What it is compared with: pages that both share are left out. Without one, or if that does not exist, it is
        /// compared with zeros.
        base: Option<ObjectId>,
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
        /// Whether the bytes are asked for too, not only where they are.
        with_bytes: bool,
    },
    /// Length and version of an object.
    Stat(ObjectId),
    /// An attribute.
    Attribute(ObjectId, Vec<u8>),
    /// All attributes of an object.
    Attributes(ObjectId),
    /// Up to `most` objects of a collection from `from` on, in order.
    List {
        /// The collection.
        collection: CollectionId,
        /// First object, inclusive.
        from: ObjectNo,
        /// How many at most.
        most: usize,
    },
    /// CRC-32C of an object's bytes and attributes, and its notes: what a deep scrub compares. Each page is read from the device, unless it was changed and
    /// is not there yet, and checked against its checksum.
    Digest(ObjectId),
    /// Reads pages of the store's own making again from the device, whatever is in memory: what a deep scrub does about those that no digest
    /// comes to. A bad one that is in memory is written again.
    Reread(OwnPages),
    /// Makes everything durable that was answered before; in log mode `None` by a checkpoint.
    Sync,
    /// Runs a checkpoint and waits for its end.
    Checkpoint,
}

/// Pages of the store's own making: all but those of objects' data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnPages {
    /// Those of the tree that may tell of objects of a collection, from the first to the last of these numbers.
    Objects(CollectionId, RangeInclusive<ObjectNo>),
    /// Those of the tree that may have a user's key of this range.
    Keys(Range<Vec<u8>>),
    /// The free map, and those of the tree that belong to no collection and may have no user's key: shared ranges, pieces of long values.
    Rest,
}

/// What reading pages again has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reread {
    /// So many were read.
    pub pages: u64,
    /// So many were bad, and written again from memory.
    pub rewritten: u64,
    /// These are bad, and nowhere else in this store. What is below one was not looked at.
    pub lost: Vec<PageNo>,
}

/// Where an object differs from zeros, or from another object. The ranges are in order and do not touch each other; they may
/// cover more than what differs, up to whole pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// These hold data.
    pub data: Vec<Range<u64>>,
    /// These read as zeros, and not so in the other object.
    pub zeros: Vec<Range<u64>>,
}

impl Ranges {
    /// How many bytes of data they are.
    pub fn data_bytes(&self) -> u64 {
        self.data.iter().map(|range| range.end - range.start).sum()
    }

    /// Adds what was found behind all of these.
    pub fn append(&mut self, next: Ranges) {
        next.data.into_iter().for_each(|range| push_range(&mut self.data, range));
        next.zeros.into_iter().for_each(|range| push_range(&mut self.zeros, range));
    }
}

/// Adds a range behind others, as part of the last one if it touches that.
pub(crate) fn push_range(ranges: &mut Vec<Range<u64>>, next: Range<u64>) {
    match ranges.last_mut() {
        _ if next.is_empty() => {}
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}

/// Ops of one lane are carried out in the order of their submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpLane(pub u32);

/// One op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op<T> {
    /// What is asked.
    pub ask: Ask,
    /// Whose order it keeps; `None` may overtake and be overtaken.
    pub lane: Option<OpLane>,
    /// The service class that its device requests carry.
    pub class: ClassTag,
    /// Comes back with the [`Completion`].
    pub token: T,
}

/// First byte of the names of attributes that are notes: what somebody has found out about an object, and what is no part of its
/// digest. A clone has those of its source, and whoever writes a note says in it what it holds for.
pub const NOTE: u8 = 0;

/// What comes of reading all of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDigest {
    /// CRC-32C of its bytes, and of its attributes but for notes.
    pub sum: u32,
    /// Names and values of its notes.
    pub notes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// An answer that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The transaction is carried out, and as durable as the log mode promises.
    Done,
    /// A value, or nothing under that key.
    Value(Option<Vec<u8>>),
    /// Keys and values.
    Pairs(Vec<(Vec<u8>, Vec<u8>)>),
    /// Bytes of an object; `None` if there is no such object.
    Bytes(Option<Vec<u8>>),
    /// Where an object differs, and the bytes of the ranges that hold data, one after the other; `None` if there is no such
    /// object.
    Sparse(Option<(Ranges, Vec<u8>)>),
    /// What is known of an object, if it exists.
    Meta(Option<crate::ObjectMeta>),
    /// Objects and what is known of each.
    Objects(Vec<(ObjectId, crate::ObjectMeta)>),
    /// A digest; `None` if there is no such object.
    Digest(Option<ObjectDigest>),
    /// What reading pages again has found.
    Reread(Reread),
    /// The checkpoint that has ended.
    Checkpointed(CheckpointId),
}

/// Why an op failed. Nothing of it was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpError {
    /// No free page is left, and no checkpoint would free enough.
    NoSpace,
    /// What was asked is larger than the store takes; this says which bound, and both figures.
    Exceeds(Exceeded),
    /// What is to be read is damaged on this disk; a replica has it.
    Damaged(Damage),
    /// The device could not read.
    Unreadable,
    /// The device could not write the op's own data. The store goes on.
    Unwritable,
    /// The store has stopped; [`PagedStore::fault`](super::PagedStore::fault) says why.
    Stopped,
}

/// What a damaged page held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Bytes of an object: writing at least this range again, with a replica's bytes, repairs it.
    Object(ObjectId, Range<u64>),
    /// A page of the tree or the free map: the store must be filled again from its replicas.
    Structure(PageNo),
}

/// Where an op spent its time. Each stamp is not before the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// When it was submitted.
    pub submitted: Time,
    /// When all pages that it needs, its own data and room for it were there.
    pub planned: Time,
    /// When the throttle let it go on.
    pub admitted: Time,
    /// When it was carried out in memory.
    pub applied: Time,
    /// How long the throttle made it sleep.
    pub throttled: Span,
    /// What it waited for longest before it was carried out.
    pub longest: LongestWait,
    /// What of it was lost, because it [went past damage](super::PagedStore::submit_past_damage).
    pub lost: LostEnds,
    /// What of it was [left as it was](PastDamage::Leave).
    pub untouched: LostEnds,
}

/// What becomes of an update that changes a part of a page of data, where the rest of that page cannot be read. Everything else of it is carried
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastDamage {
    /// Other copies have it as well: a page that is damaged is *lost* from then on, as a bad block is. What was lost is in the update's
    /// [stages](Stages::lost), and this note is kept together with it. Before a page is lost that the device may read some day the update
    /// waits for its owner's [word](super::PagedStore::go_past).
    Lose(LossNote),
    /// Nobody else has it: the page stays what it was, and the update does [nothing to it](Stages::left).
    Leave,
}

/// What becomes of a transaction for which the device has too few free pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoomClaim {
    /// It is refused with [`OpError::NoSpace`].
    #[default]
    Asked,
    /// The same, and it leaves the pages that are [kept](super::bounds::kept_pages) for what is owed.
    Yields,
    /// It is owed: somebody relies on it already, and nobody can be told that it will not be. It may take what is kept, and where that is gone
    /// too it [waits for room](super::Wait::Room).
    Owed,
}

/// A key and its value that are put with an update if it loses a page. Nearly every update brings one and hardly any needs it, so it has no
/// memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossNote {
    bytes: [u8; LossNote::BYTES],
    key: u8,
    end: u8,
}

impl LossNote {
    /// The most that key and value have together.
    pub const BYTES: usize = 22;

    /// # Panics
    /// If they have more bytes than that.
    pub fn new(key: &[u8], value: &[u8]) -> LossNote {
        let (key_end, end) = (key.len(), key.len() + value.len());
        assert!(end <= LossNote::BYTES, "a note has {end} bytes");
        let mut bytes = [0; LossNote::BYTES];
        bytes[..key_end].copy_from_slice(key);
        bytes[key_end..end].copy_from_slice(value);
        LossNote { bytes, key: key_end as u8, end: end as u8 }
    }

    /// What it does.
    pub fn edit(&self) -> Edit {
        let (key, value) = self.parts();
        Edit::Put { key: key.to_vec(), value: value.to_vec() }
    }

    /// Its key and its value.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        self.bytes[..self.end.into()].split_at(self.key.into())
    }
}

/// The ragged ends of an update of an object that were lost with the pages they are in, because what stands around them could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEnds {
    /// What it does to the first page that it changes in part.
    pub first: bool,
    /// The same of the last.
    pub last: bool,
}

impl LostEnds {
    /// Nothing of it is there.
    pub const BOTH: LostEnds = LostEnds { first: true, last: true };

    /// Whether anything was lost.
    pub fn any(self) -> bool {
        self.first || self.last
    }

    /// What was lost here and there.
    pub fn and(self, other: LostEnds) -> LostEnds {
        LostEnds { first: self.first && other.first, last: self.last && other.last }
    }

    /// Whether all of the other's are among these.
    pub fn cover(self, other: LostEnds) -> bool {
        self.or(other) == self
    }

    /// What was lost here or there.
    pub fn or(self, other: LostEnds) -> LostEnds {
        LostEnds { first: self.first || other.first, last: self.last || other.last }
    }
}

impl Stages {
    /// Of an op that has waited for nothing so far.
    pub(super) fn at(now: Time) -> Stages {
        Stages {
            submitted: now,
            planned: now,
            admitted: now,
            applied: now,
            throttled: Span::ZERO,
            longest: LongestWait::from(now),
            lost: LostEnds::default(),
            untouched: LostEnds::default(),
        }
    }
}

/// An op that has ended, at the `now` of the step that gave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion<T> {
    /// The op's token.
    pub token: T,
    /// Its end.
    pub result: Result<Answer, OpError>,
    /// Where its time went.
    pub stages: Stages,
}

/// Which of the store's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreDevice {
    /// The one with the pages, and with the log if there is no other.
    Data,
    /// The separate one for the log.
    Log,
}

/// The store's number for a device request; the life tells it from those of before a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoId(pub SlotId);

/// On whose behalf a request goes to the device. Its class alone does not say: a class of ops may be the checkpoint's too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// One op's, which was admitted with it, or that of the first of several.
    Op,
    /// The log's: ops of every class wait for it.
    Log,
    /// The checkpoint's, or the discards that follow it.
    Checkpoint,
    /// The restart's.
    Restart,
}

/// A request for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Io {
    /// What the answer must name.
    pub id: IoId,
    /// Which device.
    pub target: StoreDevice,
    /// What to do; every request carries a class.
    pub request: Request,
    /// What to write; empty unless the request writes.
    pub data: Vec<u8>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoDone {
    /// Which request.
    pub id: IoId,
    /// Its end.
    pub outcome: Outcome,
    /// What was read; for a write its buffer, which is used again.
    pub data: Vec<u8>,
}

/// What a step asks of its world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox<T> {
    /// Requests for the devices, in the order in which they are to be submitted.
    pub io: Vec<Io>,
    /// Updates that the last step has carried out, in that order: whoever looks from now on finds them, and no power cut takes one
    /// without all behind it. Their completions come when their promises are kept. Unlike the others these do not pile up, since most need them not.
    pub applied: Vec<T>,
    /// Ops that have ended.
    pub completions: Vec<Completion<T>>,
    /// Ops that wait for their owner's [word](super::PagedStore::go_past).
    pub doubts: Vec<Doubt<T>>,
}

/// An update that [goes past damage](super::PagedStore::submit_past_damage) has met pages that the device does not read now, and may read again
/// some day. It waits, and with it what follows in its lane, until its owner says whether others have what it would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt<T> {
    /// Whose it is.
    pub token: T,
    /// By this it is called.
    pub slot: SlotId,
    /// What of it cannot be carried out.
    pub ends: LostEnds,
}

impl Payload {
    /// How many bytes it is.
    pub fn length(&self) -> u64 {
        match self {
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Shared(bytes) => bytes.len() as u64,
            Payload::Pattern { length, .. } => *length,
        }
    }

    /// The bytes, to look at.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Payload::Bytes(bytes) => Cow::Borrowed(bytes),
            Payload::Shared(bytes) => Cow::Borrowed(bytes),
            Payload::Pattern { seed, offset, length } => {
                Cow::Owned(pattern(*seed, *offset, *length))
            }
        }
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Payload::Bytes(bytes) => bytes,
            Payload::Shared(bytes) => Arc::unwrap_or_clone(bytes),
            Payload::Pattern { seed, offset, length } => pattern(seed, offset, length),
        }
    }
}

/// Bytes `offset..offset + length` of the endless pattern of `seed`.
pub fn pattern(seed: u64, offset: u64, length: u64) -> Vec<u8> {
    let first = offset / 8;
    let words = (offset + length).div_ceil(8) - first;
    let mut bytes = Vec::with_capacity(words as usize * 8);
    for word in first..first + words {
        bytes.extend_from_slice(&loadline_base::mix64(seed ^ word.rotate_left(32)).to_le_bytes());
    }
    let skip = (offset - first * 8) as usize;
    bytes.drain(..skip);
    bytes.truncate(length as usize);
    bytes
}

impl<T> Outbox<T> {
    /// Nothing asked.
    pub const fn new() -> Outbox<T> {
        Outbox { io: Vec::new(), applied: Vec::new(), completions: Vec::new(), doubts: Vec::new() }
    }
}

impl<T> Default for Outbox<T> {
    fn default() -> Outbox<T> {
        Outbox::new()
    }
}
