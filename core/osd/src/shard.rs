//! A shard: one scheduler and the workers that it feeds.

use crate::demand::Demand;
use crate::event::{Effect, Effects, Timer, WorkerRun};
use crate::gate::DiskGate;
use crate::ids::{OsdId, PgId, ShardId, ThreadId};
use crate::item::Item;
use crate::log_order::LogOrder;
use crate::policy::ItemCharge;
use crate::service::Meter;
use loadline_base::{IdVec, SlotId, Slots, Time};
use loadline_qos::{ClassId, ClientKey, FlowId, Queue, Request, Scheduler, ServiceClass, Take};
use std::collections::VecDeque;

/// An item that a worker has carried through its processor time.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub item: Item,
    pub arrived: Time,
    pub taken: Time,
    /// What it takes of the gate until it is carried out.
    pub load: Demand,
}

/// An item on a worker.
#[derive(Clone, Copy, Debug)]
struct RunningItem {
    item: SlotId,
    pg: Option<PgId>,
    arrived: Time,
    taken: Time,
    load: Demand,
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
}

#[derive(Clone, Copy, Debug)]
struct Worker {
    state: WorkerState,
    run: u32,
}

/// One queue of an OSD with its workers. A placement group always uses the same shard, and its items are carried
/// out one at a time.
pub(crate) struct Shard {
    osd: OsdId,
    id: ShardId,
    /// What waits or runs; the scheduler moves handles only.
    items: Slots<(Item, Demand)>,
    queue: Queue<SlotId>,
    order: LogOrder,
    /// Strict work that needs nothing of the disk, which the gate does not hold back.
    passing: VecDeque<(SlotId, Time)>,
    workers: IdVec<ThreadId, Worker>,
    idle: usize,
    wake_at: Time,
    turns: u64,
    /// Handles by class and owner, so that enqueueing looks nothing up.
    flows: Vec<Vec<Option<FlowId>>>,
    meter: Meter,
}

impl Shard {
    pub(crate) fn new((osd, id): (OsdId, ShardId), queue: Queue<SlotId>, threads: u32) -> Shard {
        let worker = || Worker { state: WorkerState::Idle, run: 0 };
        let workers: IdVec<ThreadId, Worker> = (0..threads).map(|_| worker()).collect();
        let idle = workers.len();
        let (items, passing, order) = (Slots::new(), VecDeque::new(), LogOrder::default());
        let (wake_at, turns, flows) = (Time::MAX, 0, Vec::new());
        let meter = Meter::default();
        Shard { osd, id, items, queue, order, passing, workers, idle, wake_at, turns, flows, meter }
    }

