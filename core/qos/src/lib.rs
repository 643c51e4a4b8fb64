//! Who goes next: storage QoS schedulers as data structures, with the models that feed them.
//!
//! mClock (as published, or in Loadline's own mode), WPQ and FIFO stand behind one contract,
//! [`Scheduler`]; beside them live the cost models, profile tables and capacity rules of the field, as data.
//!
//! This crate may not know OSDs or worlds, and of a disk only its medium, which selects defaults. `now` is always an
//! argument; nothing here waits, locks, calls back or allocates per operation in the steady state.

mod capacity;
mod class;
mod cost;
mod era;
mod fifo;
mod flows;
mod kind;
mod mclock;
mod overrides;
mod plan;
mod preset;
mod profile;
mod profile_tables;
mod queue;
mod scheduler;
mod work;
mod wpq;

pub use capacity::{
    Benchmark, BenchmarkSkipped, Capacity, CapacityVerdict, Sharding, Thresholds,
    benchmark_skipped, judge_capacity, sharding,
};
pub use class::ServiceClass;
pub use cost::{Combine, CostModel, ScrubDepth, TimeCostOptions};
pub use era::{CostUnit, Era};
pub use fifo::Fifo;
pub use kind::SchedulerKind;
pub use mclock::{LoadlineConfig, MClock, Occupancy, PublishedConfig};
pub use overrides::{ProfileOverride, overrides};
pub use plan::{Admission, ClassFigures, RateFigures, ShardPlan};
pub use preset::{
    ClientReads, CostRule, LOADLINE_PRESET, MclockForm, PRESETS, Preset, QUINCY_PRESET,
    REEF_PRESET, RecordOwner, ReplicaWrites, SideQueue, preset,
};
pub use profile::{ClassProfile, ClassValues, Profile, ProfileTable, ProfileValues, Rate};
pub use profile_tables::{
    LOADLINE, PROFILE_TABLES, QUINCY, QUINCY_MISPRINTED, QUINCY_SCRUB_STUDY, QUINCY_STUDY_BUILD,
    QUINCY_TIGHT, REEF, profile_table,
};
pub use queue::Queue;
pub use scheduler::{
    ClassId, ClientKey, Distributed, FlowId, Lane, LimitPolicy, Params, ParamsError, Phase,
    Refusal, RefusedRequest, Request, Scheduler, Tags, Take, Taken, TenantError, TenantKey,
    WaitCause, Waiting,
};
pub use work::{Charge, Urgency, Work, WorkOptions, WorkSize};
pub use wpq::Wpq;
