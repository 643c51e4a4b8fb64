//! Pages that several objects own, because one was cloned from the other.
//!
//! Only pages with at least two owners stand in the tree, as ranges that never overlap and never exceed an extent's length.
//! A page without a range has one owner, even if its extent says that it may be shared.

use crate::paged::extent;
use crate::paged::ids::PageNo;
use crate::paged::keys;
use crate::paged::space::{PageRun, Space};
use crate::paged::tree::{Footprint, Missing};
use std::ops::Range;

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

    fn encode(&self) -> [u8; 12] {
        let mut out = [0; 12];
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

/// The shared ranges that overlap a run.
fn overlapping(space: &Space, run: PageRun) -> Result<Vec<SharedRange>, Missing> {
    let end = run.first.0 + run.count;
    let mut found = Vec::new();
    // An apply sees no leaf behind the run: nobody planned that one.
    let bounds = (&earliest(space, run.first)[..], &keys::shared(PageNo(end))[..]);
    space.tree.visit_range(&space.pages, bounds, |key, value| {
        let Some(range) = SharedRange::decode(key, value) else { return false };
        if range.first.0 < end && range.range().end > run.first.0 {
            found.push(range);
        }
        range.first.0 < end
    })?;
    Ok(found)
}

/// How many own a page whose extent says that it may be shared.
pub(super) fn owners(space: &Space, page: PageNo) -> Result<u32, Missing> {
    let found = overlapping(space, PageRun { first: page, count: 1 })?;
    Ok(found.first().map_or(1, |range| range.owners))
}

/// Plans [`share`] and [`release`] of a run.
pub(super) fn plan(space: &Space, run: PageRun, footprint: &mut Footprint) -> Result<(), Missing> {
    let last = keys::shared(PageNo(run.first.0 + run.count));
    space.tree.plan_range(&space.pages, &earliest(space, run.first), &last, footprint)
}

/// One owner more.
pub(super) fn share(space: &mut Space, run: PageRun) {
    let found = overlapping(space, run).expect("the ranges were planned");
    let mut next = run.first.0;
    let end = run.first.0 + run.count;
    for range in found {
        let from = range.first.0.max(run.first.0);
        let to = range.range().end.min(end);
        put_if_any(space, next..from, 2);
        split(space, range, from..to);
        put_if_any(space, from..to, range.owners + 1);
        next = to;
    }
    put_if_any(space, next..end, 2);
}

/// One owner less. Pages that have none left are given back.
pub(super) fn release(space: &mut Space, run: PageRun, removed: &mut Vec<Vec<u8>>) {
    let found = overlapping(space, run).expect("the ranges were planned");
    let mut next = run.first.0;
    let end = run.first.0 + run.count;
    for range in found {
        let from = range.first.0.max(run.first.0);
        let to = range.range().end.min(end);
        give_back(space, next..from);
        split(space, range, from..to);
        if range.owners > 2 {
            put_if_any(space, from..to, range.owners - 1);
        } else if from == range.first.0 {
            removed.push(keys::shared(range.first));
            space.tree.remove(&mut space.pages, &keys::shared(range.first));
        }
        next = to;
    }
    give_back(space, next..end);
}

/// Leaves of `range` what is outside of `inside`.
fn split(space: &mut Space, range: SharedRange, inside: Range<u64>) {
    put_if_any(space, range.first.0..inside.start, range.owners);
    put_if_any(space, inside.end..range.range().end, range.owners);
}

fn put_if_any(space: &mut Space, pages: Range<u64>, owners: u32) {
    if pages.is_empty() {
        return;
    }
    let first = PageNo(pages.start);
    let range = SharedRange { first, pages: pages.end - pages.start, owners };
    space.tree.put(&mut space.pages, &keys::shared(first), &range.encode(), |_| ());
}

fn give_back(space: &mut Space, pages: Range<u64>) {
    if !pages.is_empty() {
        let run = PageRun { first: PageNo(pages.start), count: pages.end - pages.start };
        space.pages.give_back(run);
    }
}