    /// Queues an item and lets the workers look. `owner` is a small number (see [`Item::owner`]).
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        charge: ItemCharge,
        item: (Item, Demand),
        gate: &mut DiskGate,
        fx: &mut Effects,
    ) {
        if gate.paces() && item.1.is_none() && charge.class == ServiceClass::Immediate.id() {
            self.meter.passed(charge.class);
            let item = self.items.acquire(item);
            self.passing.push_back((item, now));
        } else {
            let request = self.request(now, charge, item);
            let refused = self.queue.enqueue(now, request);
            assert!(refused.is_ok(), "an OSD's classes wait, they do not reject");
        }
        self.pump(now, gate, fx);
    }

    /// Queues an item before those that wait, because it was taken once already. The caller pumps when all are in.
    pub(crate) fn enqueue_front(&mut self, now: Time, charge: ItemCharge, item: (Item, Demand)) {
        let request = self.request(now, charge, item);
        let refused = self.queue.enqueue_front(now, request);
        assert!(refused.is_ok(), "an OSD's classes wait, they do not reject");
    }

    fn request(&mut self, now: Time, charge: ItemCharge, item: (Item, Demand)) -> Request<SlotId> {
        let flow = self.flow(now, charge.class, charge.owner);
        self.meter.queued(now, charge.class);
        let entry = item.0.log_entry();
        let item = self.items.acquire(item);
        if let Some(pg) = entry {
            self.order.came(pg, item);
        }
        Request { priority: charge.priority, ..Request::new(flow, charge.cost, item) }
    }

    fn flow(&mut self, now: Time, class: ClassId, owner: u32) -> FlowId {
        let (class_index, owner_index) = (usize::from(class), owner as usize);
        if self.flows.len() <= class_index {
            self.flows.resize(class_index + 1, Vec::new());
        }
        let owners = &mut self.flows[class_index];
        if owners.len() <= owner_index {
            owners.resize(owner_index + 1, None);
        }
        *owners[owner_index]
            .get_or_insert_with(|| self.queue.flow(now, class, ClientKey(u64::from(owner))))
    }

    /// Gives idle workers what the scheduler lets them have.
    pub(crate) fn pump(&mut self, now: Time, gate: &mut DiskGate, fx: &mut Effects) {
        while self.idle > 0
            && let Some((item, arrived)) = self.passing.pop_front()
        {
            self.start(now, item, arrived, fx);
        }
        while self.idle > 0 && gate.admits() {
            match self.queue.take(now) {
                Take::Ready(taken) => {
                    self.meter.taken(now, &taken);
                    self.give_turn(taken.payload);
                    gate.take(self.items.at(taken.payload).1);
                    self.start(now, taken.payload, taken.arrival, fx);
                }
                Take::NotBefore(at) => {
                    if at < self.wake_at {
                        self.wake_at = at;
                        fx.world.push(Effect::Timer(self.osd, at, Timer::Shard(self.id)));
                    }
                    return;
                }
                Take::Empty => return,
            }
        }
    }

    /// Puts the entry of a log that must go first where the one stands whose turn it is.
    #[inline]
    fn give_turn(&mut self, slot: SlotId) {
        if let Some(pg) = self.items.at(slot).0.log_entry()
            && let Some(first) = self.order.go(pg, slot)
        {
            self.items.swap(first, slot);
        }
    }

    /// A wake-up that the scheduler asked for; one that was overtaken by an earlier one does nothing.
    pub(crate) fn wake(&mut self, now: Time, gate: &mut DiskGate, fx: &mut Effects) {
        if self.wake_at <= now {
            self.wake_at = Time::MAX;
            self.pump(now, gate, fx);
        }
    }

    fn start(&mut self, now: Time, item: SlotId, arrived: Time, fx: &mut Effects) {
        let (pg, load) = {
            let (item, load) = self.items.at(item);
            (item.pg(), *load)
        };
        self.turns += 1;
        let running = RunningItem { item, pg, arrived, taken: now, load, turn: self.turns };
        let thread = self.idle_worker();
        let busy = running.pg.is_some_and(|pg| self.is_busy(pg));
        let worker = &mut self.workers[thread];
        self.idle -= 1;
        if busy {
            worker.state = WorkerState::Blocked(running);
        } else {
            worker.state = WorkerState::Running(running);
            let run = WorkerRun { shard: self.id, thread, run: worker.run };
            fx.world.push(Effect::Compute(self.osd, run));
        }
    }

    fn idle_worker(&self) -> ThreadId {
        let idle =
            self.workers.iter().find(|(_, worker)| matches!(worker.state, WorkerState::Idle));
        idle.expect("an idle worker was counted").0
    }

    fn is_busy(&self, pg: PgId) -> bool {
        let runs =
            |worker: &Worker| matches!(&worker.state, WorkerState::Running(r) if r.pg == Some(pg));
        self.idle < self.workers.len() && self.workers.values().any(runs)
    }

    /// Takes the item of a run that has computed, frees the worker and starts the item that waited for the same
    /// placement group. `None` for a run of before a restart. The caller pumps after carrying the item out.
    pub(crate) fn computed(&mut self, run: WorkerRun, fx: &mut Effects) -> Option<Computed> {
        let worker = &mut self.workers[run.thread];
        if worker.run != run.run {
            return None;
        }
        worker.run = worker.run.wrapping_add(1);
        let WorkerState::Running(running) = worker.state else {
            unreachable!("a worker computes only while it runs an item");
        };
        worker.state = WorkerState::Idle;
        self.idle += 1;
        if self.idle < self.workers.len()
            && let Some(pg) = running.pg
        {
            self.unblock(pg, fx);
        }
        let RunningItem { item, arrived, taken, load, .. } = running;
        let (item, _) = self.items.release(item);
        Some(Computed { item, arrived, taken, load })
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
            fx.world.push(Effect::Compute(self.osd, run));
        }
    }

    /// Drops everything, as a crash does.
    pub(crate) fn clear(&mut self, now: Time) {
        let mut dropped = Vec::new();
        self.queue.remove_where(now, &mut |_| true, &mut dropped);
        self.meter.cleared(now);
        for (_, worker) in self.workers.iter_mut() {
            *worker = Worker { state: WorkerState::Idle, run: worker.run.wrapping_add(1) };
        }
        self.items = Slots::new();
        self.idle = self.workers.len();
        self.passing.clear();
        self.order.clear();
        self.wake_at = Time::MAX;
    }

    /// What each class was given.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How many items wait or run.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The scheduler, to look at or to change its parameters; pump afterwards.
    pub(crate) fn queue(&mut self) -> &mut Queue<SlotId> {
        &mut self.queue
    }
}
