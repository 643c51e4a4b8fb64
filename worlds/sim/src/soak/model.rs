//! What a store should hold, kept in the most naive way: maps of keys and of objects' pieces.

use loadline_store::paged::contents::digest_attributes;
use loadline_store::paged::{Edit, ObjectDigest, ObjectId};
use loadline_store::{ObjectMeta, Version};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a piece of an object; only memory and speed depend on it.
const PIECE: u64 = 4096;

/// Values by name.
pub(super) type Values = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// Keys and objects. A clone shares everything until one of the two changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contents {
    pub(super) keys: Values,
    pub(super) objects: BTreeMap<ObjectId, ModelObject>,
}

/// An object. Pieces that are all zeros are left out, so equal objects are equal values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ModelObject {
    pub(super) meta: ObjectMeta,
    pieces: BTreeMap<u64, Arc<[u8; PIECE as usize]>>,
    pub(super) attributes: Values,
}

impl Contents {
    /// Carries a whole transaction out.
    pub(super) fn apply_all(&mut self, edits: &[Edit]) {
        edits.iter().for_each(|edit| self.apply(edit));
    }

    fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Put { key, value } => {
                self.keys.insert(key.clone(), value.as_slice().into());
            }
            Edit::Delete { key } => {
                self.keys.remove(key);
            }
            Edit::Write { object, offset, data, version } => {
                let bytes = data.clone().into_bytes();
                self.object(object).write(*offset, &bytes, *version);
            }
            Edit::Punch { object, range, version } => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.punch(range, *version);
                }
            }
            Edit::Truncate { object, length, version } => {
                self.object(object).truncate(*length, *version);
            }
            Edit::Remove { object } => {
                self.objects.remove(object);
            }
            Edit::Clone { from, to } if from == to => {}
            Edit::Clone { from, to } => {
                match self.objects.get(from).cloned() {
                    Some(object) => self.objects.insert(*to, object),
                    None => self.objects.remove(to),
                };
            }
            Edit::SetAttribute { object, name, value } => {
                let object = self.object(object);
                object.attributes.insert(name.clone(), value.as_slice().into());
            }
            Edit::RemoveAttribute { object, name } => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.attributes.remove(name);
                }
            }
        }
    }

    fn object(&mut self, id: &ObjectId) -> &mut ModelObject {
        self.objects.entry(*id).or_default()
    }
}

impl ModelObject {
    /// An object with these bytes.
    pub(super) fn new(version: Version, bytes: &[u8], attributes: Values) -> ModelObject {
        let mut object = ModelObject { attributes, ..ModelObject::default() };
        object.write(0, bytes, version);
        object
    }

    fn write(&mut self, offset: u64, bytes: &[u8], version: Version) {
        let length = self.meta.length.max(offset + bytes.len() as u64);
        self.meta = ObjectMeta { version, length };
        let mut rest = bytes;
        for (piece, inside) in pieces(offset..offset + bytes.len() as u64) {
            let (now, later) = rest.split_at(inside.len());
            let entry = self.pieces.entry(piece).or_insert_with(|| Arc::new([0; PIECE as usize]));
            Arc::make_mut(entry)[inside].copy_from_slice(now);
            if now[0] == 0 && entry.iter().all(|byte| *byte == 0) {
                self.pieces.remove(&piece);
            }
            rest = later;
        }
    }

    fn punch(&mut self, range: &Range<u64>, version: Version) {
        self.meta.version = version;
        self.zero(range.start..range.end.min(self.meta.length));
    }

    fn truncate(&mut self, length: u64, version: Version) {
        if length < self.meta.length {
            self.zero(length..self.meta.length);
        }
        self.meta = ObjectMeta { version, length };
    }

    fn zero(&mut self, range: Range<u64>) {
        for (piece, inside) in pieces(range) {
            let Some(entry) = self.pieces.get_mut(&piece) else { continue };
            Arc::make_mut(entry)[inside].fill(0);
            if entry.iter().all(|byte| *byte == 0) {
                self.pieces.remove(&piece);
            }
        }
    }

    /// The bytes of a range, as far as the object has them.
    pub(super) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.meta.length);
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        for (piece, inside) in pieces(offset.min(end)..end) {
            match self.pieces.get(&piece) {
                Some(piece) => bytes.extend_from_slice(&piece[inside]),
                None => bytes.resize(bytes.len() + inside.len(), 0),
            }
        }
        bytes
    }

    /// What a deep scrub compares.
    pub(super) fn digest(&self) -> ObjectDigest {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> =
            self.attributes.iter().map(|(name, value)| (name.clone(), value.to_vec())).collect();
        digest_attributes(crc32c::crc32c(&self.read(0, self.meta.length)), pairs)
    }
}

/// The pieces that a range of bytes lies in, and what it takes of each.
fn pieces(range: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> {
    let indices = range.start / PIECE..range.end.div_ceil(PIECE).max(range.start / PIECE);
    let cut = move |index: u64| {
        let start = range.start.max(index * PIECE) - index * PIECE;
        let end = range.end.min((index + 1) * PIECE) - index * PIECE;
        (index, start as usize..end as usize)
    };
    indices.map(cut).filter(|(_, inside)| !inside.is_empty())
}
