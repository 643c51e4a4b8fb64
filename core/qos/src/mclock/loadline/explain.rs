//! What waits in Loadline's mode, and why.

use super::flow::{Inside, NONE};
use super::level::Level;
use super::{ClientFlow, Loadline};
use crate::mclock::explain::{Candidate, reason, winner};
use crate::mclock::requests::{RequestList, ShownRequest};
use crate::{ClassId, FlowId, Tags, WaitCause, Waiting};
use alloc::vec::Vec;
use loadline_base::Time;

impl<T> Loadline<T> {
    /// What waits, of all classes or of one.
    pub(super) fn explain(&self, now: Time, of: Option<ClassId>) -> Vec<Waiting> {
        let candidates = self.candidates(&self.classes, now, |class| self.head_flow(class, now));
        let next = winner(&candidates);
        let could_run = next.is_some() || !self.first.requeued.is_empty();
        let strict_goes =
            !(self.first.strict.is_empty() || (could_run && self.strict_run_is_over()));
        let mut rows = Vec::new();
        self.explain_list(self.first.strict, !strict_goes, WaitCause::BehindOlder, &mut rows);
        let behind = |ahead| {
            if strict_goes { WaitCause::BehindStrict } else { WaitCause::BehindOlder(ahead) }
        };
        self.explain_list(self.first.requeued, strict_goes, behind, &mut rows);
        let requeued = self.requests.iter(self.first.requeued).count();
        rows.retain(|row| of.is_none_or(|of| of == row.class));
        for index in 0..self.flows.len() as u32 {
            let ClientFlow { class, tenant, .. } = self.flows[index];
            if class == NONE || of.is_some_and(|of| of.get() != class) {
                continue;
            }
            for (place, shown) in self.requests.iter(self.fifo(index)).enumerate() {
                let turn = self.turn(class, tenant);
                let is_head = place == 0 && turn == index;
                let reason = if place > 0 {
                    WaitCause::BehindOwnFlow(place)
                } else if turn != index {
                    WaitCause::BehindClient(self.flows.handle(turn))
                } else if let Some(reason) = self.reason_among_tenants(class, tenant, now) {
                    reason
                } else if strict_goes {
                    WaitCause::BehindStrict
                } else if requeued > 0 {
                    WaitCause::BehindOlder(requeued)
                } else {
                    let own = candidates.iter().find(|head| head.index == class);
                    own.map_or(WaitCause::LimitedUntil(now), |head| reason(head, next))
                };
                let party = self.party(class, tenant);
                let tags = is_head.then(|| self.level(class, tenant).tags(now, party));
                rows.push(self.row(shown, place, tags, reason));
            }
        }
        rows
    }

    /// The heads of a level as the choice sees them.
    fn candidates(
        &self,
        level: &Level,
        now: Time,
        flow: impl Fn(u32) -> Option<u32>,
    ) -> Vec<Candidate> {
        let head = |index| Some(level.candidate(now, index, self.flows.handle(flow(index)?)));
        (0..level.len() as u32)
            .filter(|index| level.line(*index).is_busy())
            .filter_map(head)
            .collect()
    }

    /// The client whose request goes when the class does.
    fn head_flow(&self, class: u32, now: Time) -> Option<u32> {
        match Inside::decode(self.classes.inside(class)) {
            Inside::Nobody | Inside::Closed => None,
            Inside::One(flow) => Some(flow),
            Inside::Turns(turns) => Some(self.turns[turns as usize].flow_in_turn()),
            Inside::Tenants(at) => {
                let level = &self.tenants[at as usize].level;
                let turn = |tenant| Some(self.turn(class, tenant));
                let heads = self.candidates(level, now, turn);
                winner(&heads).map(|winner| winner.head().flow.get())
            }
        }
    }

    /// The client of a party whose turn it is.
    fn turn(&self, class: u32, tenant: u32) -> u32 {
        match Inside::decode(self.level(class, tenant).inside(self.party(class, tenant))) {
            Inside::One(flow) => flow,
            Inside::Turns(turns) => self.turns[turns as usize].flow_in_turn(),
            _ => NONE,
        }
    }

    /// Why the head of a tenant is not that of its class; `None` if it is.
    fn reason_among_tenants(&self, class: u32, tenant: u32, now: Time) -> Option<WaitCause> {
        if tenant == NONE {
            return None;
        }
        let heads = self
            .candidates(self.level(class, tenant), now, |tenant| Some(self.turn(class, tenant)));
        let own = heads.iter().find(|head| head.index == tenant)?;
        Some(reason(own, winner(&heads))).filter(|reason| *reason != WaitCause::Next)
    }

    /// Rows of a list beside the shared classes; `blocked` if even its first has to wait.
    fn explain_list(
        &self,
        fifo: RequestList,
        blocked: bool,
        behind: impl Fn(usize) -> WaitCause,
        rows: &mut Vec<Waiting>,
    ) {
        for (place, shown) in self.requests.iter(fifo).enumerate() {
            let first = place == 0 && !blocked;
            let reason = if first { WaitCause::Next } else { behind(place + usize::from(blocked)) };
            rows.push(self.row(shown, place, None, reason));
        }
    }

    fn row(
        &self,
        shown: ShownRequest,
        place: usize,
        tags: Option<Tags>,
        reason: WaitCause,
    ) -> Waiting {
        let flow = &self.flows[shown.flow];
        Waiting {
            flow: self.flows.handle(shown.flow),
            class: ClassId::new(flow.class),
            client: self.flows.client(shown.flow),
            place,
            arrival: shown.arrival,
            cost: shown.cost,
            priority: shown.priority,
            tags,
            reason,
        }
    }
}

impl Level {
    /// The head of a party as the choice sees it.
    fn candidate(&self, now: Time, index: u32, flow: FlowId) -> Candidate {
        let line = self.line(index);
        let tick = self.tick_at(now);
        let tag = line.reservation_tag_exact() + u128::from(self.time.lag);
        let held = line.holds_at_limit::<false>() && line.limit_tag::<false>() > tick;
        let start = i128::from(if held { line.start } else { self.start_if_released(index) });
        let spare = match line.has_weight() {
            true => (line.conserves() && held).then_some((0, start)),
            false => line.conserves().then_some((1, i128::from(line.start))),
        };
        Candidate {
            flow,
            index,
            reservation: line.has_reservation().then_some(tag),
            reserved_at: self.time_of(now, tag),
            is_due: line.has_reservation() && tag <= u128::from(tick),
            proportion: line.has_weight().then_some(start),
            held_until: held.then(|| self.time_of(now, line.limit_tag_exact())),
            spare,
        }
    }

    fn tags(&self, now: Time, index: u32) -> Tags {
        let line = self.line(index);
        let reservation = line.reservation_tag_exact() + u128::from(self.time.lag);
        Tags {
            reservation: line.has_reservation().then(|| self.time_of_past(now, reservation)),
            proportion: line.has_weight().then(|| self.units(line.start)),
            limit: line
                .holds_at_limit::<false>()
                .then(|| self.time_of_past(now, line.limit_tag_exact())),
        }
    }
}
