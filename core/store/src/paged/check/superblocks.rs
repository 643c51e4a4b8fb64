//! The four superblocks and the log device's header: which one counts, and whether it speaks of these devices.

use super::{CheckReport, ReadAt, Remark, StoreFinding};
use crate::paged::api::StoreDevice;
use crate::paged::layout::{LOG_HEADER, SUPERBLOCK, superblock_offsets};
use crate::paged::superblock::{Superblock, SuperblockFault};

/// One of the four places of a superblock, and what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperblockSlot {
    /// First byte on the data device.
    pub offset: u64,
    /// The superblock, or why it is none. One that cannot be read counts as foreign.
    pub found: Result<Superblock, SuperblockFault>,
}

/// What stands at the four places of the superblock: slot 0 and 1 at the front, then at the end.
pub fn slots(devices: &dyn ReadAt) -> [SuperblockSlot; 4] {
    let size = devices.size(StoreDevice::Data).unwrap_or(0);
    superblock_offsets(size).map(|offset| {
        let mut bytes = vec![0; SUPERBLOCK as usize];
        let found = match devices.read_at(StoreDevice::Data, offset, &mut bytes) {
            true => Superblock::decode(&bytes),
            false => Err(SuperblockFault::Foreign),
        };
        SuperblockSlot { offset, found }
    })
}

/// The superblock that a restart would go by, or why there is none for these devices.
pub fn newest(devices: &dyn ReadAt) -> Result<Superblock, StoreFinding> {
    let superblock = Superblock::newest(slots(devices).map(|slot| slot.found))
        .map_err(StoreFinding::NoSuperblock)?;
    match place_fault(devices, &superblock) {
        Some(finding) => Err(finding),
        None => Ok(superblock),
    }
}

/// The same, and what is to be said of the other superblocks.
pub(super) fn check(devices: &dyn ReadAt, report: &mut CheckReport) -> Option<Superblock> {
    let slots = slots(devices);
    let superblock = match newest(devices) {
        Ok(superblock) => superblock,
        Err(finding) => {
            report.find(finding);
            return None;
        }
    };
    for slot in slots {
        if let Err(fault) = slot.found {
            report.remarks.push(Remark::Slot { offset: slot.offset, fault });
        }
    }
    check_twins(&slots, &superblock, report);
    Some(superblock)
}

/// The newest superblock stands at both ends of the device, and two with one sequence number are the same.
fn check_twins(slots: &[SuperblockSlot; 4], newest: &Superblock, report: &mut CheckReport) {
    let same = |slot: &&SuperblockSlot| slot.found.is_ok_and(|s| s.sequence == newest.sequence);
    let copies: Vec<&SuperblockSlot> = slots.iter().filter(same).collect();
    if copies.len() == 1 {
        report.remarks.push(Remark::Alone { offset: copies[0].offset });
    }
    if let Some(other) = copies.iter().find(|slot| slot.found != Ok(*newest)) {
        report.find(StoreFinding::TwinsDiffer { offset: other.offset, sequence: newest.sequence });
    }
}

/// Why the superblock's places cannot be those of these devices.
fn place_fault(devices: &dyn ReadAt, superblock: &Superblock) -> Option<StoreFinding> {
    let layout = &superblock.layout;
    let found = devices.size(StoreDevice::Data).unwrap_or(0);
    if layout.data_bytes != found {
        let formatted = layout.data_bytes;
        return Some(StoreFinding::Size { target: StoreDevice::Data, formatted, found });
    }
    match (layout.log_target, devices.size(StoreDevice::Log)) {
        (StoreDevice::Data, None) => None,
        (StoreDevice::Data, Some(_)) => Some(StoreFinding::UselessLogDevice),
        (StoreDevice::Log, None) => Some(StoreFinding::NoLogDevice),
        (StoreDevice::Log, Some(found)) => log_device_fault(devices, superblock, found),
    }
}

fn log_device_fault(
    devices: &dyn ReadAt,
    superblock: &Superblock,
    found: u64,
) -> Option<StoreFinding> {
    let formatted = superblock.layout.log_offset + superblock.layout.log_bytes;
    if found < formatted {
        return Some(StoreFinding::Size { target: StoreDevice::Log, formatted, found });
    }
    let mut header = vec![0; LOG_HEADER as usize];
    let is_read = devices.read_at(StoreDevice::Log, 0, &mut header);
    (!is_read || !superblock.owns_log(&header)).then_some(StoreFinding::ForeignLog)
}
