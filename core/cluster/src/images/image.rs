//! One image: what it is, its snapshots, and what it was cloned from.

use super::ids::{ImageId, SnapshotId};
use super::qos::ImageQos;
use crate::pool::PoolId;
use std::ops::RangeInclusive;

/// Object size of an image that was created without one: Ceph's.
pub const OBJECT_BYTES_DEFAULT: u64 = 4 << 20;
/// Smallest object size: below it, a disk image is more bookkeeping than data.
pub const OBJECT_BYTES_MIN: u64 = 64 << 10;
/// Largest object size: an op of the largest NBD request then meets at most two objects.
pub const OBJECT_BYTES_MAX: u64 = 32 << 20;
/// Most characters of a name.
pub const NAME_CHARS_MAX: usize = 64;
/// The most snapshots that an image has at a time: as many as former states of an object are kept. A table of an older program may
/// have more.
pub(super) const SNAPSHOTS_MAX: usize = loadline_osd::STATES_MAX;

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its number, which stays when it is renamed.
    pub id: ImageId,
    /// Its name.
    pub name: String,
    /// Where its objects are.
    pub pool: PoolId,
    /// Bytes that can be addressed.
    pub size: u64,
    /// The largest size that it ever had: nothing was ever written past it.
    pub reach: u64,
    /// Bytes of each object, a power of two.
    pub object_bytes: u64,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// What it was cloned from. A clone keeps its parent for life: there is no flattening.
    pub parent: Option<Parent>,
    /// What it is promised and allowed beside other images.
    pub qos: ImageQos,
}

/// An image as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number, unique inside the image's family.
    pub id: SnapshotId,
    /// Its name, unique inside the image.
    pub name: String,
    /// The image's size then.
    pub size: u64,
    /// The image's [`Parent::overlap`] then; 0 without a parent.
    pub overlap: u64,
}

/// What an image was cloned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The image, of the same family.
    pub image: ImageId,
    /// Its snapshot, which cannot be removed while the clone exists.
    pub snapshot: SnapshotId,
    /// Bytes, from the start, that are the parent's where the clone has no object of its own. It shrinks with the clone
    /// and never grows again, so that what was cut off reads as zeros.
    pub overlap: u64,
}

impl Image {
    /// The most bytes of an image with this object size: a block's index has 32 bits.
    pub const fn size_max(object_bytes: u64) -> u64 {
        object_bytes << 32
    }

    /// The newest snapshot, which writes must keep; [`SnapshotId::HEAD`] if there is none.
    pub fn newest_snapshot(&self) -> SnapshotId {
        self.snapshots.last().map_or(SnapshotId::HEAD, |snapshot| snapshot.id)
    }

    /// The snapshot of this name.
    pub fn snapshot(&self, name: &str) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.name == name)
    }

    /// The blocks that an image of this object size has when it is `size` bytes long, without those before byte `from`.
    pub(super) fn blocks(&self, from: u64, size: u64) -> RangeInclusive<u32> {
        let block = |byte: u64| u32::try_from(byte / self.object_bytes).expect("sizes are bounded");
        block(from)..=block(size - 1)
    }
}
