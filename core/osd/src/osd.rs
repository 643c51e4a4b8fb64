//! One OSD: the owner of its shards, placement groups, store and recovery, and the one `match` over its events.

use crate::client_io::{InFlight, WriteSequence};
use crate::commit::Commit;
use crate::event::{Effect, Event, Timer};
use crate::ids::{OsdId, PgId, ShardId};
use crate::item::Item;
use crate::message::{Activation, Envelope, Message};
use crate::pg::{CopyInfo, Pg, Primary, Progress};
use crate::pg_log::PgLog;
use crate::policy::{Charges, Options, Policy};
use crate::recovery::{Admission, Reserver};
use crate::shard::{Computed, Shard};
use crate::waits::{Stage, Waits};
use loadline_base::{IdVec, Slots, Time};
use loadline_device::Outcome;
use loadline_qos::{Scheduler, Urgency, Waiting};
use loadline_store::{DirectStore, ObjectNo, RequestId, Submission};
use std::collections::BTreeMap;

/// One disk's share of the cluster, stepped by its owner.
pub struct Osd {
    pub(crate) id: OsdId,
    pub(crate) policy: Policy,
    pub(crate) charges: Charges,
    pub(crate) options: Options,
    pub(crate) shards: IdVec<ShardId, Shard>,
    pub(crate) pgs: IdVec<PgId, Option<Box<Pg>>>,
    pub(crate) store: DirectStore<Commit>,
    pub(crate) in_flight: Slots<InFlight>,
    pub(crate) write_sequence: WriteSequence,
    pub(crate) local: Reserver,
    pub(crate) remote: Reserver,
    /// Which primary asked for each remote slot.
    pub(crate) remote_askers: BTreeMap<PgId, OsdId>,
    pub(crate) admission: Admission,
    pub(crate) waits: Waits,
    pub(crate) submissions: Vec<Submission>,
}

impl Osd {
    /// An OSD without placement groups.
    pub fn new(id: OsdId, policy: Policy, options: Options) -> Osd {
        let osd = id;
        let shard = |index| {
            let id = ShardId::new(index);
            Shard::new((osd, id), policy.build_queue(u64::from(index)), options.threads_per_shard)
        };
        Osd {
            id,
            shards: (0..options.shards).map(shard).collect(),
            pgs: IdVec::new(),
            store: DirectStore::new(options.window),
            in_flight: Slots::new(),
            write_sequence: WriteSequence::default(),
            local: Reserver::new(options.backfills_max, options.recovery_priority_min),
            remote: Reserver::new(options.backfills_max, options.recovery_priority_min),
            remote_askers: BTreeMap::new(),
            admission: Admission::new(options.admission()),
            waits: Waits::default(),
            submissions: Vec::new(),
            charges: Charges::new(&policy),
            policy,
            options,
        }
    }

    /// Takes one event; what it leads to is appended to `fx`.
    pub fn step(&mut self, now: Time, event: Event, fx: &mut Vec<Effect>) {
        match event {
            Event::Message(envelope) => self.enqueue(now, Item::Message(envelope), fx),
            Event::Computed(run) => {
                if let Some(running) = self.shards[run.shard].computed(run, fx) {
                    self.account_computed(now, &running, fx);
                    self.execute(now, running, fx);
                }
                self.shards[run.shard].pump(now, fx);
            }
            Event::DeviceDone(request, outcome) => self.device_done(now, request, outcome, fx),
            Event::Timer(timer) => self.timer(now, timer, fx),
            Event::Activate(pg, activation) => self.activate(now, pg, &activation, fx),
            Event::Retire(pg) => self.retire(now, pg, fx),
        }
        self.submit(fx);
    }

    fn submit(&mut self, fx: &mut Vec<Effect>) {
        let id = self.id;
        fx.extend(self.submissions.drain(..).map(|submission| Effect::Device(id, submission)));
    }

    /// Queues an item in its placement group's shard. Traffic for a placement group that is not here is dropped,
    /// except a client's op, which is sent back.
    pub(crate) fn enqueue(&mut self, now: Time, item: Item, fx: &mut Vec<Effect>) {
        let Some(shard) = self.pg(item.pg()).map(|pg| pg.shard) else {
            return reroute(item, fx);
        };
        let charge = self.charge(&item);
        self.shards[shard].enqueue(now, charge, item, fx);
    }

    pub(crate) fn enqueue_front(&mut self, now: Time, item: Item, fx: &mut Vec<Effect>) {
        let Some(shard) = self.pg(item.pg()).map(|pg| pg.shard) else {
            return reroute(item, fx);
        };
        let charge = self.charge(&item);
        self.shards[shard].enqueue_front(now, charge, item, fx);
    }

