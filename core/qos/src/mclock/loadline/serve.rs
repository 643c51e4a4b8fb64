//! How a request leaves in Loadline's mode, and what its class is charged.

use super::super::heap::Packed;
use super::super::requests::Left;
use super::super::tick::Tick;
use super::Loadline;
use super::choose::Choice;
use super::class::{Head, Virtual};
use super::turns::NO_TURNS;
use crate::{ClassId, Phase, Take, Taken};
use loadline_base::Time;

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
        let choice = self.choose(now);
        let (id, phase) = match choice {
            Choice::Reservation(id, _) => (id, Phase::Reservation),
            Choice::Weight(id, _) => (id, Phase::Weight),
            Choice::Spare(id) => (id, Phase::Spare),
            Choice::NotBefore(time) => return Take::NotBefore(time),
            Choice::Nothing => return Take::Empty,
        };
        let class = &mut self.classes[id];
        let left = self.requests.pop_front(&mut class.fifo).expect("a chosen class has a head");
        let head = Head::new(left.arrival, left.cost, left.distributed);
        if class.turns != NO_TURNS {
            self.turns[class.turns].pass(class, &mut self.flows, head.charge);
        }
        match choice {
            Choice::Reservation(_, tag) => self.charge_reservation(id, tag, head),
            Choice::Weight(_, limit) => self.charge_weight(now, id, limit, head),
            _ => self.charge_spare(now, id, head),
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
    fn charge_reservation(&mut self, id: ClassId, tag: Tick, head: Head) {
        let class = &mut self.classes[id];
        class.reservation_base = tag.into();
        if class.holds_at_limit() {
            class.limit_base = class.limit_tag(head).into();
        }
        class.start_from(self.virtual_time + class.weight.ticks(head.charge));
        if let Some(next) = self.requests.head(class.fifo) {
            let tag = class.reservation_tag(Head::of(next));
            self.reserved.replace_top(Packed::new(tag.key(), id.get()));
        }
    }

    /// The weight pays, and virtual time comes to where this service starts. The reservation's base stays where it
    /// is: work done by weight does not consume the reservation (mClock's compensation; the tag of a head chosen by
    /// weight is still to come, so lowering it by its own cost gives the base back).
    #[inline(always)]
    fn charge_weight(&mut self, now: Time, id: ClassId, limit: Option<Tick>, head: Head) {
        let class = &mut self.classes[id];
        let start = class.start.0;
        debug_assert!(start >= self.virtual_time);
        self.virtual_time = start;
        class.start = Virtual(start + class.weight.ticks(head.charge));
        if let Some(limit) = limit {
            class.limit_base = limit.into();
        }
        if class.fifo.is_empty() {
            return;
        }
        let next_held = limit.and_then(|_| self.next_held_until(now, id));
        match next_held {
            Some(tag) => {
                self.classes[id].in_weighted = false;
                self.weighted.pop();
                self.hold(id, tag);
            }
            None => {
                let entry = Packed::new(self.classes[id].start.0, id.get());
                self.weighted.replace_top(entry);
            }
        }
        self.lower_reservation(id, head);
    }

    /// Until when the head of a class with a limit has to wait for it, if it has to.
    #[inline(always)]
    fn next_held_until(&self, now: Time, id: ClassId) -> Option<Tick> {
        let class = &self.classes[id];
        let next = self.requests.head(class.fifo).map(Head::of)?;
        Some(class.limit_tag(next)).filter(|tag| *tag > Tick::from_time(now))
    }

    /// As by weight, but the limit starts again from now: what nobody else wanted is not held against the class.
    #[cold]
    fn charge_spare(&mut self, now: Time, id: ClassId, head: Head) {
        let class = &mut self.classes[id];
        class.limit_base = Tick::from_time(now).into();
        self.virtual_time = self.virtual_time.max(class.start.0);
        class.start = Virtual(self.virtual_time + class.weight.ticks(head.charge));
        let Some(next) = self.requests.head(class.fifo).map(Head::of) else { return };
        self.spare.replace_top(class.spare_entry(id));
        self.limited.lower(Packed::new(class.limit_tag(next).key(), id.get()));
        self.lower_reservation(id, head);
    }

    /// After `head` went by weight: a cheaper successor is due earlier than it was.
    #[inline(always)]
    fn lower_reservation(&mut self, id: ClassId, head: Head) {
        let class = &self.classes[id];
        if !class.reservation.exists() {
            return;
        }
        match self.requests.head(class.fifo).map(Head::of) {
            Some(next) if next.reservation_charge < head.reservation_charge => {
                let tag = class.reservation_tag(next);
                self.reserved.lower(Packed::new(tag.key(), id.get()));
            }
            _ => {}
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
