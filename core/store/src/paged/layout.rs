//! Where everything stands on the devices.
//!
//! ```text
//! data device:  | superblocks | log, unless separate | recovery area | free map | pages ... | superblocks |
//! log device:   | log header  | log                                                                     |
//! ```
//!
//! Nothing moves after formatting. The superblocks stand at both ends, so that one damaged end does not hide the store.

use super::api::StoreDevice;
use super::bounds;
use super::ids::{Child, PageNo, PageSize};
use super::page;
use loadline_base::Bytes;
use std::ops::Range;

/// Bytes of a superblock, whatever the page size: it must be readable before the page size is known.
pub const SUPERBLOCK: u64 = 4096;
/// Superblocks at each end of the data device.
pub const SUPERBLOCKS_PER_END: u64 = 2;
/// Bytes before the log on a log device of its own.
pub const LOG_HEADER: u64 = 4096;
/// Segments that a log has at least, and bytes of a segment.
pub(crate) const SEGMENTS_LEAST: u64 = 4;
pub(crate) const SEGMENT_LEAST: u64 = 64 << 10;
/// Images of whole pages that a recovery area holds at least.
const IMAGES_LEAST: u64 = 64;
/// The smallest unit that is written to the log; a record that is acknowledged is never written again with others.
pub const BLOCK_SIZES: [u32; 4] = [512, 1024, 2048, 4096];

/// What a store is formatted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Tells this store from every other one.
    pub store_id: u64,
    /// Size of the data device.
    pub data_bytes: Bytes,
    /// Size of the log device, if the log has its own.
    pub log_device_bytes: Option<Bytes>,
    /// How much of its device the log takes; a multiple of the segment. On a device of its own it takes what fits.
    pub log_bytes: Bytes,
    /// Bytes of a log segment.
    pub segment_bytes: Bytes,
    /// What the log is written in multiples of: the device's physical sector, 512 to 4096.
    pub block_bytes: u32,
    /// Room for the images of one checkpoint; it bounds how many pages a checkpoint may have.
    pub recovery_bytes: Bytes,
    /// Size of a page.
    pub page: PageSize,
}

impl Format {
    /// How an OSD's disk is laid out: a sixteenth for the log and for images each, within bounds.
    pub fn of_disk(store_id: u64, size: Bytes) -> Format {
        let region = (size.get() / 16).clamp(4 << 20, 1 << 30) / (4 << 20) * (4 << 20);
        let segment = (region / 16).next_power_of_two().clamp(256 << 10, 64 << 20);
        Format {
            store_id,
            data_bytes: size,
            log_device_bytes: None,
            log_bytes: Bytes::new(region / segment * segment),
            segment_bytes: Bytes::new(segment),
            block_bytes: 4096,
            recovery_bytes: Bytes::new(region),
            page: PageSize::DEFAULT,
        }
    }
}

/// Why a store cannot be formatted like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// The block is not 512, 1024, 2048 or 4096, or larger than a page.
    Block,
    /// A segment is not a multiple of the block, or smaller than 64 KiB.
    Segment,
    /// The log has fewer than four segments.
    Log,
    /// The recovery area holds fewer than 64 pages beside the log's witness, or fewer than one step of a transaction may change
    /// ([`unit_pages`](super::bounds::unit_pages)).
    Recovery,
    /// The data device has no room for 64 pages beside its fixed regions.
    TooSmall,
    /// The data device has more pages than a node of the tree can name.
    TooLarge,
}

/// The places of a formatted store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of a page.
    pub page: PageSize,
    /// Size of the data device in bytes.
    pub data_bytes: u64,
    /// Which device the log is on.
    pub log_target: StoreDevice,
    /// First byte of the log on its device.
    pub log_offset: u64,
    /// Bytes of the ring.
    pub log_bytes: u64,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// What the log is written in multiples of.
    pub block_bytes: u64,
    /// First byte of the recovery area.
    pub recovery_offset: u64,
    /// Bytes of the recovery area.
    pub recovery_bytes: u64,
    /// First page of the free map.
    pub map_first: PageNo,
    /// Pages of the free map.
    pub map_pages: u64,
    /// First page that the free map speaks of.
    pub pages_first: PageNo,
    /// How many pages the free map speaks of.
    pub pages_count: u64,
}

