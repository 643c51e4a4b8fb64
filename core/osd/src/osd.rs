//! One OSD: the owner of its shards, placement groups, store and recovery, and the one `match` over its events.

use crate::access::AccessDone;
use crate::bench::BenchUnderWay;
use crate::capacity::{EndedWork, TrackedCapacity};
use crate::commit::RecoverySender;
use crate::counters::Counters;
use crate::delay::LeftBefore;
use crate::disk::{Paged, StoreBackend};
use crate::event::{Effect, Effects, Event, Timer};
use crate::gate::{DiskGate, GateReport};
use crate::groups::Groups;
use crate::ids::{OsdId, PgId, ShardId};
use crate::in_flight::{InFlightOps, Stamps};
use crate::item::Item;
use crate::life::OsdLife;
use crate::message::{Data, Envelope, Message};
use crate::outside::KeptOutItem;
use crate::pg::{CopyState, Pg, Primary};
use crate::policy::{OsdOptions, Policy, Weight, Windowed};
use crate::queue::WorkQueue;
use crate::recovery::Recovery;
use crate::scrub::Scrub;
use crate::service::OsdService;
use crate::shard::{Computed, KeptWorker};
use crate::snapshots::{FormerState, SnapshotNo};
use crate::tenants::TenantTable;
use crate::trim::Trim;
use crate::waits::{Stage, Waits};
use loadline_base::Time;
use loadline_qos::{Urgency, Waiting};
use loadline_store::{DirectStore, ObjectFilling, ObjectNo};
use std::sync::Arc;

/// One disk's share of the cluster, stepped by its owner.
pub struct Osd {
    pub(crate) id: OsdId,
    pub(crate) options: OsdOptions,
    pub(crate) queue: WorkQueue,
    pub(crate) groups: Groups,
    pub(crate) store: StoreBackend,
    pub(crate) ops: InFlightOps,
    pub(crate) recovery: Recovery,
    pub(crate) scrub: Scrub,
    pub(crate) trim: Trim,
    /// The step of a benchmark that is under way.
    pub(crate) bench: Option<BenchUnderWay>,
    pub(crate) life: OsdLife,
    pub(crate) counters: Counters,
}

impl Osd {
    /// An OSD without placement groups, on the direct store. It takes part.
    pub fn new(id: OsdId, policy: Policy, options: OsdOptions) -> Osd {
        let store = match options.windowed {
            Windowed::Writes => DirectStore::new(options.throttle()),
            Windowed::All => DirectStore::counting_reads(options.throttle()),
        };
        let store = StoreBackend::Direct(store, Vec::new());
        Osd::on(store, true, id, policy, options)
    }

    /// An OSD on the paged store of a disk that is still to be opened ([`Directive::Open`](crate::Directive::Open)).
    pub fn paged(
        id: OsdId,
        policy: Policy,
        options: OsdOptions,
        store: loadline_store::paged::Options,
    ) -> Osd {
        let paged = Paged::new(store, options.window);
        Osd::on(StoreBackend::Paged(Box::new(paged)), false, id, policy, options)
    }

    fn on(
        store: StoreBackend,
        takes_part: bool,
        id: OsdId,
        policy: Policy,
        options: OsdOptions,
    ) -> Osd {
        Osd {
            id,
            queue: WorkQueue::new(id, policy, &options, store.paced()),
            groups: Groups::default(),
            store,
            ops: InFlightOps::default(),
            recovery: Recovery::new(&options),
            scrub: Scrub::new(&options.scrub),
            trim: Trim::new(&options.trim),
            bench: None,
            life: OsdLife::first(takes_part),
            counters: Counters::default(),
            options,
        }
    }

