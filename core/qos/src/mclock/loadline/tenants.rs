//! Tenants: a class that is divided shares what it is given among them as classes share a server, by one more [`Level`].
//!
//! To the level of classes, a divided class is a party like any other, but what its head costs is not known before: which
//! tenant goes is decided when the class does. So it may go when a request of the least cost might, and is charged what went.
//! While all tenants of a class are at their limits it sleeps. What a tenant gets elsewhere counts against its own terms
//! ([`Distributed`](crate::Distributed)); the class is of this server alone, and is charged the bare cost.

use super::choose::{Choice, PopHead};
use super::flow::{Inside, NONE};
use super::level::Level;
use super::line::Line;
use super::{ClientFlow, InTurn, Loadline, taken};
use crate::mclock::requests::{RequestCharge, RequestList};
use crate::{ClassId, ClientKey, FlowId, Params, Refusal, Request, Take, TenantError, TenantKey};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use loadline_base::{Span, Time};

/// Of clients that belong to no tenant, in a class that is divided: weight 1, no more.
const REST: u32 = 0;

/// The tenants of one class.
#[derive(Clone, Debug)]
pub(super) struct Tenants {
    pub(super) level: Level,
    by_key: BTreeMap<TenantKey, KnownTenant>,
    /// What they take of the class's reservation together, in cost units per second.
    reserved: f64,
    /// The flows of each tenant.
    flows: BTreeMap<(u32, ClientKey), u32>,
    /// The class that is divided.
    class: u32,
    /// Requests that wait in it. Its level knows who is busy only by looking at all that were.
    pub(super) waiting: usize,
    /// Until when it sleeps, if it does.
    asleep_until: Option<Time>,
}

/// A tenant by its key.
#[derive(Clone, Copy, Debug)]
struct KnownTenant {
    row: u32,
    /// What it takes of the class's reservation, in cost units per second.
    reserved: f64,
}

impl Tenants {
    /// What all but one take of the class's reservation, in cost units per second.
    fn reserved_beside(&self, key: TenantKey) -> f64 {
        (self.reserved - self.by_key.get(&key).map_or(0.0, |tenant| tenant.reserved)).max(0.0)
    }

    /// The flows of all tenants, or of one.
    pub(super) fn flows(&self, tenant: Option<u32>) -> Vec<u32> {
        let of = |key: &(u32, ClientKey)| tenant.is_none_or(|tenant| tenant == key.0);
        self.flows.iter().filter(|(key, _)| of(key)).map(|(_, flow)| *flow).collect()
    }

    pub(super) fn forget(&mut self, tenant: u32, client: ClientKey) {
        self.flows.remove(&(tenant, client));
    }
}

/// The head of a divided class, as far as it is known before.
pub(super) const LEAST: RequestCharge = RequestCharge { cost: 1, reserved: 1 };

/// What left was a tenant's: the class has only to know what its head costs from now on.
impl PopHead for RequestCharge {
    type Head = ();

    fn pop(self, _: &mut Line) -> ((), RequestCharge) {
        ((), self)
    }
}

impl<T> Loadline<T> {
    /// Adds a tenant to a class, or changes one.
    pub(in crate::mclock) fn set_tenant(
        &mut self,
        now: Time,
        class: ClassId,
        key: TenantKey,
        params: Params,
        servers: NonZeroU32,
    ) -> Result<(), TenantError> {
        let of_class = self.params(class).ok_or(TenantError::StrictClass)?;
        let wanted = params.reservation() / f64::from(servers.get());
        let others = self.divided(class).map_or(0.0, |tenants| tenants.reserved_beside(key));
        if wanted > 0.0 && others + wanted > of_class.reservation() * (1.0 + 1e-9) {
            let left = (of_class.reservation() - others).max(0.0);
            return Err(TenantError::ReservationsExceedClass { wanted, left });
        }
        let at = match Inside::decode(self.classes.inside(class.get())) {
            Inside::Tenants(at) => at as usize,
            _ => self.divide(now, class.get()),
        };
        let tenants = &mut self.tenants[at];
        tenants.reserved = others + wanted;
        match tenants.by_key.get_mut(&key) {
            Some(known) => {
                known.reserved = wanted;
                let tenant = known.row;
                let head = self.requests.head_charge(tenants.level.line(tenant).fifo);
                let tick = tenants.level.tick(now);
                tenants.level.set_terms(tick, tenant, params);
                tenants.level.changed(tick, tenant, head);
                self.refresh_divided(now, class.get());
            }
            None => {
                let row = tenants.level.add(Some(params), Inside::Nobody);
                tenants.by_key.insert(key, KnownTenant { row, reserved: wanted });
            }
        }
        Ok(())
    }