impl Format {
    /// The places that this format leads to.
    pub fn layout(&self) -> Result<Layout, FormatError> {
        let (page, block) = (self.page, self.block_bytes);
        if !BLOCK_SIZES.contains(&block) || block as usize > page.bytes() {
            return Err(FormatError::Block);
        }
        let (block, segment) = (u64::from(block), self.segment_bytes.get());
        if !segment.is_multiple_of(block) || segment < SEGMENT_LEAST {
            return Err(FormatError::Segment);
        }
        let front = SUPERBLOCK * SUPERBLOCKS_PER_END;
        let (log_target, log_offset, log_room, after_log) = match self.log_device_bytes {
            Some(bytes) => {
                (StoreDevice::Log, LOG_HEADER, bytes.get().saturating_sub(LOG_HEADER), front)
            }
            None => (StoreDevice::Data, front, self.log_bytes.get(), front + self.log_bytes.get()),
        };
        let log_bytes = log_room / segment * segment;
        if log_bytes < SEGMENTS_LEAST * segment
            || (log_target == StoreDevice::Data && log_bytes != log_room)
        {
            return Err(FormatError::Log);
        }
        let page_bytes = page.bytes() as u64;
        let recovery_offset = after_log.next_multiple_of(page_bytes.max(SUPERBLOCK));
        let recovery_bytes = self.recovery_bytes.get() / SUPERBLOCK * SUPERBLOCK;
        let map_first = PageNo((recovery_offset + recovery_bytes).div_ceil(page_bytes));
        let end = (self.data_bytes.get().saturating_sub(front)) / page_bytes;
        let rest = end.checked_sub(map_first.0).ok_or(FormatError::TooSmall)?;
        let per_map_page = bits_per_map_page(page);
        let map_pages = rest.div_ceil(per_map_page + 1);
        let pages_count = rest.saturating_sub(map_pages);
        if pages_count < 64 {
            return Err(FormatError::TooSmall);
        }
        if end > Child::PAGES_MAX {
            return Err(FormatError::TooLarge);
        }
        let layout = Layout {
            page,
            data_bytes: self.data_bytes.get(),
            log_target,
            log_offset,
            log_bytes,
            segment_bytes: segment,
            block_bytes: block,
            recovery_offset,
            recovery_bytes,
            map_first,
            map_pages,
            pages_first: map_first.plus(map_pages),
            pages_count,
        };
        layout.witness_offsets().ok_or(FormatError::Recovery)?;
        Ok(layout)
    }
}

/// How many pages one page of the free map speaks of.
pub const fn bits_per_map_page(page: PageSize) -> u64 {
    (page.bytes() - page::HEADER) as u64 * 8
}

/// Where the superblocks of a data device of this size stand: slot 0 and slot 1 at the front, then at the end.
pub const fn superblock_offsets(data_bytes: u64) -> [u64; 4] {
    let end = data_bytes / SUPERBLOCK * SUPERBLOCK;
    [0, SUPERBLOCK, end.saturating_sub(2 * SUPERBLOCK), end.saturating_sub(SUPERBLOCK)]
}

impl Layout {
    /// The places of a store of which nothing is known yet: there are none.
    pub(in crate::paged) const fn unknown() -> Layout {
        Layout {
            page: PageSize::DEFAULT,
            data_bytes: 0,
            log_target: StoreDevice::Data,
            log_offset: 0,
            log_bytes: 1 << 20,
            segment_bytes: 1 << 16,
            block_bytes: 4096,
            recovery_offset: 0,
            recovery_bytes: 0,
            map_first: PageNo(0),
            map_pages: 0,
            pages_first: PageNo(0),
            pages_count: 0,
        }
    }

    /// The page of the free map and the bit in it that speak of `page`.
    pub fn map_bit(&self, page: PageNo) -> (PageNo, u32) {
        let index = page.0 - self.pages_first.0;
        let per_page = bits_per_map_page(self.page);
        (self.map_first.plus(index / per_page), (index % per_page) as u32)
    }

    /// The pages that the free map speaks of.
    pub fn pages(&self) -> Range<PageNo> {
        self.pages_first..self.pages_first.plus(self.pages_count)
    }

    /// Whether `page` is one that the store may give out.
    pub fn is_page(&self, page: PageNo) -> bool {
        self.pages().contains(&page)
    }

    /// Whether `count` pages from `first` on are.
    pub fn is_run(&self, first: PageNo, count: u64) -> bool {
        count > 0
            && self.is_page(first)
            && first.0.checked_add(count - 1).is_some_and(|last| self.is_page(PageNo(last)))
    }

