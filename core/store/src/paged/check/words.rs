//! Findings in words: one sentence each, with the place.

use super::finding::{CellFault, ImageFinding, PageOwner, RecordFault, Remark, StoreFinding};
use crate::paged::api::{ObjectId, StoreDevice};
use crate::paged::ids::PageNo;
use crate::paged::node::NodeFault;
use crate::paged::page::PageFault;
use crate::paged::superblock::SuperblockFault;
use std::fmt;

impl fmt::Display for StoreFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use StoreFinding::*;
        match *self {
            NoSuperblock(fault) => f.write_str(superblock_words(fault)),
            TwinsDiffer { offset, sequence } => {
                write!(f, "superblock {sequence} at byte {offset} differs from its twin")
            }
            Size { target, formatted, found } => write!(
                f,
                "the {} has {found} bytes, and the store was made for {formatted}",
                device(target)
            ),
            NoLogDevice => {
                f.write_str("the store has its log on a device of its own, which is not given")
            }
            UselessLogDevice => f.write_str("the store has its log on the data device"),
            ForeignLog => f.write_str("the log device belongs to another store"),
            Unreadable { target, offset } => {
                write!(f, "byte {offset} of the {} cannot be read", device(target))
            }
            Page { page, offset, fault } => {
                write!(f, "{page} at byte {offset}: {}", page_words(fault))
            }
            Kind { page, offset } => {
                write!(f, "{page} at byte {offset} is whole, but another kind of page")
            }
            Node { page, offset, fault } => {
                write!(f, "{page} at byte {offset} is no sound node: {}", node_words(fault))
            }
            Future { page, offset, wrote } => {
                write!(f, "{page} at byte {offset} is of {wrote}, which no superblock knows")
            }
            FreeMap { offset, pages } => write!(
                f,
                "one of the {pages} pages of the free map, from byte {offset} on, is not the one that the last checkpoint wrote"
            ),
            ChildOutside { page, offset, child } => {
                write!(f, "{page} at byte {offset} names {child}, which is no page of the store")
            }
            ChildTwice { page, offset, child } => {
                write!(f, "{page} at byte {offset} names {child}, as another node does")
            }
            Cell { page, offset, at, fault } => {
                write!(f, "{page} at byte {offset}, cell {at}: {}", cell_words(fault))
            }
            Data { object, index, page, offset } => write!(
                f,
                "{page} at byte {offset}, page {index} of {}, has not the checksum that its extent says",
                Name(object)
            ),
            BehindEnd { object, length, end } => {
                write!(f, "{} has {length} bytes, and data up to byte {end}", Name(object))
            }
            ExtentsBehindEnd { object, length, pages_end } => write!(
                f,
                "{} has {length} bytes, and extents up to its page {pages_end}",
                Name(object)
            ),
            NoObject { object } => {
                write!(f, "{} does not exist and has attributes or extents", Name(object))
            }
            PiecesMissing { piece, of, key_bytes } => write!(
                f,
                "a long value, of a key of {key_bytes} bytes, lacks piece {piece} of {of}"
            ),
            OwnedTwice { first, count, one, other } => {
                write!(f, "{} belong to {one} and to {other}", PageWords(first, count))
            }
            OwnerCount { first, count, says, found } => {
                write!(
                    f,
                    "{} have {found} owners and are said to have {says}",
                    PageWords(first, count)
                )
            }
            UsedButFree { first, count } => {
                write!(f, "{} are in use, and free in the free map", PageWords(first, count))
            }
            Leaked { first, count } => {
                write!(f, "{} are nobody's, and used in the free map", PageWords(first, count))
            }
            FreeBehindEnd { page, offset } => {
                write!(f, "{page} at byte {offset} calls pages free that the store does not have")
            }
            Record { position, offset, fault } => {
                write!(f, "the record at {position}, byte {offset} of the log's device, ")?;
                record_words(f, fault)
            }
            LogDamaged { position, offset } => write!(
                f,
                "the log is damaged at {position}, byte {offset} of its device: it was durable beyond"
            ),
            Images { offset, fault } => write!(f, "the images at byte {offset}: {fault}"),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Remark::Slot { offset, fault } => {
                write!(f, "the superblock at byte {offset}: {}", superblock_words(fault))
            }
            Remark::Alone { offset } => {
                write!(f, "the newest superblock stands at byte {offset} only")
            }
            Remark::Begun { checkpoint } => {
                write!(f, "{checkpoint} had begun: pages are not checked, its images are")
            }
            Remark::CutAt { position } => {
                write!(f, "a restart ends the log at {position}, whose data was not durable")
            }
        }
    }
}

