//! One OSD as a state machine: what arrives waits in a shard's scheduler, a worker carries it out, and effects say
//! what the world has to do.
//!
//! This crate may not know the map of pools, where placement groups belong, images beyond what [`Views`] tell of them,
//! worlds, sockets or time: `now` is an argument of [`Osd::step`], and the owner tells each placement group its interval.

mod access;
mod aside;
mod bench;
mod benching;
mod capacity;
mod client_io;
mod client_window;
mod commit;
mod committed;
mod counters;
mod damage;
mod delay;
mod demand;
mod device_terms;
mod direct_events;
mod directed;
mod directive;
mod disk;
mod disk_events;
mod doubts;
mod event;
mod gate;
mod given_up;
mod groups;
mod ids;
mod in_flight;
mod item;
mod item_size;
mod life;
mod log_order;
mod message;
mod op_wait;
mod osd;
mod outside;
mod own_keys;
mod pace;
mod parts;
mod pg;
mod pg_log;
mod policy;
mod queue;
mod recovery;
mod report;
mod scrub;
mod service;
mod shard;
mod shard_flows;
mod snapshots;
mod tenants;
mod trim;
mod unfound;
mod version_runs;
mod waits;

pub use aside::{Aside, AsideFor};
pub use bench::{BenchShape, BenchStep, NoRoom};
pub use capacity::TrackedCapacity;
pub use counters::{DamageCounts, Received, ScrubCounts, TrimCounts};
pub use delay::{Delay, DelayCause, DeviceBusy, LeftBefore, OpDelay};
pub use device_terms::{ChosenLimit, ClassTerms, DeviceTerms, descriptor_for, guidelines};
pub use directive::{Directive, DiskFault, DiskRoom, Notice, Opened};
pub use disk::{Identity, StoreToken};
pub use disk_events::DiskSpace;
pub use event::{
    Effect, Effects, Event, Reply, SleepingItem, Timer, TraceSpan, Unreadable, WorkerRun,
};
pub use gate::{GateReport, Pacing};
pub use ids::{ClientId, IntervalId, OpId, OsdId, OsdSet, PgId, ShardId, ThreadId};
pub use item::Item;
pub use item_size::ItemSize;
pub use message::{
    Activation, BadRange, Before, ClientOp, Data, Envelope, HistoryPush, KeyPut, MendStep, Message,
    OpKind, Push, PutEnd, RangeHeld, RecoveryKind, ReplicaWrite, ReservationPriority, ScanRange,
    ScanReply, Settlement, WriteTag,
};
pub use op_wait::OpWait;
pub use osd::Osd;
pub use outside::KeptOutItem;
pub use pace::{ClientFare, PaceReport};
pub use pg::{CopyReport, CopyState, PgProgress, shard_of};
pub use pg_log::{ChangedBytes, LogEntry, LogReach, PgLog};
pub use policy::{OsdOptions, Policy, Windowed};
pub use recovery::{AdmissionBounds, Reserver};
pub use report::{OpProgress, RecoveryState};
pub use scrub::{
    ChunkBounds, InconsistentState, MachineLoad, RecordedDigest, ScanAsked, ScannedState,
    ScrubError, ScrubErrorCounts, ScrubErrors, ScrubFindings, ScrubHeld, ScrubItem, ScrubKind,
    ScrubMap, ScrubMessage, ScrubOptions, ScrubProgress, ScrubRange, ScrubReading, ScrubRecord,
    ScrubRequest, ScrubSchedule, ScrubSlots, ScrubStep, ScrubWindow,
};
pub use service::{OsdService, ServedClass};
pub use snapshots::{Ancestor, FormerState, Lineage, STATES_MAX, SnapshotNo, Views, image_of};
pub use tenants::{GivenOps, TenantTable, TenantTerms};
pub use trim::{TrimItem, TrimOptions, TrimState};
pub use waits::{Stage, WaitHistogram, Waits, WorkWaits};
