//! The front door: what every scheduler takes and gives, and the contract between it and its caller.
//!
//! A scheduler orders *requests* of *flows*. A flow is one client inside one class; the caller opens it
//! once and keeps its dense handle, so that the hot path looks nothing up. What a class is worth stands in
//! its [`Params`]; what a request is worth, in its cost. Costs and rates share one unit that the caller
//! chooses (operations, bytes, or the study era's mixed unit).

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use loadline_base::{Span, Time, define_id};

define_id! {
    /// A service class: an index into the class table that a scheduler was built with.
    pub struct ClassId, "class "
}

/// A flow: one client inside one class, as the scheduler that opened it numbers it. The handle of a flow that was closed is
/// refused, also when its number has been given to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    index: u32,
    /// Not 0, so that what holds a handle has room for one more state.
    generation: NonZeroU32,
}

impl FlowId {
    /// The handle of this number, the first time that it is given out.
    pub const fn new(index: u32) -> FlowId {
        FlowId::of_generation(index, NonZeroU32::MIN)
    }

    /// The handle of this number in its `generation`, which begins whenever one is closed.
    pub(crate) const fn of_generation(index: u32, generation: NonZeroU32) -> FlowId {
        FlowId { index, generation }
    }

    /// The number, dense among the flows that are open.
    pub const fn get(self) -> u32 {
        self.index
    }

    pub(crate) const fn generation(self) -> NonZeroU32 {
        self.generation
    }

    /// The handle of the same number when this one is closed.
    pub(crate) const fn next_generation(self) -> FlowId {
        match self.generation.checked_add(1) {
            Some(generation) => FlowId::of_generation(self.index, generation),
            None => FlowId::new(self.index),
        }
    }
}

impl From<usize> for FlowId {
    fn from(index: usize) -> FlowId {
        FlowId::new(u32::try_from(index).expect("an id fits 32 bits"))
    }
}

impl From<FlowId> for usize {
    fn from(flow: FlowId) -> usize {
        flow.index as usize
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.index)
    }
}

impl fmt::Debug for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The caller's own number for a tenant inside a class: an image, a volume, a customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantKey(pub u64);

/// The caller's own number for a client inside a class (Ceph's *owner*); 0 for the class itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey(pub u64);

/// How a class is served: one row of the class table, which a scheduler is built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lane {
    /// Before everything else, first in first out, never charged.
    Strict,
    /// By reservation, weight and limit.
    Shared(Params),
}

/// Reservation, weight and limit of a class.
///
/// Build with [`Params::new`], which refuses what cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    reservation: f64,
    weight: f64,
    limit: f64,
    limit_policy: LimitPolicy,
    burst: Span,
}

/// What happens to a class at its limit while the server has nothing else to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitPolicy {
    /// It waits; the server may idle (mClock's *wait* mode).
    #[default]
    Hard,
    /// It runs on what nobody else wants (mClock's *allow* mode, per class).
    WorkConserving,
    /// A request over the limit is refused on arrival (mClock's *reject* mode).
    Reject,
}

/// Why a tenant was not added or changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TenantError {
    /// The published algorithm has no level below the class.
    NotInThisMode,
    /// Strict work is not shared.
    StrictClass,
    /// The tenants of a class cannot be promised more than the class is: `wanted` by this one, where `left` cost units per
    /// second are not promised to others.
    ReservationsExceedClass {
        /// The reservation that was refused.
        wanted: f64,
        /// The most that could be reserved.
        left: f64,
    },
}

impl fmt::Display for TenantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TenantError::NotInThisMode => {
                f.write_str("mClock as published has no tenants; use Loadline's own mode")
            }
            TenantError::StrictClass => f.write_str("a strict class is not shared among tenants"),
            TenantError::ReservationsExceedClass { wanted, left } => write!(
                f,
                "a reservation of {wanted} exceeds what is left of the class's reservation; it must be at most {left}"
            ),
        }
    }
}

impl core::error::Error for TenantError {}

/// Parameters that no schedule can obey.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamsError {
    /// A value is negative, NaN or infinite where it must not be; names the parameter.
    OutOfRange(&'static str, f64),
    /// Neither a reservation nor a weight: nothing could ever be served.
    NothingToServeBy,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamsError::OutOfRange(name, value) => {
                write!(f, "{name} is {value}; it must be a finite number that is not negative")
            }
            ParamsError::NothingToServeBy => {
                f.write_str("reservation and weight are both 0; at least one must be positive")
            }
        }
    }
}

impl core::error::Error for ParamsError {}

