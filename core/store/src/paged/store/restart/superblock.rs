//! Which superblock counts, whether the devices are its own, and the memory that it asks for.

use super::RestartFault;
use super::state::RestartPhase;
use crate::paged::api::StoreDevice;
use crate::paged::bounds::{self, Room};
use crate::paged::cache_frames;
use crate::paged::ids::StoreId;
use crate::paged::layout::LOG_HEADER;
use crate::paged::memory::NoMemory;
use crate::paged::space::{Pages, Space};
use crate::paged::store::PagedStore;
use crate::paged::store::checkpoint::marker_offsets;
use crate::paged::store::memory::Memory;
use crate::paged::store::requests::{RequestPurpose, RestartRequest};
use crate::paged::superblock::Superblock;
use crate::paged::tree::Tree;

impl<T: Copy> PagedStore<T> {
    /// Everything is known about where things stand: memory is set up, and what had begun is looked at.
    pub(super) fn choose_superblock(&mut self) -> bool {
        let restart = self.restarting();
        let RestartPhase::Superblocks { read, log_header, .. } =
            std::mem::replace(&mut restart.phase, RestartPhase::Done)
        else {
            unreachable!("superblocks are read first");
        };
        let (data_bytes, log_device) = (restart.data_bytes, restart.log_device_bytes);
        let found = read.iter().map(|bytes| Superblock::decode(bytes));
        let superblock = match Superblock::newest(found) {
            Ok(superblock) => superblock,
            Err(fault) => {
                self.superblock.store_id = fault.store().map_or(0, StoreId::get);
                self.give_up(RestartFault::Superblock(fault));
                return false;
            }
        };
        if let Err(fault) =
            check_devices(&superblock, data_bytes, log_device, log_header.as_deref())
        {
            self.give_up(fault);
            return false;
        }
        self.set_up(superblock);
        if self.fault.is_some() {
            return false;
        }
        self.write_markers();
        let mut left = 2;
        let block = superblock.layout.block_bytes;
        for offset in superblock.layout.witness_offsets().into_iter().flatten() {
            let purpose = RequestPurpose::Restart(RestartRequest::Witness);
            let class = self.options.classes.restart;
            self.requests.read(purpose, StoreDevice::Data, (offset, block), class);
            left += 1;
        }
        self.restarting().phase = RestartPhase::Confirm { left, flushing: false };
        true
    }

    /// Writes the present superblock into its slot, at both ends of the device.
    pub(super) fn write_markers(&mut self) {
        let class = self.options.classes.restart;
        let marker = self.superblock;
        for offset in marker_offsets(&marker) {
            let purpose = RequestPurpose::Restart(RestartRequest::Marker);
            self.requests.write(purpose, StoreDevice::Data, offset, class, marker.encode());
        }
    }

    fn set_up(&mut self, superblock: Superblock) {
        let layout = superblock.layout;
        let frames = cache_frames(self.options.cache, layout.page);
        let least = bounds::cache_least(&layout);
        if self.options.cache < least {
            let found = self.options.cache;
            return self.give_up(RestartFault::CacheTooSmall { least, found });
        }
        self.memory = Memory::new(Room::new(&layout, frames));
        let slots = cache_frames(self.options.old_versions_bytes(), layout.page);
        let tree = Tree { root: superblock.completed.root, height: superblock.completed.height };
        let mut pages = match Pages::new(layout, superblock.seed(), frames, slots) {
            Ok(pages) => pages,
            Err(NoMemory { asked }) => {
                // Of a cache with more pages than can be counted, only those that can be were asked for.
                let asked = asked.max(self.options.cache);
                return self.give_up(RestartFault::NoMemory { asked });
            }
        };
        pages.set_coming(superblock.completed.id.next());
        self.space = Space::new(pages, tree);
        self.superblock = superblock;
    }
}

/// Whether the devices are those that the store was formatted on.
fn check_devices(
    superblock: &Superblock,
    data_bytes: u64,
    log_device: Option<u64>,
    log_header: Option<&[u8]>,
) -> Result<(), RestartFault> {
    let layout = &superblock.layout;
    if layout.data_bytes != data_bytes {
        return Err(RestartFault::Size { formatted: layout.data_bytes, found: data_bytes });
    }
    match (layout.log_target, log_device) {
        (StoreDevice::Data, None) => Ok(()),
        (StoreDevice::Log, Some(bytes)) if bytes < LOG_HEADER + layout.log_bytes => {
            Err(RestartFault::Size { formatted: LOG_HEADER + layout.log_bytes, found: bytes })
        }
        (StoreDevice::Log, Some(_)) => match log_header {
            None => Err(RestartFault::Unreadable(StoreDevice::Log, 0)),
            Some(header) if superblock.owns_log(header) => Ok(()),
            Some(_) => Err(RestartFault::ForeignLog),
        },
        _ => Err(RestartFault::LogDevice),
    }
}
