//! Pages that several objects own, because one was cloned from the other.
//!
//! Only pages with at least two owners stand in the tree, as ranges that never overlap and never exceed an extent's length.
//! A page without a range has one owner, even if its extent says that it may be shared.

use super::cells::{put, remove_key};
use super::step::StepUnderWay;
use crate::paged::extent::{self, Extent};
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::space::{PageRun, Space};
use crate::paged::tree::Missing;
use std::ops::Range;

/// Bytes of a range's value.
pub(super) const RANGE: usize = 12;

/// A range of pages with more than one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::paged) struct SharedRange {
    pub first: PageNo,
    pub pages: u64,
    pub owners: u32,
}

impl SharedRange {
    fn range(&self) -> Range<u64> {
        self.first.0..self.first.0 + self.pages
    }

    /// Whether its pages are shared still when one owner is gone.
    fn outlives_an_owner(&self) -> bool {
        self.owners > 2
    }

    fn encode(&self) -> [u8; RANGE] {
        let mut out = [0; RANGE];
        out[..8].copy_from_slice(&self.pages.to_le_bytes());
        out[8..].copy_from_slice(&self.owners.to_le_bytes());
        out
    }

    /// Reads a cell of the tree.
    pub(in crate::paged) fn decode(key: &[u8], value: &[u8]) -> Option<SharedRange> {
        let (pages, owners) = value.split_at_checked(8)?;
        Some(SharedRange {
            first: keys::read_shared(key)?,
            pages: u64::from_le_bytes(pages.try_into().ok()?),
            owners: u32::from_le_bytes(owners.try_into().ok()?),
        })
    }
}

/// The first key whose range could reach `first`.
fn earliest(space: &Space, first: PageNo) -> Vec<u8> {
    let longest = extent::pages_max(space.pages.layout().page);
    keys::shared(PageNo(first.0.saturating_sub(longest - 1)))
}

/// Pages next to each other that have the same owners.
pub(super) struct Stretch {
    pub run: PageRun,
    /// The shared range that they stand in, if they have more than one owner.
    range: Option<SharedRange>,
}

/// The first pages of an extent, as many as have the same owners.
pub(super) fn stretch(space: &Space, extent: &Extent) -> Result<Stretch, Missing> {
    let run = PageRun { first: extent.first, count: extent.sums.len() as u64 };
    if !extent.shared {
        return Ok(Stretch { run, range: None });
    }
    let (first, end) = (run.first.0, run.first.0 + run.count);
    let mut found = None;
    let bounds = (&earliest(space, run.first)[..], &keys::shared(PageNo(end))[..]);
    space.tree.visit_range(&space.pages, bounds, |key, value| {
        found = SharedRange::decode(key, value).filter(|range| range.range().end > first);
        found.is_none()
    })?;
    let (range, end) = match found {
        Some(range) if range.first.0 <= first => (found, range.range().end.min(end)),
        Some(range) => (None, range.first.0),
        None => (None, end),
    };
    Ok(Stretch { run: PageRun { count: end - first, ..run }, range })
}

/// Whether nobody else owns the page at `index` of an object's extent.
pub(super) fn is_owned_alone(space: &Space, extent: &Extent, index: u64) -> Result<bool, Missing> {
    let page = extent.part(index..index + 1).expect("the page is the extent's");
    Ok(stretch(space, &page)?.range.is_none())
}

/// One owner more.
pub(super) fn share(space: &mut Space, stretch: &Stretch) -> Result<(), Missing> {
    let owners = stretch.range.map_or(1, |range| range.owners);
    split(space, stretch)?;
    put_if_any(space, stretch.pages(), owners + 1)
}

/// One owner less. Pages that have none left are given back.
pub(super) fn release(
    space: &mut Space,
    stretch: &Stretch,
    step: &mut StepUnderWay,
) -> Result<(), Missing> {
    let Some(range) = stretch.range else {
        space.pages.give_back(stretch.run);
        return Ok(());
    };
    split(space, stretch)?;
    if range.outlives_an_owner() {
        put_if_any(space, stretch.pages(), range.owners - 1)
    } else if range.first == stretch.run.first {
        remove_key(space, &keys::shared(range.first), step)
    } else {
        Ok(())
    }
}

impl Stretch {
    /// Whether somebody else owns them as well.
    pub(super) fn is_shared(&self) -> bool {
        self.range.is_some()
    }

    /// The first pages of the ranges that [`share`] makes: the stretch's own, and what is behind it of the one it stood in.
    pub(super) fn ranges_when_shared(&self) -> Vec<PageNo> {
        let own = self.range.is_none_or(|range| range.first != self.run.first);
        let behind = self.range.is_some_and(|range| range.range().end > self.pages().end);
        self.first_pages(own, behind)
    }

    /// The same of those that [`release`] makes. Where the transaction itself has made copies there may be more owners than one sees.
    pub(super) fn ranges_when_released(&self, has_copies: bool) -> Vec<PageNo> {
        let stays = |range: SharedRange| range.outlives_an_owner() && range.first != self.run.first;
        let behind = self.range.is_some_and(|range| range.range().end > self.pages().end);
        self.first_pages(has_copies || self.range.is_some_and(stays), has_copies || behind)
    }

    fn first_pages(&self, own: bool, behind: bool) -> Vec<PageNo> {
        let Range { start, end } = self.pages();
        let pages = [own.then_some(PageNo(start)), behind.then_some(PageNo(end))];
        pages.into_iter().flatten().collect()
    }

    fn pages(&self) -> Range<u64> {
        self.run.first.0..self.run.first.0 + self.run.count
    }
}

/// Leaves of a stretch's range what is outside of it.
fn split(space: &mut Space, stretch: &Stretch) -> Result<(), Missing> {
    let Some(range) = stretch.range else { return Ok(()) };
    let inside = stretch.pages();
    put_if_any(space, range.first.0..inside.start, range.owners)?;
    put_if_any(space, inside.end..range.range().end, range.owners)
}

fn put_if_any(space: &mut Space, pages: Range<u64>, owners: u32) -> Result<(), Missing> {
    if pages.is_empty() {
        return Ok(());
    }
    let first = PageNo(pages.start);
    let range = SharedRange { first, pages: pages.end - pages.start, owners };
    put(space, &keys::shared(first), &range.encode())
}
