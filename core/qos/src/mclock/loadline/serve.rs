//! How a request leaves in Loadline's mode, and what its class is charged.

use super::super::heap::{Entry, Packed};
use super::super::requests::Left;
use super::super::tick::Tick;
use super::Loadline;
use super::choose::Choice;
use super::class::{Class, Flow, Head, Virtual};
use crate::{ClassId, FlowId, Phase, Take, Taken};
use loadline_base::{IdVec, Time};

impl<T> Loadline<T> {
    /// Takes the next request: strict work, then what was put back, then the shared classes.
    #[inline(always)]
    pub(super) fn take_next(&mut self, now: Time) -> Take<T> {
        if !self.strict.is_empty() {
            return self.take_beside_strict(now);
        }
        self.strict_run = 0;
        if !self.requeued.is_empty() {
            return self.take_requeued_or_shared(now);
        }
        self.take_shared(now)
    }

    /// When the next take can succeed.
    pub(super) fn next_time(&mut self, now: Time) -> Option<Time> {
        if self.strict.is_empty() { self.next_time_without_strict(now) } else { Some(now) }
    }

    fn next_time_without_strict(&mut self, now: Time) -> Option<Time> {
        if !self.requeued.is_empty() {
            return Some(now);
        }
        match self.choose(now) {
            Choice::NotBefore(time) => Some(time),
            Choice::Nothing => None,
            _ => Some(now),
        }
    }

    /// Strict work goes first, but after `strict_run_max` in a row beside a request that could have run, that
    /// one goes.
    #[cold]
    fn take_beside_strict(&mut self, now: Time) -> Take<T> {
        if self.config.strict_run_max.is_some() && self.next_time_without_strict(now) == Some(now) {
            if self.strict_run_is_over() {
                self.strict_run = 0;
                return self.take_requeued_or_shared(now);
            }
            self.strict_run += 1;
        }
        let left = self.requests.pop_front(&mut self.strict).expect("strict work waits");
        Take::Ready(self.taken(left, Phase::Strict))
    }

    pub(super) fn strict_run_is_over(&self) -> bool {
        self.config.strict_run_max.is_some_and(|most| self.strict_run >= most)
    }

    #[cold]
    fn take_requeued_or_shared(&mut self, now: Time) -> Take<T> {
        match self.requests.pop_front(&mut self.requeued) {
            Some(left) => Take::Ready(self.taken(left, Phase::Requeued)),
            None => self.take_shared(now),
        }
    }

    #[inline(always)]
    fn take_shared(&mut self, now: Time) -> Take<T> {
        let (id, phase) = match self.choose(now) {
            Choice::Reservation(id) => (id, Phase::Reservation),
            Choice::Weight(id) => (id, Phase::Weight),
            Choice::Spare(id) => (id, Phase::Spare),
            Choice::NotBefore(time) => return Take::NotBefore(time),
            Choice::Nothing => return Take::Empty,
        };
        let class = &mut self.classes[id];
        let flow = &mut self.flows[class.turn];
        let left = self.requests.pop_front(&mut flow.fifo).expect("a chosen class has a head");
        let head = Head::new(left.arrival, left.cost, left.distributed);
        let next = if class.turns.is_some() {
            let turn = pass_turn(class, &mut self.flows, head.charge);
            self.requests.head(self.flows[turn].fifo)
        } else {
            self.requests.head(flow.fifo)
        };
        let next = next.map(Head::of);
        match phase {
            Phase::Reservation => self.charge_reservation(id, head, next),
            Phase::Weight => self.charge_weight(now, id, head, next),
            _ => self.charge_spare(now, id, head, next),
        }
        Take::Ready(Taken {
            flow: left.flow,
            class: id,
            arrival: left.arrival,
            cost: left.cost,
            priority: left.priority,
            phase,
            payload: left.payload,
        })
    }

    /// The reservation pays; the weight's ledger gets at most one request ahead of virtual time, the limit counts.
    #[inline(always)]
    fn charge_reservation(&mut self, id: ClassId, head: Head, next: Option<Head>) {
        let class = &mut self.classes[id];
        class.reservation_base = class.reservation_tag(head).into();
        if class.holds_at_limit() {
            class.limit_base = class.limit_tag(head).into();
        }
        class.start_from(self.virtual_time + class.weight.ticks(head.charge));
        if let Some(next) = next {
            let tag = class.reservation_tag(next);
            self.reserved.replace_top(Packed::new(tag.key(), id.get()));
        }
    }

