//! What every page of the store's own making has in common: a header with a checksum.
//!
//! Pages of object data have no header, so that a 4 MiB write needs no reshaping; their checksums stand in
//! the object's extents.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the store's id ([`Seed`]) and bytes 4.. |
//! | 4 | 1 | kind ([`PageKind`]) |
//! | 5 | 1 | layout version of that kind |
//! | 6 | 2 | cells in a tree node, else 0 |
//! | 8 | 8 | page number |
//! | 16 | 2 | where the cells begin, in a tree node |
//! | 18 | 2 | bytes of removed cells above that place |
//! | 20 | 2 | first bytes that all keys of a tree node share |
//! | 22 | 2 | zero |
//! | 24 | 8 | checkpoint that wrote the page |
//!
//! Integers are little-endian, here and everywhere in the format. The page number is inside the checksum: a page
//! that was written to a wrong place is whole, but not the page that is looked for. So is the checkpoint that wrote it, and
//! whoever leads to a page knows which one that was: where a write was lost, what stood there before is whole and in its
//! place, but of another checkpoint.

use super::ids::{CheckpointId, Child, PageNo, PageVersion};
use super::seed::Seed;

/// Bytes of the header.
pub const HEADER: usize = 32;

/// What a page with a header holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageKind {
    /// Keys with values.
    Leaf = 1,
    /// Keys with children.
    Inner = 2,
    /// One bit per page of the store: in use or free.
    FreeMap = 3,
}

/// Why a page is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFault {
    /// The checksum does not fit the bytes.
    Checksum,
    /// A whole page, but one that belongs elsewhere.
    Misplaced(PageNo),
    /// A whole page in its place, but of another checkpoint than it should be: the write of that one was lost.
    Stale(CheckpointId),
    /// The checksum fits, but there is no such kind or layout.
    Unknown,
}

impl PageKind {
    /// The kind with this number.
    pub const fn from_u8(kind: u8) -> Option<PageKind> {
        match kind {
            1 => Some(PageKind::Leaf),
            2 => Some(PageKind::Inner),
            3 => Some(PageKind::FreeMap),
            _ => None,
        }
    }
}

/// Layout version of every kind.
pub const LAYOUT: u8 = 2;
/// The layout of format 1. Its checksum has no seed, and it is taken only where nobody knows the page's version.
pub const LAYOUT_BEFORE: u8 = 1;

/// Where the header has the layout and the checkpoint.
const AT_LAYOUT: usize = 5;
const AT_CHECKPOINT: usize = 24;

/// Makes `page` an empty page of this kind and number.
pub fn init(page: &mut [u8], kind: PageKind, number: PageNo) {
    page.fill(0);
    page[4] = kind as u8;
    page[5] = LAYOUT;
    page[8..16].copy_from_slice(&number.0.to_le_bytes());
    let end = u16::try_from(page.len()).expect("a page has at most 16 KiB");
    page[16..18].copy_from_slice(&end.to_le_bytes());
}

/// The kind of a page in memory.
pub fn kind(page: &[u8]) -> Option<PageKind> {
    PageKind::from_u8(page[4])
}

