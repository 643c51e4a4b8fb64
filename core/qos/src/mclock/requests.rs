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

/// What a request is besides whose it is and what comes back. Two words, so that who is called gets a request in registers: one that
/// was handed over in memory would stand there for those, too, who are not called.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestTerms {
    pub(super) priority: u32,
    pub(super) cost: u32,
    pub(super) distributed: Distributed,
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
        let slot = self.fill(now, request, NONE);
        self.link(fifo, slot)
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
        let (left, next) = self.clear(fifo.head);
        fifo.head = next;
        left
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
            flow: flow & !HAS_MORE,
            cost: *cost,
            priority: more.priority,
            charge: RequestCharge::new(*cost, more.distributed),
        })
    }

    #[inline(always)]
    fn more_of(&self, slot: u32, flow: u32) -> More {
        if flow & HAS_MORE == 0 { More::default() } else { self.more[slot as usize] }
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
            let RequestSlot::Waits { payload, flow, next, .. } = &mut self.slots[slot as usize].0
            else {
                unreachable!("a listed slot holds a request")
            };
            rest = core::mem::replace(next, NONE);
            if doomed(*flow & !HAS_MORE, payload) {
                removed.push(self.clear(slot).0.payload);
            } else {
                self.link(fifo, slot);
            }
        }
    }

    #[inline(always)]
    fn link(&mut self, fifo: &mut RequestList, slot: u32) -> bool {
        let is_first = fifo.is_empty();
        if is_first {
            fifo.head = slot;
        } else if let RequestSlot::Waits { next, .. } = &mut self.slots[fifo.tail as usize].0 {
            *next = slot;
        }
        fifo.tail = slot;
        is_first
    }

    #[inline(always)]
    fn fill(&mut self, now: Time, request: Request<T>, next: u32) -> u32 {
        let Request { flow, priority, cost, distributed, payload } = request;
        let plain = priority == 0 && distributed == Distributed::default();
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

    /// Empties a slot; also returns the next one of its list.
    #[inline(always)]
    fn clear(&mut self, slot: u32) -> (Departed<T>, u32) {
        let place = core::mem::replace(
            &mut self.slots[slot as usize].0,
            RequestSlot::Free { next: self.free },
        );
        let RequestSlot::Waits { arrival, payload, flow, generation, cost, next } = place else {
            unreachable!("a listed slot holds a request")
        };
        self.free = slot;
        self.len -= 1;
        let priority = self.more_of(slot, flow).priority;
        let flow = FlowId::of_generation(flow & !HAS_MORE, generation);
        (Departed { arrival, flow, cost, priority, payload }, next)
    }
}