impl Params {
    /// Reservation and limit in cost units per second, weight as a plain ratio.
    ///
    /// A limit of 0 or infinity means none. A limit below the reservation is allowed: the reservation wins
    /// (qos.md 2.8).
    ///
    /// # Errors
    /// [`ParamsError`] if a value is negative or NaN, reservation or weight is infinite, or both are 0.
    pub fn new(reservation: f64, weight: f64, limit: f64) -> Result<Params, ParamsError> {
        for (name, value, may_be_infinite) in
            [("reservation", reservation, false), ("weight", weight, false), ("limit", limit, true)]
        {
            let allowed = value >= 0.0 && (value.is_finite() || may_be_infinite);
            if !allowed {
                return Err(ParamsError::OutOfRange(name, value));
            }
        }
        if reservation == 0.0 && weight == 0.0 {
            return Err(ParamsError::NothingToServeBy);
        }
        let (limit_policy, burst) = (LimitPolicy::Hard, Span::ZERO);
        Ok(Params { reservation, weight, limit, limit_policy, burst })
    }

    /// The same parameters with a burst: after having used less than its limit, a class may use what the limit gives in this
    /// time at once. In whole microseconds, at most 71 minutes. Only Loadline's own mode knows bursts.
    pub fn with_burst(self, burst: Span) -> Params {
        let micros = (burst.nanos() / 1_000).min(u64::from(u32::MAX));
        Params { burst: Span::from_micros(micros), ..self }
    }

    /// The same parameters with another limit policy.
    pub fn with_limit_policy(self, limit_policy: LimitPolicy) -> Params {
        Params { limit_policy, ..self }
    }

    /// Guaranteed rate in cost units per second; 0 for none.
    pub fn reservation(&self) -> f64 {
        self.reservation
    }

    /// Share of what is left, relative to the other weights; 0 for none.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Highest rate in cost units per second, or `None` where there is no limit.
    pub fn limit(&self) -> Option<f64> {
        (self.limit > 0.0 && self.limit.is_finite()).then_some(self.limit)
    }

    /// How much of its limit a class that used less may use at once; zero for none.
    pub fn burst(&self) -> Span {
        self.burst
    }

    /// What happens at the limit.
    pub fn limit_policy(&self) -> LimitPolicy {
        self.limit_policy
    }
}

/// The counters of distributed mClock (qos.md 2.2): completions that the client received from other servers
/// since its last request to this one. Both are 0 where shares hold per server only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distributed {
    /// Completions of either phase, in cost units.
    pub delta: u32,
    /// Completions of the reservation phase, in cost units. In Loadline's own mode all completions may be told by it alone: then
    /// reservation and limit are of the whole, and the weight is of this server.
    pub rho: u32,
}

/// One piece of work to be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<T> {
    /// Whose it is.
    pub flow: FlowId,
    /// WPQ's lottery ticket; at or above the scheduler's cut-off the request is strict.
    pub priority: u32,
    /// Scaled cost in the unit of the parameters, at least 1 where the scheduler charges.
    pub cost: u32,
    /// Counters for distributed use; [`Distributed::default`] otherwise.
    pub distributed: Distributed,
    /// What comes back from [`Scheduler::take`].
    pub payload: T,
}

impl<T> Request<T> {
    /// A request with priority 0 and no distributed counters.
    pub fn new(flow: FlowId, cost: u32, payload: T) -> Request<T> {
        Request { flow, priority: 0, cost, distributed: Distributed::default(), payload }
    }
}

/// Why a request was served now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its class, or its priority, is strict.
    Strict,
    /// It had been taken before and was put back at the front.
    Requeued,
    /// Its reservation was due.
    Reservation,
    /// Its weighted turn had come.
    Weight,
    /// It was over its limit, but nobody else could run and its class conserves work.
    Spare,
    /// It won WPQ's lottery, or stood alone.
    Lottery,
    /// It was the oldest.
    Fifo,
}

/// A request on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<T> {
    /// Whose it was.
    pub flow: FlowId,
    /// The class of that flow.
    pub class: ClassId,
    /// When it was enqueued.
    pub arrival: Time,
    /// Its cost as it was enqueued; strict work, and work that had been put back, was not charged it.
    pub cost: u32,
    /// Its priority.
    pub priority: u32,
    /// Why it was its turn.
    pub phase: Phase,
    /// What was enqueued.
    pub payload: T,
}

/// The answer of [`Scheduler::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take<T> {
    /// This one is next.
    Ready(Taken<T>),
    /// Requests wait, but none may run before this time, which lies after `now`. Asking earlier is pointless
    /// unless something is enqueued or changed; asking at that time succeeds. [`Time::MAX`] stands for all times
    /// beyond the clock.
    NotBefore(Time),
    /// Nothing waits.
    Empty,
}

impl<T> Take<T> {
    /// The same, in a place of its own: what was called to find it writes it to memory, and the answer of who is compiled into the
    /// caller stays in registers only if it never stands in that place. Taking it apart and putting it together is a copy to the
    /// compiler, which it then leaves out.
    #[inline(always)]
    pub(crate) fn apart(self) -> Take<T> {
        core::hint::black_box(&self);
        self
    }
}

/// A request that was not enqueued, handed back with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRequest<T> {
    /// The request.
    pub request: Request<T>,
    /// Why.
    pub refusal: Refusal,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The flow is not open: it never was, or it was closed.
    UnknownFlow,
    /// The cost is 0, which no schedule can charge; it must be at least 1.
    NoCost,
    /// The class rejects over its limit; the request would be within it at this time.
    OverLimit(Time),
}

