//! What an OSD serves while it is busy, beside the capacity that it was told: capacity is tracked, not measured once.
//!
//! A capacity that is far off makes every promise mean something else than it says. A disk that slows down, or was misjudged in either
//! direction, is found by two things, in seconds that are cut by the clock:
//!
//! - **No more than it served while it was busy.** It is busy while the disk has something and more waits behind that, or has so much that
//!   one more makes no difference: then nobody but the disk (its file system, the processor) decides how much is served. A second that was
//!   busy for half of its time tells what the OSD can do at most.
//! - **At least what it wrote**, busy or not, as far as a measurement of such a disk is believed: for a while a log absorbs what the disk behind it
//!   could never do. Reads do not count beyond what was told: a cache may have answered them.
//!
//! Work counts as the cost model charges it, in operations: what is larger than an operation's worth of bytes as so many. The median of
//! five seconds within ten decides, so that one checkpoint, or one pause, decides nothing. Whatever lies beyond [`FAR`] in either direction is
//! gone by from then on, until the next five seconds say otherwise or somebody tells a new capacity.

use loadline_base::{Span, Time};
use loadline_qos::Capacity;
use std::collections::VecDeque;

/// So many times too much or too little is far off: the geometric middle between right and five times wrong. What is nearer may be a
/// busy second's checkpoint, or a cache.
const FAR: f64 = 2.236;
/// A second tells something if it was busy for so long.
const BUSY_LEAST: Span = Span::from_millis(500);
/// So many seconds are looked at, none of them older than these.
const SECONDS: usize = 5;
const SECONDS_OLD: u64 = 10;

/// How a capacity is tracked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracking {
    /// Whether promises go by what was found.
    pub(crate) is_followed: bool,
    /// Above these operations per second no writes show that a disk is fast, unless it was told to be.
    pub(crate) iops_max: u64,
}

/// What an OSD is believed to be able to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedCapacity {
    /// As it was measured or typed.
    pub told: Capacity,
    /// What it has served while it was busy, as a multiple of that, where that is far off.
    pub found: Option<f64>,
    /// Whether promises go by what was found. Presets of other systems go by what they were told.
    pub is_followed: bool,
}

impl TrackedCapacity {
    /// What promises go by.
    pub fn in_force(&self) -> Capacity {
        let times = self.found.filter(|_| self.is_followed).unwrap_or(1.0);
        Capacity {
            iops: self.told.iops * times,
            sequential_bandwidth: self.told.sequential_bandwidth * times,
            ..self.told
        }
    }

    /// Operations per second that were found, where they are far from what was told.
    pub fn found_iops(&self) -> Option<f64> {
        self.found.map(|times| self.told.iops * times)
    }
}

/// A disk that has so many ops under way serves no more with one more: a log that commits in groups does half of what it can with eight.
const OPS_TO_BE_BUSY: u32 = 16;

/// What has ended at a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedWork {
    pub(crate) bytes: u64,
    pub(crate) is_update: bool,
}

/// What a disk has, and what waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskBacklog {
    pub(crate) has_work: bool,
    /// Ops that the store has let in.
    pub(crate) ops: u32,
    /// Work waits in the queues because the disk has as much as it may.
    pub(crate) waits: bool,
}

/// The tracker of one OSD.
#[derive(Clone, Debug)]
pub(crate) struct CapacityTracker {
    capacity: TrackedCapacity,
    iops_max: f64,
    second: ServedSecond,
    /// Since when the disk has been busy, as of the last end of work.
    busy_since: Option<Time>,
    /// Operations per second that seconds told of, each with its number.
    told_by: VecDeque<(u64, f64)>,
}

/// What was counted in a second.
#[derive(Clone, Copy, Debug, Default)]
struct ServedSecond {
    number: u64,
    busy: Span,
    /// Operations that ended while it was busy, and updates that ended at all.
    served: f64,
    updated: f64,
}

impl CapacityTracker {
    pub(crate) fn new(told: Capacity, tracking: Tracking) -> CapacityTracker {
        let Tracking { is_followed, iops_max } = tracking;
        CapacityTracker {
            capacity: TrackedCapacity { told, found: None, is_followed },
            iops_max: iops_max as f64,
            second: ServedSecond::default(),
            busy_since: None,
            told_by: VecDeque::new(),
        }
    }