    fn charge(&mut self, item: &Item) -> crate::shard::Charge {
        let (urgency, object_bytes) = match item {
            Item::Recovery(pg, _) => self
                .primary(*pg)
                .map_or_else(Default::default, |primary| (primary.urgency(), primary.object_bytes)),
            Item::Message(_) | Item::Delete(_) => Default::default(),
        };
        self.charges.of(&self.policy, item, urgency, object_bytes)
    }

    /// Carries an item out; `running` has spent its processor time.
    fn execute(&mut self, now: Time, running: Computed, fx: &mut Vec<Effect>) {
        let Envelope { from, pg, interval, message, .. } = match running.item {
            Item::Recovery(pg, pushes) => return self.run_recovery(now, pg, pushes, fx),
            Item::Delete(pg) => return self.run_delete(now, pg),
            Item::Message(envelope) => envelope,
        };
        match message {
            Message::Op(op) => return self.execute_op(now, op, running.arrived, running.taken, fx),
            Message::Write(write) => return self.execute_replica_write(now, from, pg, write),
            Message::WriteDone(tag) => return self.write_done(now, from, tag, fx),
            _ => {}
        }
        let (Some(from), Some(here)) = (from, self.pg(pg)) else { return };
        // Recovery of an earlier interval is void; the new interval started its own.
        if here.interval != interval {
            return;
        }
        match message {
            Message::Push(push) => self.execute_push(now, from, pg, push),
            Message::PushReply(object) => self.object_pushed(now, from, pg, object, fx),
            Message::Pull(object) => self.execute_pull(now, from, pg, object),
            Message::Scan(range) => self.execute_scan(from, pg, range, fx),
            Message::ScanReply(reply) => self.scanned(now, from, pg, &reply, fx),
            Message::BackfillRemove(object) => self.execute_backfill_remove(now, pg, object),
            message => self.reservation_message(now, from, pg, &message, fx),
        }
    }

    fn device_done(&mut self, now: Time, id: RequestId, outcome: Outcome, fx: &mut Vec<Effect>) {
        assert_eq!(outcome, Outcome::Done, "the direct store's drives do not fail");
        let done = self.store.done(now, id, &mut self.submissions);
        let commit = done.access.token;
        if let Some((work, traced)) = commit.work() {
            self.waits.record(work, Stage::Window, done.submitted.since(done.entered));
            self.waits.record(work, Stage::Device, now.since(done.submitted));
            if let Some(op) = traced {
                self.trace(op, work, Stage::Window, done.entered, done.submitted, fx);
                self.trace(op, work, Stage::Device, done.submitted, now, fx);
            }
        }
        self.committed(now, &done.access, fx);
    }

    fn timer(&mut self, now: Time, timer: Timer, fx: &mut Vec<Effect>) {
        match timer {
            Timer::Shard(shard) => self.shards[shard].wake(now, fx),
            Timer::RecoveryWake(pg, pushes) => self.recovery_woke(now, pg, pushes, fx),
            Timer::ReservationRetry(pg, interval) => self.retry_reservation(now, pg, interval, fx),
        }
    }

    fn activate(&mut self, now: Time, id: PgId, activation: &Activation, fx: &mut Vec<Effect>) {
        self.end_interval(now, id, fx);
        let objects = self.store.objects(id.collection()).len() as u64;
        let this = self.id;
        let pg = self.pg_mut(id).expect("a placement group is placed before it is activated");
        pg.interval = activation.interval;
        pg.leaving = false;
        pg.log.set_degraded(activation.is_degraded());
        pg.complete = !activation.backfill.contains(&this)
            && activation.missing.iter().all(|(osd, missing)| *osd != this || missing.is_empty());
        if activation.acting.first() == Some(&this) {
            pg.primary = Some(Box::new(Primary::new(activation, objects)));
            self.start_recovery(now, id, fx);
        }
    }

    fn retire(&mut self, now: Time, id: PgId, fx: &mut Vec<Effect>) {
        self.end_interval(now, id, fx);
        if let Some(pg) = self.pg_mut(id) {
            pg.leaving = true;
            pg.complete = false;
            pg.interval = 0;
            self.enqueue(now, Item::Delete(id), fx);
        }
    }

    /// Makes room for a copy of a placement group, empty if it is new.
    pub fn place(&mut self, id: PgId, index_in_pool: u32) {
        let shard = crate::pg::shard_of(index_in_pool, self.options.shards);
        while self.pgs.len() <= usize::from(id) {
            self.pgs.push(None);
        }
        self.pgs[id].get_or_insert_with(|| {
            Box::new(Pg {
                shard,
                interval: 0,
                log: PgLog::default(),
                complete: false,
                leaving: false,
                primary: None,
            })
        });
    }

