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
    #[inline]
    pub(super) fn take_next(&mut self, now: Time) -> Take<T> {
        if !self.strict.is_empty() {
            return self.take_beside_strict(now);
        }
        self.strict_run = 0;
        match self.take_requeued() {
            Some(taken) => Take::Ready(taken),
            None => self.take_shared(now),
        }
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
    fn take_beside_strict(&mut self, now: Time) -> Take<T> {
        if self.config.strict_run_max.is_some() && self.next_time_without_strict(now) == Some(now) {
            if self.strict_run_is_over() {
                self.strict_run = 0;
                return self.take_requeued().map_or_else(|| self.take_shared(now), Take::Ready);
            }
            self.strict_run += 1;
        }
        let left = self.requests.pop_front(&mut self.strict).expect("strict work waits");
        Take::Ready(self.taken(left, Phase::Strict))
    }

    pub(super) fn strict_run_is_over(&self) -> bool {
        self.config.strict_run_max.is_some_and(|most| self.strict_run >= most)
    }

    fn take_requeued(&mut self) -> Option<Taken<T>> {
        let left = self.requests.pop_front(&mut self.requeued)?;
        Some(self.taken(left, Phase::Requeued))
    }

    #[inline]
    fn take_shared(&mut self, now: Time) -> Take<T> {
        let taken = match self.choose(now) {
            Choice::Reservation(id, head) => self.serve_reservation(id, head),
            Choice::Weight(id, head) => self.serve_weight(now, id, head),
            Choice::Spare(id, head) => self.serve_spare(now, id, head),
            Choice::NotBefore(time) => return Take::NotBefore(time),
            Choice::Nothing => return Take::Empty,
        };
        Take::Ready(taken)
    }

    /// The reservation pays; the weight's ledger gets at most one request ahead of virtual time, the limit counts.
    #[inline]
    fn serve_reservation(&mut self, id: ClassId, head: Head) -> Taken<T> {
        let virtual_time = self.virtual_time;
        let class = &mut self.classes[id];
        class.reservation_base = class.reservation_tag(head).into();
        if class.holds_at_limit() {
            class.limit_base = class.limit_tag(head).into();
        }
        advance_start(class, virtual_time, head);
        let (taken, next) = self.take_head(id, head, Phase::Reservation);
        if let Some(next) = next {
            let tag = self.classes[id].reservation_tag(next);
            self.reserved.replace_top(Packed::new(tag.key(), id.get()));
        }
        taken
    }

    /// The weight pays. The reservation's base stays where it is: work done by weight does not consume the
    /// reservation (mClock's compensation; the tag of a head chosen by weight is still to come, so lowering it by
    /// its own cost gives the base back).
    #[inline]
    fn serve_weight(&mut self, now: Time, id: ClassId, head: Head) -> Taken<T> {
        let class = &mut self.classes[id];
        if class.holds_at_limit() {
            class.limit_base = class.limit_tag(head).into();
        }
        self.virtual_time = self.virtual_time.max(class.start.0);
        advance_start(class, self.virtual_time, head);
        let (taken, next) = self.take_head(id, head, Phase::Weight);
        if let Some(next) = next {
            self.lower_reservation(id, head, next);
            let class = &mut self.classes[id];
            match class.held_until(next).filter(|tag| *tag > Tick::from_time(now)) {
                Some(tag) => {
                    class.in_weighted = false;
                    self.weighted.pop();
                    self.hold(id, tag);
                }
                None => self.weighted.replace_top(Packed::new(class.start.0, id.get())),
            }
        }
        taken
    }

    /// As by weight, but the limit starts again from now: what nobody else wanted is not held against the class.
    fn serve_spare(&mut self, now: Time, id: ClassId, head: Head) -> Taken<T> {
        let class = &mut self.classes[id];
        class.limit_base = Tick::from_time(now).into();
        self.virtual_time = self.virtual_time.max(class.start.0);
        advance_start(class, self.virtual_time, head);
        let (taken, next) = self.take_head(id, head, Phase::Spare);
        if let Some(next) = next {
            self.lower_reservation(id, head, next);
            let class = &self.classes[id];
            self.spare.replace_top(class.spare_entry(id));
            self.limited.lower(Packed::new(class.limit_tag(next).key(), id.get()));
        }
        taken
    }

    /// A cheaper successor is due earlier than its predecessor was.
    #[inline]
    fn lower_reservation(&mut self, id: ClassId, head: Head, next: Head) {
        let class = &self.classes[id];
        if class.reservation.exists() && next.reservation_charge < head.reservation_charge {
            let tag = class.reservation_tag(next);
            self.reserved.lower(Packed::new(tag.key(), id.get()));
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
            Some(tag) if tag > head.arrival || self.limited.contains(id.get()) => {
                self.hold(id, tag);
            }
            _ => self.push_weighted(id),
        }
    }

    /// Takes the class's head out, gives the turn to the next client, and returns the new head.
    #[inline]
    fn take_head(&mut self, id: ClassId, head: Head, phase: Phase) -> (Taken<T>, Option<Head>) {
        let class = &mut self.classes[id];
        let flow = &mut self.flows[class.turn];
        let left = self.requests.pop_front(&mut flow.fifo).expect("a chosen class has a head");
        if class.turns.is_some() {
            pass_turn(class, &mut self.flows, head.charge);
        }
        let next = self.requests.head(self.flows[class.turn].fifo).map(Head::of);
        let taken = Taken {
            flow: left.flow,
            class: id,
            arrival: left.arrival,
            cost: left.cost,
            priority: left.priority,
            phase,
            payload: left.payload,
        };
        (taken, next)
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

/// The next start: where this service ends, in virtual time that runs from now.
#[inline]
fn advance_start(class: &mut Class, virtual_time: u128, head: Head) {
    let finish = virtual_time + class.virtual_charge(head.charge);
    class.start = Virtual(finish.max(class.start.0));
}

/// Ends the turn of the client just served: the client with the least start tag goes next.
fn pass_turn(class: &mut Class, flows: &mut IdVec<FlowId, Flow>, charge: u64) {
    let Some(turns) = &mut class.turns else { return };
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
}
