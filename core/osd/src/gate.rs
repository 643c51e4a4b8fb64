//! The gate between an OSD's queues and its disk: the one place that decides whether more may leave the queues, and in what
//! pieces it enters the disk.
//!
//! A scheduler has influence only while work waits in it. So under Loadline's own preset the gate *holds back the dequeue*: an item is
//! taken only if the disk could begin it soon, and it counts from its taking, not from its arrival at the store, because sixteen
//! workers can carry a lot past a gate that counts later. What is in flight is measured in the cost units of the scheduler,
//! which are bytes that the disk could have streamed meanwhile; a latency goal times the disk's rate is how many of them may be in
//! flight. So a small request counts for the time that it takes, not for its bytes.
//!
//! A large transfer is cut into parts of at most half the goal. The first goes with the item, each later one waits in the queue
//! as an item of its own and is charged there, so that whatever arrives meanwhile is at most one part behind.
//!
//! On a disk of bytes, whose log commits what clients write in groups and whose speed nobody has told, clients pass as long as the
//! store takes more, and background work alone is held back ([`BackgroundPace`]). Where one of the clients' images is promised ops, the
//! others are held back too ([`ClientWindow`]).
//!
//! Presets of other systems have no goal. There the gate is what those systems have, the store's throttle, behind which work waits
//! in the order of its arrival; the gate only tells the queues whether the store takes more, where they ask.

use crate::capacity::EndedWork;
use crate::client_window::ClientWindow;
use crate::commit::Commit;
use crate::demand::Demand;
use crate::ids::OpId;
use crate::item::{Item, PacedStage};
use crate::message::Message;
use crate::pace::{BackgroundPace, PaceReport, PaceTerms};
use crate::parts::{NextPart, Transfers};
use loadline_base::{Bytes, SlotId, Span, Time};
use loadline_qos::{ClassId, CostModel, ServiceClass, ShardPlan, Work};
use loadline_store::{Submission, WindowBounds};

/// The least part that a transfer is cut into: below it the requests' own cost would eat the bandwidth.
const PART_LEAST: u64 = 128 << 10;
/// Places of parts are multiples of a page.
pub(crate) const PART_STEP: u64 = 4 << 10;

/// How the gate holds back the dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// How long the disk may take for all that is in flight.
    pub goal: Span,
    /// The largest part of a background transfer.
    pub part_max: Bytes,
}

/// Who is held back by a latency goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// Everything that asks the disk for something: on a direct store, whose drive is known.
    All,
    /// Background work: on a disk of bytes.
    Background,
}

/// What is set: a bound on ops and bytes, and how and for whom the dequeue is held back, if it is.
pub(crate) type Within = (WindowBounds, Option<(Pacing, HeldBack)>);

/// What may be in flight at a time.
#[derive(Clone, Copy, Debug)]
struct GateBounds {
    ops: u32,
    bytes: u64,
    /// The goal in cost units, and the largest part of a transfer in bytes.
    cost: u64,
    part: u64,
    /// What one of those costs.
    part_cost: u64,
}

/// How a gate stands at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GateReport {
    /// How long the disk may take for what is in flight; `None` under presets of other systems.
    pub goal: Option<Span>,
    /// Bytes of the largest part that a transfer of background work enters the disk in.
    pub part: Option<u64>,
    /// Whether nothing more leaves the queues until the disk has answered some of what it has.
    pub is_closed: bool,
    /// What the gate counts in flight: everything on a direct store, and of a paged one what background work has at the disk.
    pub ops: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Ops that clients may have in the store while one of their images is promised something.
    pub client_window: Option<u32>,
    /// How background work is paced, where it alone is held back.
    pub background: Option<PaceReport>,
    /// Items of background work that are kept out of the queues.
    pub kept_out: u64,
}

/// The gate of one OSD.
pub(crate) struct DiskGate {
    cost_model: CostModel,
    /// How long the disk may take for what is in flight, where anything is held back.
    goal: Option<Span>,
    /// What all together may have in flight, where all are held back.
    bounds: Option<GateBounds>,
    /// How background work is held back, where it alone is.
    pace: Option<BackgroundPace>,
    /// How much clients may have in flight there, where one of them is promised something.
    clients: Option<ClientWindow>,
    /// Whether one of them is promised something, on any disk.
    is_promised: bool,
    /// Taken from the queues and not yet carried out by a worker.
    taken: Demand,
    /// Of that, what has been carried out in this step: what it asks of the disk is about to be counted there.
    leaving: Demand,
    /// At the disk.
    at_disk: Demand,
    /// The store's throttle takes no more.
    store_is_full: bool,
    /// What of a direct store's requests the disk has.
    transfers: Transfers,
    closed: ClosedTime,
}