    /// See [`MClock::save_reservations`](crate::MClock::save_reservations).
    pub(in crate::mclock) fn save_reservations(&mut self, class: ClassId, saved: Span) {
        if let Some(at) = self.divided_at(class) {
            self.tenants[at].level.save(saved);
        }
    }

    /// See [`MClock::served_elsewhere`](crate::MClock::served_elsewhere).
    pub(in crate::mclock) fn served_elsewhere(
        &mut self,
        now: Time,
        class: ClassId,
        key: TenantKey,
        cost: u32,
    ) {
        let Some(at) = self.divided_at(class) else { return };
        let tenants = &mut self.tenants[at];
        let Some(tenant) = tenants.by_key.get(&key).map(|known| known.row) else { return };
        tenants.level.line_mut(tenant).limit_elsewhere(cost);
        let head = self.requests.head_charge(tenants.level.line(tenant).fifo);
        let tick = tenants.level.tick(now);
        tenants.level.changed(tick, tenant, head);
        self.refresh_divided(now, class.get());
    }

    /// Takes a tenant out with all that waits of it. When the last one goes the class is divided no more.
    pub(in crate::mclock) fn close_tenant(
        &mut self,
        now: Time,
        class: ClassId,
        key: TenantKey,
        removed: &mut Vec<T>,
    ) {
        let Some(at) = self.divided_at(class) else { return };
        let Some(tenant) = self.tenants[at].by_key.get(&key).map(|known| known.row) else { return };
        for flow in self.tenants[at].flows(Some(tenant)) {
            self.close(now, flow, removed);
        }
        let tenants = &mut self.tenants[at];
        tenants.reserved = tenants.reserved_beside(key);
        tenants.by_key.remove(&key);
        tenants.level.remove(tenant);
        if tenants.by_key.is_empty() {
            self.unite(now, class.get(), at);
        }
    }

    /// What a tenant is worth, if there is one of this key.
    pub(in crate::mclock) fn tenant_params(
        &self,
        class: ClassId,
        key: TenantKey,
    ) -> Option<Params> {
        let tenants = self.divided(class)?;
        tenants.level.params(tenants.by_key.get(&key)?.row)
    }

    /// The handle of a client of a tenant.
    pub(in crate::mclock) fn tenant_flow(
        &mut self,
        class: ClassId,
        key: TenantKey,
        client: ClientKey,
    ) -> Option<FlowId> {
        let tenant = self.divided(class)?.by_key.get(&key)?.row;
        Some(self.flow_in(class, tenant, client))
    }

    /// The handle of a client that belongs to no tenant of a divided class.
    pub(super) fn rest_flow(&mut self, class: ClassId, client: ClientKey) -> FlowId {
        self.flow_in(class, REST, client)
    }

    fn flow_in(&mut self, class: ClassId, tenant: u32, client: ClientKey) -> FlowId {
        let at = self.tenants_of(class.get());
        let flow = match self.tenants[at].flows.get(&(tenant, client)) {
            Some(flow) => *flow,
            None => {
                let flow = self.open_flow(class.get(), tenant, client);
                self.tenants[at].flows.insert((tenant, client), flow);
                flow
            }
        };
        self.flows.handle(flow)
    }

    fn divided_at(&self, class: ClassId) -> Option<usize> {
        match Inside::decode(self.classes.inside(class.get())) {
            Inside::Tenants(at) => Some(at as usize),
            _ => None,
        }
    }

    fn divided(&self, class: ClassId) -> Option<&Tenants> {
        self.divided_at(class).map(|at| &self.tenants[at])
    }