    /// Takes one event; what it leads to is appended to `fx`. One that is down hears its owner alone, and its disk while that is
    /// open: it may live before it takes part.
    pub fn step(&mut self, now: Time, event: Event, fx: &mut Effects) {
        let is_heard = match event {
            Event::Message(_) | Event::Put(_) => self.life.takes_part,
            Event::Directive(_) | Event::MachineLoad(_) => true,
            _ => self.is_alive(),
        };
        if !is_heard {
            return;
        }
        match event {
            Event::Message(envelope) => self.enqueue(now, Item::Message(envelope), fx),
            Event::Put(put) => self.enqueue(now, Item::Put(put), fx),
            Event::Computed(run) => {
                let reading = self.options.scrub.reading;
                let keeps = |item: &Item| item.reads_in_worker(reading);
                if let Some(running) = self.queue.computed(run, keeps, fx) {
                    self.account_computed(now, &running, fx);
                    let promised = running.item.pg().filter(|_| running.is_promised);
                    self.execute(now, running, fx);
                    if let Some(pg) = promised {
                        self.store.hurry(now, pg);
                    }
                }
                self.queue.pump(now, run.shard, fx);
            }
            Event::DeviceDone(request, outcome) => self.device_done(now, request, outcome, fx),
            Event::IoDone(life, done) => self.io_done(now, life, done, fx),
            Event::Timer(timer) => self.timer(now, timer, fx),
            Event::Bench(shape, step) => self.begin_bench(now, shape, step),
            Event::MachineLoad(load) => self.machine_load_told(now, load),
            Event::Directive(directive) => self.directed(now, directive, fx),
        }
        self.submit(now, fx);
    }

    /// Whether there is anything that could carry out work.
    pub(crate) fn is_alive(&self) -> bool {
        self.life.takes_part || self.has_disk()
    }

    /// Stops as a crash does: what was queued or in flight is gone, what was written stays.
    pub(crate) fn crash(&mut self, now: Time) {
        self.queue.clear(now);
        self.life = self.life.next();
        self.crash_disk();
        self.ops.clear();
        self.recovery = Recovery::new(&self.options);
        self.scrub.crash(&self.options.scrub);
        self.trim.crash(&self.options.trim);
        self.groups.end_all();
    }

    /// Hears others from now on.
    pub(crate) fn join(&mut self) {
        self.life.takes_part = self.is_open();
    }

    fn submit(&mut self, now: Time, fx: &mut Effects) {
        match self.is_durable() {
            true => self.settle_disk(now, fx),
            false => self.send_submissions(now, fx),
        }
    }

    /// Queues an item in its placement group's shard. Traffic for a placement group that is not here is of an earlier
    /// interval, and dropped.
    pub(crate) fn enqueue(&mut self, now: Time, item: Item, fx: &mut Effects) {
        let shard = match item.pg() {
            Some(pg) => self.pg(pg).map(|pg| pg.shard),
            None => Some(ShardId::new(0)),
        };
        let Some(shard) = shard else { return };
        let weight = self.weight(&item);
        self.queue.push(now, shard, weight, item, fx);
    }

    /// Queues items of one placement group, in their order, before what waits: they were taken once already.
    pub(crate) fn enqueue_front(
        &mut self,
        now: Time,
        pg: PgId,
        items: Vec<Item>,
        fx: &mut Effects,
    ) {
        let Some(shard) = self.pg(pg).map(|pg| pg.shard) else { return };
        for item in items.into_iter().rev() {
            let weight = self.weight(&item);
            self.queue.push_front(now, shard, weight, item);
        }
        self.queue.pump(now, shard, fx);
    }

    /// A worker has what it waited for: it and its placement group are free.
    pub(crate) fn let_worker_go(&mut self, now: Time, kept: KeptWorker, fx: &mut Effects) {
        self.queue.let_go(now, kept, fx);
    }

    /// Who asked for leave to push to this placement group asks anew, or never again.
    pub(crate) fn forget_asked(&mut self, pg: PgId) {
        self.queue.forget_asked(pg);
    }

    fn weight(&self, item: &Item) -> Weight {
        let Item::Recovery(pg, _) = item else { return Weight::default() };
        self.primary(*pg).map_or_else(Weight::default, |primary| Weight {
            urgency: primary.urgency(),
            object_bytes: primary.push_bytes(),
        })
    }