/// For how long nothing could leave the queues.
#[derive(Clone, Copy, Debug, Default)]
struct ClosedTime {
    /// Until it was open last.
    before: Span,
    /// Since when it has been closed, if it is.
    since: Option<Time>,
}

impl DiskGate {
    pub(crate) fn new(plan: &ShardPlan, within: Within) -> DiskGate {
        DiskGate {
            cost_model: plan.cost_model,
            goal: within.1.map(|(pacing, _)| pacing.goal),
            bounds: GateBounds::of(plan, within),
            pace: pace_terms(plan, within).map(BackgroundPace::new),
            clients: None,
            is_promised: false,
            taken: Demand::default(),
            leaving: Demand::default(),
            at_disk: Demand::default(),
            store_is_full: false,
            transfers: Transfers::default(),
            closed: ClosedTime::default(),
        }
    }

    /// New settings; what is in flight stays.
    pub(crate) fn retune(&mut self, plan: &ShardPlan, within: Within) {
        self.cost_model = plan.cost_model;
        self.goal = within.1.map(|(pacing, _)| pacing.goal);
        self.bounds = GateBounds::of(plan, within);
        self.pace = pace_terms(plan, within).map(|terms| match self.pace.take() {
            Some(pace) => pace.on(terms),
            None => BackgroundPace::new(terms),
        });
        self.promise(self.is_promised);
    }

    /// Whether some of the clients are promised something that others are not.
    pub(crate) fn promise(&mut self, is_promised: bool) {
        self.is_promised = is_promised;
        let goal = self.pace.as_ref().filter(|_| is_promised).map(BackgroundPace::goal);
        self.clients = goal.map(|goal| match self.clients.take() {
            Some(window) => window.with_goal(goal),
            None => ClientWindow::new(goal),
        });
    }

    /// How it stands. What is kept out of the queues others know.
    pub(crate) fn report(&self, now: Time) -> GateReport {
        GateReport {
            goal: self.goal,
            part: self.part_most(),
            is_closed: !self.admits(),
            ops: self.taken.ops + self.at_disk.ops,
            bytes: self.taken.bytes + self.at_disk.bytes,
            client_window: self.clients.as_ref().map(ClientWindow::ops),
            background: self.pace.as_ref().map(|pace| pace.report(now)),
            kept_out: 0,
        }
    }

    /// Forgets what was in flight, as a crash does.
    pub(crate) fn clear(&mut self) {
        self.taken = Demand::default();
        self.leaving = Demand::default();
        self.at_disk = Demand::default();
        self.store_is_full = false;
        self.transfers.clear();
        if let Some(clients) = &mut self.clients {
            clients.clear();
        }
    }

    /// It was found open or closed by somebody who would have taken something.
    #[inline]
    pub(crate) fn note_admits(&mut self, now: Time, admits: bool) {
        let ClosedTime { before, since } = &mut self.closed;
        match *since {
            None if !admits => *since = Some(now),
            Some(closed) if admits => {
                *before += now.since(closed);
                *since = None;
            }
            _ => {}
        }
    }

    /// For how long it has been found closed until now, in all.
    #[inline]
    pub(crate) fn closed_until(&self, now: Time) -> Span {
        let ClosedTime { before, since } = self.closed;
        since.map_or(before, |closed| before + now.since(closed))
    }

