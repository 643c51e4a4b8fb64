//! How an OSD's work enters its queues, and the bounds it works within: both come from the settings.

use crate::capacity::Tracking;
use crate::device_terms::DeviceTerms;
use crate::gate::{DiskGate, HeldBack, Pacing, Within};
use crate::item::Item;
use crate::message::Message;
use crate::pg_log::LogReach;
use crate::recovery::AdmissionBounds;
use crate::scrub::ScrubOptions;
use crate::shard_flows::ItemOwner;
use crate::trim::TrimOptions;
use loadline_base::{Bytes, SlotId, Span, Time, WallClock, mix64};
use loadline_device::ClassTag;
use loadline_qos::{
    Admission, Queue, Scheduler, SchedulerKind, ServiceClass, ShardPlan, Urgency, Work, WorkSize,
};
use loadline_store::WindowBounds;

/// The scheduler's side of the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What the shards are built from.
    pub plan: ShardPlan,
    /// Seeds the lotteries of the shards.
    pub seed: u64,
}

/// The OSD's own bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsdOptions {
    /// Queues; fixed while the OSD runs.
    pub shards: u32,
    /// Workers of each queue; fixed while the OSD runs.
    pub threads_per_shard: u32,
    /// What the store lets in at a time.
    pub window: WindowBounds,
    /// What of a direct store's work its window counts; fixed while the OSD runs.
    pub windowed: Windowed,
    /// How the dequeue is held back by what the disk can begin soon; `None` under presets of other systems.
    pub pacing: Option<Pacing>,
    /// What a measured capacity is believed up to, in operations per second (`osd_mclock_iops_capacity_threshold` and its forms).
    pub capacity_iops_max: u64,
    /// On what terms each class's requests go to the device.
    pub device: DeviceTerms,
    /// Placement groups that may recover at once, as primary and as target each (`osd_max_backfills`).
    pub backfills_max: usize,
    /// Objects in recovery at once (`osd_recovery_max_active` and its forms).
    pub recovery_active_max: u32,
    /// Pushes promised to one recovery item (`osd_recovery_max_single_start`).
    pub recovery_single_start_max: u32,
    /// Pause between recovery items (`osd_recovery_sleep` and its forms).
    pub recovery_sleep: Span,
    /// Pause of a placement group that is being deleted between two transactions (`osd_delete_sleep` and its forms).
    pub delete_sleep: Span,
    /// Copies that miss more objects than this recover beside the writes, where this OSD has the log that holds
    /// (`osd_async_recovery_min_cost`).
    pub asynchronous_above: u64,
    /// How many writes each copy remembers one by one.
    pub log_reach: LogReach,
    /// Reservations below this wait (`osd_min_recovery_priority`).
    pub recovery_priority_min: u8,
    /// Before recovery that lost a slot asks again (`osd_recovery_retry_interval`).
    pub recovery_retry_interval: Span,
    /// Before backfill that lost a slot asks again (`osd_backfill_retry_interval`).
    pub backfill_retry_interval: Span,
    /// Objects compared at a time (`osd_backfill_scan_max`).
    pub backfill_scan_max: usize,
    /// What scrubs work within.
    pub scrub: ScrubOptions,
    /// What trims work within.
    pub trim: TrimOptions,
    /// What the calendar said when the world began.
    pub clock: WallClock,
}

/// What of a direct store's work its window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Windowed {
    /// Writes, which wait in front of it in the order of their arrival: the published studies' store.
    #[default]
    Writes,
    /// Reads too; and while it is full, work waits in its queue, where the scheduler orders it. The paged store is always
    /// so.
    All,
}

impl OsdOptions {
    /// How the OSD's capacity is tracked. Presets of other systems go by what they are told.
    pub(crate) fn tracking(&self) -> Tracking {
        Tracking { is_followed: self.pacing.is_some(), iops_max: self.capacity_iops_max }
    }

    /// What a direct store itself lets in: anything, where the gate decides what leaves the queues for it.
    pub(crate) fn throttle(&self) -> WindowBounds {
        match self.pacing {
            Some(_) => WindowBounds { bytes: Bytes::new(u64::MAX), ops: u32::MAX },
            None => self.window,
        }
    }

    /// What the gate works within.
    pub(crate) fn within(&self, paced: HeldBack) -> Within {
        (self.window, self.pacing.map(|pacing| (pacing, paced)))
    }

    pub(crate) fn admission(&self) -> AdmissionBounds {
        AdmissionBounds {
            active_max: self.recovery_active_max,
            single_start_max: self.recovery_single_start_max,
            sleep: self.recovery_sleep,
        }
    }
}

impl Policy {
    /// What one shard has reserved for each class. mClock alone knows reservations.
    pub(crate) fn reservations(&self) -> [f64; ServiceClass::ALL.len()] {
        let plan = &self.plan;
        let is_shared = plan.scheduler == SchedulerKind::Mclock;
        ServiceClass::ALL.map(|class| {
            plan.values.of(class).filter(|_| is_shared).map_or(0.0, |values| {
                let params = plan.params(values);
                params.expect("parameters are checked where they are set").reservation()
            })
        })
    }

    pub(crate) fn build_queue(&self, shard: u64) -> Queue<SlotId> {
        let queue = self.plan.queue(mix64(self.seed ^ mix64(shard)));
        queue.expect("parameters are checked where they are set")
    }

