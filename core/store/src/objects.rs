//! Which objects a collection holds, and in which version.

use loadline_base::define_id;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::Arc;

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

impl ObjectMeta {
    /// Records a write that ends at byte `end`. How much longer the object is by it.
    fn write(&mut self, end: u64, version: Version) -> u64 {
        let longer = end.saturating_sub(self.length);
        (self.version, self.length) = (version, self.length + longer);
        longer
    }
}

/// Objects that came into a collection at once, all of one length, as a study fills a pool outside time. Copies of the collection on
/// several disks share the list, so that ten million objects take the memory of their numbers.
#[derive(Clone, Debug)]
pub struct ObjectFilling {
    /// Their numbers, in order.
    pub objects: Arc<[ObjectNo]>,
    /// The version of the first; each one behind it has the next.
    pub first: Version,
    /// The length of each.
    pub length: u64,
}

impl ObjectFilling {
    fn meta(&self, at: usize) -> ObjectMeta {
        ObjectMeta { version: Version(self.first.0 + at as u64), length: self.length }
    }

    fn find(&self, object: ObjectNo) -> Option<ObjectMeta> {
        self.objects.binary_search(&object).ok().map(|at| self.meta(at))
    }

    fn range(
        &self,
        (from, to): (Bound<ObjectNo>, Bound<ObjectNo>),
    ) -> impl Iterator<Item = (ObjectNo, ObjectMeta)> {
        let before = |bound: Bound<ObjectNo>, is_end: bool| match bound {
            Included(at) => self.objects.partition_point(|it| *it < at || is_end && *it == at),
            Excluded(at) => self.objects.partition_point(|it| *it < at || !is_end && *it == at),
            Unbounded if is_end => self.objects.len(),
            Unbounded => 0,
        };
        let start = before(from, false);
        let end = before(to, true).max(start);
        self.objects[start..end].iter().zip(start..).map(|(object, at)| (*object, self.meta(at)))
    }
}

/// The objects of one collection. Ordered, because backfill walks them in order and equal runs must be equal.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// What came at once, as it was then.
    filled: Option<ObjectFilling>,
    /// Those of it that are otherwise now, or gone.
    departed: BTreeSet<ObjectNo>,
    /// All others.
    metas: BTreeMap<ObjectNo, ObjectMeta>,
    /// The lengths of all of them.
    bytes: u64,
}

/// However they came, objects are alike if their versions and lengths are.
impl PartialEq for Objects {
    fn eq(&self, other: &Objects) -> bool {
        let all = (Unbounded, Unbounded);
        self.len() == other.len() && self.iter(all).eq(other.iter(all))
    }
}

impl Eq for Objects {}

impl Objects {
    /// Records a write that ends at byte `end`, creating the object if need be. Returns whether it is new.
    pub fn write(&mut self, object: ObjectNo, end: u64, version: Version) -> bool {
        // What is here for itself did not come at once, or has departed long ago: it is looked up once.
        if let Some(meta) = self.metas.get_mut(&object) {
            self.bytes += meta.write(end, version);
            return false;
        }
        let before = self.depart(object);
        let mut meta = before.unwrap_or_default();
        self.bytes += meta.write(end, version);
        self.metas.insert(object, meta);
        before.is_none()
    }

    /// Makes an object what it is on another disk, whatever it was here.
    pub fn replace(&mut self, object: ObjectNo, meta: ObjectMeta) {
        self.remove(object);
        self.bytes += meta.length;
        self.metas.insert(object, meta);
    }

    /// Adds many at once. Where something came at once before, or is there, they are kept one by one.
    pub fn fill(&mut self, filling: ObjectFilling) {
        if self.is_empty() && self.filled.is_none() {
            self.bytes = filling.length * filling.objects.len() as u64;
            self.filled = Some(filling);
            return;
        }
        for (object, meta) in filling.range((Unbounded, Unbounded)) {
            self.replace(object, meta);
        }
    }

    /// Removes an object. Returns whether it was there.
    pub fn remove(&mut self, object: ObjectNo) -> bool {
        let removed = self.depart(object).or_else(|| self.metas.remove(&object));
        self.bytes -= removed.map_or(0, |meta| meta.length);
        removed.is_some()
    }

    /// An object that came at once is no longer as it was then. The answer is what it was, if it was still so.
    fn depart(&mut self, object: ObjectNo) -> Option<ObjectMeta> {
        let meta = self.filled.as_ref()?.find(object)?;
        self.departed.insert(object).then_some(meta)
    }

