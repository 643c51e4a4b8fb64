//! An extent: a run of an object's pages, where they lie, and what they hold.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | first page |
//! | 8 | 2 | pages |
//! | 10 | 1 | 1 if a clone may own the pages too |
//! | 11 | 1 | zero |
//! | 12 | 4 each | CRC-32C of every page |
//!
//! The checksums stand here and not in the pages, so that object data needs no reshaping, and a page that was written to
//! a wrong place, or not at all, is found out.

use super::ids::{PageNo, PageSize};
use super::{keys, node};
use std::ops::Range;

/// The checksum of a page that is lost: nothing that is read there counts. Picked by hand ("lost"); it is no checksum of what a page
/// never written may hold, and what else has it by chance is no more likely to be there than any other wrong page is to be taken for a right one.
pub const LOST_SUM: u32 = u32::from_be_bytes(*b"lost");
/// Bytes before the checksums.
pub const HEADER: usize = 12;

/// A run of an object's pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first page's index in the object.
    pub index: u64,
    /// Where that page lies.
    pub first: PageNo,
    /// Whether a clone may own the pages too.
    pub shared: bool,
    /// The checksum of each page.
    pub sums: Vec<u32>,
}

/// The most pages of one extent, so that its cell is never more than a quarter of a node.
pub const fn pages_max(page: PageSize) -> u64 {
    let room = node::cell_max(page) - keys::EXTENT_KEY - HEADER;
    let pages = room as u64 / 4 - 1;
    if pages < 64 { pages } else { 64 }
}

impl Extent {
    /// The value that stands in the tree.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + 4 * self.sums.len());
        out.extend_from_slice(&self.first.0.to_le_bytes());
        out.extend_from_slice(&(self.sums.len() as u16).to_le_bytes());
        out.extend_from_slice(&[u8::from(self.shared), 0]);
        for sum in &self.sums {
            out.extend_from_slice(&sum.to_le_bytes());
        }
        out
    }

    /// Reads the value of the extent at `index`.
    pub fn decode(index: u64, value: &[u8]) -> Option<Extent> {
        let (header, sums) = value.split_at_checked(HEADER)?;
        let first = PageNo(u64::from_le_bytes(header[..8].try_into().ok()?));
        let count = usize::from(u16::from_le_bytes(header[8..10].try_into().ok()?));
        if count == 0 || sums.len() != 4 * count {
            return None;
        }
        let sums = sums.as_chunks().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        Some(Extent { index, first, shared: header[10] & 1 == 1, sums })
    }

    /// Where one page lies and its checksum, and whether another one of the extent follows it: of the value of the extent at `first`, if that
    /// covers the page of `index`. Nothing else is taken out of it.
    pub fn look_up(first: u64, value: &[u8], index: u64) -> Option<(PageNo, u32, bool)> {
        let (header, sums) = value.split_at_checked(HEADER)?;
        let number = PageNo(u64::from_le_bytes(header[..8].try_into().ok()?));
        let at = index.checked_sub(first)?;
        let sums = sums.as_chunks().0;
        let sum = u32::from_le_bytes(*sums.get(usize::try_from(at).ok()?)?);
        Some((number.plus(at), sum, at + 1 < sums.len() as u64))
    }

    /// Page indices of the object that it covers.
    pub fn range(&self) -> Range<u64> {
        self.index..self.index + self.sums.len() as u64
    }

    /// Where the page of `index` lies, and its checksum.
    pub fn page(&self, index: u64) -> (PageNo, u32) {
        let at = index - self.index;
        (self.first.plus(at), self.sums[at as usize])
    }

    /// The part of it inside `range`.
    pub fn part(&self, range: Range<u64>) -> Option<Extent> {
        let from = range.start.max(self.index);
        let to = range.end.min(self.range().end);
        (from < to).then(|| Extent {
            index: from,
            first: self.first.plus(from - self.index),
            shared: self.shared,
            sums: self.sums[(from - self.index) as usize..(to - self.index) as usize].to_vec(),
        })
    }
}

/// Where the checksum of the `at`-th page stands in the value.
pub const fn sum_offset(at: u64) -> u16 {
    (HEADER + 4 * at as usize) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_reads_back_and_its_parts_fit_together() {
        let extent = Extent { index: 10, first: PageNo(100), shared: true, sums: vec![1, 2, 3, 4] };
        assert_eq!(Extent::decode(10, &extent.encode()), Some(extent.clone()));
        assert_eq!(extent.page(12), (PageNo(102), 3));
        let look_up = |index| Extent::look_up(10, &extent.encode(), index);
        assert_eq!(look_up(12), Some((PageNo(102), 3, true)));
        assert_eq!(look_up(13), Some((PageNo(103), 4, false)));
        assert_eq!([look_up(9), look_up(14)], [None; 2]);
        let part = extent.part(11..13).expect("it overlaps");
        assert_eq!((part.index, part.first, part.sums), (11, PageNo(101), vec![2, 3]));
        assert_eq!(extent.part(14..20), None);
        assert_eq!(Extent::decode(0, &extent.encode()[..20]), None);
        for page in [1024, 4096, 16384] {
            assert!(pages_max(PageSize::new(page).expect("legal")) >= 32);
        }
    }
}