impl fmt::Display for PageOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageOwner::Tree => f.write_str("the tree"),
            PageOwner::Object { object, index } => {
                write!(f, "the extent of {} from its page {index} on", Name(*object))
            }
        }
    }
}

impl fmt::Display for ImageFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageFinding::Set(fault) => write!(f, "{fault}"),
            ImageFinding::Outside(page) => write!(f, "{page} is no page of the store"),
            ImageFinding::Unpack(page) => write!(f, "the image of {page} cannot be unpacked"),
            ImageFinding::Page(page) => write!(f, "the image of {page} is no sound page"),
            ImageFinding::Edit(page) => write!(f, "an edit of {page} does not fit its image"),
            ImageFinding::LogEnds(position) => {
                write!(f, "the log ends at {position}, before the checkpoint's instant")
            }
        }
    }
}

/// An object in words.
struct Name(ObjectId);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectId { collection, object, snapshot } = self.0;
        write!(f, "{object} of {collection}")?;
        if snapshot > 0 { write!(f, ", snapshot {snapshot},") } else { Ok(()) }
    }
}

/// Neighbouring pages in words.
struct PageWords(PageNo, u64);

impl fmt::Display for PageWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pages from {} on", self.1, self.0)
    }
}

fn device(target: StoreDevice) -> &'static str {
    match target {
        StoreDevice::Data => "data device",
        StoreDevice::Log => "log device",
    }
}

fn superblock_words(fault: SuperblockFault) -> &'static str {
    match fault {
        SuperblockFault::TwoStores => "superblocks of two different stores stand there",
        SuperblockFault::Foreign => "there is no store",
        SuperblockFault::Checksum(_) => "the superblock is damaged",
        SuperblockFault::Unfinished(_) => "a store was being made there, and is not finished",
        SuperblockFault::Version(_) => {
            "the superblock is of a format that this program cannot read"
        }
        SuperblockFault::Layout => "the superblock is whole, but its places are impossible",
    }
}

fn page_words(fault: PageFault) -> &'static str {
    match fault {
        PageFault::Stale(_) => {
            "a whole page of another checkpoint than what leads to it says: a write was lost"
        }
        PageFault::Checksum => "the checksum does not fit",
        PageFault::Misplaced(_) => "a whole page that belongs elsewhere",
        PageFault::Unknown => "a whole page of no known kind or layout",
    }
}

fn node_words(fault: NodeFault) -> &'static str {
    match fault {
        NodeFault::Kind => "it is no tree page",
        NodeFault::Header => "its header contradicts itself",
        NodeFault::Slot(_) => "a slot leads to where no whole cell is",
        NodeFault::Cells => "cells overlap, or the garbage is not as much as it says",
        NodeFault::Order(_) => "its keys are not in order",
        NodeFault::Head(_) => "a slot's head is not that of its key",
        NodeFault::Child(_) => "a cell of an inner node names no child",
        NodeFault::Level => "it is of the wrong sort for its level, or empty",
        NodeFault::Bounds(_) => "a key is outside of what its parent allows",
    }
}

fn cell_words(fault: CellFault) -> &'static str {
    match fault {
        CellFault::Namespace => "the key begins like nothing that is known",
        CellFault::Key => "the key is too short or too long for its kind",
        CellFault::Value => "the value is not one of its kind",
        CellFault::NeedsNoPieces => "the value is in pieces and short enough for its cell",
        CellFault::StrayPiece => "a piece that is not the next one of any long value",
        CellFault::PieceLength => "a piece of the wrong length",
        CellFault::ExtentLength => "more pages than an extent may have",
        CellFault::Outside => "it names pages that the store does not have",
        CellFault::Overlap => "it overlaps the one before it",
        CellFault::NotShared => "a shared range with fewer than two owners",
    }
}

fn record_words(f: &mut fmt::Formatter<'_>, fault: RecordFault) -> fmt::Result {
    match fault {
        RecordFault::Body => f.write_str("is whole and cannot be decoded"),
        RecordFault::Outside => f.write_str("places data on pages that the store does not have"),
        RecordFault::Used { page } => write!(f, "places data on {page}, which is in use"),
        RecordFault::Data { page } => {
            write!(f, "placed durable data on {page}, which has another checksum now")
        }
    }
}