    /// Gives a running queue the parameters in force.
    pub(crate) fn retune(&self, now: Time, queue: &mut Queue<SlotId>) {
        for class in ServiceClass::SHARED {
            let values = self.plan.values.of(class).expect("a shared class has values");
            let params = self.plan.params(values);
            let params = params.expect("parameters are checked where they are set");
            queue.set_params(now, class.id(), params);
        }
    }
}

/// What an item's placement group adds to its charge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    /// That of its recovery.
    pub urgency: Urgency,
    /// Bytes of an object that is to be pushed.
    pub object_bytes: u64,
}

/// What a scheduler is told about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemCharge {
    pub owner: ItemOwner,
    pub priority: u32,
    pub cost: u32,
}

/// The charges of one OSD's items. Most items are like the last one of their kind, so each kind remembers it.
#[derive(Debug)]
pub(crate) struct Charges {
    last: Vec<(WorkSize, Admission)>,
}

impl Charges {
    pub(crate) fn new(policy: &Policy) -> Charges {
        let size = WorkSize::default();
        let first = |work| (size, policy.plan.admit(work, &size, 0));
        Charges { last: Work::ALL.into_iter().map(first).collect() }
    }

    #[inline]
    fn admission(&mut self, policy: &Policy, work: Work, size: WorkSize) -> Admission {
        let last = &mut self.last[work as usize];
        if last.0 != size {
            *last = (size, policy.plan.admit(work, &size, 0));
        }
        last.1
    }

    /// What the scheduler is told about an item. `weight` is that of its placement group; a message carries its sender's
    /// urgency instead.
    pub(crate) fn of(
        &mut self,
        policy: &Policy,
        gate: &DiskGate,
        item: &Item,
        weight: Weight,
    ) -> ItemCharge {
        if let Item::Part { bytes, class, .. } = item {
            return part_charge(policy, *class, *bytes);
        }
        let work = item.work();
        let mut size = size_of(item, weight.urgency, gate.part_of(weight.object_bytes));
        if is_cut(work) {
            size.payload = gate.part_of(size.payload);
        }
        let admission = self.admission(policy, work, size);
        let class = admission.class.id();
        let owner = item.owner(policy.plan.preset.replica_writes);
        let client = policy.plan.client(u64::from(owner)).0 as u32;
        let is_client = admission.class == ServiceClass::Client;
        let tenant = if is_client { item.tenant() } else { None };
        ItemCharge {
            owner: ItemOwner { class, client, tenant },
            priority: admission.priority,
            cost: admission.cost,
        }
    }

    /// The class that a device request of `work` carries.
    pub(crate) fn class_tag(&mut self, policy: &Policy, work: Work, urgency: Urgency) -> ClassTag {
        ClassTag(self.class_of(policy, work, urgency) as u8)
    }

    /// The class by whose weight an item goes that is kept outside of the queues: who asks for leave to push goes as the push will.
    pub(crate) fn class_outside(
        &mut self,
        policy: &Policy,
        item: &Item,
        weight: Weight,
    ) -> ServiceClass {
        match item {
            Item::Message(asked) => self.class_of(policy, Work::Push, asked.urgency),
            item => self.class_of(policy, item.work(), weight.urgency),
        }
    }

    fn class_of(&mut self, policy: &Policy, work: Work, urgency: Urgency) -> ServiceClass {
        let size = WorkSize { urgency, ..self.last[work as usize].0 };
        self.admission(policy, work, size).class
    }
}

fn size_of(item: &Item, urgency: Urgency, object_bytes: u64) -> WorkSize {
    let size = WorkSize { payload: item.payload().get(), urgency, ..WorkSize::default() };
    match item {
        Item::Recovery(_, pushes) => {
            WorkSize { objects: *pushes, object_size_average: object_bytes, ..size }
        }
        Item::Scrub(item) => {
            WorkSize { objects: item.states, object_size_average: item.object_bytes, ..size }
        }
        Item::Trim(item) => {
            WorkSize { objects: item.objects, object_size_average: item.object_bytes, ..size }
        }
        Item::Delete(_, states) => WorkSize { objects: *states, ..size },
        Item::Put(_) | Item::StoreIo(..) | Item::Part { .. } => size,
        Item::Message(envelope) => {
            let size = WorkSize { urgency: envelope.urgency, ..size };
            match &envelope.message {
                Message::Op(op) if !op.kind.is_update() => {
                    WorkSize { read: u64::from(op.charged_bytes()), ..size }
                }
                Message::Push(_)
                | Message::PushReply(_)
                | Message::PushHistory(..)
                | Message::HistoryStored(..) => WorkSize { objects: 1, ..size },
                Message::Pull(_) => WorkSize { objects: 1, remaining: object_bytes, ..size },
                _ => size,
            }
        }
    }
}

/// Whether what an item carries enters the disk in parts, of which it is charged the first.
fn is_cut(work: Work) -> bool {
    matches!(work, Work::Push)
}

/// A later part of a transfer is charged its bytes, in the class of the transfer. All of them are one client of the class.
fn part_charge(policy: &Policy, class: ServiceClass, bytes: u32) -> ItemCharge {
    let cost = match policy.plan.scheduler {
        SchedulerKind::Mclock => policy.plan.cost_model.scaled(u64::from(bytes)),
        SchedulerKind::Wpq | SchedulerKind::Fifo => bytes,
    };
    let client = policy.plan.client(0).0 as u32;
    ItemCharge {
        owner: ItemOwner { class: class.id(), client, tenant: None },
        priority: policy.plan.work_options.recovery_priority,
        cost,
    }
}
