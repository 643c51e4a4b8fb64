//! mClock: reservation, weight and limit per class, in two modes behind one type.
//!
//! *As published* is the algorithm of the field with its idle records, its ledger of the past and its queue beside;
//! *Loadline's own* serves weights by virtual time and treats the clients of a class fairly. Both keep integer
//! tags (`tick`, `interval`), queues of the records that are busy (`heap`, `lineup`) and one slab of requests (`requests`).
//! `docs/mclock.md` tells both in words.

mod beside;
mod config;
mod directory;
mod explain;
mod heap;
mod interval;
mod loadline;
mod published;
mod requests;
mod tick;

use crate::{
    ClassId, ClientKey, FlowId, Lane, Params, RefusedRequest, Request, Scheduler, Take,
    TenantError, TenantKey, Waiting,
};
use alloc::vec::Vec;
pub use config::{LoadlineConfig, Occupancy, PublishedConfig, SideQueue};
use core::num::NonZeroU32;

use loadline::Loadline;
use loadline_base::{Span, Time};
use published::Published;
use requests::RequestTerms;

/// An mClock scheduler.
#[derive(Clone, Debug)]
pub struct MClock<T> {
    mode: Algorithm<T>,
}

// Both variants live in place: a scheduler is built once and its mode is looked at for each request.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum Algorithm<T> {
    Published(Published<T>),
    Loadline(Loadline<T>),
}

/// Passes a call on to the mode in force.
macro_rules! in_mode {
    ($scheduler:expr, $mode:ident => $call:expr) => {
        match &mut $scheduler.mode {
            Algorithm::Published($mode) => $call,
            Algorithm::Loadline($mode) => $call,
        }
    };
}

/// The same for calls that change nothing.
macro_rules! in_mode_ref {
    ($scheduler:expr, $mode:ident => $call:expr) => {
        match &$scheduler.mode {
            Algorithm::Published($mode) => $call,
            Algorithm::Loadline($mode) => $call,
        }
    };
}

impl<T> MClock<T> {
    /// The published algorithm over a class table; each flow is a record with the whole of its class's parameters.
    pub fn as_published(config: PublishedConfig, lanes: &[Lane]) -> MClock<T> {
        MClock { mode: Algorithm::Published(Published::new(config, lanes)) }
    }

    /// Loadline's own algorithm over a class table.
    pub fn loadline(config: LoadlineConfig, lanes: &[Lane]) -> MClock<T> {
        MClock { mode: Algorithm::Loadline(Loadline::new(config, lanes)) }
    }

    /// Adds a row to the class table, in constant time: one class per client is a fair use.
    pub fn add_class(&mut self, lane: Lane) -> ClassId {
        in_mode!(self, mode => mode.add_class(lane))
    }

