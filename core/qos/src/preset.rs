//! Presets: which published behaviour, or Loadline's own, an OSD shows. A preset is data plus a few switches.

use crate::{
    Combine, Era, LOADLINE, ProfileTable, QUINCY, REEF, Sharding, SideQueue, TimeCostOptions,
    sharding,
};
use loadline_device::Medium;

/// Which of mClock's modes runs, and how its clients are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MclockForm {
    /// The published algorithm.
    AsPublished {
        /// Who has a record.
        records: RecordOwner,
        /// How work beside mClock is ordered.
        beside: SideQueue,
    },
    /// Loadline's own mode: virtual time for weights, two levels.
    Loadline,
}

/// Who has a record of its own in the published algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOwner {
    /// Each client, and each peer that sends pushes, each with the full parameters of its class.
    PerOwner,
    /// Each class; all clients share one FIFO.
    PerClass,
}

/// How a replica's part of a client write is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaWrites {
    /// Before everything and free of charge: the client write was charged once, on its primary.
    Strict,
    /// As client work of its own: it occupies this device like any other.
    AsClientWork,
}

/// What a client's read is charged for, and a step of a scrub or of a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientReads {
    /// The bytes of its message, which are none; a step of a scrub or of a trim costs what the era says.
    Message,
    /// The bytes that it reads; a trim, the operations that it is.
    Data,
}

/// How bytes become costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CostRule {
    /// The first eras' mixed unit.
    Time(TimeCostOptions),
    /// Bytes.
    Bytes(Combine),
}

/// One coherent behaviour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// The era whose classes, input costs, shards and overrides it shows.
    pub era: Era,
    /// Which mClock.
    pub mclock: MclockForm,
    /// How bytes become costs.
    pub cost_rule: CostRule,
    /// Its profiles.
    pub profiles: &'static ProfileTable,
    /// How a replica's part of a client write is treated.
    pub replica_writes: ReplicaWrites,
    /// What a client's read is charged for, and a step of a scrub.
    pub client_reads: ClientReads,
    /// Whether one queue feeds the device, with all of the era's workers.
    pub one_queue_per_device: bool,
    /// Whether work stays in the queues until the device could begin it soon. Else it waits behind the store's throttle.
    pub holds_dequeue: bool,
    /// How much a copy may lack for writes to wait for its objects, if no setting says otherwise; one that lacks more is recovered
    /// beside the writes.
    pub async_recovery_min_cost: u32,
}

/// `osd_async_recovery_min_cost` as it is compiled in (qos.md 9.1).
const ASYNC_RECOVERY_MIN_COST: u32 = 100;

/// The recovery study's era: 17.0.0-dev to 17.2.5.
pub const QUINCY_PRESET: Preset = Preset {
    name: "quincy",
    summary: "the recovery study's era: costs in mixed units, a record per class and owner",
    era: Era::E1a,
    mclock: MclockForm::AsPublished { records: RecordOwner::PerOwner, beside: SideQueue::List },
    cost_rule: CostRule::Time(TimeCostOptions::E1A),
    profiles: &QUINCY,
    replica_writes: ReplicaWrites::Strict,
    client_reads: ClientReads::Message,
    one_queue_per_device: false,
    holds_dequeue: false,
    async_recovery_min_cost: ASYNC_RECOVERY_MIN_COST,
};

/// 18.2 with its later cost rule, which charges large writes once.
pub const REEF_PRESET: Preset = Preset {
    name: "reef",
    summary: "18.2: costs in bytes, fractions of capacity, a record per class",
    era: Era::E2,
    mclock: MclockForm::AsPublished {
        records: RecordOwner::PerClass,
        beside: SideQueue::Priorities,
    },
    cost_rule: CostRule::Bytes(Combine::Max),
    profiles: &REEF,
    replica_writes: ReplicaWrites::Strict,
    client_reads: ClientReads::Message,
    one_queue_per_device: false,
    holds_dequeue: false,
    async_recovery_min_cost: ASYNC_RECOVERY_MIN_COST,
};

/// Loadline's own defaults. Each switch answers a weakness of the published behaviour:
///
/// - *virtual time for weights*: a class neither hoards credit while it is away nor pays for its past
///   (qos.md 2.12); clients are fair inside the class, where Reef's share one FIFO;
/// - *a bound on strict runs* ([`LoadlineConfig`](crate::LoadlineConfig)): peering storms cannot starve
///   clients. Priorities make nothing strict, or a low cut-off would let replica writes pass uncharged;
/// - *bytes with the larger of the two costs*: the only rule that charges a large write once;
/// - *replica writes and reads charged*: both occupy the device. Uncharged, two thirds of a replicated
///   pool's writes would pass the scheduler by;
/// - *one queue per device*: a shard cannot borrow another's unused share, so uneven PGs leave capacity
///   idle (qos.md 3), and five queues before one disk were found to make throughput erratic;
/// - *the dequeue is held back*: what waits behind a store's throttle, no scheduler can order any more (qos.md 16, rule 8);
/// - *every copy that lacks something is recovered beside the writes*: a write of an object that a copy lacks waits until recovery's
///   turn has come for it, and recovery is what yields. With random writes to a few objects that stopped all clients for seconds.
pub const LOADLINE_PRESET: Preset = Preset {
    name: "loadline",
    summary: "Loadline's own: virtual time, real costs, fair clients, one queue per device",
    era: Era::E2Plus,
    mclock: MclockForm::Loadline,
    cost_rule: CostRule::Bytes(Combine::Max),
    profiles: &LOADLINE,
    replica_writes: ReplicaWrites::AsClientWork,
    client_reads: ClientReads::Data,
    one_queue_per_device: true,
    holds_dequeue: true,
    async_recovery_min_cost: 0,
};

/// Every preset.
pub const PRESETS: &[Preset] = &[QUINCY_PRESET, REEF_PRESET, LOADLINE_PRESET];

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Shards and workers on a medium, if no setting says otherwise.
    pub fn sharding(&self, medium: Medium) -> Sharding {
        let published = sharding(self.era, medium);
        if !self.one_queue_per_device {
            return published;
        }
        let threads_per_shard = published.shards * published.threads_per_shard;
        Sharding { shards: 1, threads_per_shard }
    }
}