/// The tags of a waiting request, as times of the caller's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tags {
    /// When the reservation is due; `None` without a reservation.
    pub reservation: Option<Time>,
    /// The weighted tag in the scheduler's own unit (seconds of ledger time as published, virtual time in
    /// Loadline's mode): comparable inside one scheduler only; `None` without a weight.
    pub proportion: Option<f64>,
    /// When the limit is passed; `None` without a limit.
    pub limit: Option<Time>,
}

/// Why a waiting request is not the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitCause {
    /// It is the next one.
    Next,
    /// This many requests of its own flow stand before it.
    BehindOwnFlow(usize),
    /// Another client of its class is ahead.
    BehindClient(FlowId),
    /// Strict work is ahead.
    BehindStrict,
    /// Its class is at its limit until then.
    LimitedUntil(Time),
    /// Without weight it can only run when its reservation is due.
    ReservedAt(Time),
    /// A due reservation of this flow is ahead.
    BehindReservation(FlowId),
    /// This flow's weighted tag is smaller.
    BehindWeight(FlowId),
    /// It stands in a lottery that it wins with this probability at the next draw.
    Lottery(f64),
    /// This many older requests are ahead.
    BehindOlder(usize),
}

/// One waiting request, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Whose it is.
    pub flow: FlowId,
    /// The class of that flow.
    pub class: ClassId,
    /// The client of that flow.
    pub client: ClientKey,
    /// Its place in its flow's queue, 0 at the head.
    pub place: usize,
    /// When it was enqueued.
    pub arrival: Time,
    /// What it will be charged.
    pub cost: u32,
    /// Its priority.
    pub priority: u32,
    /// Its tags, where it has them: only heads are tagged.
    pub tags: Option<Tags>,
    /// Why it is not being served.
    pub reason: WaitCause,
}

/// The contract of all schedulers.
///
/// `now` never runs backwards. A scheduler is a passive value: the caller asks, at times it chooses.
pub trait Scheduler<T> {
    /// The handle of `client` inside `class`, opened if it is new. Costs a look-up: keep the handle.
    ///
    /// # Panics
    /// If `class` is not in the class table.
    fn flow(&mut self, now: Time, class: ClassId, client: ClientKey) -> FlowId;

    /// Closes a flow: what still waits in it is appended to `removed` in order, and its handle is refused from then on.
    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<T>);

    /// Adds a request behind the others of its flow.
    ///
    /// # Errors
    /// [`RefusedRequest`] with the request itself, if the flow is not open, if it costs nothing where costs are charged, or if
    /// the class rejects.
    fn enqueue(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>>;

    /// Puts back a request that was taken but could not run: it goes before what waits and is not charged again.
    ///
    /// # Errors
    /// [`RefusedRequest`] with the request itself, if the flow is not open.
    fn enqueue_front(&mut self, now: Time, request: Request<T>) -> Result<(), RefusedRequest<T>>;

    /// Takes the next request.
    fn take(&mut self, now: Time) -> Take<T>;

    /// Takes up to `most` requests as repeated [`Scheduler::take`] at one `now` would, appended to `taken`.
    /// Returns what the next take would have found instead of a request, or `None` when `most` was reached.
    fn take_batch(&mut self, now: Time, most: usize, taken: &mut Vec<Taken<T>>) -> Option<Take<T>> {
        for _ in 0..most {
            match self.take(now) {
                Take::Ready(request) => taken.push(request),
                end => return Some(end),
            }
        }
        None
    }

    /// When the next take can succeed: `now` if at once, `None` if nothing waits.
    fn earliest(&mut self, now: Time) -> Option<Time>;

    /// When a take changes what it knows of its flows though nothing waits: whoever does not ask it while nothing may go asks it then.
    fn upkeep_at(&self) -> Time {
        Time::MAX
    }

    /// Removes every waiting request of `class`, appended to `removed` in the order of each flow.
    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<T>);

    /// Removes every waiting request whose payload satisfies `doomed`, appended to `removed`.
    fn remove_where(&mut self, now: Time, doomed: &mut dyn FnMut(&T) -> bool, removed: &mut Vec<T>);

    /// Gives a class new parameters while requests wait. Has no effect on a strict class or on a scheduler that
    /// knows no parameters.
    ///
    /// # Panics
    /// If `class` is not in the class table, where there is one.
    fn set_params(&mut self, now: Time, class: ClassId, params: Params);

    /// Every waiting request with its tags, its place and the reason why it is not served at `now`.
    fn waiting(&self, now: Time) -> Vec<Waiting>;

    /// The same of one class.
    fn waiting_of(&self, now: Time, class: ClassId) -> Vec<Waiting> {
        let mut rows = self.waiting(now);
        rows.retain(|row| row.class == class);
        rows
    }

    /// How many requests wait.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
