//! What can be wrong with a store. The sentences stand in `words`.

use crate::paged::api::{ObjectId, StoreDevice};
use crate::paged::ids::{CheckpointId, Lsn, PageNo};
use crate::paged::image_set::ImageSetFault;
use crate::paged::node::NodeFault;
use crate::paged::page::PageFault;
use crate::paged::superblock::SuperblockFault;

/// Something that a store never leaves behind, whatever happens to its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "page, offset, first and count are places; the variants say of what"
)]
pub enum StoreFinding {
    /// None of the four superblocks can be used.
    NoSuperblock(SuperblockFault),
    /// The newest superblock stands there twice with different contents.
    TwinsDiffer { offset: u64, sequence: u64 },
    /// A device is not the size that the store was formatted with.
    Size { target: StoreDevice, formatted: u64, found: u64 },
    /// The store's log is on a device of its own, which was not given.
    NoLogDevice,
    /// A log device was given and the store's log is on the data device.
    UselessLogDevice,
    /// The log device belongs to another store.
    ForeignLog,
    /// Bytes that should be there cannot be read.
    Unreadable { target: StoreDevice, offset: u64 },
    /// A page with a header is not whole, or not the one that belongs there.
    Page { page: PageNo, offset: u64, fault: PageFault },
    /// A page with a header is whole, but not of the kind that belongs there.
    Kind { page: PageNo, offset: u64 },
    /// A page of the tree is whole, but no sound node in its place.
    Node { page: PageNo, offset: u64, fault: NodeFault },
    /// A page was written by a checkpoint that the superblock does not know: a newer superblock was lost.
    Future { page: PageNo, offset: u64, wrote: CheckpointId },
    /// Pages of the free map are not those that the last completed checkpoint wrote: a write was lost.
    FreeMap { offset: u64, pages: u64 },
    /// A node names a child that is not a page of the store.
    ChildOutside { page: PageNo, offset: u64, child: PageNo },
    /// A node names a child that another one names as well.
    ChildTwice { page: PageNo, offset: u64, child: PageNo },
    /// A cell of a leaf does not mean anything, or contradicts others.
    Cell { page: PageNo, offset: u64, at: u16, fault: CellFault },
    /// A page of object data does not have its extent's checksum.
    Data { object: ObjectId, index: u64, page: PageNo, offset: u64 },
    /// An object holds bytes behind its end, which would come back when it grows.
    BehindEnd { object: ObjectId, length: u64, end: u64 },
    /// There are extents behind an object's end.
    ExtentsBehindEnd { object: ObjectId, length: u64, pages_end: u64 },
    /// There are attributes or extents of an object that does not exist.
    NoObject { object: ObjectId },
    /// A long value lacks pieces from this one on.
    PiecesMissing { piece: u64, of: u64, key_bytes: usize },
    /// Pages have two owners that do not share.
    OwnedTwice { first: PageNo, count: u64, one: PageOwner, other: PageOwner },
    /// Pages have more or fewer owners than their shared range says; without a range it says one.
    OwnerCount { first: PageNo, count: u64, says: u32, found: u32 },
    /// Pages are in use and the free map calls them free.
    UsedButFree { first: PageNo, count: u64 },
    /// Pages belong to nobody and the free map calls them used.
    Leaked { first: PageNo, count: u64 },
    /// A bit of the free map behind the last page is clear.
    FreeBehindEnd { page: PageNo, offset: u64 },
    /// A record of the log is whole and does not mean anything.
    Record { position: Lsn, offset: u64, fault: RecordFault },
    /// The log is damaged here: records behind, or its witness, say that it was durable beyond.
    LogDamaged { position: Lsn, offset: u64 },
    /// The images of the begun checkpoint are not all there.
    Images { offset: u64, fault: ImageFinding },
}

/// What is wrong with a cell of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFault {
    /// The key begins like nothing that is known.
    Namespace,
    /// The key is too short or too long for its kind.
    Key,
    /// The value is not one of its kind.
    Value,
    /// A long value's length does not need pieces.
    NeedsNoPieces,
    /// A piece that is not the next one of any long value.
    StrayPiece,
    /// A piece of the wrong length.
    PieceLength,
    /// The extent has more pages than an extent may have.
    ExtentLength,
    /// The extent or shared range lies outside of the store's pages.
    Outside,
    /// The extent or shared range overlaps the one before it.
    Overlap,
    /// A shared range that has fewer than two owners.
    NotShared,
}

/// What is wrong with a record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// Its body cannot be decoded.
    Body,
    /// It places data outside of the store's pages.
    Outside,
    /// It places data on pages that are in use.
    Used {
        /// The first such page.
        page: PageNo,
    },
    /// Data that it placed and that was made durable does not have its checksum.
    Data {
        /// The first page of it.
        page: PageNo,
    },
}

/// Why the images of a begun checkpoint cannot restore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFinding {
    /// The set in the recovery area is not usable.
    Set(ImageSetFault),
    /// An image is of no page of the store.
    Outside(PageNo),
    /// An image cannot be unpacked.
    Unpack(PageNo),
    /// What was unpacked is no page of the store's, or no sound node.
    Page(PageNo),
    /// An edit in the log is of a page without image, or does not fit it.
    Edit(PageNo),
    /// The log ends before the checkpoint's instant.
    LogEnds(Lsn),
}

/// Who owns a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOwner {
    /// The tree: it is a node.
    Tree,
    /// An object, whose pages begin at this index with the first page of the extent.
    Object {
        /// Which object.
        object: ObjectId,
        /// The extent's page index in it.
        index: u64,
    },
}

/// Something that a crash may leave and that a restart mends, or is no worse for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the offset is the superblock's on the data device")]
pub enum Remark {
    /// One of the four superblocks cannot be used.
    Slot { offset: u64, fault: SuperblockFault },
    /// The newest superblock stands at one end of the device only.
    Alone { offset: u64 },
    /// A checkpoint had begun: pages may be torn and were not checked, its images were.
    Begun { checkpoint: CheckpointId },
    /// The log ends at a record whose own data, never made durable, is not there.
    CutAt { position: Lsn },
}
