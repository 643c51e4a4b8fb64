//! What an OSD has served while its disk was busy, beside the capacity that it is believed to have. A capacity that is far
//! off makes every reservation and limit mean something else than it says.

use loadline_base::{Span, Time};

/// A second in which so many times the capacity was written says that the capacity is too small. The benchmark keeps a queue
/// full as well, so that a good figure is rarely passed by more than a cache gives.
const FAR_MORE: f64 = 3.0;
/// The part of the capacity that a disk serves at least in one of the seconds in which it is always busy and work waits.
/// Backfill and checkpoints beside take up to half, and large requests are counted by their blocks.
const FAR_LESS: f64 = 0.25;
/// So many seconds are looked at before that is said.
const SECONDS: u32 = 30;
/// A disk is always busy in a second in which it was idle for less.
const IDLE_MAX: Span = Span::from_millis(50);
/// What the capacity counts.
const BLOCK: u64 = 4096;

/// What one OSD has served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    writes: u64,
    blocks: u64,
    /// Since when requests are with the disk.
    busy_since: Option<Time>,
    busy: Span,
    /// Most writes of one second.
    writes_max: u64,
    /// Seconds of work that waited for a disk that was always busy.
    backlog_seconds: u32,
    /// Most blocks of one of them.
    blocks_max: u64,
}

/// What does not fit a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// So many writes in one second.
    FarMore(u64),
    /// Never more blocks per second, with work waiting.
    FarLess(u64),
}

impl Served {
    /// A client's op was carried out here.
    pub(super) fn note_op(&mut self, is_write: bool, bytes: u64) {
        self.writes += u64::from(is_write);
        self.blocks += bytes.div_ceil(BLOCK).max(1);
    }

    /// The disk has something to do, or nothing any more.
    pub(super) fn note_busy(&mut self, now: Time, is_busy: bool) {
        match (self.busy_since, is_busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy += now.since(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }

    /// A second, or a little more, is over.
    pub(super) fn second_passed(&mut self, now: Time, second: Span, work_waits: bool) {
        if let Some(since) = self.busy_since.replace(now) {
            self.busy += now.since(since);
        } else {
            self.busy_since = None;
        }
        let per_second = |count: u64| (count as f64 / second.as_secs_f64().max(1.0)) as u64;
        self.writes_max = self.writes_max.max(per_second(self.writes));
        if work_waits && self.busy + IDLE_MAX >= second {
            self.backlog_seconds = self.backlog_seconds.saturating_add(1);
            self.blocks_max = self.blocks_max.max(per_second(self.blocks));
        }
        (self.writes, self.blocks, self.busy) = (0, 0, Span::ZERO);
    }

    /// What does not fit this capacity, if anything does not.
    pub(super) fn misfit(&self, capacity_iops: f64) -> Option<Misfit> {
        if self.writes_max as f64 > FAR_MORE * capacity_iops {
            return Some(Misfit::FarMore(self.writes_max));
        }
        let little = (self.blocks_max as f64) < FAR_LESS * capacity_iops;
        (self.backlog_seconds >= SECONDS && little).then_some(Misfit::FarLess(self.blocks_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_millis(1000);

    /// So many seconds of this many ops, with so many milliseconds of idle disk in each.
    fn check(
        (seconds, ops, bytes): (u64, u64, u64),
        (idle_ms, work_waits): (u64, bool),
        capacity: f64,
        expected: Option<Misfit>,
    ) {
        let mut served = Served::default();
        for second in 0..seconds {
            let begin = Time::ZERO + Span::from_millis(1000 * second);
            served.note_busy(begin, false);
            served.note_busy(begin + Span::from_millis(idle_ms), true);
            for _ in 0..ops {
                served.note_op(true, bytes);
            }
            served.second_passed(begin + SECOND, SECOND, work_waits);
        }
        assert_eq!(served.misfit(capacity), expected);
    }

    #[test]
    fn a_capacity_that_cannot_be_is_told_from_one_that_may() {
        let (idle, busy) = ((400, false), (10, true));
        check((60, 9_000, 4096), idle, 3_100.0, None);
        check((1, 9_000, 4096), idle, 2_900.0, Some(Misfit::FarMore(9_000)));
        check((60, 900, 4096), busy, 3_500.0, None);
        check((60, 900, 4096), busy, 3_700.0, Some(Misfit::FarLess(900)));
        // A few seconds prove nothing, nor do seconds in which nothing waited or the disk had pauses.
        check((29, 900, 4096), busy, 3_700.0, None);
        check((60, 900, 4096), (10, false), 3_700.0, None);
        check((60, 900, 4096), (100, true), 3_700.0, None);
        // Large requests count by what they carry.
        check((60, 30, 1 << 20), busy, 20_000.0, None);
        check((60, 10, 1 << 20), busy, 20_000.0, Some(Misfit::FarLess(2560)));
    }
}
