//! How many objects an OSD recovers at once, and how often it may start one (qos.md 9.3).

use crate::ids::PgId;
use loadline_base::{Span, Time};
use std::collections::VecDeque;

/// Bounds on recovery as a primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionBounds {
    /// Objects in recovery plus pushes promised (`osd_recovery_max_active`).
    pub active_max: u32,
    /// Pushes promised to one item (`osd_recovery_max_single_start`).
    pub single_start_max: u32,
    /// Pause between two starts, zero for none (`osd_recovery_sleep`; honoured by WPQ and FIFO only).
    pub sleep: Span,
}

/// A placement group's turn: its recovery item may be queued with this many promised pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The placement group.
    pub(crate) pg: PgId,
    /// Pushes promised.
    pub(crate) pushes: u32,
}

/// The counters of one OSD.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryAdmission {
    bounds: AdmissionBounds,
    active: u32,
    reserved: u32,
    waiting: VecDeque<PgId>,
    must_sleep: bool,
    scheduled: Time,
}

impl RecoveryAdmission {
    /// Nothing active.
    pub(crate) fn new(bounds: AdmissionBounds) -> RecoveryAdmission {
        RecoveryAdmission {
            bounds,
            active: 0,
            reserved: 0,
            waiting: VecDeque::new(),
            must_sleep: false,
            scheduled: Time::ZERO,
        }
    }

    /// Changes the bounds from now on.
    pub(crate) fn set_bounds(&mut self, bounds: AdmissionBounds) {
        self.bounds = bounds;
    }

    /// Queues a placement group that has something to recover; it waits once.
    pub(crate) fn wait(&mut self, pg: PgId) {
        if !self.waiting.contains(&pg) {
            self.waiting.push_back(pg);
        }
    }

    /// Forgets a waiting placement group.
    pub(crate) fn forget(&mut self, pg: PgId) {
        self.waiting.retain(|waiting| *waiting != pg);
    }

    /// The next placement group whose recovery item may be queued.
    pub(crate) fn admit(&mut self) -> Option<Turn> {
        let free = self.bounds.active_max.saturating_sub(self.active + self.reserved);
        if free == 0 {
            return None;
        }
        let pg = self.waiting.pop_front()?;
        let pushes = free.min(self.bounds.single_start_max.max(1));
        self.reserved += pushes;
        Some(Turn { pg, pushes })
    }

    /// Asks, for an item that was dequeued, whether it must sleep first: the answer is when it may be queued
    /// again. After a sleep, and after each item that ran, the gate closes again.
    pub(crate) fn must_sleep_until(&mut self, now: Time) -> Option<Time> {
        if self.bounds.sleep == Span::ZERO || !self.must_sleep {
            self.must_sleep = true;
            return None;
        }
        self.scheduled = self.scheduled.max(now) + self.bounds.sleep;
        self.must_sleep = false;
        Some(self.scheduled)
    }

    /// Whether nothing is active, promised or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.active == 0 && self.reserved == 0 && self.waiting.is_empty()
    }

    /// An item ran: its promise is given back, and it started this many objects.
    pub(crate) fn item_ran(&mut self, promised: u32, started: u32) {
        assert!(self.reserved >= promised, "a promise is given back once");
        self.reserved -= promised;
        self.active += started;
    }

    /// An object is recovered, or its recovery was given up.
    pub(crate) fn object_finished(&mut self) {
        assert!(self.active > 0, "only an active object finishes");
        self.active -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pg(n: u32) -> PgId {
        PgId::new(n)
    }

    #[test]
    fn active_and_promised_objects_share_one_bound() {
        let sleep = Span::ZERO;
        let mut admission =
            RecoveryAdmission::new(AdmissionBounds { active_max: 2, single_start_max: 1, sleep });
        for n in 0..3 {
            admission.wait(pg(n));
        }
        assert_eq!(admission.admit(), Some(Turn { pg: pg(0), pushes: 1 }));
        assert_eq!(admission.admit(), Some(Turn { pg: pg(1), pushes: 1 }));
        assert_eq!(admission.admit(), None);
        admission.item_ran(1, 1);
        assert_eq!(admission.admit(), None, "the object is active now");
        admission.object_finished();
        assert_eq!(admission.admit(), Some(Turn { pg: pg(2), pushes: 1 }));
    }

    /// One item starts per sleep: 10 a second at 0.1 s (qos.md 9.3).
    #[test]
    fn the_gate_lets_one_item_start_per_sleep() {
        let sleep = Span::from_millis(100);
        let mut admission =
            RecoveryAdmission::new(AdmissionBounds { active_max: 10, single_start_max: 1, sleep });
        let mut now = Time::from_secs(1);
        let mut started = 0;
        while now < Time::from_secs(2) {
            match admission.must_sleep_until(now) {
                Some(wake) => now = wake,
                None => started += 1,
            }
        }
        assert_eq!(started, 10);
    }
}
