//! Changes while requests wait, in Loadline's mode: parameters, removal, clients that leave.

use super::super::heap::Packed;
use super::super::tick::Tick;
use super::{CLOSED, Loadline, NO_FLOW, NO_TURNS};
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
        for (flow, record) in self.flows.iter_mut().filter(|(_, record)| record.is_open()) {
            let id = record.class;
            let class = &mut self.classes[id];
            let fifo = if class.turn == flow { &mut class.fifo } else { &mut record.fifo };
            self.requests.remove_where(fifo, |_, payload| doomed(id, payload), removed);
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
        let (class, closed) = (&mut self.classes[id], &mut self.flows[flow]);
        let fifo = if class.turn == flow { &mut class.fifo } else { &mut closed.fifo };
        self.requests.remove_where(fifo, |_, _| true, removed);
        self.settle_turns(id);
        let (class, closed) = (&mut self.classes[id], &mut self.flows[flow]);
        if class.turn == flow {
            class.turn = NO_FLOW;
        }
        closed.class = CLOSED;
        self.directory.close(id, closed.client(), flow);
        self.refresh(id);
    }

    /// After a removal: the turn belongs to a client that waits, if there is one.
    fn settle_turns(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        if class.turns != NO_TURNS {
            self.turns[class.turns].settle(class, &mut self.flows);
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
