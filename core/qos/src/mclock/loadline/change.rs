//! Changes while requests wait, in Loadline's mode: parameters, removal, clients that leave.

use super::super::heap::{Entry, Packed};
use super::super::tick::Tick;
use super::{CLOSED, Loadline, NO_FLOW};
use crate::{ClassId, FlowId, Params};
use loadline_base::Time;

impl<T> Loadline<T> {
    /// Gives a class new parameters; its head's tags follow at once.
    pub(super) fn change_params(&mut self, id: ClassId, params: Params) {
        if self.classes[id].strict {
            return;
        }
        self.classes[id].set_params(params, &mut self.weight_unit);
        self.refresh(id);
    }

    /// Removes the requests that satisfy `doomed`.
    pub(super) fn remove(
        &mut self,
        _now: Time,
        mut doomed: impl FnMut(ClassId, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let flows = &self.flows;
        for fifo in [&mut self.strict, &mut self.requeued] {
            let doomed = |flow: FlowId, payload: &T| doomed(flows[flow].class, payload);
            self.requests.remove_where(fifo, doomed, removed);
        }
        for (_, flow) in self.flows.iter_mut().filter(|(_, flow)| flow.is_open()) {
            let class = flow.class;
            let doomed = |_, payload: &T| doomed(class, payload);
            self.requests.remove_where(&mut flow.fifo, doomed, removed);
        }
        for id in self.classes.ids() {
            self.settle_turns(id);
            self.refresh(id);
        }
    }

    /// Closes a flow and removes what waits in it.
    pub(super) fn close(&mut self, _now: Time, flow: FlowId, removed: &mut Vec<T>) {
        let Some(id) = self.class_of(flow) else { return };
        for fifo in [&mut self.requeued, &mut self.strict] {
            self.requests.remove_where(fifo, |owner, _| owner == flow, removed);
        }
        let closed = &mut self.flows[flow];
        self.requests.remove_where(&mut closed.fifo, |_, _| true, removed);
        closed.class = CLOSED;
        let client = closed.client;
        self.directory.close(id, client, flow);
        self.settle_turns(id);
        if self.classes[id].turn == flow {
            self.classes[id].turn = NO_FLOW;
        }
        self.refresh(id);
    }

    /// After a removal: the turn belongs to a client that waits, if there is one.
    fn settle_turns(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        let Some(turns) = &mut class.turns else { return };
        let flows = &self.flows;
        turns.waiting.retain(|entry| !flows[FlowId::new(entry.index())].fifo.is_empty());
        if flows.get(class.turn).is_none_or(|turn| turn.fifo.is_empty())
            && let Some(top) = turns.waiting.pop()
        {
            class.turn = FlowId::new(top.index());
        }
    }

    /// Brings a class's places in the heaps in line with its parameters and its head.
    ///
    /// The tags come from what was last served: a removed head leaves no trace, and the next one waits for the same
    /// limit.
    fn refresh(&mut self, id: ClassId) {
        let class = &self.classes[id];
        let head = self.head(class);
        match head.filter(|_| class.reservation.exists()) {
            Some(head) => {
                self.reserved.put(Packed::new(class.reservation_tag(head).key(), id.get()));
            }
            None => self.reserved.remove(id.get()),
        }
        let Some(head) = head.filter(|_| class.weight.exists()) else { return };
        let tag = class.held_until(head).unwrap_or(Tick::NEVER_SERVED);
        if self.limited.contains(id.get())
            || (!class.in_weighted && tag > Tick::from_time(head.arrival))
        {
            self.hold(id, tag);
        } else if !class.in_weighted {
            self.classes[id].start_from(self.virtual_time);
            self.push_weighted(id);
        }
    }
}
