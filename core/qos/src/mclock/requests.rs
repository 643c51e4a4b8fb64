//! Where requests wait: one slab for all of them, and first-in-first-out lists through it.
//!
//! A slot with a payload of 8 bytes takes 32. What few requests have, a priority or counters, stands beside.

use crate::{Distributed, FlowId, Request};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use loadline_base::Time;

const NONE: u32 = u32::MAX;

/// In a slot's flow: more of the request stands beside.
const HAS_MORE: u32 = 1 << 31;

/// In a slot's flow: the next of its list costs the same, and has no more. So what it is charged is known without a look at it: in a
/// scheduler of many clients that is a line of cache less.
const NEXT_ALIKE: u32 = 1 << 30;

/// The handles: a party keeps its only client's in as many bits.
const FLOW: u32 = NEXT_ALIKE - 1;

/// A list of waiting requests, oldest first; the links are in [`Requests`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestList {
    head: u32,
    /// The newest, while there is a head.
    tail: u32,
}

impl RequestList {
    /// No requests.
    pub(super) const EMPTY: RequestList = RequestList { head: NONE, tail: NONE };

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Whether both lists start with the same request.
    pub(super) fn same_head(&self, other: RequestList) -> bool {
        self.head == other.head
    }
}

/// What a request is besides whose it is, what comes back and what was served elsewhere. Each of these is two words or fewer, so that who
/// is called gets a request in registers: one that was handed over in memory would stand there for those, too, who are not called.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestTerms {
    pub(super) priority: u32,
    pub(super) cost: u32,
}

/// What a request is charged; at most 2^32 - 1 units, counters included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestCharge {
    /// Against the weight.
    pub(super) cost: u32,
    /// Against the reservation.
    pub(super) reserved: u32,
}

impl RequestCharge {
    /// Of no request: those that wait cost 1 at least.
    pub(super) const NOTHING: RequestCharge = RequestCharge { cost: 0, reserved: 0 };

    /// Whether it is that of a request.
    #[inline(always)]
    pub(super) fn exists(self) -> bool {
        self.cost != 0
    }

    /// Against the limit: what counts for the reservation, a floor of the whole, counts for its cap as well.
    #[inline(always)]
    pub(super) fn of_limit(self) -> u32 {
        self.cost.max(self.reserved)
    }

    #[inline(always)]
    pub(super) fn new(cost: u32, distributed: Distributed) -> RequestCharge {
        RequestCharge {
            cost: cost.saturating_add(distributed.delta),
            reserved: cost.saturating_add(distributed.rho),
        }
    }
}

/// A waiting request, or a place for one.
#[derive(Clone, Debug)]
enum RequestSlot<T> {
    Free { next: u32 },
    Waits { arrival: Time, payload: T, flow: u32, generation: NonZeroU32, cost: u32, next: u32 },
}

/// A slot that begins where half a cache line does: one with a payload of 8 bytes never lies across two, as every second one would where
/// the allocator aligns to 16 bytes.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct Aligned<T>(RequestSlot<T>);

const _: () = assert!(size_of::<Aligned<u64>>() == 32);

/// What few requests have.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    priority: u32,
    distributed: Distributed,
}

/// A waiting request, as it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownRequest {
    pub(super) arrival: Time,
    /// The flow's index.
    pub(super) flow: u32,
    pub(super) cost: u32,
    pub(super) priority: u32,
    pub(super) charge: RequestCharge,
}

/// A request that left its list.
#[derive(Debug)]
pub(super) struct Departed<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    pub(super) cost: u32,
    pub(super) priority: u32,
    pub(super) payload: T,
}

/// All waiting requests of a scheduler. Slots are reused, the last one released first, so a steady state
/// allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct Requests<T> {
    slots: Vec<Aligned<T>>,
    /// By slot, as far as there were any.
    more: Vec<More>,
    free: u32,
    len: usize,
}

impl<T> Requests<T> {
    pub(super) const fn new() -> Requests<T> {
        Requests { slots: Vec::new(), more: Vec::new(), free: NONE, len: 0 }
    }

    /// How many requests wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a request; whether it is the first of its list.
    #[inline(always)]
    pub(super) fn push_back(
        &mut self,
        fifo: &mut RequestList,
        now: Time,
        request: Request<T>,
    ) -> bool {
        let plain_cost = is_plain(&request).then_some(request.cost);
        let slot = self.fill(now, request, NONE);
        self.link(fifo, slot, plain_cost)
    }

    /// Puts a request before the others.
    pub(super) fn push_front(&mut self, fifo: &mut RequestList, now: Time, request: Request<T>) {
        let slot = self.fill(now, request, fifo.head);
        if fifo.is_empty() {
            fifo.tail = slot;
        }
        fifo.head = slot;
    }