    /// What is known of an object, if it exists.
    pub fn meta(&self, object: ObjectNo) -> Option<ObjectMeta> {
        let filled = || self.filled.as_ref()?.find(object);
        let is_as_filled = || !self.departed.contains(&object);
        self.metas.get(&object).copied().or_else(|| filled().filter(|_| is_as_filled()))
    }

    /// Up to `most` objects after `after` (from the first one for `None`), in order.
    pub fn list_after(&self, after: Option<ObjectNo>, most: usize) -> Vec<(ObjectNo, ObjectMeta)> {
        self.iter((after.map_or(Unbounded, Excluded), Unbounded)).take(most).collect()
    }

    /// The objects after `after` up to and including `last` (to the end for `None`), in order.
    pub fn list_range(
        &self,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> Vec<(ObjectNo, ObjectMeta)> {
        let from = after.map_or(Unbounded, Excluded);
        self.iter((from, last.map_or(Unbounded, Included))).collect()
    }

    /// The objects of a range, in order.
    pub fn range(
        &self,
        range: std::ops::RangeInclusive<ObjectNo>,
    ) -> impl Iterator<Item = (ObjectNo, ObjectMeta)> {
        self.iter((Included(*range.start()), Included(*range.end())))
    }

    fn iter(
        &self,
        bounds: (Bound<ObjectNo>, Bound<ObjectNo>),
    ) -> impl Iterator<Item = (ObjectNo, ObjectMeta)> {
        let filled = self.filled.iter().flat_map(move |filled| filled.range(bounds));
        let is_as_filled =
            |object: &ObjectNo| self.departed.is_empty() || !self.departed.contains(object);
        let mut filled = filled.filter(move |(object, _)| is_as_filled(object)).peekable();
        let own = self.metas.range(bounds).map(|(object, meta)| (*object, *meta));
        let mut own = own.peekable();
        std::iter::from_fn(move || match (filled.peek(), own.peek()) {
            (Some((first, _)), Some((second, _))) if first < second => filled.next(),
            (Some(_), None) => filled.next(),
            _ => own.next(),
        })
    }

    /// How long they are on average; 0 if there are none.
    pub fn average_bytes(&self) -> u64 {
        self.bytes / self.len().max(1) as u64
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        let filled = self.filled.as_ref().map_or(0, |filled| filled.objects.len());
        filled - self.departed.len() + self.metas.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(objects: &[u64], first: u64) -> ObjectFilling {
        let objects = objects.iter().copied().map(ObjectNo).collect();
        ObjectFilling { objects, first: Version(first), length: 10 }
    }

    fn one_by_one(objects: &[u64], first: u64) -> Objects {
        let mut all = Objects::default();
        for (object, version) in objects.iter().zip(first..) {
            all.write(ObjectNo(*object), 10, Version(version));
        }
        all
    }

    /// Whatever happens afterwards, objects that came at once are as if they had come one by one.
    #[test]
    fn what_came_at_once_is_as_if_it_had_come_one_by_one() {
        let at = [3, 5, 8, 13, 21];
        let (mut at_once, mut single) = (Objects::default(), one_by_one(&at, 7));
        at_once.fill(filling(&at, 7));
        let mut both = |change: &dyn Fn(&mut Objects) -> bool| {
            assert_eq!(change(&mut at_once), change(&mut single));
            assert_eq!(at_once, single);
            let bytes = |all: &Objects| (all.len(), all.average_bytes(), all.bytes);
            assert_eq!(bytes(&at_once), bytes(&single));
            for object in (0..13).map(ObjectNo) {
                assert_eq!(at_once.meta(object), single.meta(object), "{object}");
                let listed = |all: &Objects| {
                    let range = all.list_range(Some(object), Some(ObjectNo(13)));
                    let inside = all.range(object..=ObjectNo(13)).collect::<Vec<_>>();
                    (all.list_after(Some(object), 2), range, inside)
                };
                assert_eq!(listed(&at_once), listed(&single), "{object}");
            }
        };
        both(&|_| true);
        both(&|all| all.write(ObjectNo(8), 4, Version(50)));
        both(&|all| all.write(ObjectNo(8), 40, Version(51)));
        both(&|all| all.write(ObjectNo(9), 4, Version(52)));
        both(&|all| all.remove(ObjectNo(3)));
        both(&|all| all.remove(ObjectNo(3)));
        both(&|all| all.write(ObjectNo(3), 2, Version(53)));
        both(&|all| all.remove(ObjectNo(8)));
        both(&|all| {
            all.replace(ObjectNo(21), ObjectMeta { version: Version(1), length: 99 });
            true
        });
        both(&|all| {
            all.fill(filling(&[5, 6], 60));
            true
        });
        for object in 0..25 {
            both(&|all| all.remove(ObjectNo(object)));
        }
    }
}