    /// The capacity is told, perhaps anew. What was found of another one is forgotten.
    pub(crate) fn tell(&mut self, told: Capacity, tracking: Tracking) {
        if told != self.capacity.told {
            *self = CapacityTracker::new(told, tracking);
        }
        self.capacity.is_followed = tracking.is_followed;
        self.iops_max = tracking.iops_max as f64;
    }

    pub(crate) fn capacity(&self) -> TrackedCapacity {
        self.capacity
    }

    /// Nothing is at the disk any more, as after a crash.
    pub(crate) fn clear(&mut self) {
        self.busy_since = None;
    }

    /// Work has ended. Whether another capacity is believed from now on.
    pub(crate) fn ended(&mut self, now: Time, work: EndedWork) -> bool {
        let number = now.nanos() / Span::from_secs(1).nanos();
        let is_new = number != self.second.number && self.next_second(number);
        let ops = (work.bytes as f64 / self.capacity.told.bytes_per_io()).max(1.0);
        if let Some(since) = self.busy_since.replace(now) {
            self.second.busy += now.since(since);
            self.second.served += ops;
        }
        if work.is_update {
            self.second.updated += ops;
        }
        is_new
    }

    /// What the disk has after all that followed from an event.
    pub(crate) fn loaded(&mut self, now: Time, load: DiskBacklog) {
        let is_busy = load.has_work && (load.waits || load.ops >= OPS_TO_BE_BUSY);
        match (is_busy, self.busy_since) {
            (true, None) => self.busy_since = Some(now),
            (false, Some(_)) => self.busy_since = None,
            _ => {}
        }
    }

    /// Draws the conclusions from the last second.
    fn next_second(&mut self, number: u64) -> bool {
        let last =
            std::mem::replace(&mut self.second, ServedSecond { number, ..ServedSecond::default() });
        let (believed, told) = (self.believed(), self.capacity.told.iops);
        let updated = last.updated.min(self.iops_max.max(told));
        let iops = if last.busy >= BUSY_LEAST {
            let at_most = last.served / last.busy.as_secs_f64();
            at_most.min(believed.max(told)).max(updated)
        } else if updated > believed {
            updated
        } else {
            return false;
        };
        self.told_by.push_back((last.number, iops));
        while self.told_by.len() > SECONDS
            || self.told_by.front().is_some_and(|(of, _)| of + SECONDS_OLD <= last.number)
        {
            self.told_by.pop_front();
        }
        self.told_by.len() == SECONDS && self.conclude(believed)
    }

    /// Operations per second that it is believed to do, whether promises go by it or not.
    fn believed(&self) -> f64 {
        self.capacity.told.iops * self.capacity.found.unwrap_or(1.0)
    }

