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

/// What ops need to know of images, and trims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// The images with snapshots or parents, and their snapshots. Objects of others need no view.
    lineages: BTreeMap<(u32, SnapshotNo), Lineage>,
    /// The live snapshots of every image, oldest first.
    live: BTreeMap<u32, Vec<SnapshotNo>>,
}

impl Views {
    /// Adds an image, or one of its snapshots.
    pub fn insert(&mut self, image: u32, read_at: SnapshotNo, lineage: Lineage) {
        self.lineages.insert((image, read_at), lineage);
    }

    /// Names all live snapshots of an image, oldest first. Of an image that is not named nothing is trimmed: it was removed, and what is
    /// left of its objects goes with them.
    pub fn insert_live(&mut self, image: u32, snapshots: Vec<SnapshotNo>) {
        self.live.insert(image, snapshots);
    }

    /// Whether no image needs a view.
    pub fn is_empty(&self) -> bool {
        self.lineages.is_empty()
    }

    pub(crate) fn of(&self, object: ObjectNo, read_at: SnapshotNo) -> Option<&Lineage> {
        self.lineages.get(&(image_of(object), read_at))
    }

    /// Whether what is kept under this label is kept for a snapshot that was removed.
    pub(crate) fn is_removed(&self, image: u32, label: SnapshotNo) -> bool {
        self.live.get(&image).is_some_and(|live| live.binary_search(&label).is_err())
    }

    /// Whether a snapshot of an image that is still there lived then and lives no more.
    pub(crate) fn has_lost_any_since(&self, then: &Views) -> bool {
        then.live.iter().any(|(image, before)| {
            let now = self.live.get(image);
            now.is_some_and(|now| now != before && before.iter().any(|it| !now.contains(it)))
        })
    }

    /// The newest live snapshot that is older than this one; [`SnapshotNo::HEAD`] if there is none.
    pub fn live_before(&self, image: u32, snapshot: SnapshotNo) -> SnapshotNo {
        let live = self.live.get(&image).map_or(&[][..], Vec::as_slice);
        let older = live.partition_point(|live| *live < snapshot);
        older.checked_sub(1).map_or(SnapshotNo::HEAD, |at| live[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_removed_when_its_snapshot_lives_no_more() {
        let mut views = Views::default();
        views.insert_live(7, vec![SnapshotNo(2), SnapshotNo(5)]);
        views.insert_live(8, Vec::new());
        let removed = |image, label| views.is_removed(image, SnapshotNo(label));
        assert_eq!([2, 3, 5, 6].map(|label| removed(7, label)), [false, true, false, true]);
        assert_eq!([removed(8, 1), removed(9, 1)], [true, false], "image 9 has gone");
        let before = |label| views.live_before(7, SnapshotNo(label)).0;
        assert_eq!([1, 2, 3, 6].map(before), [0, 0, 2, 5]);
        let mut later = views.clone();
        later.insert_live(7, vec![SnapshotNo(2), SnapshotNo(5), SnapshotNo(6)]);
        assert!(!later.has_lost_any_since(&views) && views.has_lost_any_since(&later));
        assert!(!Views::default().has_lost_any_since(&later), "all images have gone");
    }

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
