//! What a direct store knows: keys, objects, attributes, and of data the pieces that were written.

use super::nothing_to_do;
use crate::objects::{ObjectMeta, Version};
use crate::paged::api::{Answer, Ask, Edit, ObjectId, OpError, Payload, Ranges, push_range};
use crate::paged::bounds::{Limits, OBJECT_MAX};
use std::collections::BTreeMap;
use std::ops::Range;

/// Keys are bounded as in a paged store with pages of 4 KiB, or nearly. What the paged store's log and nodes bound, nothing does
/// here.
const LIMITS: Limits = Limits {
    key_bytes: 512,
    value_bytes: usize::MAX,
    transaction_bytes: usize::MAX,
    attribute_bytes: usize::MAX,
    object_bytes: OBJECT_MAX,
    read_bytes: u64::MAX,
};

#[derive(Clone, Debug, Default)]
struct Object {
    meta: ObjectMeta,
    attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Pieces that do not overlap, by their first byte.
    pieces: BTreeMap<u64, Payload>,
}

/// Everything in a direct store.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    keys: BTreeMap<Vec<u8>, Vec<u8>>,
    objects: BTreeMap<ObjectId, Object>,
}

impl Contents {
    pub(super) fn answer(&mut self, ask: Ask) -> Result<Answer, OpError> {
        Ok(match ask {
            Ask::Transaction(edits) => {
                let refused = edits.iter().try_for_each(|edit| LIMITS.check(edit));
                refused.map_err(OpError::Exceeds)?;
                edits.into_iter().for_each(|edit| self.apply(edit));
                Answer::Done
            }
            Ask::Get(key) => Answer::Value(self.keys.get(&key).cloned()),
            Ask::Scan { from, most } => {
                let pairs = self.keys.range(from..).take(most);
                Answer::Pairs(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
            }
            Ask::Read { object, offset, length } => {
                let found = self.objects.get(&object);
                Answer::Bytes(found.map(|object| {
                    let end = offset.saturating_add(length).min(object.meta.length);
                    object.read(offset.min(end)..end)
                }))
            }
            Ask::Sparse { object, base, offset, length, with_bytes } => {
                let ranges = self.ranges(object, base, offset, length);
                Answer::Sparse(ranges.map(|ranges| {
                    let read = |range: &Range<u64>| self.objects[&object].read(range.clone());
                    let bytes = ranges.data.iter().filter(|_| with_bytes).flat_map(read).collect();
                    (ranges, bytes)
                }))
            }
            Ask::Stat(id) => Answer::Meta(self.objects.get(&id).map(|object| object.meta)),
            Ask::Attribute(id, name) => {
                let object = self.objects.get(&id);
                Answer::Value(object.and_then(|object| object.attributes.get(&name).cloned()))
            }
            Ask::Attributes(id) => {
                let attributes = self.objects.get(&id).map(|object| object.attributes.clone());
                Answer::Pairs(attributes.unwrap_or_default().into_iter().collect())
            }
            Ask::List { collection, from, most } => {
                let first = ObjectId { collection, object: from, snapshot: 0 };
                let objects =
                    self.objects.range(first..).take_while(|(id, _)| id.collection == collection);
                Answer::Objects(objects.take(most).map(|(id, object)| (*id, object.meta)).collect())
            }
            Ask::Digest(id) => Answer::Digest(self.objects.get(&id).map(Object::digest)),
            ask @ (Ask::Sync | Ask::Checkpoint) => nothing_to_do(&ask),
        })
    }

    /// Where an object differs from zeros, or from another one, inside a range; `None` if it does not exist.
    pub(super) fn ranges(
        &self,
        object: ObjectId,
        base: Option<ObjectId>,
        offset: u64,
        length: u64,
    ) -> Option<Ranges> {
        let base = base.and_then(|base| self.objects.get(&base));
        let object = self.objects.get(&object)?;
        let end = offset.saturating_add(length).min(object.meta.length);
        Some(object.ranges(base, offset.min(end)..end))
    }

    fn apply(&mut self, edit: Edit) {
        match edit {
            Edit::Put { key, value } => {
                self.keys.insert(key, value);
            }
            Edit::Delete { key } => {
                self.keys.remove(&key);
            }
            Edit::Write { object, offset, data, version } => {
                let object = self.objects.entry(object).or_default();
                let end = offset + data.length();
                object.meta = ObjectMeta { version, length: object.meta.length.max(end) };
                object.cut(offset..end);
                if end > offset {
                    object.pieces.insert(offset, data);
                }
            }
            Edit::Punch { object, range, version } => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.meta.version = version;
                    object.cut(range);
                }
            }
            Edit::Truncate { object, length, version } => {
                let object = self.objects.entry(object).or_default();
                object.meta = ObjectMeta { version, length };
                object.cut(length..u64::MAX);
            }
            Edit::Remove { object } => {
                self.objects.remove(&object);
            }
            Edit::Clone { from, to } if from == to => {}
            Edit::Clone { from, to } => {
                self.objects.remove(&to);
                if let Some(object) = self.objects.get(&from).cloned() {
                    self.objects.insert(to, object);
                }
            }
            Edit::SetAttribute { object, name, value } => {
                let object = self.objects.entry(object).or_insert_with(|| Object {
                    meta: ObjectMeta { version: Version::default(), length: 0 },
                    ..Object::default()
                });
                object.attributes.insert(name, value);
            }
            Edit::RemoveAttribute { object, name } => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.attributes.remove(&name);
                }
            }
        }
    }
}