    /// Carries an item out; `running` has spent its processor time.
    fn execute(&mut self, now: Time, running: Computed, fx: &mut Effects) {
        let longest = self.delay_until_executed(now, &running);
        let Envelope { from, pg, interval, urgency, message, data, .. } = *match running.item {
            Item::Recovery(pg, pushes) => return self.run_recovery(now, pg, pushes, fx),
            Item::Delete(pg, _) => return self.run_delete(now, pg, fx),
            Item::Scrub(item) => return self.execute_scrub(now, item, running.keeps, fx),
            Item::Trim(item) => return self.execute_trim(now, item, fx),
            Item::Put(put) => return self.execute_put(now, put),
            Item::StoreIo(slot, _) => return self.send_queued_io(slot, fx),
            Item::Part { transfer, .. } => return self.go_on(now, transfer, fx),
            Item::Message(envelope) => envelope,
        };
        // What was sent in an earlier interval is void: recovery starts anew, and the router has sent its ops again.
        if self.pg(pg).is_none_or(|here| here.interval != interval) {
            return;
        }
        if let Message::Op(op) = message {
            let stamps = Stamps {
                admitted: running.arrived,
                dequeued: running.taken,
                executed: now,
                committed: now,
                longest,
            };
            return self.execute_op(now, (op, data), stamps, fx);
        }
        let from = from.expect("the router sends nothing but ops");
        let asker = RecoverySender { osd: from, interval, urgency };
        match message {
            Message::Write(write) => {
                self.execute_replica_write(now, asker, pg, (write, data), longest, fx);
            }
            Message::WriteDone(tag, delay, lost) => {
                self.vote(now, (from, Some(delay), lost), tag, fx);
            }
            Message::WriteDoubted(tag, ends) => {
                self.write_doubted(now, (from, pg), tag, ends, fx);
            }
            Message::GoPast(tag, ends) => self.go_past(now, asker, pg, (tag, ends)),
            Message::Unwritten(version, ends) => self.unwritten(now, asker, pg, (version, ends)),
            Message::WriteMissed(tag, object) => {
                self.write_missed(now, from, (pg, object), tag, fx)
            }
            Message::PushAsked(_) => {
                self.send_as(urgency, from, pg, (Message::PushAllowed, Data::NONE), fx);
            }
            Message::PushAllowed => self.push_allowed(now, from, pg, fx),
            Message::Push(push) => self.execute_push(now, asker, pg, (push, data), fx),
            Message::PushReply(object) => self.object_pushed(now, from, pg, object, fx),
            Message::NoRoom(object) => self.no_room(now, from, pg, object, fx),
            Message::PushHistory(object, step) => {
                self.execute_history(now, asker, pg, (object, step, data), fx);
            }
            Message::HistoryStored(object, label) => {
                self.push_after(now, asker, pg, (object, label));
            }
            Message::Pull(object) => self.execute_pull(now, asker, pg, object),
            Message::Unreadable(object) => self.pull_failed(now, from, pg, object, fx),
            Message::Mend(object, step) => {
                self.mend_step(now, asker, pg, (object, step, data), fx);
            }
            Message::WhatIsLeft(object) => self.tell_what_is_left(asker, pg, object, fx),
            Message::Left(object, left) => {
                self.told_what_is_left(now, from, pg, (object, left), fx);
            }
            Message::Settle(settlement) => self.execute_settlement(now, asker, pg, settlement),
            Message::Settled(object) => self.settled(now, from, pg, object, fx),
            Message::Scan(range) => self.execute_scan(asker, pg, range, fx),
            Message::ScanReply(reply) => self.scanned(now, from, pg, &reply, fx),
            Message::Scrub(message) => self.scrub_message(now, from, pg, message, fx),
            message => self.reservation_message(now, from, pg, &message, fx),
        }
    }

    /// Work has ended at the disk, which shows what that can do.
    pub(crate) fn served(&mut self, now: Time, ended: EndedWork, fx: &mut Effects) {
        self.queue.served(now, ended, &self.options, fx);
    }

    /// Counts an access's time before the window and after it.
    pub(crate) fn account_done(&mut self, now: Time, done: &AccessDone, fx: &mut Effects) {
        let (work, traced) = done.token.work();
        self.gate().accessed(now, &done.token, done.entered);
        self.counters.waits.record(work, Stage::Window, done.submitted.since(done.entered));
        self.counters.waits.record(work, Stage::Device, now.since(done.submitted));
        if let Some(op) = traced {
            self.trace(op, work, Stage::Window, done.entered, done.submitted, fx);
            self.trace(op, work, Stage::Device, done.submitted, now, fx);
        }
    }

    fn timer(&mut self, now: Time, timer: Timer, fx: &mut Effects) {
        match timer {
            Timer::Shard(shard) => self.queue.wake(now, shard, fx),
            Timer::Background => self.queue.wake_background(now, fx),
            Timer::RecoveryWake(item) => self.recovery_woke(now, item, fx),
            Timer::DeletionWake(pg) => self.deletion_woke(now, pg, fx),
            Timer::ScrubTick => self.scrub_tick(now, fx),
            Timer::ScrubWake(pg, number) => self.scrub_woke(now, pg, number, fx),
            Timer::TrimWake(pg, number) => self.trim_woke(now, pg, number, fx),
            Timer::ReservationRetry(pg, interval) => self.retry_is_due(now, pg, interval, fx),
            Timer::Store => self.tick_disk(now),
            Timer::Room => self.ask_for_room(fx),
            // What follows every event looks whether it still waits.
            Timer::Full => {}
        }
    }