    /// Divides a class: whoever is in it belongs to no tenant.
    fn divide(&mut self, now: Time, class: u32) -> usize {
        let mut level = Level::new();
        let rest = Params::new(0.0, 1.0, 0.0).expect("a weight is enough");
        let inside = Inside::decode(self.classes.inside(class));
        assert_eq!(level.add(Some(rest), inside), REST);
        let members = match inside {
            Inside::One(flow) => vec![flow],
            Inside::Turns(turns) => self.turns[turns as usize].flows().collect(),
            _ => Vec::new(),
        };
        let mut flows = BTreeMap::new();
        let waiting = members.iter().map(|flow| self.requests.iter(self.fifo(*flow)).count()).sum();
        for index in members {
            let client = self.flows.client(index);
            let flow = &mut self.flows[index];
            flow.tenant = REST;
            let listed = flow.member != NONE;
            flows.insert((REST, client), index);
            if listed {
                self.directory.remove(ClassId::new(class), client);
            }
        }
        let line = self.classes.line_mut(class);
        let fifo = core::mem::replace(&mut line.fifo, RequestList::EMPTY);
        level.line_mut(REST).fifo = fifo;
        let head = self.requests.head_charge(fifo);
        if head.exists() {
            let tick = level.tick(now);
            level.wakes(tick, REST, head);
        }
        let (by_key, reserved, asleep_until) = (BTreeMap::new(), 0.0, None);
        let tenants = Tenants { level, by_key, reserved, flows, class, waiting, asleep_until };
        let at = match self.tenants_free.pop() {
            Some(at) => {
                self.tenants[at as usize] = tenants;
                at
            }
            None => {
                self.tenants.push(tenants);
                (self.tenants.len() - 1) as u32
            }
        };
        self.classes.set_inside(class, Inside::Tenants(at));
        self.look_before();
        self.refresh_divided(now, class);
        at as usize
    }

    /// The last tenant has gone: whoever is left is in the class itself again, under the same handles.
    fn unite(&mut self, now: Time, class: u32, at: usize) {
        self.sleep(class, None);
        let tenants = &mut self.tenants[at];
        let inside = Inside::decode(tenants.level.inside(REST));
        let fifo = core::mem::replace(&mut tenants.level.line_mut(REST).fifo, RequestList::EMPTY);
        for index in core::mem::take(&mut tenants.flows).into_values() {
            let flow = &mut self.flows[index];
            flow.tenant = NONE;
            if flow.member != NONE {
                self.list(index);
            }
        }
        self.tenants_free.push(at as u32);
        self.classes.set_inside(class, inside);
        self.classes.line_mut(class).fifo = fifo;
        let head = self.requests.head_charge(fifo);
        let tick = self.classes.tick(now);
        self.classes.changed(tick, class, head);
    }

    /// When a tenant of this class has a request whose reservation is due, at the earliest.
    pub(in crate::mclock) fn promise_due_at(&mut self, now: Time, class: ClassId) -> Option<Time> {
        let at = self.divided_at(class)?;
        self.tenants[at].level.reservation_due_at(now)
    }

    /// Charges an arrival to its class and its tenant if they reject, or says when it would be within the limit.
    pub(super) fn admit(
        &mut self,
        now: Time,
        flow: ClientFlow,
        request: &Request<T>,
    ) -> Result<(), Refusal> {
        let whole = RequestCharge::new(request.cost, request.distributed).of_limit();
        if flow.tenant != NONE {
            let level = self.level_mut(flow.class, flow.tenant);
            if level.line(flow.tenant).rejects() {
                let tick = level.tick(now);
                let admitted = level.admit(tick, flow.tenant, whole);
                admitted.map_err(|tag| Refusal::OverLimit(level.time_of(now, tag)))?;
            }
        }
        let cost = if flow.tenant == NONE { whole } else { request.cost };
        if self.classes.line(flow.class).rejects() {
            let tick = self.classes.tick(now);
            let admitted = self.classes.admit(tick, flow.class, cost);
            admitted.map_err(|tag| Refusal::OverLimit(self.classes.time_of(now, tag)))?;
        }
        Ok(())
    }

    /// The class sleeps until then, or no longer.
    pub(super) fn sleep(&mut self, class: u32, until: Option<Time>) {
        let at = self.tenants_of(class);
        if let Some(before) = core::mem::replace(&mut self.tenants[at].asleep_until, until) {
            self.asleep.remove(&(before, class));
        }
        if let Some(until) = until {
            self.asleep.insert((until, class));
        }
    }

    /// A tenant has a head: its class does, too.
    pub(super) fn class_wakes(&mut self, now: Time, class: u32) {
        if !self.classes.line(class).is_busy() {
            self.sleep(class, None);
            let tick = self.classes.tick(now);
            self.classes.wakes(tick, class, LEAST);
        }
    }

