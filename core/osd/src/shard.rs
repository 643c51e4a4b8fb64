//! A shard: one scheduler and the workers that it feeds.

use crate::delay::{LeftBefore, LeftQueue};
use crate::demand::Demand;
use crate::event::{Effect, Effects, Timer, WorkerRun};
use crate::gate::DiskGate;
use crate::ids::{OsdId, PgId, ShardId, ThreadId};
use crate::item::Item;
use crate::log_order::LogOrder;
use crate::policy::ItemCharge;
use crate::service::Meter;
use crate::shard_flows::ShardFlows;
use crate::tenants::TenantTable;
use loadline_base::{IdVec, SlotId, Slots, Time};
use loadline_qos::{Queue, Request, Scheduler, ServiceClass, ShardPlan, Take, Waiting};
use std::collections::VecDeque;

/// An item that a worker has carried through its processor time.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub item: Item,
    pub arrived: Time,
    pub taken: Time,
    /// What it takes of the gate until it is carried out.
    pub load: Demand,
    /// Whether it went because its image is promised so much.
    pub is_promised: bool,
    /// The worker that it keeps, with its placement group, until somebody lets go of both.
    pub keeps: Option<KeptWorker>,
    /// What left the queue while it waited there.
    pub ahead: LeftBefore,
}

/// A worker that waits for the disk with its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptWorker {
    shard: ShardId,
    thread: ThreadId,
    pg: PgId,
}

impl KeptWorker {
    /// Whose worker it is.
    pub(crate) fn shard(self) -> ShardId {
        self.shard
    }
}

/// An item that waits or runs.
#[derive(Debug)]
struct HeldItem {
    item: Item,
    load: Demand,
    arrived: Time,
    is_promised: bool,
    /// What had left the queue when it came.
    left: LeftQueue,
}

/// An item on a worker.
#[derive(Clone, Copy, Debug)]
struct RunningItem {
    item: SlotId,
    pg: Option<PgId>,
    taken: Time,
    ahead: LeftBefore,
    /// Its place among all that were taken: items taken at one time keep their order.
    turn: u64,
}

#[derive(Clone, Copy, Debug)]
enum WorkerState {
    Idle,
    /// Computing.
    Running(RunningItem),
    /// Has an item whose placement group another worker is busy with.
    Blocked(RunningItem),
    /// Waits for the disk, and lets nobody else at the placement group.
    Kept(PgId),
}

#[derive(Clone, Copy, Debug)]
struct Worker {
    state: WorkerState,
    run: u32,
}

/// When the scheduler is asked next.
#[derive(Clone, Copy, Debug)]
struct ShardRest {
    /// When somebody comes for it.
    wake_at: Time,
    /// Before this time it lets nobody go, as it has said itself.
    until: Time,
    /// Before this time it is not asked again, unless something has changed in it: until it lets somebody go, or is due to look after
    /// what it knows.
    ask_at: Time,
}

/// One queue of an OSD with its workers. A placement group always uses the same shard, and its items are carried
/// out one at a time.
pub(crate) struct Shard {
    osd: OsdId,
    id: ShardId,
    /// What waits or runs; the scheduler moves handles only. Nothing stands where a turn is still to come of what has gone with
    /// another's.
    items: Slots<Option<HeldItem>>,
    queue: Queue<SlotId>,
    order: LogOrder,
    /// What the gate does not hold back: strict work that needs nothing of the disk, and entries of logs that go because one
    /// behind them has the turn, with that one.
    passing: VecDeque<SlotId>,
    workers: IdVec<ThreadId, Worker>,
    idle: usize,
    rest: ShardRest,
    flows: ShardFlows,
    meter: Meter,
    left: LeftQueue,
}

impl Shard {
    pub(crate) fn new((osd, id): (OsdId, ShardId), queue: Queue<SlotId>, threads: u32) -> Shard {
        let worker = || Worker { state: WorkerState::Idle, run: 0 };
        let workers: IdVec<ThreadId, Worker> = (0..threads).map(|_| worker()).collect();
        let idle = workers.len();
        let (items, passing, order) = (Slots::new(), VecDeque::new(), LogOrder::default());
        let rest = ShardRest { wake_at: Time::MAX, until: Time::ZERO, ask_at: Time::ZERO };
        let flows = ShardFlows::default();
        let (meter, left) = (Meter::default(), LeftQueue::default());
        Shard { osd, id, items, queue, order, passing, workers, idle, rest, flows, meter, left }
    }