    /// What the oldest request is charged; [`RequestCharge::NOTHING`] if there is none.
    #[inline(always)]
    pub(super) fn head_charge(&self, fifo: RequestList) -> RequestCharge {
        match self.slots.get(fifo.head as usize) {
            Some(Aligned(RequestSlot::Waits { flow, cost, .. })) if flow & HAS_MORE == 0 => {
                RequestCharge { cost: *cost, reserved: *cost }
            }
            Some(_) => self.dear_head_charge(fifo),
            None => RequestCharge::NOTHING,
        }
    }

    #[cold]
    fn dear_head_charge(&self, fifo: RequestList) -> RequestCharge {
        self.head(fifo).map_or(RequestCharge::NOTHING, |shown| shown.charge)
    }

    /// The oldest request.
    pub(super) fn head(&self, fifo: RequestList) -> Option<ShownRequest> {
        self.iter(fifo).next()
    }

    /// Takes the oldest request out.
    #[inline(always)]
    pub(super) fn pop_front(&mut self, fifo: &mut RequestList) -> Option<Departed<T>> {
        if fifo.is_empty() {
            return None;
        }
        Some(self.pop_head(fifo))
    }

    /// Takes the oldest request out of a list that has one.
    #[inline(always)]
    pub(super) fn pop_head(&mut self, fifo: &mut RequestList) -> Departed<T> {
        self.clear_head(fifo).0
    }

    /// The same, and what the next one is charged.
    #[inline(always)]
    pub(super) fn pop_before_next(
        &mut self,
        fifo: &mut RequestList,
    ) -> (Departed<T>, RequestCharge) {
        let (left, is_next_alike) = self.clear_head(fifo);
        let next = match is_next_alike {
            true => RequestCharge { cost: left.cost, reserved: left.cost },
            false => self.head_charge(*fifo),
        };
        (left, next)
    }

    /// The requests of a list, oldest first.
    pub(super) fn iter(&self, fifo: RequestList) -> impl Iterator<Item = ShownRequest> {
        let mut at = fifo.head;
        core::iter::from_fn(move || {
            let Aligned(slot) = self.slots.get(at as usize)?;
            let shown = self.shown(at, slot)?;
            if let RequestSlot::Waits { next, .. } = slot {
                at = *next;
            }
            Some(shown)
        })
    }

    fn shown(&self, at: u32, slot: &RequestSlot<T>) -> Option<ShownRequest> {
        let RequestSlot::Waits { arrival, flow, cost, .. } = slot else { return None };
        let more = self.more_of(at, *flow);
        Some(ShownRequest {
            arrival: *arrival,
            flow: flow & FLOW,
            cost: *cost,
            priority: more.priority,
            charge: RequestCharge::new(*cost, more.distributed),
        })
    }

    #[inline(always)]
    fn more_of(&self, slot: u32, flow: u32) -> More {
        match self.more.get(slot as usize) {
            Some(more) if flow & HAS_MORE != 0 => *more,
            _ => More::default(),
        }
    }

