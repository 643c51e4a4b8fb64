//! What every page of the store's own making has in common: a header with a checksum.
//!
//! Pages of object data have no header, so that a 4 MiB write needs no reshaping; their checksums stand in
//! the object's extents.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of bytes 4.. |
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
//! that was written to a wrong place is whole, but not the page that is looked for.

use super::ids::{CheckpointId, PageNo};

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

/// Layout version of every kind so far.
pub const LAYOUT: u8 = 1;

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
pub fn seal(page: &mut [u8], checkpoint: CheckpointId) {
    page[24..32].copy_from_slice(&checkpoint.0.to_le_bytes());
    let crc = crc32c::crc32c(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Whether a page that came from the device is whole and is the one that was asked for.
pub fn verify(page: &[u8], wanted: PageNo) -> Result<PageKind, PageFault> {
    if crc32c::crc32c(&page[4..]).to_le_bytes() != page[..4] {
        return Err(PageFault::Checksum);
    }
    let number = PageNo(u64::from_le_bytes(page[8..16].try_into().expect("eight bytes")));
    if number != wanted {
        return Err(PageFault::Misplaced(number));
    }
    match kind(page) {
        Some(kind) if page[5] == LAYOUT => Ok(kind),
        _ => Err(PageFault::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_is_whole_and_nowhere_else() {
        let mut page = vec![0; 4096];
        init(&mut page, PageKind::Leaf, PageNo(7));
        seal(&mut page, CheckpointId(3));
        assert_eq!(verify(&page, PageNo(7)), Ok(PageKind::Leaf));
        assert_eq!(verify(&page, PageNo(8)), Err(PageFault::Misplaced(PageNo(7))));
        page[4095] ^= 1;
        assert_eq!(verify(&page, PageNo(7)), Err(PageFault::Checksum));
    }
}
