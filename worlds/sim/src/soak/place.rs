//! What stands where on the devices: faults choose their victims by it, and rows of crashes are told apart by it.

use loadline_device::Request;
use loadline_store::paged::StoreDevice;
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::layout::{Layout, SUPERBLOCK, superblock_offsets};
use std::ops::Range;

/// A region of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreRegion {
    Superblock,
    LogHeader,
    Log,
    Images,
    /// The log's witness, with the rest of its pages.
    Witness,
    FreeMap,
    Pages,
}

impl StoreRegion {
    /// Where a request goes. A flush counts as going where offset 0 is.
    pub(super) fn of_request(
        layout: &Layout,
        target: StoreDevice,
        request: &Request,
    ) -> StoreRegion {
        let offset = request.offset;
        let log = layout.log_offset..layout.log_offset + layout.log_bytes;
        if target == layout.log_target && log.contains(&offset) {
            return StoreRegion::Log;
        }
        if target == StoreDevice::Log {
            return StoreRegion::LogHeader;
        }
        let page = PageNo(offset / layout.page.bytes() as u64);
        let is_in = |place: StoreRegion| place.range(layout).1.contains(&offset);
        if is_in(StoreRegion::Images) {
            StoreRegion::Images
        } else if is_in(StoreRegion::Witness) {
            StoreRegion::Witness
        } else if layout.is_map(page) {
            StoreRegion::FreeMap
        } else if layout.is_page(page) {
            StoreRegion::Pages
        } else {
            StoreRegion::Superblock
        }
    }

    /// The bytes of a region, and the device that they are on. Of the superblocks, the first.
    pub(super) fn range(self, layout: &Layout) -> (StoreDevice, Range<u64>) {
        let page = layout.page;
        let pages =
            |from: PageNo, to: PageNo| (StoreDevice::Data, page.offset(from)..page.offset(to));
        let recovery_end = layout.recovery_offset + layout.recovery_bytes;
        let witness = layout.witness_offsets().map_or(recovery_end, |places| places[0]);
        match self {
            StoreRegion::Superblock => {
                let first = superblock_offsets(layout.data_bytes)[0];
                (StoreDevice::Data, first..first + SUPERBLOCK)
            }
            StoreRegion::LogHeader => (StoreDevice::Log, 0..layout.log_offset),
            StoreRegion::Log => {
                (layout.log_target, layout.log_offset..layout.log_offset + layout.log_bytes)
            }
            StoreRegion::Images => (StoreDevice::Data, layout.recovery_offset..witness),
            StoreRegion::Witness => (StoreDevice::Data, witness..recovery_end),
            StoreRegion::FreeMap => pages(layout.map_first, layout.pages_first),
            StoreRegion::Pages => pages(layout.pages_first, layout.pages().end),
        }
    }
}
