//! Whose command goes next: users are tenants, each with its reservation, weight and limit in commands per second, behind a bound for what
//! the database has at a time, so that the order is decided here and not there.

use crate::timer::TurnTimer;
use crate::users::UserTerms;
use loadline_base::{Span, Time};
use loadline_qos::{
    Bounded, BoundedTake, ClassId, ClientKey, FlightBounds, FlowId, Lane, LoadlineConfig, MClock,
    Params, ParamsError, Request, Scheduler, Take, TenantError, TenantKey,
};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;
use tokio::sync::oneshot;

/// Commands that the database has at a time, at most and at least, and how long each should take there. A commit waits for a device: a few
/// milliseconds on flash, and the bound only narrows when they get far longer than that.
const IN_FLIGHT: FlightBounds =
    FlightBounds { least: 16, most: 256, goal: Some(Span::from_millis(20)) };
/// What all reservations together may be: how many commands per second there could be at all.
const RESERVED_MAX: f64 = 10_000_000.0;
const CLIENTS: ClassId = ClassId::new(0);
/// By how much a user may come late to its turn and still have its limit, or what is reserved for it: timers come up to two milliseconds late here, and later where
/// a command takes long. In that time there may be many turns.
const LATE: Span = Span::from_millis(5);

type GateTurn = oneshot::Sender<Passed>;

/// Lets commands through.
pub(crate) struct Gate {
    timer: TurnTimer,
    bounded: RefCell<Bounded<GateTurn, MClock<GateTurn>>>,
    /// Whether somebody is letting commands through: who ends meanwhile need not.
    is_pumping: Cell<bool>,
}

/// A command has its turn, and is over when this is dropped.
#[must_use]
pub(crate) struct Passed {
    gate: Rc<Gate>,
    flow: FlowId,
    at: Time,
}

impl Drop for Passed {
    fn drop(&mut self) {
        let took = self.gate.now().since(self.at);
        self.gate.bounded.borrow_mut().done(self.flow, took);
        self.gate.pump();
    }
}

/// Why a user's terms cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TermsError {
    #[error(transparent)]
    Params(#[from] ParamsError),
    #[error(transparent)]
    Tenant(#[from] TenantError),
}

impl Gate {
    /// For these users, whose place in the list is their number.
    pub(crate) fn new<'u>(
        users: impl Iterator<Item = &'u UserTerms>,
    ) -> Result<Rc<Gate>, TermsError> {
        let class = Lane::Shared(Params::new(RESERVED_MAX, 1.0, 0.0)?);
        let mut scheduler = MClock::loadline(LoadlineConfig::default(), &[class]);
        for (number, terms) in users.enumerate() {
            let params =
                Params::new(terms.reservation, terms.weight, terms.limit)?.with_burst(LATE);
            let tenant = TenantKey(number as u64);
            scheduler.set_tenant(Time::ZERO, CLIENTS, tenant, params, NonZeroU32::MIN)?;
        }
        scheduler.save_reservations(CLIENTS, LATE);
        Ok(Rc::new(Gate {
            timer: TurnTimer::new(),
            bounded: RefCell::new(Bounded::new(scheduler, IN_FLIGHT)),
            is_pumping: Cell::new(false),
        }))
    }

    /// The way of one connection of a user through the gate.
    pub(crate) fn flow(&self, user: usize, connection: u64) -> FlowId {
        let mut bounded = self.bounded.borrow_mut();
        let flow = bounded.scheduler_mut().tenant_flow(
            CLIENTS,
            TenantKey(user as u64),
            ClientKey(connection),
        );
        flow.expect("every user is a tenant")
    }

    /// A connection is over. What it had waiting has gone with it; what the database has of it is over when it answers.
    pub(crate) fn close(&self, flow: FlowId) {
        let mut bounded = self.bounded.borrow_mut();
        bounded.scheduler_mut().close_flow(self.now(), flow, &mut Vec::new());
    }

    /// Waits for a command's turn; `cost` in commands.
    pub(crate) async fn pass(self: &Rc<Gate>, flow: FlowId, cost: u32) -> Passed {
        let (turn, its_turn) = oneshot::channel();
        let now = self.now();
        let refused = {
            let mut bounded = self.bounded.borrow_mut();
            bounded.scheduler_mut().enqueue(now, Request::new(flow, cost, turn)).is_err()
        };
        assert!(!refused, "a connection's way is open as long as it is, and a cost is at least 1");
        self.pump();
        its_turn.await.expect("the gate is there as long as its connections are")
    }

    fn now(&self) -> Time {
        self.timer.now()
    }

    fn pump(self: &Rc<Gate>) {
        if self.is_pumping.replace(true) {
            return;
        }
        let now = self.now();
        loop {
            let taken = self.bounded.borrow_mut().take(now);
            match taken {
                BoundedTake::Asked(Take::Ready(taken)) => {
                    let passed = Passed { gate: Rc::clone(self), flow: taken.flow, at: now };
                    // Its connection may have gone: then it is over at once.
                    drop(taken.payload.send(passed));
                }
                BoundedTake::Asked(Take::NotBefore(time)) => {
                    self.look_again(now, time);
                    break;
                }
                BoundedTake::Asked(Take::Empty) | BoundedTake::Full => break,
            }
        }
        self.is_pumping.set(false);
    }

    /// Comes back at a time, unless somebody will do so before.
    fn look_again(self: &Rc<Gate>, now: Time, time: Time) {
        let gate = Rc::clone(self);
        self.timer.ring_at((now, time), move || gate.pump());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// A gate with one user, and the time that so many of its commands take, one after the other.
    async fn time_of(commands: u32, terms: UserTerms) -> std::time::Duration {
        let gate = Gate::new(std::iter::once(&terms)).expect("they can be kept");
        let begun = Instant::now();
        let tasks = tokio::task::LocalSet::new();
        let flow = gate.flow(0, 0);
        tasks
            .run_until(async {
                for _ in 0..commands {
                    drop(gate.pass(flow, 1).await);
                }
            })
            .await;
        begun.elapsed()
    }

    /// A timer has whole milliseconds, and what a user was late by counted for a tenth of one, or some commands: of 5,000 in a second it got 2,000.
    #[tokio::test(start_paused = true)]
    async fn a_limit_is_reached_whatever_the_timer_s_grain() {
        for limit in [500, 5_000, 20_000, 100_000] {
            let terms = UserTerms { limit: f64::from(limit), ..UserTerms::default() };
            let took = time_of(limit / 5, terms).await.as_millis();
            assert!((190..=205).contains(&took), "{took} ms for what {limit} gives in 200");
        }
    }

    /// Whoever would look again later than was wanted by then slept on, with the gate in its hand: under a limit of one command in an hour each connection that
    /// could go sooner left one behind.
    #[tokio::test(start_paused = true)]
    async fn one_alarm_is_set_at_a_time() {
        let gate = Gate::new(std::iter::empty()).expect("no terms");
        let tasks = tokio::task::LocalSet::new();
        let (now, hour) = (gate.now(), Span::from_secs(3600));
        tasks
            .run_until(async {
                for sooner in 0..40 {
                    gate.look_again(now, now + hour - Span::from_secs(sooner));
                    gate.look_again(now, now + hour);
                }
                tokio::task::yield_now().await;
                assert_eq!(Rc::strong_count(&gate), 2, "it has the gate, and so do we");
                tokio::time::sleep(std::time::Duration::from_secs(3600 - 38)).await;
                assert_eq!(Rc::strong_count(&gate), 1, "it has looked");
            })
            .await;
    }
}
