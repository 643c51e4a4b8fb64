//! What waits for a worker of the OSD: the shards, each with its scheduler, and how an item is charged there.

use crate::capacity::{CapacityTracker, DiskBacklog, EndedWork, TrackedCapacity};
use crate::delay::LeftBefore;
use crate::event::{Effect, Effects, Timer, WorkerRun};
use crate::gate::{DiskGate, GateReport, HeldBack};
use crate::ids::{OsdId, PgId, ShardId};
use crate::item::Item;
use crate::outside::{KeptOut, KeptOutItem, OutsideWork};
use crate::policy::{Charges, OsdOptions, Policy, Weight};
use crate::service::OsdService;
use crate::shard::{Computed, KeptWorker, Shard};
use crate::tenants::TenantTable;
use loadline_base::{IdVec, Time};
use loadline_device::ClassTag;
use loadline_qos::{ServiceClass, ShardPlan, Urgency, Waiting, Work};
use std::sync::Arc;

/// The queues of one OSD.
pub(crate) struct WorkQueue {
    policy: Policy,
    charges: Charges,
    /// Whom the gate holds back, where it does.
    paced: HeldBack,
    gate: DiskGate,
    /// Background work that the gate keeps outside of the queues.
    outside: OutsideWork,
    /// When some of that is looked at again.
    wake_at: Time,
    osd: OsdId,
    shards: IdVec<ShardId, Shard>,
    tenants: Arc<TenantTable>,
    capacity: CapacityTracker,
}

impl WorkQueue {
    pub(crate) fn new(
        osd: OsdId,
        policy: Policy,
        options: &OsdOptions,
        paced: HeldBack,
    ) -> WorkQueue {
        let shard = |index| {
            let id = ShardId::new(index);
            Shard::new((osd, id), policy.build_queue(u64::from(index)), options.threads_per_shard)
        };
        let shards = (0..options.shards).map(shard).collect();
        WorkQueue {
            capacity: CapacityTracker::new(policy.plan.capacity, options.tracking()),
            charges: Charges::new(&policy),
            gate: DiskGate::new(&policy.plan, options.within(paced)),
            paced,
            policy,
            outside: OutsideWork::default(),
            wake_at: Time::MAX,
            osd,
            shards,
            tenants: Arc::default(),
        }
    }

    /// The images that are tenants.
    pub(crate) fn tenants(&self) -> Arc<TenantTable> {
        self.tenants.clone()
    }

    /// Images are tenants by this table from now on.
    pub(crate) fn share(&mut self, now: Time, tenants: Arc<TenantTable>, fx: &mut Effects) {
        let is_promised = tenants.images.values().any(|terms| terms.reservation > 0.0);
        self.gate.promise(is_promised);
        self.tenants = tenants;
        self.share_shards(now);
        self.pump_all(now, fx);
    }

    fn share_shards(&mut self, now: Time) {
        let WorkQueue { policy, charges, gate, shards, tenants, .. } = self;
        for (_, shard) in shards.iter_mut() {
            let charge_of = |item: &Item| charges.of(policy, gate, item, Weight::default());
            shard.share(now, &policy.plan, tenants, charge_of);
        }
    }

    /// Queues an item and lets the shard's workers look.
    #[inline]
    pub(crate) fn push(
        &mut self,
        now: Time,
        shard: ShardId,
        weight: Weight,
        item: Item,
        fx: &mut Effects,
    ) {
        let charge = self.charges.of(&self.policy, &self.gate, &item, weight);
        self.gate.came(now, charge.owner.class);
        let paced = item.paced(charge.cost, weight.object_bytes);
        if let Some((stage, begins)) = paced.filter(|_| self.gate.paces_background()) {
            let class = self.charges.class_outside(&self.policy, &item, weight);
            self.outside.push(KeptOut { shard, weight, item, class, stage, begins, since: now });
            return self.let_in(now, fx);
        }
        let load = self.gate.load_of(&item, weight.object_bytes);
        self.shards[shard].enqueue(now, charge, (item, load), &mut self.gate, fx);
    }