    /// The weight pays, and virtual time comes to where this service starts. The reservation's base stays where it
    /// is: work done by weight does not consume the reservation (mClock's compensation; the tag of a head chosen by
    /// weight is still to come, so lowering it by its own cost gives the base back).
    #[inline(always)]
    fn charge_weight(&mut self, now: Time, id: ClassId, head: Head, next: Option<Head>) {
        let class = &mut self.classes[id];
        let start = class.start.0;
        debug_assert!(start >= self.virtual_time);
        self.virtual_time = start;
        class.start = Virtual(start + class.weight.ticks(head.charge));
        let holds = class.holds_at_limit();
        if holds {
            class.limit_base = class.limit_tag(head).into();
        }
        let Some(next) = next else { return };
        if holds && class.limit_tag(next) > Tick::from_time(now) {
            let tag = class.limit_tag(next);
            class.in_weighted = false;
            self.weighted.pop();
            self.hold(id, tag);
        } else {
            self.weighted.replace_top(Packed::new(class.start.0, id.get()));
        }
        self.lower_reservation(id, head, next);
    }

    /// As by weight, but the limit starts again from now: what nobody else wanted is not held against the class.
    #[cold]
    fn charge_spare(&mut self, now: Time, id: ClassId, head: Head, next: Option<Head>) {
        let class = &mut self.classes[id];
        class.limit_base = Tick::from_time(now).into();
        self.virtual_time = self.virtual_time.max(class.start.0);
        class.start = Virtual(self.virtual_time + class.weight.ticks(head.charge));
        let Some(next) = next else { return };
        self.spare.replace_top(class.spare_entry(id));
        self.limited.lower(Packed::new(class.limit_tag(next).key(), id.get()));
        self.lower_reservation(id, head, next);
    }

    /// A cheaper successor is due earlier than its predecessor was.
    #[inline(always)]
    fn lower_reservation(&mut self, id: ClassId, head: Head, next: Head) {
        if next.reservation_charge < head.reservation_charge {
            let class = &self.classes[id];
            if class.reservation.exists() {
                let tag = class.reservation_tag(next);
                self.reserved.lower(Packed::new(tag.key(), id.get()));
            }
        }
    }

    /// A class that was empty has a head.
    pub(super) fn class_wakes(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        class.start_from(self.virtual_time);
        let class = &self.classes[id];
        let head = self.head(class).expect("a class wakes with a head");
        if class.reservation.exists() {
            self.reserved.lower(Packed::new(class.reservation_tag(head).key(), id.get()));
        }
        if !class.weight.exists() || class.in_weighted {
            return;
        }
        match class.held_until(head) {
            Some(tag) if tag > Tick::from_time(head.arrival) || self.limited.contains(id.get()) => {
                self.hold(id, tag);
            }
            _ => self.push_weighted(id),
        }
    }

    fn taken(&self, left: Left<T>, phase: Phase) -> Taken<T> {
        Taken {
            flow: left.flow,
            class: self.flows[left.flow].class,
            arrival: left.arrival,
            cost: left.cost,
            priority: left.priority,
            phase,
            payload: left.payload,
        }
    }
}

/// Ends the turn of the client just served: the client with the least start tag goes next, and is returned.
fn pass_turn(class: &mut Class, flows: &mut IdVec<FlowId, Flow>, charge: u64) -> FlowId {
    let Some(turns) = &mut class.turns else { return class.turn };
    let served = &mut flows[class.turn];
    turns.virtual_time = turns.virtual_time.max(served.start);
    served.start = turns.virtual_time.saturating_add(charge);
    let own = Packed::new(u128::from(served.start), class.turn.get());
    match turns.waiting.peek() {
        Some(top) if served.fifo.is_empty() => {
            turns.waiting.pop();
            class.turn = FlowId::new(top.index());
        }
        Some(top) if top.is_before(own) => {
            turns.waiting.replace_top(own);
            class.turn = FlowId::new(top.index());
        }
        _ => {}
    }
    class.turn
}
