//! Whose page is each page: a sweep over all runs of pages, in their order on the device.

use super::CheckReport;
use super::finding::{PageOwner, StoreFinding};
use crate::paged::ids::PageNo;
use std::ops::Range as Span;

/// Pages that somebody owns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnedRun {
    pub first: PageNo,
    pub count: u64,
    pub owner: PageOwner,
    /// Whether the owner says that others may own them too.
    pub shared: bool,
}

/// Pages of which the store says how many own them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub first: PageNo,
    pub count: u64,
    pub owners: u32,
}

/// A place at which the set of owners changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OwnershipChange {
    RangeEnds(usize),
    RangeBegins(usize),
    RunEnds(usize),
    RunBegins(usize),
}

/// Compares owners with what is said of them. Answers which pages are in use, in order, neighbours joined.
pub(super) fn check(
    runs: Vec<OwnedRun>,
    ranges: Vec<Range>,
    report: &mut CheckReport,
) -> Vec<Span<u64>> {
    let mut changes = Vec::with_capacity(2 * (runs.len() + ranges.len()));
    for (run, at) in runs.iter().zip(0..) {
        changes.push((run.first.0, OwnershipChange::RunBegins(at)));
        changes.push((run.first.0 + run.count, OwnershipChange::RunEnds(at)));
    }
    for (range, at) in ranges.iter().zip(0..) {
        changes.push((range.first.0, OwnershipChange::RangeBegins(at)));
        changes.push((range.first.0 + range.count, OwnershipChange::RangeEnds(at)));
    }
    changes.sort_unstable();
    let mut sweep =
        OwnershipSweep { runs, ranges, owners: Vec::new(), range: None, used: Vec::new() };
    for pair in changes.windows(2) {
        sweep.change(pair[0].1);
        sweep.judge(pair[0].0..pair[1].0, report);
    }
    sweep.used
}

struct OwnershipSweep {
    runs: Vec<OwnedRun>,
    ranges: Vec<Range>,
    /// Who owns the present place.
    owners: Vec<usize>,
    range: Option<usize>,
    used: Vec<Span<u64>>,
}

impl OwnershipSweep {
    fn change(&mut self, change: OwnershipChange) {
        match change {
            OwnershipChange::RunBegins(at) => self.owners.push(at),
            OwnershipChange::RunEnds(at) => self.owners.retain(|owner| *owner != at),
            OwnershipChange::RangeBegins(at) => self.range = Some(at),
            OwnershipChange::RangeEnds(_) => self.range = None,
        }
    }

    /// Pages between two changes, which all have the same owners.
    fn judge(&mut self, pages: Span<u64>, report: &mut CheckReport) {
        if pages.is_empty() || (self.owners.is_empty() && self.range.is_none()) {
            return;
        }
        let (first, count) = (PageNo(pages.start), pages.end - pages.start);
        let found = self.owners.len() as u32;
        let says = self.range.map_or(1, |at| self.ranges[at].owners);
        let alone = self.owners.iter().find(|at| !self.runs[**at].shared);
        match alone {
            Some(one) if found > 1 => {
                let other = self.owners.iter().find(|at| *at != one).expect("there are two");
                let (one, other) = (self.runs[*one].owner, self.runs[*other].owner);
                report.find(StoreFinding::OwnedTwice { first, count, one, other });
            }
            _ if found != says => {
                report.find(StoreFinding::OwnerCount { first, count, says, found });
            }
            _ => {}
        }
        if found > 0 {
            self.take(pages, report);
        }
    }

    fn take(&mut self, pages: Span<u64>, report: &mut CheckReport) {
        let count = pages.end - pages.start;
        let is_data = self.owners.iter().any(|at| self.runs[*at].owner != PageOwner::Tree);
        report.totals.data_pages += if is_data { count } else { 0 };
        report.totals.shared_pages += if self.owners.len() > 1 { count } else { 0 };
        match self.used.last_mut() {
            Some(last) if last.end == pages.start => last.end = pages.end,
            _ => self.used.push(pages),
        }
    }
}

/// Whether pages of `used`, which is in order, are among these; if so, the first of them.
pub(super) fn first_inside(used: &[Span<u64>], pages: Span<u64>) -> Option<PageNo> {
    let at = used.partition_point(|span| span.end <= pages.start);
    let span = used.get(at).filter(|span| span.start < pages.end)?;
    Some(PageNo(span.start.max(pages.start)))
}