    /// Lets in what background work may begin, and asks to be woken when more may.
    fn let_in(&mut self, now: Time, fx: &mut Effects) {
        while let Some(stage) = self.outside.next() {
            if let Some(at) = self.gate.holds_background(now, stage) {
                if at < self.wake_at {
                    self.wake_at = at;
                    fx.world.push(Effect::Timer(self.osd, at, Timer::Background));
                }
                return;
            }
            let KeptOut { shard, weight, item, class, begins, .. } =
                self.outside.pop(&self.policy.plan.values).expect("something waits");
            let load = self.gate.let_in(now, &item, weight.object_bytes, (begins, class));
            let charge = self.charges.of(&self.policy, &self.gate, &item, weight);
            self.shards[shard].enqueue(now, charge, (item, load), &mut self.gate, fx);
        }
    }

    /// Drops what asks for leave to push to this placement group.
    pub(crate) fn forget_asked(&mut self, pg: PgId) {
        self.outside.forget_asked(pg);
    }

    /// More background work may begin; a wake-up that was overtaken by an earlier one does nothing.
    pub(crate) fn wake_background(&mut self, now: Time, fx: &mut Effects) {
        if self.wake_at <= now {
            self.wake_at = Time::MAX;
            self.let_in(now, fx);
        }
    }

    /// Queues an item before those that wait, because it was taken once already. The caller pumps when all are in.
    pub(crate) fn push_front(&mut self, now: Time, shard: ShardId, weight: Weight, item: Item) {
        let charge = self.charges.of(&self.policy, &self.gate, &item, weight);
        let load = self.gate.load_of(&item, weight.object_bytes);
        self.shards[shard].enqueue_front(now, charge, (item, load), &self.gate);
    }

    /// Gives a shard's idle workers what its scheduler lets them have.
    pub(crate) fn pump(&mut self, now: Time, shard: ShardId, fx: &mut Effects) {
        self.shards[shard].pump(now, &mut self.gate, fx);
    }

    /// A worker has spent its item's processor time. `None` if that was before a restart.
    #[inline]
    pub(crate) fn computed(
        &mut self,
        run: WorkerRun,
        keeps: impl Fn(&Item) -> bool,
        fx: &mut Effects,
    ) -> Option<Computed> {
        let computed = self.shards[run.shard].computed(run, keeps, fx)?;
        self.gate.carried_out(computed.load);
        Some(computed)
    }

    /// A worker that an item kept is free again.
    pub(crate) fn let_go(&mut self, now: Time, kept: KeptWorker, fx: &mut Effects) {
        self.shards[kept.shard()].let_go(kept, fx);
        self.pump(now, kept.shard(), fx);
    }

    /// A wake-up that a shard's scheduler asked for.
    pub(crate) fn wake(&mut self, now: Time, shard: ShardId, fx: &mut Effects) {
        self.shards[shard].wake(now, &mut self.gate, fx);
    }

    /// What leaves the queues and how it enters the disk.
    #[inline]
    pub(crate) fn gate(&mut self) -> &mut DiskGate {
        &mut self.gate
    }

    /// Lets all workers look, and lets in what background work may begin.
    pub(crate) fn pump_all(&mut self, now: Time, fx: &mut Effects) {
        self.let_in(now, fx);
        for (_, shard) in self.shards.iter_mut() {
            shard.pump(now, &mut self.gate, fx);
        }
    }

    /// The parameters in force are these from now on.
    pub(crate) fn retune(
        &mut self,
        now: Time,
        told: Policy,
        options: &OsdOptions,
        fx: &mut Effects,
    ) {
        self.capacity.tell(told.plan.capacity, options.tracking());
        let policy = self.by_capacity(told);
        self.put_in_force(now, policy, options, fx);
    }

    fn put_in_force(&mut self, now: Time, policy: Policy, options: &OsdOptions, fx: &mut Effects) {
        self.gate.retune(&policy.plan, options.within(self.paced));
        self.charges = Charges::new(&policy);
        self.policy = policy;
        self.let_in(now, fx);
        for (_, shard) in self.shards.iter_mut() {
            self.policy.retune(now, shard.queue());
        }
        self.share_shards(now);
        for (_, shard) in self.shards.iter_mut() {
            shard.pump(now, &mut self.gate, fx);
        }
    }

