//! An image or a snapshot as ops see it: where its bytes are.

use super::ids::{ImageId, SnapshotId};
use crate::pool::PoolId;
use loadline_store::ObjectNo;

/// An image, or one of its snapshots, as ops need it. It holds until the table changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Whose objects.
    pub image: ImageId,
    /// Where they are.
    pub pool: PoolId,
    /// Bytes that can be addressed.
    pub size: u64,
    /// Bytes of each object, a power of two.
    pub object_bytes: u64,
    /// What is read: a snapshot, or [`SnapshotId::HEAD`] for the image itself.
    pub read_at: SnapshotId,
    /// What a write must keep: the newest live snapshot, or [`SnapshotId::HEAD`] if there is none.
    pub newest: SnapshotId,
    /// Whose object is read where the image has none, nearest first. Empty for an image that is no clone.
    pub ancestors: Vec<ImageAncestor>,
}

/// One of the parents' chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageAncestor {
    /// Whose objects.
    pub image: ImageId,
    /// Read at this snapshot.
    pub snapshot: SnapshotId,
    /// Bytes, from the start of the image, that are visible through the whole chain down to here; the rest is zeros.
    pub overlap: u64,
}

/// A part of a byte range that is inside one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The object.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// Where they are in the caller's buffer.
    pub at: u64,
}

/// An ancestor's object, to be read, or copied before a write, where the image has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AncestorObject {
    /// The object.
    pub object: ObjectNo,
    /// Read at this snapshot.
    pub snapshot: SnapshotId,
    /// So many of its first bytes are visible; the rest is zeros.
    pub length: u32,
}

impl View {
    /// Whether writes must be refused.
    pub fn is_read_only(&self) -> bool {
        self.read_at != SnapshotId::HEAD
    }

    /// The objects that may stand behind `object`, nearest first. The first that exists counts, and none further back.
    pub fn behind(&self, object: ObjectNo) -> impl Iterator<Item = AncestorObject> {
        let (_, block) = ImageId::of(object);
        let start = u64::from(block) * self.object_bytes;
        let bytes = self.object_bytes;
        let reaches = move |ancestor: &&ImageAncestor| ancestor.overlap > start;
        self.ancestors.iter().take_while(reaches).map(move |ancestor| AncestorObject {
            object: ancestor.image.object(block),
            snapshot: ancestor.snapshot,
            length: (ancestor.overlap - start).min(bytes) as u32,
        })
    }
}

/// The pieces of bytes `offset..offset + length` of an image, in order.
///
/// # Panics
/// If the range goes past the view's size.
pub fn split(view: &View, offset: u64, length: u64) -> impl Iterator<Item = Piece> + use<> {
    let end = offset.checked_add(length).filter(|end| *end <= view.size);
    let end = end.unwrap_or_else(|| panic!("{length} bytes at {offset} end past {}", view.size));
    let (image, bytes) = (view.image, view.object_bytes);
    let mut from = offset;
    std::iter::from_fn(move || {
        // Past the last block of an image of the greatest size is none that has a number.
        if from == end {
            return None;
        }
        let inside = from % bytes;
        let length = (bytes - inside).min(end - from);
        let block = u32::try_from(from / bytes).expect("sizes are bounded");
        let object = image.object(block);
        let piece =
            Piece { object, offset: inside as u32, length: length as u32, at: from - offset };
        from += length;
        Some(piece)
    })
}
