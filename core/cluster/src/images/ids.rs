//! The numbers of images, snapshots and jobs, and how an object's number is made of them.

use loadline_osd::image_of;
use loadline_store::ObjectNo;
use std::fmt;

/// The bits of an object's number that tell the images of one family apart. Placement ignores them, so that the blocks
/// of one index of a clone and of its parent are in one placement group, and an OSD can copy one from the other.
pub const MEMBER_BITS: u64 = 0xffff << 32;

/// An image for its whole life, whatever it is called: its family, and its number in there.
///
/// An image that was created has a family of its own, and a clone is in its parent's. Numbers are used again, but only
/// when no image and no job has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId {
    /// Bits 48 to 63 of its objects' numbers. Family 0 holds what is in a pool without being an image.
    pub family: u16,
    /// Bits 32 to 47 of its objects' numbers.
    pub member: u16,
}

impl ImageId {
    /// The object that holds a block of the image.
    pub const fn object(self, block: u32) -> ObjectNo {
        ObjectNo((self.get() as u64) << 32 | block as u64)
    }

    /// The image that an object belongs to, and which block it holds.
    pub const fn of(object: ObjectNo) -> (ImageId, u32) {
        let image = image_of(object);
        (ImageId { family: (image >> 16) as u16, member: image as u16 }, object.0 as u32)
    }

    /// Family and member as one number, which no other image has at the same time.
    pub const fn get(self) -> u32 {
        (self.family as u32) << 16 | self.member as u32
    }
}

impl fmt::Display for ImageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {}.{}", self.family, self.member)
    }
}

/// A snapshot. Numbers grow and are never used again inside a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(pub u32);

impl SnapshotId {
    /// Not a snapshot: the image as it is written now. As the snapshot that a write must keep: none.
    pub const HEAD: SnapshotId = SnapshotId(0);
}

/// A background job, in the order in which jobs were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);