    /// Whether `page` has a fixed place in the free map.
    pub fn is_map(&self, page: PageNo) -> bool {
        (self.map_first..self.pages_first).contains(&page)
    }

    /// Where the log's witness stands on the data device, in two places ([`witness`](super::log::witness)): in the last two pages of
    /// the recovery area, each in a page of its own. An earlier program gave them to images as well; a store of its making
    /// whose area is too small for both goes on without a witness.
    pub fn witness_offsets(&self) -> Option<[u64; 2]> {
        let place = (self.page.bytes() as u64).max(SUPERBLOCK);
        let end = (self.recovery_offset + self.recovery_bytes) / place * place;
        let first = end.checked_sub(2 * place)?;
        let images = self.images_before(first);
        let step = bounds::unit_pages(bounds::levels(self));
        (images >= IMAGES_LEAST.max(u64::from(step))).then_some([first, first + place])
    }

    /// How many images of whole pages the recovery area holds.
    pub fn images_max(&self) -> u64 {
        let end =
            self.witness_offsets().map_or(self.recovery_offset + self.recovery_bytes, |at| at[0]);
        self.images_before(end)
    }

    fn images_before(&self, end: u64) -> u64 {
        let bytes = end.saturating_sub(self.recovery_offset + SUPERBLOCK);
        bytes / (self.page.bytes() as u64 + 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> Format {
        Format {
            store_id: 1,
            data_bytes: Bytes::from_mib(16),
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(1),
            segment_bytes: Bytes::from_kib(128),
            block_bytes: 512,
            recovery_bytes: Bytes::from_mib(1),
            page: PageSize::DEFAULT,
        }
    }

    #[test]
    fn regions_follow_each_other_and_end_before_the_last_superblocks() {
        for page in [1024, 4096, 16384] {
            let format = Format { page: PageSize::new(page).expect("a legal size"), ..format() };
            let layout = Format { recovery_bytes: Bytes::from_mib(2), ..format }.layout();
            let layout = layout.expect("it fits");
            let bytes = u64::from(page);
            assert!(layout.log_offset + layout.log_bytes <= layout.recovery_offset);
            assert!(layout.recovery_offset + layout.recovery_bytes <= layout.map_first.0 * bytes);
            assert!(layout.map_pages * bits_per_map_page(layout.page) >= layout.pages_count);
            assert!(layout.pages().end.0 * bytes <= superblock_offsets(layout.data_bytes)[2]);
            let last = PageNo(layout.pages().end.0 - 1);
            assert!(layout.is_map(layout.map_bit(last).0));
        }
    }

    /// An earlier program gave the whole recovery area to images, and needed no more than 64.
    #[test]
    fn a_small_recovery_area_of_an_earlier_program_keeps_its_images_and_has_no_witness() {
        for page in [1024, 4096, 16384] {
            let format = Format { page: PageSize::new(page).expect("a legal size"), ..format() };
            let layout = Format { recovery_bytes: Bytes::from_mib(2), ..format }.layout();
            let layout = layout.expect("it fits");
            let [first, second] = layout.witness_offsets().expect("there is room");
            let place = u64::from(page).max(SUPERBLOCK);
            let end = layout.recovery_offset + layout.recovery_bytes;
            assert!(second == first + place && second + place <= end && second + 2 * place > end);
            let image = u64::from(page) + 64;
            let images = SUPERBLOCK + layout.images_max() * image;
            assert!(layout.recovery_offset + images <= first, "images end before it");
            let least = SUPERBLOCK + 64 * image;
            let earlier = Layout { recovery_bytes: least.next_multiple_of(SUPERBLOCK), ..layout };
            assert_eq!(earlier.witness_offsets(), None);
            assert!((64..70).contains(&earlier.images_max()));
        }
    }

    #[test]
    fn impossible_formats_are_refused() {
        let check = |format: Format, error| assert_eq!(format.layout(), Err(error));
        check(Format { block_bytes: 513, ..format() }, FormatError::Block);
        check(Format { segment_bytes: Bytes::from_kib(4), ..format() }, FormatError::Segment);
        check(Format { log_bytes: Bytes::from_kib(128), ..format() }, FormatError::Log);
        check(Format { recovery_bytes: Bytes::from_kib(64), ..format() }, FormatError::Recovery);
        check(Format { data_bytes: Bytes::from_mib(2), ..format() }, FormatError::TooSmall);
        check(Format { data_bytes: Bytes::new(5 << 50), ..format() }, FormatError::TooLarge);
    }
}