impl Object {
    fn read(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        for (at, piece) in self.pieces.range(..range.end) {
            let from = range.start.max(*at);
            let to = range.end.min(at + piece.length());
            if from < to {
                let part = part(piece, from - at..to - at).into_bytes();
                bytes[(from - range.start) as usize..(to - range.start) as usize]
                    .copy_from_slice(&part);
            }
        }
        bytes
    }

    /// Where this object differs from zeros, or from another one, inside a range.
    fn ranges(&self, base: Option<&Object>, range: Range<u64>) -> Ranges {
        let mut ranges = Ranges::default();
        let theirs = base.map(|base| &base.pieces);
        let part =
            |at: u64, piece: &Payload| at.max(range.start)..(at + piece.length()).min(range.end);
        for (at, piece) in &self.pieces {
            if theirs.is_none_or(|theirs| theirs.get(at) != Some(piece)) {
                push_range(&mut ranges.data, part(*at, piece));
            }
        }
        let mut holes = theirs.map_or_else(Object::default, |pieces| Object {
            pieces: pieces.clone(),
            ..Object::default()
        });
        self.pieces.iter().for_each(|(at, piece)| holes.cut(*at..at + piece.length()));
        for (at, piece) in &holes.pieces {
            push_range(&mut ranges.zeros, part(*at, piece));
        }
        ranges
    }

    /// Takes a range away.
    fn cut(&mut self, range: Range<u64>) {
        let touched: Vec<u64> = self
            .pieces
            .range(..range.end)
            .filter(|(at, piece)| *at + piece.length() > range.start)
            .map(|(at, _)| *at)
            .collect();
        for at in touched {
            let piece = self.pieces.remove(&at).expect("it was just seen");
            let end = at + piece.length();
            if at < range.start {
                self.pieces.insert(at, part(&piece, 0..range.start - at));
            }
            if end > range.end {
                self.pieces.insert(range.end, part(&piece, range.end - at..end - at));
            }
        }
    }

    fn digest(&self) -> u32 {
        let digest = crc32c::crc32c(&self.read(0..self.meta.length));
        let attributes: Vec<_> = self.attributes.clone().into_iter().collect();
        crate::paged::contents::digest_attributes(digest, &attributes)
    }
}

/// A part of a payload; of a pattern it is a pattern.
fn part(payload: &Payload, range: Range<u64>) -> Payload {
    match payload {
        Payload::Bytes(_) | Payload::Shared(_) => {
            let bytes = payload.bytes();
            Payload::Bytes(bytes[range.start as usize..range.end as usize].to_vec())
        }
        Payload::Pattern { seed, offset, .. } => Payload::Pattern {
            seed: *seed,
            offset: offset + range.start,
            length: range.end - range.start,
        },
    }
}