    /// Makes room for a copy of a placement group, empty if it is new.
    pub fn place(&mut self, id: PgId, index_in_pool: u32) {
        let shard = crate::pg::shard_of(index_in_pool, self.options.shards);
        self.groups.place(id, shard);
    }

    /// Puts objects of one length, in order, into a copy at once, outside time: how a study fills a pool whose filling it does not
    /// measure. The log does not remember them, as if it were long ago.
    pub fn prefill(&mut self, id: PgId, objects: impl Into<Arc<[ObjectNo]>>, length: u64) {
        let objects = objects.into();
        let pg = self.pg_mut(id).expect("a placement group is placed before it is filled");
        let first = pg.log.append_forgotten(pg.interval, objects.len() as u64);
        self.store.objects(id).fill(ObjectFilling { objects, first, length });
    }

    /// Keeps a state under a label of each of these objects at once, as if it had been written since: how a study prepares what is trimmed.
    /// The store has nothing of it but its name, so this is for a direct one.
    pub fn keep_at_once(&mut self, id: PgId, objects: &[ObjectNo], label: SnapshotNo) {
        for object in objects {
            let meta = self.store.objects(id).meta(*object).expect("what is kept exists");
            let here = self.groups.get_mut(id).expect("it was filled");
            here.kept.change(*object, |past| {
                past.states.push(FormerState { label, born: past.born, meta });
            });
        }
    }

