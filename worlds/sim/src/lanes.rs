//! The event queue of virtual time: a heap for what may come at any time, and lanes for what comes in order.
//!
//! Most events of a simulated cluster follow a constant delay (a link, a worker, one drive's completions), so
//! each such source is a plain queue whose head is its earliest. Popping compares a handful of heads instead of
//! sifting a heap of hundreds.

use loadline_base::{Agenda, Time, define_id};
use std::collections::VecDeque;

define_id! {
    /// A source of events that come in order.
    pub(crate) struct LaneId, "lane "
}

const NEVER: Time = Time::MAX;

/// Events by the time they are due. Equal times come in the order of their lanes, then from the heap, and inside
/// each in the order in which they were scheduled.
pub(crate) struct Lanes<E> {
    /// When each lane's first event is due.
    heads: Vec<Time>,
    lanes: Vec<VecDeque<(Time, E)>>,
    heap: Agenda<E>,
}

impl<E> Lanes<E> {
    pub(crate) fn new() -> Lanes<E> {
        Lanes { heads: Vec::new(), lanes: Vec::new(), heap: Agenda::default() }
    }

    /// Opens a lane.
    pub(crate) fn add_lane(&mut self) -> LaneId {
        self.heads.push(NEVER);
        self.lanes.push(VecDeque::new());
        LaneId::from(self.lanes.len() - 1)
    }

    /// Schedules an event on a lane. Its time must not be before that of the lane's last event.
    #[inline]
    pub(crate) fn push_lane(&mut self, lane: LaneId, at: Time, event: E) {
        let index = usize::from(lane);
        let queue = &mut self.lanes[index];
        debug_assert!(queue.back().is_none_or(|(last, _)| *last <= at), "a lane keeps its order");
        if queue.is_empty() {
            self.heads[index] = at;
        }
        queue.push_back((at, event));
    }

    /// Schedules an event at any time.
    pub(crate) fn push(&mut self, at: Time, event: E) {
        self.heap.push(at, event);
    }

    /// When the next event is due; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.heads.iter().copied().min().unwrap_or(NEVER).min(self.heap.next())
    }

    /// The next event if it is due by `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        let mut earliest = NEVER;
        let mut lane = 0;
        for (index, head) in self.heads.iter().enumerate() {
            if *head < earliest {
                earliest = *head;
                lane = index;
            }
        }
        if self.heap.next() < earliest {
            return self.heap.pop_until(until);
        }
        if earliest == NEVER || earliest > until {
            return None;
        }
        let queue = &mut self.lanes[lane];
        let next = queue.pop_front();
        self.heads[lane] = queue.front().map_or(NEVER, |(at, _)| *at);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;

    /// Against a sorted list: any mixture of lanes and heap comes out by time, then by source, then in order.
    #[test]
    fn events_come_out_by_time_and_equal_times_by_source() {
        let mut rng = Rng::new(3);
        let mut lanes = Lanes::new();
        let ids: Vec<LaneId> = (0..5).map(|_| lanes.add_lane()).collect();
        let mut last = [0u64; 5];
        let mut expected = Vec::new();
        for number in 0..5_000u64 {
            let source = rng.below(6) as usize;
            let at = match last.get_mut(source) {
                Some(last) => {
                    *last += rng.below(4);
                    let at = Time::from_nanos(*last);
                    lanes.push_lane(ids[source], at, number);
                    at
                }
                None => {
                    let at = Time::from_nanos(rng.below(4_000));
                    lanes.push(at, number);
                    at
                }
            };
            expected.push((at, source, number));
        }
        expected.sort();
        let until = Time::from_nanos(1_000);
        let popped: Vec<_> = std::iter::from_fn(|| lanes.pop_until(until)).collect();
        let due = expected.partition_point(|(at, ..)| *at <= until);
        let events = |part: &[(Time, usize, u64)]| {
            part.iter().map(|(at, _, number)| (*at, *number)).collect::<Vec<_>>()
        };
        assert_eq!(popped, events(&expected[..due]));
        let rest: Vec<_> = std::iter::from_fn(|| lanes.pop_until(Time::MAX)).collect();
        assert_eq!(rest, events(&expected[due..]));
    }
}
