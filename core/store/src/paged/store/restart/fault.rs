//! How a restart fails, and how far it is.

use crate::paged::api::StoreDevice;
use crate::paged::exceeded::Exceeded;
use crate::paged::ids::{Lsn, PageNo};
use crate::paged::image_set::ImageSetFault;
use crate::paged::superblock::SuperblockFault;
use loadline_base::Bytes;
use std::fmt;

/// Why a store could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartFault {
    /// No usable superblock.
    Superblock(SuperblockFault),
    /// The device is not the size that the store was formatted with.
    Size {
        /// What the superblock says.
        formatted: u64,
        /// What the device has.
        found: u64,
    },
    /// The log device is missing, or there is one and the store has its log elsewhere.
    LogDevice,
    /// The log device belongs to another store.
    ForeignLog,
    /// A read of what is needed failed: of the data, or of the log, whatever device that is on; and at which byte of its device.
    Unreadable(StoreDevice, u64),
    /// A write failed.
    Unwritable,
    /// The cache is smaller than a store with this layout needs ([`cache_least`](crate::paged::bounds::cache_least)).
    CacheTooSmall {
        /// Memory at least.
        least: Bytes,
        /// What it was given.
        found: Bytes,
    },
    /// The system does not have the memory that its cache and what stands beside it take.
    NoMemory {
        /// So much, in one piece; the cache, where that is more.
        asked: Bytes,
    },
    /// The images of the checkpoint that had begun cannot be used.
    Images(ImageSetFault),
    /// An image in the recovery area or in the log cannot be unpacked.
    Image(PageNo),
    /// The log ends before the checkpoint that had begun.
    LogEnds(Lsn),
    /// The log is damaged here: records behind, or its witness, say that it was durable beyond.
    LogDamaged(Lsn),
    /// A whole record does not mean anything.
    Record(Lsn),
    /// A page of the tree or the free map is damaged.
    Page(PageNo),
    /// A page of the tree or the free map, or one of data that the log needs, could not be read.
    UnreadablePage(PageNo),
    /// The pages of the free map are whole, and not those of the last completed checkpoint: a write was lost.
    FreeMap,
    /// A transaction of the log takes more pages than the device has. It had them when it was carried out first.
    NoSpace(Lsn),
    /// A transaction of the log exceeds a bound of this store.
    Exceeds(Lsn, Exceeded),
}

impl RestartFault {
    /// Whether what was written is no longer what is there: the device can be used, and the store on it cannot. Where no superblock is
    /// whole, something must say which store it was.
    pub fn is_damage(&self) -> bool {
        match self {
            RestartFault::Images(_)
            | RestartFault::Image(_)
            | RestartFault::LogEnds(_)
            | RestartFault::LogDamaged(_)
            | RestartFault::Record(_)
            | RestartFault::Page(_)
            | RestartFault::FreeMap => true,
            RestartFault::Superblock(fault) => fault.store().is_some(),
            RestartFault::Size { .. }
            | RestartFault::LogDevice
            | RestartFault::ForeignLog
            | RestartFault::Unreadable(..)
            | RestartFault::UnreadablePage(_)
            | RestartFault::Unwritable
            | RestartFault::CacheTooSmall { .. }
            | RestartFault::NoMemory { .. }
            | RestartFault::NoSpace(_)
            | RestartFault::Exceeds(..) => false,
        }
    }
}

/// How far a restart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartProgress {
    /// What it is doing.
    pub phase: &'static str,
    /// Bytes or pages done of this.
    pub done: u64,
    /// Of how many, as far as known.
    pub total: u64,
}

impl fmt::Display for RestartFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestartFault::Superblock(SuperblockFault::Foreign) => {
                f.write_str("there is no store here: none of the four superblocks is one")
            }
            RestartFault::Superblock(SuperblockFault::Checksum(None)) => {
                f.write_str("every superblock is damaged")
            }
            RestartFault::Superblock(SuperblockFault::Checksum(Some(store))) => {
                write!(f, "every superblock of {store} is damaged")
            }
            RestartFault::Superblock(SuperblockFault::Unfinished(store)) => {
                write!(f, "there is nothing here yet: the making of {store} was begun and not ended")
            }
            RestartFault::Superblock(SuperblockFault::Version(version)) => {
                write!(
                    f,
                    "the store has format version {version}, which is newer than this program"
                )
            }
            RestartFault::Superblock(SuperblockFault::TwoStores) => f.write_str(
                "superblocks of two different stores stand here: format the device again, or overwrite those that are not this store's",
            ),
            RestartFault::FreeMap => f.write_str(
                "a page of the free map is not the one that the last checkpoint wrote: a write was lost",
            ),
            RestartFault::Superblock(SuperblockFault::Layout) => {
                f.write_str("the superblock names impossible places")
            }
            RestartFault::Size { formatted, found } => {
                let (was, is) = (Bytes::new(*formatted), Bytes::new(*found));
                match found < formatted {
                    true => write!(f, "the disk was cut: its store was made on {was}, and {is} are left"),
                    false => write!(f, "the store was made on {was}, and the disk has {is}"),
                }
            }
            RestartFault::LogDevice => {
                f.write_str("the store has its log on a device of its own, or the other way round")
            }
            RestartFault::ForeignLog => f.write_str("the log device belongs to another store"),
            RestartFault::Unreadable(StoreDevice::Data, at) => {
                write!(f, "the data device cannot be read at byte {at}")
            }
            RestartFault::Unreadable(StoreDevice::Log, at) => {
                write!(f, "the log cannot be read at byte {at} of its device")
            }
            RestartFault::Unwritable => f.write_str("the device cannot be written"),
            RestartFault::CacheTooSmall { least, found } => {
                write!(f, "the cache is {found} and this store needs at least {least}")
            }
            RestartFault::NoMemory { asked } => {
                write!(f, "the cache is too large for this machine: {asked} of memory cannot be had")
            }
            RestartFault::Images(fault) => {
                write!(f, "the images of the checkpoint that was under way cannot be used: {fault}")
            }
            RestartFault::Image(page) => write!(f, "the image of {page} cannot be unpacked"),
            RestartFault::LogEnds(position) => {
                write!(f, "the log ends at {position}, before the checkpoint that was under way")
            }
            RestartFault::LogDamaged(position) => {
                write!(f, "the log is damaged at {position}: it was durable beyond")
            }
            RestartFault::Record(position) => {
                write!(f, "the record at {position} is whole and means nothing")
            }
            RestartFault::Page(page) => write!(f, "{page} is damaged and needed for the replay"),
            RestartFault::UnreadablePage(page) => {
                write!(f, "{page} cannot be read and is needed for the replay")
            }
            RestartFault::NoSpace(position) => {
                write!(f, "the transaction that ends at {position} of the log finds no free pages")
            }
            RestartFault::Exceeds(position, exceeded) => {
                write!(f, "the transaction that ends at {position} of the log: {exceeded}")
            }
        }
    }
}