    /// Puts an object into a copy at once, outside time: how a study fills a pool whose filling it does not
    /// measure. The log does not remember it, as if it were long ago.
    pub fn prefill(&mut self, id: PgId, object: ObjectNo, bytes: u64) {
        let pg = self.pg_mut(id).expect("a placement group is placed before it is filled");
        let version = pg.log.append_forgotten();
        self.store.objects(id.collection()).write(object, bytes, version);
    }

    /// Stops as a crash does: what was queued or in flight is gone, what was written stays.
    pub fn crash(&mut self, now: Time) {
        for shard in self.shards.ids() {
            self.shards[shard].clear(now);
        }
        self.in_flight = Slots::new();
        self.local = Reserver::new(self.options.backfills_max, self.options.recovery_priority_min);
        self.remote = self.local.clone();
        self.remote_askers.clear();
        self.admission = Admission::new(self.options.admission());
        for (_, pg) in self.pgs.iter_mut() {
            if let Some(pg) = pg {
                pg.primary = None;
                pg.interval = 0;
            }
        }
    }

    /// What the owner needs to know of a copy to begin a new interval.
    pub fn copy_info(&mut self, id: PgId) -> CopyInfo {
        let Some(pg) = self.pgs.get(id).and_then(Option::as_ref).filter(|pg| !pg.leaving) else {
            return CopyInfo::default();
        };
        let (head, complete) = (pg.log.head(), pg.complete);
        CopyInfo { head, complete, objects: self.store.objects(id.collection()).len() as u64 }
    }

    /// The log of a copy that is here.
    pub fn log(&self, id: PgId) -> Option<&PgLog> {
        self.pg(id).map(|pg| &pg.log)
    }

    /// Gives a copy the log of a complete one: its objects were made equal.
    pub fn adopt_log(&mut self, id: PgId, log: PgLog) {
        self.pg_mut(id).expect("the copy is placed").log = log;
    }

    /// A copy has every object now.
    pub fn mark_complete(&mut self, id: PgId) {
        self.pg_mut(id).expect("the copy is placed").complete = true;
    }

    /// The objects of a copy, for checkers.
    pub fn objects(&mut self, id: PgId) -> &loadline_store::Objects {
        self.store.objects(id.collection())
    }

    /// The counters of the placement groups that this OSD leads.
    pub fn progress(&mut self) -> Progress {
        let mut sum = Progress::default();
        for (id, pg) in self.pgs.iter() {
            if let Some(primary) = pg.as_ref().and_then(|pg| pg.primary.as_ref()) {
                sum += primary.progress(self.store.objects(id.collection()).len() as u64);
            }
        }
        sum
    }

    /// Who waited where since the start.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Forgets who waited where, to measure from now on.
    pub fn reset_waits(&mut self) {
        self.waits = Waits::default();
    }

    /// Every item that waits in a shard, with its tags and the reason why it is not served now.
    pub fn waiting(&mut self, now: Time) -> Vec<(ShardId, Vec<Waiting>)> {
        self.shards.iter_mut().map(|(id, shard)| (id, shard.queue().waiting(now))).collect()
    }

    /// Applies new settings to every shard and to the admission of recovery, between two events.
    pub fn configure(&mut self, now: Time, policy: Policy, options: Options, fx: &mut Vec<Effect>) {
        assert_eq!(options.shards, self.options.shards, "shards are fixed while an OSD runs");
        self.charges = Charges::new(&policy);
        (self.policy, self.options) = (policy, options);
        for (_, shard) in self.shards.iter_mut() {
            self.policy.retune(now, shard.queue());
            shard.pump(now, fx);
        }
        self.admission.set_bounds(options.admission());
        self.resize_reservers(now, options.backfills_max, fx);
        self.admit_recovery(now, fx);
        self.submit(fx);
    }

    pub(crate) fn pg(&self, id: PgId) -> Option<&Pg> {
        self.pgs.get(id)?.as_deref()
    }

    pub(crate) fn pg_mut(&mut self, id: PgId) -> Option<&mut Pg> {
        (usize::from(id) < self.pgs.len()).then(|| self.pgs[id].as_deref_mut()).flatten()
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

    pub(crate) fn send(&self, to: OsdId, pg: PgId, message: Message, fx: &mut Vec<Effect>) {
        let here = self.pg(pg);
        let interval = here.map_or(0, |pg| pg.interval);
        let primary = here.and_then(|pg| pg.primary.as_deref());
        let urgency = primary.map_or_else(Urgency::default, Primary::urgency);
        fx.push(Effect::Send(Envelope { from: Some(self.id), to, pg, interval, urgency, message }));
    }
}

/// A client's op that cannot be served here goes back to be routed again.
fn reroute(item: Item, fx: &mut Vec<Effect>) {
    if let Item::Message(Envelope { message: Message::Op(op), .. }) = item {
        fx.push(Effect::Reroute(op));
    }
}
