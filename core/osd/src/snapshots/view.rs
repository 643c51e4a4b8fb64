//! What the owner of the map tells an OSD of images: which snapshot a write must keep, and what stands behind an object
//! that does not exist.

use loadline_store::ObjectNo;
use std::collections::BTreeMap;

/// A snapshot's number. Numbers of one image grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotNo(pub u32);

impl SnapshotNo {
    /// Not a snapshot: the object as it is now.
    pub const HEAD: SnapshotNo = SnapshotNo(0);
}

/// The image that an object belongs to: the upper half of its number. The lower half is the block.
pub const fn image_of(object: ObjectNo) -> u32 {
    (object.0 >> 32) as u32
}

/// The object of another image that has the same block.
pub(crate) fn in_image(object: ObjectNo, image: u32) -> ObjectNo {
    ObjectNo(u64::from(image) << 32 | object.0 & u64::from(u32::MAX))
}

/// An image, or one of its snapshots, as its objects need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// The newest live snapshot, which a write must keep; [`SnapshotNo::HEAD`] if there is none.
    pub newest: SnapshotNo,
    /// Bytes of each object.
    pub object_bytes: u64,
    /// Whose object is read where the image has none, nearest first.
    pub ancestors: Vec<Ancestor>,
}

/// An image that another was cloned from, or was cloned from in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// The image.
    pub image: u32,
    /// Read at this snapshot.
    pub snapshot: SnapshotNo,
    /// Bytes, from the start of the image, that are visible through the whole chain down to here.
    pub overlap: u64,
}

/// An ancestor's object that may stand behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub object: ObjectNo,
    pub snapshot: SnapshotNo,
    /// So many of its first bytes are visible; the rest is zeros.
    pub length: u64,
}

impl Lineage {
    /// What may stand behind `object`, nearest first. The first that exists counts, and none further back.
    pub(crate) fn behind(&self, object: ObjectNo) -> impl Iterator<Item = Behind> {
        let start = (object.0 & u64::from(u32::MAX)) * self.object_bytes;
        let reaching = self.ancestors.iter().take_while(move |ancestor| ancestor.overlap > start);
        reaching.map(move |ancestor| Behind {
            object: in_image(object, ancestor.image),
            snapshot: ancestor.snapshot,
            length: (ancestor.overlap - start).min(self.object_bytes),
        })
    }
}

/// The images with snapshots or parents, and their snapshots. Objects of others need no view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views(BTreeMap<(u32, SnapshotNo), Lineage>);

impl Views {
    /// Adds an image, or one of its snapshots.
    pub fn insert(&mut self, image: u32, read_at: SnapshotNo, lineage: Lineage) {
        self.0.insert((image, read_at), lineage);
    }

    /// Whether no image needs a view.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn of(&self, object: ObjectNo, read_at: SnapshotNo) -> Option<&Lineage> {
        self.0.get(&(image_of(object), read_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ancestor_is_seen_as_far_as_it_overlaps() {
        let parent = Ancestor { image: 7, snapshot: SnapshotNo(3), overlap: 150 };
        let grandparent = Ancestor { image: 6, snapshot: SnapshotNo(2), overlap: 100 };
        let ancestors = vec![parent, grandparent];
        let lineage = Lineage { newest: SnapshotNo::HEAD, object_bytes: 100, ancestors };
        let behind = |block: u64| -> Vec<(u64, u64)> {
            let found = lineage.behind(ObjectNo(9 << 32 | block));
            found.map(|behind| (behind.object.0 >> 32, behind.length)).collect()
        };
        assert_eq!(behind(0), [(7, 100), (6, 100)]);
        assert_eq!(behind(1), [(7, 50)]);
        assert_eq!(behind(2), []);
    }
}
