//! What is to happen at a known time.

use loadline_base::Time;
use loadline_osd::{OsdId, Timer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a time has come for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// An OSD's timer.
    Osd(OsdId, Timer),
    /// A second of the meters is over.
    Second,
    /// A step of the stop has had its time.
    Stop,
}

/// A heap of times; what is due at one time keeps its order.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    due: std::collections::BTreeMap<u64, Due>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Time, due: Due) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set)));
        self.due.insert(self.set, due);
    }

    /// An OSD's queues are replaced by new ones, which have not asked for anything yet.
    pub(super) fn forget_queues(&mut self, osd: OsdId) {
        self.keep(|due| !matches!(due, Due::Osd(of, Timer::Shard(_)) if *of == osd));
    }

    /// An OSD is none any more.
    pub(super) fn forget_osd(&mut self, osd: OsdId) {
        self.keep(|due| !matches!(due, Due::Osd(of, _) if *of == osd));
    }

    fn keep(&mut self, wanted: impl Fn(&Due) -> bool) {
        self.due.retain(|_, due| wanted(due));
        self.heap.retain(|Reverse((_, number))| self.due.contains_key(number));
    }

    /// The next time, if there is one.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next thing that is due by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Due> {
        self.next().filter(|at| *at <= now)?;
        let Reverse((_, number)) = self.heap.pop()?;
        self.due.remove(&number)
    }
}