    /// Whether it holds back the dequeue of all by what the disk can begin soon.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.bounds.is_some()
    }

    /// Until when it holds back background work that has come so far; [`Time::MAX`] if until the disk has answered some of what it
    /// has.
    pub(crate) fn holds_background(&mut self, now: Time, stage: PacedStage) -> Option<Time> {
        let in_flight = self.taken.bytes + self.at_disk.bytes;
        let pace = self.pace.as_mut()?;
        match stage {
            _ if pace.holds_parts(in_flight) => Some(Time::MAX),
            PacedStage::Part | PacedStage::Pushed => None,
            PacedStage::New => pace.holds_until(now),
        }
    }

    /// Whether background work waits outside of the queues until it may begin.
    #[inline]
    pub(crate) fn paces_background(&self) -> bool {
        self.pace.is_some()
    }

    /// An item that waited outside begins, and so much of this class with it. The answer is what it has in flight until it is carried out.
    pub(crate) fn let_in(
        &mut self,
        now: Time,
        item: &Item,
        object_bytes: u64,
        (begins, class): (u64, ServiceClass),
    ) -> Demand {
        if let Some(pace) = &mut self.pace {
            pace.begin(now, begins, class);
        }
        let load = self.demand_of(item, object_bytes);
        self.taken.add(load);
        load
    }

    /// An item came to the queues.
    #[inline]
    pub(crate) fn came(&mut self, now: Time, class: ClassId) {
        if class == ServiceClass::Client.id()
            && let Some(pace) = &mut self.pace
        {
            pace.client_asked(now);
        }
    }

    /// The store has carried out an access, which was handed in then.
    #[inline]
    pub(crate) fn accessed(&mut self, now: Time, token: &Commit, entered: Time) {
        let in_flight = self.taken.bytes + self.at_disk.bytes;
        // What copies have of a trim is its primary's, and no client's.
        let is_own = token.update() == Some(OpId::NOBODYS);
        if matches!(token.work().0, Work::ClientOp | Work::ReplicaWrite)
            && !is_own
            && let Some(pace) = &mut self.pace
        {
            pace.client_ended(now, entered, in_flight > 0);
            if let Some(clients) = &mut self.clients {
                clients.ended(now, entered, matches!(token, Commit::Read(..)));
            }
        }
    }

    /// So much background work is at the disk of a paged store.
    pub(crate) fn set_background_at_disk(&mut self, ops: u32, bytes: u64) {
        if self.pace.is_some() {
            self.at_disk = Demand { ops, bytes, cost: 0 };
        }
    }

    /// Whether one more item may be taken. With nothing in flight one always may, however large it is.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        let Some(bounds) = &self.bounds else {
            return self.admits_promised()
                && self.clients.as_ref().is_none_or(ClientWindow::admits);
        };
        let mut all = self.taken;
        all.add(self.at_disk);
        let is_soon = all.cost + bounds.part_cost <= bounds.cost_most(self.is_promised);
        all.is_none() || self.admits_promised() && is_soon
    }

    /// Whether the disk has as much as it may. A window that is narrow for the sake of somebody's promise is not the disk's.
    pub(crate) fn is_full(&self) -> bool {
        if self.bounds.is_some() { !self.admits() } else { self.store_is_full }
    }

    /// How many requests the disk has, as far as the gate counts them.
    pub(crate) fn ops_at_disk(&self) -> u32 {
        self.at_disk.ops
    }

    /// Whether what is promised may pass the gate though it is closed: never beyond the bounds in ops and bytes.
    #[inline]
    pub(crate) fn admits_promised(&self) -> bool {
        let Some(bounds) = &self.bounds else { return !self.store_is_full };
        self.taken.ops + self.at_disk.ops < bounds.ops
            && self.taken.bytes + self.at_disk.bytes < bounds.bytes
    }

    /// Whether the store's throttle is full, where the throttle is what counts, and how many ops it has.
    pub(crate) fn set_store(&mut self, now: Time, is_full: bool, ops: u32) {
        self.store_is_full = is_full;
        if let Some(clients) = &mut self.clients {
            clients.set_in_flight(now, ops);
        }
    }

    /// What an item will have in flight from its taking on, as far as can be told before it is carried out.
    #[inline]
    pub(crate) fn load_of(&self, item: &Item, object_bytes: u64) -> Demand {
        match self.paces() {
            true => self.demand_of(item, object_bytes),
            false => Demand::default(),
        }
    }

    fn demand_of(&self, item: &Item, object_bytes: u64) -> Demand {
        let requests = |count: u32, bytes: u64| self.load(count, bytes);
        match item {
            Item::Part { bytes, .. } | Item::StoreIo(_, bytes) => requests(1, u64::from(*bytes)),
            Item::Recovery(_, pushes) => requests(*pushes, self.part_of(object_bytes)),
            Item::Put(put) => requests(1, put.payload().get()),
            Item::Delete(..) => requests(1, 0),
            Item::Scrub(_) => Demand::default(),
            Item::Trim(item) => requests(item.objects, 0),
            Item::Message(envelope) => match &envelope.message {
                Message::Op(op) => requests(1, u64::from(op.charged_bytes())),
                Message::Write(write) => requests(1, u64::from(write.charged_bytes())),
                Message::Push(push) => requests(1, self.part_of(push.length().get())),
                Message::PushHistory(_, step) => requests(1, self.part_of(step.length().get())),
                Message::Pull(_) => requests(1, self.part_of(object_bytes)),
                _ => Demand::default(),
            },
        }
    }

    fn load(&self, ops: u32, bytes: u64) -> Demand {
        let (bytes, cost) = (bytes * u64::from(ops), self.cost(bytes) * u64::from(ops));
        Demand { ops, bytes, cost }
    }

    /// An item was taken. What waited outside counts since it was let in.
    #[inline]
    pub(crate) fn take(&mut self, load: Demand) {
        if let Some(clients) = &mut self.clients {
            clients.begun();
        }
        if self.paces() {
            self.taken.add(load);
        }
    }

    /// A worker has carried it out. It counts until [`DiskGate::settle`].
    #[inline]
    pub(crate) fn carried_out(&mut self, load: Demand) {
        if let Some(clients) = &mut self.clients {
            clients.carried_out();
        }
        self.leaving.add(load);
    }

    /// All that was carried out is at the disk, as far as it asked anything of it.
    pub(crate) fn settle(&mut self) {
        self.taken.remove(std::mem::take(&mut self.leaving));
    }

    /// A direct store asks for this, of some work, whole or in parts.
    pub(crate) fn begin(&mut self, whole: Submission, work: Work) -> SlotId {
        let length = whole.request.length.get();
        let is_background =
            whole.request.class.0 != ServiceClass::Client as u8 && work != Work::ReplicaWrite;
        let part = if is_background { self.part_of(length) } else { length };
        self.transfers.begin(whole, work, part)
    }

    /// The next part of a request goes to the disk. The answer is that part, and the one whose turn is to come.
    pub(crate) fn send(&mut self, slot: SlotId) -> (Submission, Option<NextPart>) {
        let demand = self.load(1, self.transfers.next_bytes(slot).get());
        self.at_disk.add(demand);
        self.transfers.send(slot, demand)
    }

    /// The disk has answered a part of a request, well or not. What that was, and after the last one, whether all went well.
    pub(crate) fn answered(&mut self, slot: SlotId, is_good: bool) -> (EndedWork, Option<bool>) {
        let is_update = self.transfers.is_update(slot);
        let (demand, all_good) = self.transfers.answered(slot, is_good);
        self.at_disk.remove(demand);
        (EndedWork { bytes: demand.bytes, is_update }, all_good)
    }

    /// A part that the disk ended for time, to be asked again; `None` if each was asked again already.
    pub(crate) fn again(&mut self, slot: SlotId) -> Option<Submission> {
        self.transfers.again(slot)
    }

    /// The size of the parts that a transfer of this size is cut into: equal ones, but for the last.
    #[inline]
    pub(crate) fn part_of(&self, bytes: u64) -> u64 {
        let Some(part) = self.part_most() else { return bytes };
        if bytes <= part {
            return bytes;
        }
        let parts = bytes.div_ceil(part);
        bytes.div_ceil(parts).next_multiple_of(PART_STEP)
    }

    /// Bytes of the largest part, where transfers enter the disk in parts.
    pub(crate) fn part_most(&self) -> Option<u64> {
        let of_all = self.bounds.as_ref().map(|bounds| bounds.part);
        of_all.or_else(|| self.paced_part())
    }

    /// The same, where background work alone is held back.
    pub(crate) fn paced_part(&self) -> Option<u64> {
        self.pace.as_ref().map(BackgroundPace::part)
    }

    fn cost(&self, bytes: u64) -> u64 {
        u64::from(self.cost_model.scaled(bytes))
    }
}

