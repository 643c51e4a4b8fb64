//! What waits in Loadline's mode, and why.

use super::super::explain::{Candidate, Winner, reason, winner};
use super::super::requests::{Fifo, Slot};
use super::super::tick::Tick;
use super::{Head, Loadline};
use crate::{ClassId, FlowId, LimitPolicy, Reason, Tags, Waiting};
use loadline_base::Time;

impl<T> Loadline<T> {
    pub(super) fn explain(&self, now: Time) -> Vec<Waiting> {
        let candidates: Vec<Candidate> =
            self.classes.ids().filter_map(|id| self.candidate(id, now)).collect();
        let next = winner(&candidates, now);
        let could_run = next.is_some() || !self.requeued.is_empty();
        let strict_goes = !(self.strict.is_empty() || (could_run && self.strict_run_is_over()));
        let mut rows = Vec::with_capacity(self.requests.len());
        self.explain_list(self.strict, !strict_goes, Reason::BehindOlder, &mut rows);
        let behind =
            |ahead| if strict_goes { Reason::BehindStrict } else { Reason::BehindOlder(ahead) };
        self.explain_list(self.requeued, strict_goes, behind, &mut rows);
        let requeued = self.requests.iter(self.requeued).count();
        for (id, flow) in self.flows.iter().filter(|(_, flow)| flow.is_open()) {
            for (place, slot) in self.requests.iter(self.fifo(id)).enumerate() {
                let turn = self.classes[flow.class].turn;
                let reason = if place > 0 {
                    Reason::BehindOwnFlow(place)
                } else if turn != id {
                    Reason::BehindClient(turn)
                } else if strict_goes {
                    Reason::BehindStrict
                } else if requeued > 0 {
                    Reason::BehindOlder(requeued)
                } else {
                    self.reason_of_head(flow.class, &candidates, next, now)
                };
                let tags = (place == 0 && turn == id).then(|| self.tags(flow.class, slot));
                rows.push(self.row(slot, place, tags, reason));
            }
        }
        rows
    }

    /// The head of a class as the choice sees it.
    fn candidate(&self, id: ClassId, now: Time) -> Option<Candidate> {
        let class = &self.classes[id];
        let head = self.head(class)?;
        let held_until = class.held_until(head).filter(|tag| *tag > Tick::from_time(now));
        let start = match held_until {
            Some(_) => class.start.0,
            None => class.start.0.max(self.virtual_time),
        };
        Some(Candidate {
            flow: class.turn,
            index: id.get(),
            reservation: class.reservation.exists().then(|| class.reservation_tag(head)),
            proportion: class.weight.exists().then_some(start as i128),
            held_until,
            conserves: class.limit_policy == LimitPolicy::WorkConserving && class.weight.exists(),
        })
    }

    fn reason_of_head(
        &self,
        class: ClassId,
        candidates: &[Candidate],
        next: Option<Winner>,
        now: Time,
    ) -> Reason {
        let own = candidates.binary_search_by_key(&class.get(), |candidate| candidate.index);
        reason(&candidates[own.expect("a class with a head is a candidate")], next, now)
    }

    /// Rows of a list beside the shared classes; `blocked` if even its first has to wait.
    fn explain_list(
        &self,
        fifo: Fifo,
        blocked: bool,
        behind: impl Fn(usize) -> Reason,
        rows: &mut Vec<Waiting>,
    ) {
        for (place, slot) in self.requests.iter(fifo).enumerate() {
            let first = place == 0 && !blocked;
            let reason = if first { Reason::Next } else { behind(place + usize::from(blocked)) };
            rows.push(self.row(slot, place, None, reason));
        }
    }

    fn tags(&self, id: ClassId, slot: &Slot<T>) -> Tags {
        let class = &self.classes[id];
        let head = Head::of(slot);
        Tags {
            reservation: class.reservation.exists().then(|| class.reservation_tag(head).ceil()),
            proportion: class.weight.exists().then(|| self.weight_unit.units(class.start.0)),
            limit: class.held_until(head).map(Tick::ceil),
        }
    }

    fn row(&self, slot: &Slot<T>, place: usize, tags: Option<Tags>, reason: Reason) -> Waiting {
        let flow: FlowId = slot.flow;
        Waiting {
            flow,
            class: self.flows[flow].class,
            client: self.flows[flow].client(),
            place,
            arrival: slot.arrival,
            cost: slot.cost,
            priority: slot.priority,
            tags,
            reason,
        }
    }
}
