//! Where requests wait: one slab for all of them, and first-in-first-out lists through it.

use crate::{Distributed, FlowId, Request};
use loadline_base::Time;

const NONE: u32 = u32::MAX;

/// A list of waiting requests, oldest first; the links are in [`Requests`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    /// No requests.
    pub(super) const EMPTY: Fifo = Fifo { head: NONE, tail: NONE };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Whether both lists start with the same request.
    pub(super) fn same_head(&self, other: Fifo) -> bool {
        self.head == other.head
    }
}

/// A waiting request.
#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    pub(super) cost: u32,
    pub(super) priority: u32,
    pub(super) distributed: Distributed,
    next: u32,
    payload: Option<T>,
}

impl<T> Slot<T> {
    /// What the weight and the limit are charged.
    #[inline]
    pub(super) fn charge(&self) -> u64 {
        u64::from(self.cost) + u64::from(self.distributed.delta)
    }

    /// What the reservation is charged.
    #[inline]
    pub(super) fn reservation_charge(&self) -> u64 {
        u64::from(self.cost) + u64::from(self.distributed.rho)
    }

    fn payload(&self) -> &T {
        self.payload.as_ref().expect("a listed slot holds a payload")
    }
}

/// A request that left its list.
#[derive(Debug)]
pub(super) struct Left<T> {
    pub(super) arrival: Time,
    pub(super) flow: FlowId,
    pub(super) cost: u32,
    pub(super) priority: u32,
    pub(super) distributed: Distributed,
    pub(super) payload: T,
}

/// All waiting requests of a scheduler. Slots are reused, the last one released first, so a steady state
/// allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct Requests<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    len: usize,
}

impl<T> Requests<T> {
    pub(super) const fn new() -> Requests<T> {
        Requests { slots: Vec::new(), free: NONE, len: 0 }
    }

    /// How many requests wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a request.
    #[inline(always)]
    pub(super) fn push_back(&mut self, fifo: &mut Fifo, now: Time, request: Request<T>) {
        let slot = self.fill(now, request, NONE);
        self.link(fifo, slot);
    }

    /// Puts a request before the others.
    pub(super) fn push_front(&mut self, fifo: &mut Fifo, now: Time, request: Request<T>) {
        let slot = self.fill(now, request, fifo.head);
        if fifo.is_empty() {
            fifo.tail = slot;
        }
        fifo.head = slot;
    }

    /// The oldest request.
    #[inline]
    pub(super) fn head(&self, fifo: Fifo) -> Option<&Slot<T>> {
        (!fifo.is_empty()).then(|| &self.slots[fifo.head as usize])
    }

    /// Takes the oldest request out.
    #[inline(always)]
    pub(super) fn pop_front(&mut self, fifo: &mut Fifo) -> Option<Left<T>> {
        if fifo.is_empty() {
            return None;
        }
        let (left, next) = self.clear(fifo.head);
        fifo.head = next;
        if next == NONE {
            fifo.tail = NONE;
        }
        Some(left)
    }

    /// The requests of a list, oldest first.
    pub(super) fn iter(&self, fifo: Fifo) -> impl Iterator<Item = &Slot<T>> {
        let at = |slot: u32| (slot != NONE).then(|| &self.slots[slot as usize]);
        std::iter::successors(at(fifo.head), move |slot| at(slot.next))
    }

    /// Takes out the requests of a list that satisfy `doomed`, appended to `removed` in their order.
    pub(super) fn remove_where(
        &mut self,
        fifo: &mut Fifo,
        mut doomed: impl FnMut(FlowId, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let mut rest = fifo.head;
        *fifo = Fifo::EMPTY;
        while rest != NONE {
            let slot = rest;
            let item = &mut self.slots[slot as usize];
            rest = item.next;
            if doomed(item.flow, item.payload()) {
                removed.push(self.clear(slot).0.payload);
            } else {
                item.next = NONE;
                self.link(fifo, slot);
            }
        }
    }

    #[inline(always)]
    fn link(&mut self, fifo: &mut Fifo, slot: u32) {
        match fifo.tail {
            NONE => fifo.head = slot,
            tail => self.slots[tail as usize].next = slot,
        }
        fifo.tail = slot;
    }

    #[inline(always)]
    fn fill(&mut self, now: Time, request: Request<T>, next: u32) -> u32 {
        let Request { flow, priority, cost, distributed, payload } = request;
        let payload = Some(payload);
        let filled = Slot { arrival: now, flow, cost, priority, distributed, next, payload };
        self.len += 1;
        if self.free == NONE {
            self.slots.push(filled);
            return u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests wait");
        }
        let slot = self.free;
        let place = &mut self.slots[slot as usize];
        self.free = place.next;
        *place = filled;
        slot
    }

    /// Empties a slot; also returns the next one of its list.
    #[inline(always)]
    fn clear(&mut self, slot: u32) -> (Left<T>, u32) {
        let place = &mut self.slots[slot as usize];
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = slot;
        self.len -= 1;
        let payload = place.payload.take().expect("a listed slot holds a payload");
        let Slot { arrival, flow, cost, priority, distributed, .. } = *place;
        (Left { arrival, flow, cost, priority, distributed, payload }, next)
    }
}
