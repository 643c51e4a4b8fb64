//! The numbers of a paged store: pages, log positions, checkpoints.

use std::fmt;

/// A page's place on the data device, counted in pages from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNo(pub u64);

/// A position in the log: how many bytes the log had when the record there was appended. It only grows; the ring
/// keeps the newest ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// A checkpoint's number, from 1. Zero is the state of a store that was just formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointId(pub u64);

/// How many bytes a page has: a power of two from 1 KiB to 16 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(u32);

impl PageSize {
    /// 4 KiB, the default.
    pub const DEFAULT: PageSize = PageSize(4096);

    /// The page size of `bytes`, if it is allowed.
    pub const fn new(bytes: u32) -> Option<PageSize> {
        if bytes.is_power_of_two() && bytes >= 1024 && bytes <= 16384 {
            Some(PageSize(bytes))
        } else {
            None
        }
    }

    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Where page `page` begins on the device, in bytes.
    pub const fn offset(self, page: PageNo) -> u64 {
        page.0 * self.0 as u64
    }

    /// How many pages hold `bytes`, rounded up.
    pub const fn pages_for(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.0 as u64)
    }
}

impl PageNo {
    /// The page `count` further on.
    pub const fn plus(self, count: u64) -> PageNo {
        PageNo(self.0 + count)
    }
}

impl CheckpointId {
    /// The one after this.
    pub const fn next(self) -> CheckpointId {
        CheckpointId(self.0 + 1)
    }
}

impl fmt::Display for PageNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}", self.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log position {}", self.0)
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checkpoint {}", self.0)
    }
}
