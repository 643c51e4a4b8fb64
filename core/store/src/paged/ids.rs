//! The numbers of a paged store: pages, log positions, checkpoints, objects.

use crate::objects::{CollectionId, ObjectNo};
use std::fmt;
use std::num::NonZeroU64;

/// A store's own number: random, given when it is formatted, and never given again. Zero is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(NonZeroU64);

impl StoreId {
    /// The store of this number.
    pub const fn new(number: u64) -> Option<StoreId> {
        match NonZeroU64::new(number) {
            Some(number) => Some(StoreId(number)),
            None => None,
        }
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {:016x}", self.0)
    }
}

/// A page's place on the data device, counted in pages from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNo(pub u64);

/// A position in the log: how many bytes the log had when the record there was appended. It only grows; the ring
/// keeps the newest ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// A checkpoint's number. One is the state of a store that was just formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointId(pub u64);

/// Which writing of a page is meant: the low 24 bits of the number of the checkpoint that writes it. They are never all zero,
/// because checkpoints whose number ends so are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageVersion(u32);

/// A page of the tree as that which leads to it knows it: its parent, or the superblock. On disk it is one number, the page
/// in the low 40 bits and the version in the high 24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Child {
    /// Where it is.
    pub page: PageNo,
    /// Which writing of it belongs there.
    pub version: PageVersion,
}

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
    /// The state of a store that was just formatted.
    pub const FIRST: CheckpointId = CheckpointId(1);

    /// The one after this.
    pub const fn next(self) -> CheckpointId {
        let next = self.0 + 1;
        CheckpointId(if next & PageVersion::MASK == 0 { next + 1 } else { next })
    }

    /// The last one before another that gives this version to its pages.
    pub const fn last_of(version: PageVersion, before: CheckpointId) -> CheckpointId {
        let round = before.0 & !PageVersion::MASK;
        let of_round = round | version.0 as u64;
        CheckpointId(if of_round < before.0 { of_round } else { of_round - PageVersion::MASK - 1 })
    }
}

impl PageVersion {
    /// What a store of format 1 knew of its pages: nothing.
    pub const UNKNOWN: PageVersion = PageVersion(0);

    const MASK: u64 = (1 << 24) - 1;

    /// The version that a checkpoint gives to its pages.
    pub const fn of(id: CheckpointId) -> PageVersion {
        PageVersion((id.0 & PageVersion::MASK) as u32)
    }
}

impl Child {
    /// Bits of the page's number.
    const PAGE_BITS: u32 = 40;
    /// Pages that a number has room for.
    pub const PAGES_MAX: u64 = 1 << Child::PAGE_BITS;

    /// A page of which nobody knows the version.
    pub const fn of_any_version(page: PageNo) -> Child {
        Child { page, version: PageVersion::UNKNOWN }
    }

    /// The number that is on disk.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.page.0 | (self.version.0 as u64) << Child::PAGE_BITS
    }

    /// What the number on disk says.
    #[inline]
    pub const fn from_bits(bits: u64) -> Child {
        Child {
            page: PageNo(bits & (Child::PAGES_MAX - 1)),
            version: PageVersion((bits >> Child::PAGE_BITS) as u32),
        }
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

impl fmt::Display for PageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PageVersion::UNKNOWN => f.write_str("not known"),
            PageVersion(version) => write!(f, "{version}"),
        }
    }
}

impl fmt::Display for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, version {}", self.page, self.version)
    }
}

/// An object of this store. The snapshot is 0 for the object as clients write it; clones have others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The collection that it belongs to.
    pub collection: CollectionId,
    /// Its number in there.
    pub object: ObjectNo,
    /// Which of its states.
    pub snapshot: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_one_number_and_no_checkpoint_gives_the_version_that_means_nothing() {
        let child = Child { page: PageNo(Child::PAGES_MAX - 1), version: PageVersion(0xab_cdef) };
        assert_eq!(child.bits(), 0xabcd_efff_ffff_ffff);
        assert_eq!(Child::from_bits(child.bits()), child);
        let last = CheckpointId(0x1ff_ffff);
        assert_eq!(PageVersion::of(last).to_string(), "16777215");
        assert_eq!(last.next(), CheckpointId(0x200_0001));
        assert_eq!(PageVersion::of(last.next()), PageVersion(1));
        for (id, before) in
            [(5, 6), (0x1ff_ffff, 0x200_0001), (0x200_0001, 0x200_0009), (9, 0x100_0009)]
        {
            let id = CheckpointId(id);
            assert_eq!(CheckpointId::last_of(PageVersion::of(id), CheckpointId(before)), id);
        }
    }
}