    /// Takes a class out of the class table: its flows are closed and what waits in them is appended to `removed`. Its
    /// number may be given to another class later.
    ///
    /// # Panics
    /// If `class` is not in the class table.
    pub fn close_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        in_mode!(self, mode => mode.close_class(now, class, removed));
    }

    /// Adds a tenant to a class, or gives one other parameters. A class that has tenants is divided among them as the server
    /// is among classes: by weight, with the tenant's reservation as floor and its limit as cap. The clients that
    /// [`Scheduler::flow`] opens in it are together one more tenant, of weight 1.
    ///
    /// A tenant whose requests go to several servers has its terms as a whole if each request tells by
    /// [`rho`](crate::Distributed::rho) what it got elsewhere; of the class's reservation here it takes a part, by the
    /// number of `servers`.
    ///
    /// # Errors
    /// [`TenantError`] if the reservations of all tenants would exceed that of the class, if the class is strict, or if
    /// the scheduler is in the published mode.
    ///
    /// # Panics
    /// If `class` is not in the class table.
    pub fn set_tenant(
        &mut self,
        now: Time,
        class: ClassId,
        tenant: TenantKey,
        params: Params,
        servers: NonZeroU32,
    ) -> Result<(), TenantError> {
        match &mut self.mode {
            Algorithm::Published(_) => Err(TenantError::NotInThisMode),
            Algorithm::Loadline(mode) => mode.set_tenant(now, class, tenant, params, servers),
        }
    }

    /// Takes a tenant out of its class: its flows are closed and what waits in them is appended to `removed`.
    pub fn close_tenant(
        &mut self,
        now: Time,
        class: ClassId,
        tenant: TenantKey,
        removed: &mut Vec<T>,
    ) {
        if let Algorithm::Loadline(mode) = &mut self.mode {
            mode.close_tenant(now, class, tenant, removed);
        }
    }

    /// From now on a tenant of this class may have at once what its reservation gives in this time, if it has asked for less before: one
    /// that asks at random, for less than it is promised, then seldom waits for its promise. It is for milliseconds: while one makes up for
    /// seconds, the others wait. Without tenants, and in the published mode, it has no effect.
    pub fn save_reservations(&mut self, class: ClassId, saved: Span) {
        if let Algorithm::Loadline(mode) = &mut self.mode {
            mode.save_reservations(class, saved);
        }
    }

    /// The handle of `client` of a tenant, opened if it is new; `None` if the class has no such tenant. Costs a look-up: keep
    /// the handle.
    pub fn tenant_flow(
        &mut self,
        class: ClassId,
        tenant: TenantKey,
        client: ClientKey,
    ) -> Option<FlowId> {
        match &mut self.mode {
            Algorithm::Published(_) => None,
            Algorithm::Loadline(mode) => mode.tenant_flow(class, tenant, client),
        }
    }

    /// When a tenant of this class has a request whose reservation is due, at the earliest: `now` if it is, and then it is the next one of
    /// its class; nothing if none waits for that. A server that takes no more than it can begin soon may take this one beyond that, since
    /// what is promised is little, and look again at that time.
    pub fn promise_due_at(&mut self, now: Time, class: ClassId) -> Option<Time> {
        match &mut self.mode {
            Algorithm::Published(_) => None,
            Algorithm::Loadline(mode) => mode.promise_due_at(now, class),
        }
    }

    /// A tenant was served so much elsewhere, in cost units, which counts against its limit alone: what its requests tell by *rho* counts
    /// against reservation and limit. Nothing happens without such a tenant.
    pub fn served_elsewhere(&mut self, now: Time, class: ClassId, tenant: TenantKey, cost: u32) {
        if let Algorithm::Loadline(mode) = &mut self.mode {
            mode.served_elsewhere(now, class, tenant, cost);
        }
    }

    /// The parameters of a tenant; `None` if the class has none of this key.
    pub fn tenant_params(&self, class: ClassId, tenant: TenantKey) -> Option<Params> {
        match &self.mode {
            Algorithm::Published(_) => None,
            Algorithm::Loadline(mode) => mode.tenant_params(class, tenant),
        }
    }

    /// The parameters of a class; `None` for a strict one.
    ///
    /// # Panics
    /// If `class` is not in the class table.
    pub fn params(&self, class: ClassId) -> Option<Params> {
        in_mode_ref!(self, mode => mode.params(class))
    }

    /// What stands where.
    pub fn occupancy(&self) -> Occupancy {
        in_mode_ref!(self, mode => mode.occupancy())
    }
}

impl<T> Scheduler<T> for MClock<T> {
    fn flow(&mut self, now: Time, class: ClassId, client: ClientKey) -> FlowId {
        in_mode!(self, mode => mode.flow(now, class, client))
    }

    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<T>) {
        in_mode!(self, mode => mode.close_flow(now, flow, removed));
    }

    // The common paths of both are compiled into their caller, where what is taken and added stays in registers; what is rare in
    // them, and the published mode, is not.
    #[inline(always)]
    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        let Request { flow, priority, cost, distributed, payload } = request;
        let terms = RequestTerms { priority, cost };
        match &mut self.mode {
            Algorithm::Published(mode) => {
                mode.enqueue_in_parts(now, flow, terms, distributed, payload)
            }
            Algorithm::Loadline(mode) => {
                mode.enqueue_in_parts(now, flow, terms, distributed, payload)
            }
        }
    }

    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>> {
        in_mode!(self, mode => mode.enqueue_front(now, request))
    }

    #[inline(always)]
    fn take(&mut self, now: Time) -> Take<T> {
        match &mut self.mode {
            Algorithm::Published(mode) => mode.take(now).apart(),
            Algorithm::Loadline(mode) => mode.take(now),
        }
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        in_mode!(self, mode => mode.earliest(now))
    }

    #[inline]
    fn upkeep_at(&self) -> Time {
        match &self.mode {
            Algorithm::Published(mode) => mode.upkeep_at(),
            Algorithm::Loadline(_) => Time::MAX,
        }
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>) {
        in_mode!(self, mode => mode.remove_class(now, class, removed));
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&T) -> bool,
        removed: &mut Vec<T>,
    ) {
        in_mode!(self, mode => mode.remove_where(now, doomed, removed));
    }

    fn set_params(&mut self, now: Time, class: ClassId, params: Params) {
        in_mode!(self, mode => mode.set_params(now, class, params));
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        in_mode_ref!(self, mode => mode.waiting(now))
    }

    fn waiting_of(&self, now: Time, class: ClassId) -> Vec<Waiting> {
        in_mode_ref!(self, mode => mode.waiting_of(now, class))
    }

    fn len(&self) -> usize {
        in_mode_ref!(self, mode => mode.len())
    }
}