    /// Takes out the requests of a list that satisfy `doomed`, appended to `removed` in their order.
    pub(super) fn remove_where(
        &mut self,
        fifo: &mut RequestList,
        mut doomed: impl FnMut(u32, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let mut rest = fifo.head;
        *fifo = RequestList::EMPTY;
        while rest != NONE {
            let slot = rest;
            let RequestSlot::Waits { payload, flow, cost, next, .. } =
                &mut self.slots[slot as usize].0
            else {
                unreachable!("a listed slot holds a request")
            };
            rest = core::mem::replace(next, NONE);
            *flow &= !NEXT_ALIKE;
            let plain_cost = (*flow & HAS_MORE == 0).then_some(*cost);
            if doomed(*flow & FLOW, payload) {
                removed.push(self.clear(slot).payload);
            } else {
                self.link(fifo, slot, plain_cost);
            }
        }
    }

    /// Appends a slot to a list, given what its request costs if that is all it is charged; whether it is the first.
    #[inline(always)]
    fn link(&mut self, fifo: &mut RequestList, slot: u32, plain_cost: Option<u32>) -> bool {
        let is_first = fifo.is_empty();
        if is_first {
            fifo.head = slot;
        } else if let RequestSlot::Waits { flow, cost, next, .. } =
            &mut self.slots[fifo.tail as usize].0
        {
            *next = slot;
            *flow |= u32::from(plain_cost == Some(*cost)) * NEXT_ALIKE;
        }
        fifo.tail = slot;
        is_first
    }

    #[inline(always)]
    fn fill(&mut self, now: Time, request: Request<T>, next: u32) -> u32 {
        let plain = is_plain(&request);
        let Request { flow, priority, cost, distributed, payload } = request;
        let generation = flow.generation();
        let flow = flow.get() | if plain { 0 } else { HAS_MORE };
        self.len += 1;
        let slot = self.free;
        // Built in its place: what is put together elsewhere is copied in wider pieces than it was written in, for which the
        // processor waits.
        match self.slots.get_mut(slot as usize) {
            Some(Aligned(place)) => {
                if let RequestSlot::Free { next } = place {
                    self.free = *next;
                }
                *place = RequestSlot::Waits { arrival: now, payload, flow, generation, cost, next };
            }
            None => {
                let filled =
                    RequestSlot::Waits { arrival: now, payload, flow, generation, cost, next };
                return self.extend(
                    filled,
                    if plain { None } else { Some(More { priority, distributed }) },
                );
            }
        }
        if !plain {
            self.note(slot, More { priority, distributed });
        }
        slot
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, filled: RequestSlot<T>, more: Option<More>) -> u32 {
        self.slots.push(Aligned(filled));
        let slot = u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests wait");
        if let Some(more) = more {
            self.note(slot, more);
        }
        slot
    }

    #[inline(never)]
    fn note(&mut self, slot: u32, more: More) {
        if self.more.len() <= slot as usize {
            self.more.resize(slot as usize + 1, More::default());
        }
        self.more[slot as usize] = more;
    }

    /// Takes the head out of a list that has one; also returns whether the next one's charge is its cost.
    #[inline(always)]
    fn clear_head(&mut self, fifo: &mut RequestList) -> (Departed<T>, bool) {
        let RequestSlot::Waits { flow, next, .. } = &self.slots[fifo.head as usize].0 else {
            unreachable!("a listed slot holds a request")
        };
        let (is_next_alike, next) = (flow & NEXT_ALIKE != 0, *next);
        let left = self.clear(fifo.head);
        fifo.head = next;
        (left, is_next_alike)
    }

    /// Empties a slot.
    #[inline(always)]
    fn clear(&mut self, slot: u32) -> Departed<T> {
        let place = &mut self.slots[slot as usize].0;
        // Read one by one: what is moved as a whole is copied in wider pieces than it is read in.
        let RequestSlot::Waits { arrival, flow, generation, cost, .. } = place else {
            unreachable!("a listed slot holds a request")
        };
        let (arrival, flow, generation, cost) = (*arrival, *flow, *generation, *cost);
        let RequestSlot::Waits { payload, .. } =
            core::mem::replace(place, RequestSlot::Free { next: self.free })
        else {
            unreachable!("it was just seen")
        };
        self.free = slot;
        self.len -= 1;
        let priority = self.more_of(slot, flow).priority;
        let flow = FlowId::of_generation(flow & FLOW, generation);
        Departed { arrival, flow, cost, priority, payload }
    }
}

/// Whether a request is charged its cost, and has no priority.
#[inline(always)]
fn is_plain<T>(request: &Request<T>) -> bool {
    request.priority == 0 && request.distributed == Distributed::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use loadline_base::Rng;

    /// What the next one is charged is known from the one before it where they are alike, and that must be what it says itself: also
    /// after requests between them were removed, or came in front. Against a queue of the costs.
    #[test]
    fn the_next_charge_is_that_of_the_next_request() {
        let (mut rng, mut requests, mut fifo) = (Rng::new(9), Requests::new(), RequestList::EMPTY);
        let mut model: VecDeque<Request<u64>> = VecDeque::new();
        let charge = |request: &Request<u64>| RequestCharge::new(request.cost, request.distributed);
        for step in 0..100_000 {
            match rng.below(20) {
                0..9 => {
                    let mut request = Request::new(FlowId::new(0), 1 + rng.below(2) as u32, step);
                    request.distributed.rho = u32::from(rng.below(5) == 0);
                    let is_first = requests.push_back(&mut fifo, Time::ZERO, request);
                    assert_eq!(is_first, model.is_empty());
                    model.push_back(request);
                }
                9 => {
                    let request = Request::new(FlowId::new(0), 1 + rng.below(2) as u32, step);
                    requests.push_front(&mut fifo, Time::ZERO, request);
                    model.push_front(request);
                }
                10 => {
                    let part = rng.below(3);
                    let doomed = |payload: &u64| payload % 3 == part;
                    requests.remove_where(&mut fifo, |_, payload| doomed(payload), &mut Vec::new());
                    model.retain(|request| !doomed(&request.payload));
                }
                _ => {
                    let Some(first) = model.pop_front() else { continue };
                    let (left, next) = requests.pop_before_next(&mut fifo);
                    assert_eq!((left.payload, left.cost), (first.payload, first.cost));
                    assert_eq!(next, model.front().map_or(RequestCharge::NOTHING, charge));
                }
            }
            assert_eq!(requests.len(), model.len());
        }
    }
}