/// Makes a page ready for the device.
pub fn seal(page: &mut [u8], seed: Seed, checkpoint: CheckpointId) {
    page[AT_LAYOUT] = LAYOUT;
    page[AT_CHECKPOINT..][..8].copy_from_slice(&checkpoint.0.to_le_bytes());
    let crc = seed.sum(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Whether a page that came from the device is whole and is the one that was asked for.
pub fn verify(page: &[u8], seed: Seed, wanted: Child) -> Result<PageKind, PageFault> {
    let is_old = page[AT_LAYOUT] == LAYOUT_BEFORE;
    let seed = if is_old { Seed::NONE } else { seed };
    if seed.sum(&page[4..]).to_le_bytes() != page[..4] {
        return Err(PageFault::Checksum);
    }
    let number = PageNo(u64::from_le_bytes(page[8..16].try_into().expect("eight bytes")));
    if number != wanted.page {
        return Err(PageFault::Misplaced(number));
    }
    let wrote = writer(page);
    let is_known = wanted.version != PageVersion::UNKNOWN;
    if is_known && (is_old || PageVersion::of(wrote) != wanted.version) {
        return Err(PageFault::Stale(wrote));
    }
    match kind(page) {
        Some(kind) if page[AT_LAYOUT] == LAYOUT || is_old => Ok(kind),
        _ => Err(PageFault::Unknown),
    }
}

/// The checkpoint that wrote a page.
pub fn writer(page: &[u8]) -> CheckpointId {
    CheckpointId(u64::from_le_bytes(page[AT_CHECKPOINT..][..8].try_into().expect("eight bytes")))
}

/// Which writing of a page this is, for a digest over many: layout and checkpoint.
pub fn stamp(page: &[u8]) -> PageStamp {
    PageStamp { layout: page[AT_LAYOUT], checkpoint: writer(page) }
}

/// Which writing of a page is meant: a page of format 1 is another one than that of format 2, whatever their checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStamp {
    layout: u8,
    checkpoint: CheckpointId,
}

impl PageStamp {
    /// What [`seal`] gives to the pages of a checkpoint.
    pub const fn of(checkpoint: CheckpointId) -> PageStamp {
        PageStamp { layout: LAYOUT, checkpoint }
    }

    /// The checkpoint that wrote it; `None` for a page of format 1.
    pub fn writer(self) -> Option<CheckpointId> {
        (self.layout == LAYOUT).then_some(self.checkpoint)
    }

    /// The digest of many pages' stamps, in the pages' order: the CRC of nine bytes for each.
    pub fn digest(stamps: impl IntoIterator<Item = PageStamp>) -> u32 {
        stamps.into_iter().fold(0, |digest, stamp| {
            let mut bytes = [stamp.layout; 9];
            bytes[1..].copy_from_slice(&stamp.checkpoint.0.to_le_bytes());
            crc32c::crc32c_append(digest, &bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed::of(5);

    fn child(page: u64, checkpoint: u64) -> Child {
        let version = match checkpoint {
            0 => PageVersion::UNKNOWN,
            id => PageVersion::of(CheckpointId(id)),
        };
        Child { page: PageNo(page), version }
    }

    #[test]
    fn a_sealed_page_is_whole_and_nowhere_else_and_no_other_time_and_no_other_stores() {
        let mut page = vec![0; 4096];
        init(&mut page, PageKind::Leaf, PageNo(7));
        seal(&mut page, SEED, CheckpointId(3));
        let check = |page: &[u8], wanted, verdict| {
            assert_eq!(verify(page, SEED, wanted), verdict, "{wanted:?}");
        };
        check(&page, child(7, 3), Ok(PageKind::Leaf));
        check(&page, child(7, 0), Ok(PageKind::Leaf));
        check(&page, child(8, 3), Err(PageFault::Misplaced(PageNo(7))));
        check(&page, child(7, 2), Err(PageFault::Stale(CheckpointId(3))));
        assert_eq!(verify(&page, Seed::of(6), child(7, 3)), Err(PageFault::Checksum));
        assert_eq!(verify(&page, Seed::NONE, child(7, 3)), Err(PageFault::Checksum));
        page[4095] ^= 1;
        check(&page, child(7, 3), Err(PageFault::Checksum));
    }

    /// Format 1 knew neither seeds nor versions: where a parent knows nothing of a page, one of that time is taken, and where
    /// it knows the checkpoint, a page of that time is what a lost write has left.
    #[test]
    fn a_page_of_format_1_is_taken_only_where_nobody_knows_better() {
        let mut page = vec![0; 4096];
        init(&mut page, PageKind::Leaf, PageNo(7));
        page[5] = LAYOUT_BEFORE;
        page[24] = 3;
        let crc = crc32c::crc32c(&page[4..]);
        page[..4].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(verify(&page, SEED, child(7, 0)), Ok(PageKind::Leaf));
        assert_eq!(verify(&page, SEED, child(7, 3)), Err(PageFault::Stale(CheckpointId(3))));
    }
}
