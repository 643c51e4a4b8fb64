//! Changes while requests wait, in Loadline's mode: parameters, removal, clients and classes that leave.

use super::flow::{Inside, NONE};
use super::tenants::LEAST;
use super::{ClientFlow, Loadline};
use crate::mclock::requests::{RequestCharge, RequestList};
use crate::{ClassId, Params};
use alloc::vec;
use alloc::vec::Vec;
use loadline_base::Time;

impl<T> Loadline<T> {
    /// Gives a class new parameters; its head's tags follow at once.
    pub(super) fn change_params(&mut self, now: Time, class: u32, params: Params) {
        if self.classes.line(class).is_strict() {
            return;
        }
        let tick = self.classes.tick(now);
        self.classes.set_terms(tick, class, params);
        self.refresh(now, class, NONE);
    }

    /// Removes the requests that satisfy `doomed`.
    pub(super) fn remove(
        &mut self,
        now: Time,
        mut doomed: impl FnMut(u32, &T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let flows = &self.flows;
        for fifo in [&mut self.first.strict, &mut self.first.requeued] {
            let doomed = |flow: u32, payload: &T| doomed(flows[flow].class, payload);
            self.requests.remove_where(fifo, doomed, removed);
        }
        let mut parties = Vec::new();
        for index in 0..self.flows.len() as u32 {
            let ClientFlow { class, tenant, .. } = self.flows[index];
            if class != NONE && !self.fifo(index).is_empty() {
                parties.push((class, tenant));
                self.remove_from(index, &mut |payload| doomed(class, payload), removed);
            }
        }
        parties.dedup();
        parties.into_iter().for_each(|(class, tenant)| self.refresh(now, class, tenant));
    }

    fn remove_from(
        &mut self,
        index: u32,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        let (mut fifo, of_flow) = (self.fifo(index), self.flows[index]);
        let before = removed.len();
        self.requests.remove_where(&mut fifo, |_, payload| doomed(payload), removed);
        if of_flow.tenant != NONE {
            let at = self.tenants_of(of_flow.class);
            self.tenants[at].waiting -= removed.len() - before;
        }
        let party = self.party(of_flow.class, of_flow.tenant);
        let inside = self.level(of_flow.class, of_flow.tenant).inside(party);
        let mut of_turn = self.level(of_flow.class, of_flow.tenant).line(party).fifo;
        match Inside::decode(inside) {
            Inside::Turns(turns) => {
                *self.turns[turns as usize].fifo(of_flow.member, &mut of_turn) = fifo
            }
            _ => of_turn = fifo,
        }
        self.level_mut(of_flow.class, of_flow.tenant).line_mut(party).fifo = of_turn;
    }

    /// What waits of a flow.
    pub(super) fn fifo(&self, index: u32) -> RequestList {
        let flow = self.flows[index];
        let party = self.party(flow.class, flow.tenant);
        let level = self.level(flow.class, flow.tenant);
        let of_turn = level.line(party).fifo;
        match Inside::decode(level.inside(party)) {
            Inside::Turns(turns) => self.turns[turns as usize].fifo_of(flow.member, of_turn),
            _ => of_turn,
        }
    }

    /// Closes a flow that is open and removes what waits in it.
    pub(super) fn close(&mut self, now: Time, index: u32, removed: &mut Vec<T>) {
        for fifo in [&mut self.first.requeued, &mut self.first.strict] {
            if !fifo.is_empty() {
                self.requests.remove_where(fifo, |owner, _| owner == index, removed);
            }
        }
        self.remove_from(index, &mut |_| true, removed);
        let ClientFlow { class, tenant, member, .. } = self.flows[index];
        let client = self.flows.client(index);
        self.refresh(now, class, tenant);
        let party = self.party(class, tenant);
        let inside = match Inside::decode(self.level(class, tenant).inside(party)) {
            Inside::Turns(turns) => {
                self.turns[turns as usize].remove(member);
                if self.turns[turns as usize].is_empty() {
                    self.turns_free.push(turns);
                    Inside::Nobody
                } else {
                    Inside::Turns(turns)
                }
            }
            _ => Inside::Nobody,
        };
        self.level_mut(class, tenant).set_inside(party, inside);
        if tenant != NONE {
            let tenants = self.tenants_of(class);
            self.tenants[tenants].forget(tenant, client);
        } else if member != NONE {
            self.directory.remove(ClassId::new(class), client);
        }
        self.flows.close(index);
    }

    /// Takes a class out of the table with its clients and what waits of it.
    pub(in crate::mclock) fn close_class(
        &mut self,
        now: Time,
        class: ClassId,
        removed: &mut Vec<T>,
    ) {
        let row = self.row_of(class);
        let flows = match Inside::decode(self.classes.inside(row)) {
            Inside::Nobody | Inside::Closed => Vec::new(),
            Inside::One(flow) => vec![flow],
            Inside::Turns(turns) => self.turns[turns as usize].flows().collect(),
            Inside::Tenants(at) => self.tenants[at as usize].flows(None),
        };
        flows.into_iter().for_each(|flow| self.close(now, flow, removed));
        if let Inside::Tenants(at) = Inside::decode(self.classes.inside(row)) {
            self.sleep(row, None);
            self.tenants_free.push(at);
        }
        self.classes.remove(row);
    }

    /// Brings a party in line with its parameters and what waits, and its class with it.
    ///
    /// The tags come from what was last served: a removed head leaves no trace, and the next one waits for the same
    /// limit.
    fn refresh(&mut self, now: Time, class: u32, tenant: u32) {
        if tenant == NONE
            && matches!(Inside::decode(self.classes.inside(class)), Inside::Tenants(_))
        {
            // Until when it sleeps depends on its parameters.
            self.refresh_divided(now, class);
            let tick = self.classes.tick(now);
            let line = self.classes.line(class);
            let head = if line.is_busy() { LEAST } else { RequestCharge::NOTHING };
            return self.classes.changed(tick, class, head);
        }
        let party = self.party(class, tenant);
        if let Inside::Turns(turns) = Inside::decode(self.level(class, tenant).inside(party)) {
            let mut fifo = self.level(class, tenant).line(party).fifo;
            self.turns[turns as usize].settle(&mut fifo);
            self.level_mut(class, tenant).line_mut(party).fifo = fifo;
        }
        let head = self.requests.head_charge(self.level(class, tenant).line(party).fifo);
        let level = self.level_mut(class, tenant);
        let tick = level.tick(now);
        level.changed(tick, party, head);
        if tenant != NONE {
            self.refresh_divided(now, class);
        }
    }
}
