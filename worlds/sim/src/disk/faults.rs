//! Faults on demand: which requests will fail or go astray, and how many did.

use loadline_device::RequestKind;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How long a range stays unreadable. Writing to it heals it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// For so many reads.
    Times(u32),
    /// For good.
    Always,
}

/// How many faults have happened to a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Sectors in which bits were flipped.
    pub rotten_sectors: u64,
    /// Reads that were made to fail.
    pub failed_reads: u64,
    /// Writes that were made to fail.
    pub failed_writes: u64,
    /// Writes that were sent elsewhere.
    pub misdirected_writes: u64,
    /// Writes that were answered and never done.
    pub lost_writes: u64,
    /// Requests that were never answered.
    pub hung_requests: u64,
    /// Requests that were ended because their duration limit had passed.
    pub over_limit: u64,
    /// Writes that found no room.
    pub without_room: u64,
    /// Flushes that were made to fail.
    pub failed_flushes: u64,
    /// Times the power went.
    pub power_cuts: u64,
    /// Times the process died.
    pub kills: u64,
}

/// What will become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Sound,
    Fails,
    /// Ended because its duration limit had passed.
    OverLimit,
    /// Answered as if it had been done, and not done.
    Lost,
    /// There was no room for it.
    NoSpace,
}

/// The faults that are still to come.
#[derive(Clone, Default)]
pub(super) struct FaultPlan {
    pub(super) counts: FaultCounts,
    unreadable: Vec<(Range<u64>, Trouble)>,
    writes: u64,
    /// By the write's number, as the two below.
    failing_writes: BTreeSet<u64>,
    misdirected_writes: BTreeMap<u64, u64>,
    lost_writes: BTreeSet<u64>,
    flushes: u64,
    failing_flushes: BTreeSet<u64>,
    /// Whether writes find no room.
    pub(super) is_full: bool,
}

impl FaultPlan {
    pub(super) fn fail_reads(&mut self, range: Range<u64>, trouble: Trouble) {
        assert!(trouble != Trouble::Times(0), "a range fails for at least one read");
        self.unreadable.push((range, trouble));
    }

    pub(super) fn end_failing_reads(&mut self) {
        self.unreadable.clear();
    }

    pub(super) fn fail_write(&mut self, nth: u64) {
        assert!(nth > 0, "the next write is number 1");
        self.failing_writes.insert(self.writes + nth);
    }

    pub(super) fn misdirect_write(&mut self, nth: u64, to: u64) {
        assert!(nth > 0, "the next write is number 1");
        self.misdirected_writes.insert(self.writes + nth, to);
    }

    pub(super) fn lose_write(&mut self, nth: u64) {
        assert!(nth > 0, "the next write is number 1");
        self.lost_writes.insert(self.writes + nth);
    }

    pub(super) fn fail_flush(&mut self, nth: u64) {
        assert!(nth > 0, "the next flush is number 1");
        self.failing_flushes.insert(self.flushes + nth);
    }

    pub(super) fn end_failing_flushes(&mut self) {
        self.failing_flushes.clear();
    }

    /// A request is submitted: what becomes of it, and where it really goes.
    pub(super) fn meet(&mut self, kind: RequestKind, range: Range<u64>) -> (Fate, Range<u64>) {
        if kind == RequestKind::Write && self.is_full {
            self.counts.without_room += 1;
            return (Fate::NoSpace, range);
        }
        let (fails, range) = match kind {
            RequestKind::Read => (self.read_fails(&range), range),
            RequestKind::Write => {
                self.writes += 1;
                if self.lost_writes.remove(&self.writes) {
                    self.counts.lost_writes += 1;
                    return (Fate::Lost, range);
                }
                (self.write_fails(), self.place_of_write(range))
            }
            RequestKind::Flush => {
                self.flushes += 1;
                (self.flush_fails(), range)
            }
            RequestKind::Discard => (false, range),
        };
        (if fails { Fate::Fails } else { Fate::Sound }, range)
    }

    /// A write was answered: what it covers can be read again.
    pub(super) fn written(&mut self, written: &Range<u64>) {
        let rest = |(range, trouble): (Range<u64>, Trouble)| {
            let before = range.start..range.end.min(written.start);
            let after = range.start.max(written.end)..range.end;
            [(before, trouble), (after, trouble)]
        };
        if self.unreadable.iter().any(|(range, _)| overlap(range, written)) {
            let parts = std::mem::take(&mut self.unreadable).into_iter().flat_map(rest);
            self.unreadable = parts.filter(|(range, _)| !range.is_empty()).collect();
        }
    }

    fn read_fails(&mut self, wanted: &Range<u64>) -> bool {
        let Some(found) = self.unreadable.iter().position(|(range, _)| overlap(range, wanted))
        else {
            return false;
        };
        if let Trouble::Times(left) = &mut self.unreadable[found].1 {
            *left -= 1;
            if *left == 0 {
                self.unreadable.remove(found);
            }
        }
        self.counts.failed_reads += 1;
        true
    }

    fn write_fails(&mut self) -> bool {
        let fails = self.failing_writes.remove(&self.writes);
        self.counts.failed_writes += u64::from(fails);
        fails
    }

    fn place_of_write(&mut self, range: Range<u64>) -> Range<u64> {
        let Some(to) = self.misdirected_writes.remove(&self.writes) else { return range };
        self.counts.misdirected_writes += 1;
        to..to + (range.end - range.start)
    }

    fn flush_fails(&mut self) -> bool {
        let fails = self.failing_flushes.remove(&self.flushes);
        self.counts.failed_flushes += u64::from(fails);
        fails
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