    /// What the owner needs to know of a copy to begin a new interval; `None` if there is none, or not for long.
    pub fn copy(&self, id: PgId) -> Option<CopyState<'_>> {
        let pg = self.pg(id).filter(|pg| pg.leaving.is_none())?;
        let Pg { ref log, ref lacks, ref gaps, filling, active_in, .. } = *pg;
        let gaps = gaps.is_some();
        let damaged = pg.disk.damage.objects();
        let asynchronous_above = self.options.asynchronous_above;
        Some(CopyState { log, lacks, damaged, gaps, filling, active_in, asynchronous_above })
    }

    /// The placement groups that this OSD has a copy of; those that it is deleting are none of them.
    pub fn copies(&self) -> impl Iterator<Item = PgId> {
        self.groups.iter().filter(|(_, copy)| copy.leaving.is_none()).map(|(id, _)| id)
    }

    /// The objects of a copy, for checkers.
    pub fn objects(&mut self, id: PgId) -> &loadline_store::Objects {
        self.store.objects(id)
    }

    /// How often it has crashed.
    pub fn life(&self) -> u32 {
        self.life.number
    }

    /// How many items wait in the queues.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// What keeps this OSD busy, if anything does: for checkers of what must end.
    pub fn unfinished(&self) -> Option<String> {
        let queued = self.queued();
        let services = self.recovery.unfinished().or(self.scrub.unfinished());
        let services = services.or(self.trim.unfinished());
        let idle = queued == 0 && self.ops.len() == 0 && self.store.is_idle() && services.is_none();
        (!idle).then(|| {
            let (ops, store) = (self.ops.len(), self.store.waits());
            format!("{queued} items, {ops} ops, {services:?}, store: {store}")
        })
    }

    /// Who waited where since the start.
    pub fn waits(&self) -> &Waits {
        &self.counters.waits
    }

    /// Forgets who waited where, to measure from now on.
    pub fn reset_waits(&mut self) {
        self.counters.waits = Waits::default();
    }

    /// Every item that waits in a shard, with its tags and the reason why it is not served now.
    pub fn waiting(&self, now: Time) -> Vec<(ShardId, Vec<Waiting>)> {
        self.queue.waiting(now)
    }

    /// The background work that is kept out of the queues, and until when what goes first of it is held back: [`Time::MAX`] until the
    /// disk has answered some of what it has, nothing if it goes next.
    pub fn kept_out(&mut self, now: Time) -> (Vec<KeptOutItem>, Option<Time>) {
        self.queue.kept_out(now)
    }

    /// How the gate before the disk stands.
    pub fn gate_report(&self, now: Time) -> GateReport {
        self.queue.gate_report(now)
    }

    /// What the shards have given to each class, and what is reserved for it.
    pub fn service(&self, now: Time) -> OsdService {
        self.queue.service(now)
    }

    /// What it is believed to be able to do.
    pub fn capacity(&self) -> TrackedCapacity {
        self.queue.capacity()
    }

    /// Applies new settings to every shard and to the admission of recovery, between two events.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        policy: Policy,
        options: OsdOptions,
        fx: &mut Effects,
    ) {
        let fixed = |options: &OsdOptions| (options.shards, options.windowed);
        assert_eq!(fixed(&options), fixed(&self.options), "fixed while an OSD runs");
        self.options = options;
        self.queue.retune(now, policy, &options, fx);
        self.groups.set_log_reach(options.log_reach);
        self.recovery.set_bounds(&options);
        self.store.set_window(now, &options);
        self.resize_reservers(now, fx);
        self.resize_scrub_slots(now, fx);
        self.end_forbidden_scrubs(now, fx);
        self.configure_trims(now, fx);
        self.admit_recovery(now, fx);
    }

    /// New settings for an OSD that takes part in nothing yet, those that are read at its start included. What its
    /// workers had must have been carried out.
    pub(crate) fn renew(
        &mut self,
        now: Time,
        policy: Policy,
        options: OsdOptions,
        fx: &mut Effects,
    ) {
        assert!(self.groups.iter().all(|(_, copy)| copy.interval == 0), "{} runs", self.id);
        let tenants = self.queue.tenants();
        self.queue = WorkQueue::new(self.id, policy, &options, self.store.paced());
        self.queue.share(now, tenants, fx);
        self.options = options;
        self.recovery = Recovery::new(&options);
        self.resize_scrub_slots(now, fx);
        self.configure_trims(now, fx);
        self.store.set_window(now, &options);
        self.enqueue_waiting_io(now, fx);
    }

    /// Images share what clients get by this table from now on.
    pub(crate) fn share_images(&mut self, now: Time, table: Arc<TenantTable>, fx: &mut Effects) {
        self.queue.share(now, table, fx);
    }

    /// Since when an item of a placement group has been here, on a worker or in the queue, and in the queue what has left that since.
    pub(crate) fn find_item(
        &self,
        now: Time,
        pg: PgId,
        is_meant: impl Fn(&Item) -> bool,
    ) -> Option<(Time, Option<LeftBefore>)> {
        self.queue.find(now, self.pg(pg)?.shard, is_meant)
    }

    /// What leaves the queues for the disk, and how it enters there.
    pub(crate) fn gate(&mut self) -> &mut DiskGate {
        self.queue.gate()
    }

    pub(crate) fn pg(&self, id: PgId) -> Option<&Pg> {
        self.groups.get(id)
    }

    pub(crate) fn pg_mut(&mut self, id: PgId) -> Option<&mut Pg> {
        self.groups.get_mut(id)
    }

    /// Whether it is the primary of a placement group, in an interval that has not ended here.
    pub fn leads(&self, pg: PgId) -> bool {
        self.primary(pg).is_some()
    }

    pub(crate) fn primary(&self, id: PgId) -> Option<&Primary> {
        self.pg(id)?.primary.as_deref()
    }

    pub(crate) fn primary_mut(&mut self, id: PgId) -> Option<&mut Primary> {
        self.pg_mut(id)?.primary.as_deref_mut()
    }

    pub(crate) fn urgency(&self, id: PgId) -> Urgency {
        self.primary(id).map_or(Urgency::default(), Primary::urgency)
    }

    pub(crate) fn send(&self, to: OsdId, pg: PgId, message: Message, fx: &mut Effects) {
        self.send_with(to, pg, message, Data::NONE, fx);
    }

    /// Sends a message with bytes.
    pub(crate) fn send_with(
        &self,
        to: OsdId,
        pg: PgId,
        message: Message,
        data: Data,
        fx: &mut Effects,
    ) {
        self.send_as(self.urgency(pg), to, pg, (message, data), fx);
    }

    /// Sends a message that is as urgent as the one it answers.
    pub(crate) fn send_as(
        &self,
        urgency: Urgency,
        to: OsdId,
        pg: PgId,
        (message, data): (Message, Data),
        fx: &mut Effects,
    ) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        let from = Some(self.id);
        let envelope = Envelope { from, to, pg, interval, urgency, message, data };
        fx.world.push(Effect::Send(Box::new(envelope)));
    }
}
