//! Which objects a collection holds, and in which version.

use loadline_base::define_id;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};

define_id! {
    /// A collection of objects: one placement group's share of one disk.
    pub struct CollectionId, "collection "
}

/// An object's number inside its pool; objects are listed in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectNo(pub u64);

/// A version of a collection's contents. Versions grow with each write, and no two different writes of a collection
/// have the same one, on whichever disks its copies are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl fmt::Display for ObjectNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {}", self.0)
    }
}

/// What is known of an object without its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// The collection's version when the object was last written.
    pub version: Version,
    /// One past the last byte ever written.
    pub length: u64,
}

/// The objects of one collection. Ordered, because backfill walks them in order and equal runs must be equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    metas: BTreeMap<ObjectNo, ObjectMeta>,
    /// The lengths of all of them.
    bytes: u64,
}

impl Objects {
    /// Records a write that ends at byte `end`, creating the object if need be. Returns whether it is new.
    pub fn write(&mut self, object: ObjectNo, end: u64, version: Version) -> bool {
        let mut created = false;
        let meta = self.metas.entry(object).or_insert_with(|| {
            created = true;
            ObjectMeta::default()
        });
        meta.version = version;
        self.bytes += end.saturating_sub(meta.length);
        meta.length = meta.length.max(end);
        created
    }

    /// Makes an object what it is on another disk, whatever it was here.
    pub fn replace(&mut self, object: ObjectNo, meta: ObjectMeta) {
        self.remove(object);
        self.bytes += meta.length;
        self.metas.insert(object, meta);
    }

    /// Removes an object. Returns whether it was there.
    pub fn remove(&mut self, object: ObjectNo) -> bool {
        let removed = self.metas.remove(&object);
        self.bytes -= removed.map_or(0, |meta| meta.length);
        removed.is_some()
    }

    /// What is known of an object, if it exists.
    pub fn meta(&self, object: ObjectNo) -> Option<ObjectMeta> {
        self.metas.get(&object).copied()
    }

    /// Up to `most` objects after `after` (from the first one for `None`), in order.
    pub fn list_after(&self, after: Option<ObjectNo>, most: usize) -> Vec<(ObjectNo, ObjectMeta)> {
        let from = after.map_or(Unbounded, Excluded);
        self.metas.range((from, Unbounded)).take(most).map(|(o, meta)| (*o, *meta)).collect()
    }

    /// The objects after `after` up to and including `last` (to the end for `None`), in order.
    pub fn list_range(
        &self,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> Vec<(ObjectNo, ObjectMeta)> {
        let from = after.map_or(Unbounded, Excluded);
        let to = last.map_or(Unbounded, Included);
        self.metas.range((from, to)).map(|(o, meta)| (*o, *meta)).collect()
    }

    /// The objects of a range, in order.
    pub fn range(
        &self,
        range: std::ops::RangeInclusive<ObjectNo>,
    ) -> impl Iterator<Item = (ObjectNo, ObjectMeta)> {
        self.metas.range(range).map(|(object, meta)| (*object, *meta))
    }

    /// How long they are on average; 0 if there are none.
    pub fn average_bytes(&self) -> u64 {
        self.bytes / self.metas.len().max(1) as u64
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.metas.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.metas.is_empty()
    }
}