impl GateBounds {
    /// The cost units that may be in flight. What one client is promised passes a full gate, and is to find the goal kept for all that.
    fn cost_most(&self, is_promised: bool) -> u64 {
        if is_promised { self.cost / 4 * 3 } else { self.cost }
    }

    fn of(plan: &ShardPlan, (window, pacing): Within) -> Option<GateBounds> {
        let (pacing, _) = pacing.filter(|(_, paced)| *paced == HeldBack::All)?;
        let (cost, part) = (pacing.cost(plan), pacing.part(plan));
        let part_cost = u64::from(plan.cost_model.scaled(part));
        let (ops, bytes) = (window.ops, window.bytes.get());
        Some(GateBounds { ops, bytes, cost, part, part_cost })
    }
}

impl Pacing {
    /// The cost units that the disk serves within the goal.
    fn cost(&self, plan: &ShardPlan) -> u64 {
        ((plan.capacity.sequential_bandwidth * self.goal.as_secs_f64()) as u64).max(1)
    }

    /// Bytes of the largest part.
    fn part(&self, plan: &ShardPlan) -> u64 {
        (self.cost(plan) / 2 / PART_STEP * PART_STEP).clamp(PART_LEAST, self.part_max.get())
    }
}

/// On what terms background work is paced, where it alone is held back. Other schedulers than mClock promise clients nothing.
fn pace_terms(plan: &ShardPlan, (_, pacing): Within) -> Option<PaceTerms> {
    let (pacing, _) = pacing.filter(|(_, paced)| *paced == HeldBack::Background)?;
    let share = plan.client_share()?;
    Some(PaceTerms { share, goal: pacing.goal, part: pacing.part(plan) })
}