    /// After a change inside a divided class: it is busy if one of its tenants is.
    pub(super) fn refresh_divided(&mut self, now: Time, class: u32) {
        let at = self.tenants_of(class);
        if self.tenants[at].waiting > 0 {
            self.class_wakes(now, class);
        } else {
            self.sleep(class, None);
            self.classes.line_mut(class).set_head(RequestCharge::NOTHING);
        }
    }

    /// Divided classes one of whose tenants may be within its limit again.
    #[cold]
    pub(super) fn wake_sleepers(&mut self, now: Time) {
        while let Some((time, class)) = self.asleep.first().copied()
            && time <= now
        {
            self.sleep(class, None);
            self.refresh_divided(now, class);
        }
    }

    /// The choice, if it is one among classes that may run: a divided class whose tenants are all at their limits goes
    /// to sleep instead.
    #[inline(never)]
    pub(super) fn confirm(&mut self, now: Time, choice: Choice) -> Option<Choice> {
        let (Choice::Reservation(class, _) | Choice::Weight(class) | Choice::Spare(class)) = choice
        else {
            return self.confirm_wait(now, choice);
        };
        let Inside::Tenants(at) = Inside::decode(self.classes.inside(class)) else {
            return Some(choice);
        };
        if self.falls_asleep(now, at as usize) { None } else { Some(choice) }
    }

    /// The time at which something runs, when nothing may now: a divided class is not ready before one of its tenants is.
    fn confirm_wait(&mut self, now: Time, choice: Choice) -> Option<Choice> {
        let mut changed = false;
        for at in 0..self.tenants.len() {
            changed |= self.falls_asleep(now, at);
        }
        if changed {
            return None;
        }
        let ready = |(time, class): &(Time, u32)| {
            let mut line = self.classes.line(*class).clone();
            line.set_head(LEAST);
            self.classes.time_of(now, line.ready_at(self.classes.time.lag)).max(*time)
        };
        let first = self.asleep.iter().map(ready).min();
        Some(match (choice, first) {
            (Choice::NotBefore(time), Some(first)) => Choice::NotBefore(time.min(first)),
            (_, Some(first)) => Choice::NotBefore(first),
            _ => choice,
        })
    }

    /// Puts a divided class to sleep if none of its tenants may run now; whether it did.
    fn falls_asleep(&mut self, now: Time, at: usize) -> bool {
        let class = self.tenants[at].class;
        if self.divided_at(ClassId::new(class)) != Some(at) || !self.classes.line(class).is_busy() {
            return false;
        }
        let level = &mut self.tenants[at].level;
        let tick = level.tick(now);
        match level.choose(now, tick) {
            Choice::NotBefore(time) => self.sleep(class, Some(time)),
            Choice::Nothing => {}
            _ => return false,
        }
        self.classes.line_mut(class).set_head(RequestCharge::NOTHING);
        true
    }

    /// Takes the next request of a divided class that was confirmed.
    pub(super) fn take_from_tenants(&mut self, now: Time, choice: Choice, class: u32) -> Take<T> {
        let at = self.tenants_of(class);
        let Loadline { tenants, requests, turns, classes, .. } = self;
        tenants[at].waiting -= 1;
        let is_busy = tenants[at].waiting > 0;
        let level = &mut tenants[at].level;
        let tick = level.tick(now);
        let inner = level.choose(now, tick);
        let (Choice::Reservation(tenant, _) | Choice::Weight(tenant) | Choice::Spare(tenant)) =
            inner
        else {
            unreachable!("the class was confirmed")
        };
        let of_tenant = level.turns(tenant);
        let turns = of_tenant.map(|of_tenant| &mut turns[of_tenant as usize]);
        let (left, _) = level.serve(tick, inner, InTurn { requests, turns });
        let next = if is_busy { LEAST } else { RequestCharge::NOTHING };
        classes.line_mut(class).set_head(RequestCharge { cost: left.cost, reserved: left.cost });
        let choice = match choice {
            Choice::Reservation(class, _) => {
                Choice::Reservation(class, classes.line(class).reservation_tag::<false>())
            }
            choice => choice,
        };
        let tick = classes.tick(now);
        let ((), phase) = classes.serve(tick, choice, next);
        Take::Ready(taken(class, left, phase))
    }
}