    /// The same policy with the capacity that promises go by.
    fn by_capacity(&self, policy: Policy) -> Policy {
        let capacity = self.capacity.capacity().in_force();
        Policy { plan: ShardPlan { capacity, ..policy.plan }, ..policy }
    }

    /// Work has ended at the disk. Where that shows another capacity than was believed, promises go by it from now on.
    pub(crate) fn served(
        &mut self,
        now: Time,
        work: EndedWork,
        options: &OsdOptions,
        fx: &mut Effects,
    ) {
        if self.capacity.ended(now, work) {
            let policy = self.by_capacity(self.policy.clone());
            self.put_in_force(now, policy, options, fx);
        }
    }

    /// What the disk has after all that followed from an event.
    pub(crate) fn note_load(&mut self, now: Time, has_work: bool, ops: u32) {
        let queued = || self.shards.values().any(Shard::has_queued);
        let waits = has_work && self.gate.is_full() && queued();
        self.capacity.loaded(now, DiskBacklog { has_work, ops, waits });
    }

    /// What this OSD is believed to be able to do.
    pub(crate) fn capacity(&self) -> TrackedCapacity {
        self.capacity.capacity()
    }

    /// Drops everything, as a crash does.
    pub(crate) fn clear(&mut self, now: Time) {
        self.capacity.clear();
        for (_, shard) in self.shards.iter_mut() {
            shard.clear(now);
        }
        self.gate.clear();
        self.outside.clear();
        self.wake_at = Time::MAX;
    }

    /// How many items wait or run.
    pub(crate) fn len(&self) -> usize {
        self.outside.len() + self.shards.values().map(Shard::len).sum::<usize>()
    }

    /// The background work that is kept out of the queues, and until when what goes first of it is held back: [`Time::MAX`] until the
    /// disk has answered some of what it has.
    pub(crate) fn kept_out(&mut self, now: Time) -> (Vec<KeptOutItem>, Option<Time>) {
        let first = self.outside.next();
        let until = first.and_then(|stage| self.gate.holds_background(now, stage));
        (self.outside.waiting().collect(), until)
    }

    /// How the gate stands.
    pub(crate) fn gate_report(&self, now: Time) -> GateReport {
        GateReport { kept_out: self.outside.len() as u64, ..self.gate.report(now) }
    }

    /// Every item that waits, with its tags and the reason why it is not served now.
    pub(crate) fn waiting(&self, now: Time) -> Vec<(ShardId, Vec<Waiting>)> {
        self.shards.iter().map(|(id, shard)| (id, shard.waiting(now))).collect()
    }

    /// How many requests the disk has, as far as the gate counts them.
    pub(crate) fn ops_at_disk(&self) -> u32 {
        self.gate.ops_at_disk()
    }

    /// Since when an item of this shard has been here, on a worker or in the queue, and in the queue what has left that since.
    pub(crate) fn find(
        &self,
        now: Time,
        shard: ShardId,
        is_meant: impl Fn(&Item) -> bool,
    ) -> Option<(Time, Option<LeftBefore>)> {
        self.shards[shard].find(now, &self.gate, is_meant)
    }

    /// What the shards have given to each class, and what is reserved for it.
    pub(crate) fn service(&self, now: Time) -> OsdService {
        let mut waiting = [0; ServiceClass::ALL.len()];
        for shard in self.shards.values() {
            for (sum, items) in waiting.iter_mut().zip(shard.meter().waiting()) {
                *sum += u64::from(items);
            }
        }
        OsdService {
            waiting,
            reservations: self.policy.reservations(),
            shards: self.shards.values().map(|shard| shard.meter().read(now)).collect(),
        }
    }

    /// The class that a device request of `work` carries.
    pub(crate) fn class_tag(&mut self, work: Work, urgency: Urgency) -> ClassTag {
        self.charges.class_tag(&self.policy, work, urgency)
    }
}
