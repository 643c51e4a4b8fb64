//! Completion feedback: how much may be in flight, from what was taken and what is done.
//!
//! A scheduler has influence only while work waits in it, so a caller should take no more than its server could begin soon.
//! [`Bounded`] counts what was taken and not yet done, and tells when to stop taking. With a latency goal it finds the
//! bound itself, from how long requests took: as congestion control does, it grows by one request when a whole flight
//! of them met the goal, and shrinks by an eighth when a whole flight missed it.

use crate::{FlowId, Scheduler, Take};
use alloc::vec::Vec;
use core::marker::PhantomData;
use loadline_base::{Span, Time};

/// How many requests may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightBounds {
    /// Never fewer than this; at least 1 is taken.
    pub least: u32,
    /// Never more than this.
    pub most: u32,
    /// How long a request should take from [`Bounded::take`] to [`Bounded::done`]. Without it the bound stays at `most`.
    pub goal: Option<Span>,
}

/// The bound is kept in this many parts of a request, so that it can grow slowly.
const PARTS: u64 = 1 << 16;

/// A flight that missed the goal takes this part of the bound away.
const SHRINK: u64 = 8;

/// What comes out of a bounded scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundedTake<T> {
    /// What the scheduler answered.
    Asked(Take<T>),
    /// As many are in flight as may be: come back after [`Bounded::done`].
    Full,
}

/// A scheduler behind a bound for what is in flight.
#[derive(Clone, Debug)]
pub struct Bounded<T, S> {
    scheduler: S,
    bounds: FlightBounds,
    /// In [`PARTS`] of a request.
    limit: u64,
    in_flight: u32,
    /// By number of the flow.
    of_flows: Vec<u32>,
    payload: PhantomData<fn() -> T>,
}

impl<T, S: Scheduler<T>> Bounded<T, S> {
    /// Bounds a scheduler; the bound starts at its widest.
    pub fn new(scheduler: S, bounds: FlightBounds) -> Bounded<T, S> {
        let least = bounds.least.max(1);
        let bounds = FlightBounds { least, most: bounds.most.max(least), ..bounds };
        let limit = u64::from(bounds.most) * PARTS;
        Bounded {
            scheduler,
            bounds,
            limit,
            in_flight: 0,
            of_flows: Vec::new(),
            payload: PhantomData,
        }
    }

    /// The scheduler, to add to and to ask.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The same, to change. What is taken from it directly is not counted.
    pub fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// How many may be in flight now.
    pub fn limit(&self) -> u32 {
        (self.limit / PARTS) as u32
    }

    /// How many are in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How many of a flow are in flight.
    pub fn in_flight_of(&self, flow: FlowId) -> u32 {
        self.of_flows.get(usize::from(flow)).copied().unwrap_or(0)
    }

    /// Takes the next request, if one more may be in flight.
    pub fn take(&mut self, now: Time) -> BoundedTake<T> {
        if self.in_flight >= self.limit() {
            return BoundedTake::Full;
        }
        let taken = self.scheduler.take(now);
        if let Take::Ready(request) = &taken {
            let flow = usize::from(request.flow);
            if self.of_flows.len() <= flow {
                self.of_flows.resize(flow + 1, 0);
            }
            self.of_flows[flow] += 1;
            self.in_flight += 1;
        }
        BoundedTake::Asked(taken)
    }

    /// A request of this flow is done; it took so long since it was taken.
    ///
    /// # Panics
    /// If none of the flow is in flight.
    pub fn done(&mut self, flow: FlowId, took: Span) {
        let of_flow = self.of_flows.get_mut(usize::from(flow)).filter(|count| **count > 0);
        *of_flow.expect("a request that is done was taken") -= 1;
        self.in_flight -= 1;
        let Some(goal) = self.bounds.goal else { return };
        self.limit = if took > goal {
            self.limit - self.limit / u64::from(self.limit()) / SHRINK
        } else {
            self.limit + PARTS / u64::from(self.limit())
        };
        let (least, most) = (u64::from(self.bounds.least), u64::from(self.bounds.most));
        self.limit = self.limit.clamp(least * PARTS, most * PARTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClassId, ClientKey, Fifo, Lane, Params, Request};
    use alloc::collections::VecDeque;

    const SERVICE: Span = Span::from_micros(100);

    /// A server that takes 0.1 ms for each request, one after the other, with more waiting than it can do. Returns the bound
    /// at the end and the latency of the last request.
    fn serve(bounds: FlightBounds) -> (u32, Span) {
        let shared = Lane::Shared(Params::new(0.0, 1.0, 0.0).unwrap());
        let mut bounded = Bounded::new(Fifo::new(&[shared]), bounds);
        let mut now = Time::from_secs(1);
        let flow = bounded.scheduler_mut().flow(now, ClassId::new(0), ClientKey(0));
        let (mut in_flight, mut last) = (VecDeque::new(), Span::ZERO);
        for number in 0..5_000 {
            bounded.scheduler_mut().enqueue(now, Request::new(flow, 1, number)).unwrap();
            bounded.scheduler_mut().enqueue(now, Request::new(flow, 1, number)).unwrap();
            while let BoundedTake::Asked(Take::Ready(taken)) = bounded.take(now) {
                in_flight.push_back((taken.flow, now));
            }
            assert_eq!(bounded.in_flight_of(flow), bounded.in_flight());
            assert!(bounded.in_flight() <= bounds.most);
            now += SERVICE;
            let (flow, taken) = in_flight.pop_front().expect("more wait than can be done");
            last = now.since(taken);
            bounded.done(flow, last);
        }
        (bounded.limit(), last)
    }

    /// Ten requests take 1 ms, and one more makes the last of them miss it.
    #[test]
    fn the_bound_comes_to_the_goal() {
        let goal = Some(Span::from_millis(1));
        let (limit, last) = serve(FlightBounds { least: 1, most: 64, goal });
        assert!((9..=11).contains(&limit), "{limit}");
        assert!(last <= Span::from_micros(1_100), "{last}");
        assert_eq!(serve(FlightBounds { least: 1, most: 4, goal }).0, 4, "never wider");
        assert_eq!(serve(FlightBounds { least: 16, most: 64, goal }).0, 16, "never narrower");
        assert_eq!(serve(FlightBounds { least: 1, most: 64, goal: None }).0, 64, "no goal");
    }

    #[test]
    #[should_panic(expected = "was taken")]
    fn what_was_not_taken_cannot_be_done() {
        let shared = Lane::Shared(Params::new(0.0, 1.0, 0.0).unwrap());
        let bounds = FlightBounds { least: 1, most: 1, goal: None };
        let mut bounded: Bounded<u32, Fifo<u32>> = Bounded::new(Fifo::new(&[shared]), bounds);
        let flow = bounded.scheduler_mut().flow(Time::ZERO, ClassId::new(0), ClientKey(0));
        bounded.done(flow, Span::ZERO);
    }
}