    /// Queues an item and lets the workers look.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        charge: ItemCharge,
        item: (Item, Demand),
        gate: &mut DiskGate,
        fx: &mut Effects,
    ) {
        if gate.paces() && item.1.is_none() && charge.owner.class == ServiceClass::Immediate.id() {
            self.meter.passed(charge.owner.class);
            let (item, load) = item;
            let left = self.left.until(gate.closed_until(now));
            let held = HeldItem { item, load, arrived: now, is_promised: false, left };
            let item = self.items.acquire(Some(held));
            self.passing.push_back(item);
        } else {
            let request = self.request(now, charge, item, gate);
            let refused = self.queue().enqueue(now, request);
            assert!(refused.is_ok(), "an OSD's classes wait, they do not reject");
        }
        self.pump(now, gate, fx);
    }

    /// Queues an item before those that wait, because it was taken once already. The caller pumps when all are in.
    pub(crate) fn enqueue_front(
        &mut self,
        now: Time,
        charge: ItemCharge,
        item: (Item, Demand),
        gate: &DiskGate,
    ) {
        let slot = self.hold(now, charge, item, gate);
        let request = self.request_again(now, charge, slot);
        let refused = self.queue().enqueue_front(now, request);
        assert!(refused.is_ok(), "an OSD's classes wait, they do not reject");
    }

    #[inline]
    fn request(
        &mut self,
        now: Time,
        charge: ItemCharge,
        item: (Item, Demand),
        gate: &DiskGate,
    ) -> Request<SlotId> {
        let payload = self.hold(now, charge, item, gate);
        let ItemCharge { owner, priority, cost } = charge;
        let (flow, distributed) = self.flows.of_new(now, &mut self.queue, owner);
        Request { flow, priority, cost, distributed, payload }
    }

    #[inline]
    fn hold(
        &mut self,
        now: Time,
        charge: ItemCharge,
        item: (Item, Demand),
        gate: &DiskGate,
    ) -> SlotId {
        self.meter.queued(now, charge.owner.class);
        let (item, load) = item;
        let entry = item.log_entry();
        let left = self.left.until(gate.closed_until(now));
        let held = HeldItem { item, load, arrived: now, is_promised: false, left };
        let slot = self.items.acquire(Some(held));
        if let Some(pg) = entry {
            self.order.came(pg, slot);
        }
        slot
    }

    /// For what has come before: what its image was given elsewhere was charged then.
    fn request_again(&mut self, now: Time, charge: ItemCharge, item: SlotId) -> Request<SlotId> {
        let flow = self.flows.of(now, &mut self.queue, charge.owner);
        Request { priority: charge.priority, ..Request::new(flow, charge.cost, item) }
    }

    /// Images are tenants by this table from now on. What waits is charged by `charge_of` where it has to be queued anew.
    pub(crate) fn share(
        &mut self,
        now: Time,
        plan: &ShardPlan,
        table: &TenantTable,
        mut charge_of: impl FnMut(&Item) -> ItemCharge,
    ) {
        self.rest.ask_at = Time::ZERO;
        for slot in self.flows.share(now, &mut self.queue, plan, table) {
            let Some(queued) = self.items.at(slot) else {
                self.items.release(slot);
                self.order.void_turn_came();
                self.meter.dropped(now, ServiceClass::Client.id());
                continue;
            };
            let charge = charge_of(&queued.item);
            let request = self.request_again(now, charge, slot);
            let refused = self.queue().enqueue(now, request);
            assert!(refused.is_ok(), "an OSD's classes wait, they do not reject");
        }
    }

    /// Gives idle workers what the scheduler lets them have. While the gate is closed for the sake of latency, one item passes as long as
    /// what an image is promised is due.
    pub(crate) fn pump(&mut self, now: Time, gate: &mut DiskGate, fx: &mut Effects) {
        let mut may_pass = true;
        while self.idle > 0 {
            if let Some(item) = self.passing.pop_front() {
                self.start(now, item, gate, fx);
                continue;
            }
            let due = self.flows.promise_due_at(now, &mut self.queue);
            let is_due = due.is_some_and(|at| at <= now);
            let admits = gate.admits();
            gate.note_admits(now, admits);
            if !admits {
                let admits_promised = gate.admits_promised();
                if !(std::mem::take(&mut may_pass) && admits_promised && is_due) {
                    if let Some(at) = due.filter(|at| *at > now && admits_promised) {
                        self.wake_at(at, fx);
                    }
                    return;
                }
            }
            if now < self.rest.ask_at {
                return self.wake_at(self.rest.until, fx);
            }
            match self.queue.take(now) {
                Take::Ready(taken) => {
                    self.meter.taken(now, &taken);
                    // Of a class whose tenants wait for what they are promised one of them goes.
                    let is_promised = is_due && taken.class == ServiceClass::Client.id();
                    self.has_turn(now, (taken.payload, is_promised), gate, fx);
                }
                Take::NotBefore(at) => return self.rest(at, fx),
                Take::Empty => return self.rest(Time::MAX, fx),
            }
        }
    }

    /// The scheduler lets nobody go before this time.
    fn rest(&mut self, until: Time, fx: &mut Effects) {
        self.rest.until = until;
        self.rest.ask_at = until.min(self.queue.upkeep_at());
        self.wake_at(until, fx);
    }

    /// Asks to be woken then, if not before that already.
    fn wake_at(&mut self, at: Time, fx: &mut Effects) {
        if at < self.rest.wake_at {
            self.rest.wake_at = at;
            fx.world.push(Effect::Timer(self.osd, at, Timer::Shard(self.id)));
        }
    }

    /// The item in this slot has its turn: it begins, behind the entries of its log that have to go before it.
    #[inline]
    fn has_turn(
        &mut self,
        now: Time,
        (slot, is_promised): (SlotId, bool),
        gate: &mut DiskGate,
        fx: &mut Effects,
    ) {
        let Some(queued) = self.items.at_mut(slot) else {
            self.items.release(slot);
            self.order.void_turn_came();
            return;
        };
        queued.is_promised = is_promised;
        if let Some(pg) = queued.item.log_entry() {
            while let Some(before) = self.order.next_before(pg, slot) {
                let mut goes = self.items.at_mut(before).take().expect("it waited for its turn");
                // Its own turn, which is void, is charged for the promise.
                goes.is_promised = self.flows.is_promised(goes.item.tenant());
                let goes = self.items.acquire(Some(goes));
                self.passing.push_back(goes);
            }
        }
        if self.passing.is_empty() {
            self.start(now, slot, gate, fx);
        } else {
            self.passing.push_back(slot);
        }
    }

    /// A wake-up that the scheduler asked for; one that was overtaken by an earlier one does nothing.
    pub(crate) fn wake(&mut self, now: Time, gate: &mut DiskGate, fx: &mut Effects) {
        if self.rest.wake_at <= now {
            self.rest.wake_at = Time::MAX;
            self.pump(now, gate, fx);
        }
    }

    fn start(&mut self, now: Time, item: SlotId, gate: &mut DiskGate, fx: &mut Effects) {
        let queued = self.items.at(item).as_ref().expect("what starts waited");
        gate.take(queued.load);
        let left = self.left.until(gate.closed_until(now));
        let ahead = left.since(&queued.left, now.since(queued.arrived));
        let size = queued.item.size();
        let (pg, turn) = (queued.item.pg(), self.left.left(size.work));
        let running = RunningItem { item, pg, taken: now, ahead, turn };
        let thread = self.idle_worker();
        let busy = running.pg.is_some_and(|pg| self.is_busy(pg));
        let worker = &mut self.workers[thread];
        self.idle -= 1;
        if busy {
            worker.state = WorkerState::Blocked(running);
        } else {
            worker.state = WorkerState::Running(running);
            let run = WorkerRun { shard: self.id, thread, run: worker.run };
            fx.world.push(Effect::Compute(self.osd, run, size));
        }
    }

    fn idle_worker(&self) -> ThreadId {
        let idle =
            self.workers.iter().find(|(_, worker)| matches!(worker.state, WorkerState::Idle));
        idle.expect("an idle worker was counted").0
    }

    fn is_busy(&self, pg: PgId) -> bool {
        let runs = |worker: &Worker| match &worker.state {
            WorkerState::Running(running) => running.pg == Some(pg),
            WorkerState::Kept(kept) => *kept == pg,
            WorkerState::Idle | WorkerState::Blocked(_) => false,
        };
        self.idle < self.workers.len() && self.workers.values().any(runs)
    }

    /// Takes the item of a run that has computed, frees the worker and starts the item that waited for the same
    /// placement group, unless the item keeps both. `None` for a run of before a restart. The caller pumps after carrying the item out.
    #[inline]
    pub(crate) fn computed(
        &mut self,
        run: WorkerRun,
        keeps: impl Fn(&Item) -> bool,
        fx: &mut Effects,
    ) -> Option<Computed> {
        let worker = &mut self.workers[run.thread];
        if worker.run != run.run {
            return None;
        }
        worker.run = worker.run.wrapping_add(1);
        let WorkerState::Running(running) = worker.state else {
            unreachable!("a worker computes only while it runs an item");
        };
        let RunningItem { item, taken, ahead, pg, .. } = running;
        let queued = self.items.release(item).expect("what runs waited");
        let HeldItem { item, load, arrived, is_promised, .. } = queued;
        let keeps = pg.filter(|_| keeps(&item)).map(|pg| {
            worker.state = WorkerState::Kept(pg);
            KeptWorker { shard: self.id, thread: run.thread, pg }
        });
        if keeps.is_none() {
            self.free(run.thread, pg, fx);
        }
        Some(Computed { item, arrived, taken, load, is_promised, keeps, ahead })
    }

    fn free(&mut self, thread: ThreadId, pg: Option<PgId>, fx: &mut Effects) {
        self.workers[thread].state = WorkerState::Idle;
        self.idle += 1;
        if self.idle < self.workers.len()
            && let Some(pg) = pg
        {
            self.unblock(pg, fx);
        }
    }

    /// What an item has waited for is there. The caller pumps.
    pub(crate) fn let_go(&mut self, kept: KeptWorker, fx: &mut Effects) {
        let KeptWorker { thread, pg, .. } = kept;
        assert!(matches!(self.workers[thread].state, WorkerState::Kept(of) if of == pg));
        self.free(thread, Some(pg), fx);
    }

    /// Starts the item that has waited longest for `pg`.
    fn unblock(&mut self, pg: PgId, fx: &mut Effects) {
        let waits = |worker: &Worker| match &worker.state {
            WorkerState::Blocked(running) if running.pg == Some(pg) => Some(running.turn),
            _ => None,
        };
        let first =
            self.workers.iter().filter_map(|(thread, worker)| Some((waits(worker)?, thread))).min();
        let Some((_, thread)) = first else { return };
        let worker = &mut self.workers[thread];
        if let WorkerState::Blocked(running) = worker.state {
            worker.state = WorkerState::Running(running);
            let run = WorkerRun { shard: self.id, thread, run: worker.run };
            let blocked = self.items.at(running.item).as_ref().expect("what runs waited");
            fx.world.push(Effect::Compute(self.osd, run, blocked.item.size()));
        }
    }

    /// Drops everything, as a crash does.
    pub(crate) fn clear(&mut self, now: Time) {
        let mut dropped = Vec::new();
        self.queue().remove_where(now, &mut |_| true, &mut dropped);
        self.meter.cleared(now);
        for (_, worker) in self.workers.iter_mut() {
            *worker = Worker { state: WorkerState::Idle, run: worker.run.wrapping_add(1) };
        }
        self.items = Slots::new();
        self.idle = self.workers.len();
        self.passing.clear();
        self.order.clear();
        self.rest.wake_at = Time::MAX;
    }

    /// What each class was given.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Every item that waits, with its tags and the reason why it is not served now. Turns of what has gone are not shown.
    pub(crate) fn waiting(&self, now: Time) -> Vec<Waiting> {
        if self.order.void_turns() == 0 {
            return self.queue.waiting(now);
        }
        let mut shown = self.queue.clone();
        let is_void = &mut |slot: &SlotId| self.items.at(*slot).is_none();
        shown.remove_where(now, is_void, &mut Vec::new());
        shown.waiting(now)
    }

    /// Since when an item has been here, on a worker or in the queue, and in the queue what has left that since.
    pub(crate) fn find(
        &self,
        now: Time,
        gate: &DiskGate,
        is_meant: impl Fn(&Item) -> bool,
    ) -> Option<(Time, Option<LeftBefore>)> {
        let of_slot = |slot: &Option<HeldItem>| slot.as_ref().is_some_and(|it| is_meant(&it.item));
        let (slot, held) = self.items.iter().find(|(_, held)| of_slot(held))?;
        let held = held.as_ref().expect("it was found");
        let runs = self.workers.values().find_map(|worker| match worker.state {
            WorkerState::Running(running) | WorkerState::Blocked(running) => {
                (running.item == slot).then_some(running.taken)
            }
            WorkerState::Idle | WorkerState::Kept(_) => None,
        });
        if let Some(taken) = runs {
            return Some((taken, None));
        }
        let left = self.left.until(gate.closed_until(now));
        Some((held.arrived, Some(left.since(&held.left, now.since(held.arrived)))))
    }

    /// Whether something waits in the scheduler.
    pub(crate) fn has_queued(&self) -> bool {
        self.queue.len() > self.order.void_turns()
    }

    /// How many items wait or run.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.order.void_turns()
    }

    /// The scheduler, to look at or to change its parameters; pump afterwards.
    #[inline]
    pub(crate) fn queue(&mut self) -> &mut Queue<SlotId> {
        self.rest.ask_at = Time::ZERO;
        &mut self.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::tenants::TenantTerms;
    use loadline_base::{Bytes, Span};
    use loadline_device::Medium;
    use loadline_qos::{
        Capacity, CostModel, CostRule, Params, SchedulerKind, TenantKey, WorkOptions, preset,
    };
    use loadline_store::WindowBounds;

    fn plan(preset_name: &str) -> ShardPlan {
        let preset = *preset(preset_name).expect("a preset's name");
        let capacity = Capacity::default_for(Medium::Ssd, 1);
        let cost_model = match preset.cost_rule {
            CostRule::Time(options) => CostModel::time(&options, Medium::Ssd),
            CostRule::Bytes(combine) => {
                CostModel::bytes(capacity.sequential_bandwidth, capacity.iops, combine)
            }
        };
        let profile = preset.profiles.profile("balanced").expect("every table has it");
        ShardPlan {
            preset,
            scheduler: SchedulerKind::Mclock,
            capacity,
            values: profile.values(preset.profiles.unit, &capacity),
            cost_model,
            work_options: WorkOptions::default(),
            cut_off: 196,
        }
    }

    /// mClock as published looks over its records every minute, by the clock of the calls. A shard at rest let it wait until something
    /// came: by then a record was old that had not been so when the look was due, and came back as an idle one.
    #[test]
    fn a_shard_at_rest_lets_its_scheduler_look_over_its_records() {
        let plan = plan("quincy");
        let window = WindowBounds { bytes: Bytes::from_kib(64), ops: 16 };
        let mut gate = DiskGate::new(&plan, (window, None));
        let queue = Policy { plan, seed: 1 }.build_queue(0);
        let mut shard = Shard::new((OsdId::new(0), ShardId::new(0)), queue, 1);
        let mut fx = Effects::default();
        for second in [0, 59, 60, 100, 121, 180, 181] {
            let now = Time::from_secs(second);
            shard.pump(now, &mut gate, &mut fx);
            assert!(now < shard.queue.upkeep_at(), "not looked after at {now:?}");
        }
        assert!(fx.world.is_empty(), "nobody is woken for it");
    }

    /// A profile that reserves less for clients took it from the images with the highest numbers: the first ones had all of their promises, and
    /// the last ones none.
    #[test]
    fn images_have_alike_parts_of_what_is_reserved_for_clients() {
        const IMAGES: u32 = 5;
        let plan = plan("loadline");
        let queue = Policy { plan: plan.clone(), seed: 1 }.build_queue(0);
        let mut shard = Shard::new((OsdId::new(0), ShardId::new(0)), queue, 1);
        let class = ServiceClass::Client.id();
        let set_reserved = |shard: &mut Shard, reserved: f64| {
            let params = Params::new(reserved, 1.0, 0.0).expect("it is valid");
            shard.queue().set_params(Time::ZERO, class, params);
        };
        let reservations = |shard: &mut Shard| -> Vec<f64> {
            let Queue::MClock(scheduler) = shard.queue() else { panic!("it is mClock") };
            let keys = (1..=IMAGES).map(u64::from).flat_map(|image| [image, 1 << 32 | image]);
            let reserved = |key| scheduler.tenant_params(class, TenantKey(key));
            keys.map(|key| reserved(key).expect("it is a tenant").reservation()).collect()
        };
        let small_op = crate::tenants::small_op(&plan.cost_model);
        let terms = TenantTerms {
            reservation: 100.0,
            weight: 1.0,
            limit: 0.0,
            burst: Span::ZERO,
            copies: 2,
        };
        let images = (1..=IMAGES).map(|image| (image, terms)).collect();
        let table = TenantTable { osds: 1, images };
        let shards = f64::from(plan.capacity.shards.max(1));
        let all = f64::from(2 * IMAGES) * 100.0 * small_op / shards;
        for (part, expected) in [(1.0, 1.0), (0.2, 0.2), (0.0, 0.0), (0.5, 0.5), (2.0, 1.0)] {
            set_reserved(&mut shard, all * part);
            shard.share(Time::ZERO, &plan, &table, |_| unreachable!("nothing waits"));
            for reservation in reservations(&mut shard) {
                let wanted = 100.0 * small_op * expected;
                let is_near = (reservation - wanted).abs() <= wanted * 1e-5;
                assert!(is_near, "{part}: {reservation} instead of {wanted}");
            }
        }
    }
}
