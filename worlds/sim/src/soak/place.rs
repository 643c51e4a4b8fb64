//! What stands where on the devices: faults choose their victims by it, and rows of crashes are told apart by it.

use loadline_device::Request;
use loadline_store::paged::Target;
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::layout::{Layout, SUPERBLOCK, superblock_offsets};
use std::ops::Range;

/// A region of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Superblock,
    LogHeader,
    Log,
    Images,
    /// The log's witness, with the rest of its pages.
    Witness,
    FreeMap,
    Pages,
}

impl Place {
    /// Where a request goes. A flush counts as going where offset 0 is.
    pub(super) fn of_request(layout: &Layout, target: Target, request: &Request) -> Place {
        let offset = request.offset;
        let log = layout.log_offset..layout.log_offset + layout.log_bytes;
        if target == layout.log_target && log.contains(&offset) {
            return Place::Log;
        }
        if target == Target::Log {
            return Place::LogHeader;
        }
        let page = PageNo(offset / layout.page.bytes() as u64);
        let is_in = |place: Place| place.range(layout).1.contains(&offset);
        if is_in(Place::Images) {
            Place::Images
        } else if is_in(Place::Witness) {
            Place::Witness
        } else if layout.is_map(page) {
            Place::FreeMap
        } else if layout.is_page(page) {
            Place::Pages
        } else {
            Place::Superblock
        }
    }

    /// The bytes of a region, and the device that they are on. Of the superblocks, the first.
    pub(super) fn range(self, layout: &Layout) -> (Target, Range<u64>) {
        let page = layout.page;
        let pages = |from: PageNo, to: PageNo| (Target::Data, page.offset(from)..page.offset(to));
        let recovery_end = layout.recovery_offset + layout.recovery_bytes;
        let witness = layout.witness_offsets().map_or(recovery_end, |places| places[0]);
        match self {
            Place::Superblock => {
                let first = superblock_offsets(layout.data_bytes)[0];
                (Target::Data, first..first + SUPERBLOCK)
            }
            Place::LogHeader => (Target::Log, 0..layout.log_offset),
            Place::Log => {
                (layout.log_target, layout.log_offset..layout.log_offset + layout.log_bytes)
            }
            Place::Images => (Target::Data, layout.recovery_offset..witness),
            Place::Witness => (Target::Data, witness..recovery_end),
            Place::FreeMap => pages(layout.map_first, layout.pages_first),
            Place::Pages => pages(layout.pages_first, layout.pages().end),
        }
    }
}