    fn conclude(&mut self, believed: f64) -> bool {
        let mut all: Vec<f64> = self.told_by.iter().map(|(_, iops)| *iops).collect();
        all.sort_by(f64::total_cmp);
        let median = all[SECONDS / 2];
        let is_near = |capacity: f64| median <= capacity * FAR && median * FAR >= capacity;
        if is_near(believed) {
            return false;
        }
        let told = self.capacity.told.iops;
        self.capacity.found = (!is_near(told)).then_some(median / told);
        self.told_by.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: Capacity =
        Capacity { iops: 1_000.0, sequential_bandwidth: 1_000.0 * 65_536.0, shards: 8 };

    /// A disk that does so many operations of `bytes` per second, one after the other; how it is loaded may change with the second.
    fn run(
        tracker: &mut CapacityTracker,
        seconds: std::ops::Range<u64>,
        (iops, bytes): (u64, u64),
        (is_busy, is_update): (bool, bool),
    ) -> Option<u64> {
        let begin = Time::from_secs(seconds.start);
        (0..(seconds.end - seconds.start) * iops).find_map(|op| {
            let now = begin + Span::from_nanos(op * 1_000_000_000 / iops);
            let found = tracker.ended(now, EndedWork { bytes, is_update });
            tracker.loaded(now, DiskBacklog { has_work: true, ops: 1, waits: is_busy });
            found.then(|| now.since(begin).nanos() / 1_000_000_000)
        })
    }

    const TRACKING: Tracking = Tracking { is_followed: true, iops_max: u64::MAX };

    fn new() -> CapacityTracker {
        CapacityTracker::new(TOLD, TRACKING)
    }

    #[test]
    fn five_times_wrong_is_found_within_ten_seconds() {
        for (iops, times) in [(200, 0.2), (5_000, 5.0)] {
            let mut tracker = new();
            let after = run(&mut tracker, 1..30, (iops, 4096), (true, true));
            assert!(after.is_some_and(|after| after <= 6), "{iops}: after {after:?} s");
            let TrackedCapacity { found, .. } = tracker.capacity();
            assert!(found.is_some_and(|found| (found / times - 1.0).abs() < 0.02), "{found:?}");
            let in_force = tracker.capacity().in_force();
            assert!((in_force.bytes_per_io() / TOLD.bytes_per_io() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_near_is_believed() {
        for iops in [460, 1_000, 2_200] {
            let mut tracker = new();
            assert_eq!(run(&mut tracker, 1..30, (iops, 4096), (true, true)), None, "{iops}");
            assert_eq!(tracker.capacity().in_force(), TOLD);
        }
    }

    /// A client that asks for little, and a cache that answers reads, say nothing.
    #[test]
    fn only_a_busy_disk_is_slow_and_only_writes_show_that_it_is_fast() {
        assert_eq!(run(&mut new(), 1..30, (100, 4096), (false, true)), None);
        assert_eq!(run(&mut new(), 1..30, (50_000, 4096), (false, false)), None);
        assert!(run(&mut new(), 1..30, (5_000, 4096), (false, true)).is_some());
        assert_eq!(run(&mut new(), 1..30, (50_000, 4096), (true, false)), None);
        assert!(run(&mut new(), 1..30, (200, 4096), (true, false)).is_some());
    }

    /// A few seconds of small writes to the log of a disk with an arm made its capacity three times what it can do, and promises went by that.
    #[test]
    fn what_a_log_absorbs_shows_no_disk_that_nobody_would_believe() {
        let arm = Capacity { iops: 315.0, sequential_bandwidth: 315.0 * 499_322.0, ..TOLD };
        let bounded = |iops_max| CapacityTracker::new(arm, Tracking { iops_max, ..TRACKING });
        assert_eq!(run(&mut bounded(500), 1..11, (4_000, 4096), (false, true)), None);
        assert!(run(&mut bounded(u64::MAX), 1..11, (4_000, 4096), (false, true)).is_some());
        let mut flash = CapacityTracker::new(TOLD, Tracking { iops_max: 80_000, ..TRACKING });
        assert!(run(&mut flash, 1..11, (5_000, 4096), (false, true)).is_some());
        assert!(flash.capacity().found.is_some_and(|found| (found - 5.0).abs() < 0.1));
    }

    /// Large transfers count by their bytes: 62.5 MiB/s are 1,000 operations of 64 KiB.
    #[test]
    fn large_work_counts_by_its_bytes() {
        assert_eq!(run(&mut new(), 1..30, (100, 655_360), (true, true)), None);
        assert!(run(&mut new(), 1..30, (20, 655_360), (true, true)).is_some());
    }

    /// A disk that was slow for a while, and one whose capacity is told anew.
    #[test]
    fn what_was_found_is_given_up_again() {
        let mut tracker = new();
        assert!(run(&mut tracker, 1..10, (200, 4096), (true, true)).is_some());
        assert!(tracker.capacity().found.is_some());
        assert!(run(&mut tracker, 10..20, (1_100, 4096), (true, true)).is_some());
        assert_eq!(tracker.capacity().found, None);
        assert!(run(&mut tracker, 20..30, (200, 4096), (true, true)).is_some());
        tracker.tell(TOLD, TRACKING);
        assert!(tracker.capacity().found.is_some());
        tracker.tell(Capacity { iops: 250.0, ..TOLD }, TRACKING);
        assert_eq!(tracker.capacity().found, None);
    }

    #[test]
    fn presets_of_other_systems_go_by_what_they_are_told() {
        let mut tracker = CapacityTracker::new(TOLD, Tracking { is_followed: false, ..TRACKING });
        assert!(run(&mut tracker, 1..10, (200, 4096), (true, true)).is_some());
        assert_eq!(tracker.capacity().in_force(), TOLD);
        assert!(tracker.capacity().found_iops().is_some_and(|iops| (iops - 200.0).abs() < 5.0));
    }
}
