//! Who goes next: storage QoS schedulers as data structures, with the models that feed them.
//!
//! mClock (as published, or in Loadline's own mode), WPQ and FIFO stand behind one contract,
//! [`Scheduler`]; beside them live the cost models, profile tables and capacity rules of the field, as data.
//!
//! This crate may not know OSDs or worlds, and of a disk only its medium, which selects defaults. `now` is always an
//! argument; nothing here waits, locks, calls back or allocates per operation in the steady state.

#![no_std]

extern crate alloc;

mod bounded;
mod client_numbers;
mod fifo;
mod flows;
mod mclock;
mod queue;
mod scheduler;
mod wpq;

// What Ceph's OSDs are set up by.
#[cfg(feature = "ceph")]
mod capacity;
#[cfg(feature = "ceph")]
mod class;
#[cfg(feature = "ceph")]
mod cost;
#[cfg(feature = "ceph")]
mod era;
#[cfg(feature = "ceph")]
mod kind;
#[cfg(feature = "ceph")]
mod overrides;
#[cfg(feature = "ceph")]
mod plan;
#[cfg(feature = "ceph")]
mod preset;
#[cfg(feature = "ceph")]
mod profile;
#[cfg(feature = "ceph")]
mod profile_tables;
#[cfg(feature = "ceph")]
mod work;

pub use bounded::{Bounded, BoundedTake, FlightBounds};
pub use client_numbers::ClientNumbers;
pub use fifo::Fifo;
pub use mclock::{LoadlineConfig, MClock, Occupancy, PublishedConfig, SideQueue};
pub use queue::Queue;
pub use scheduler::{
    ClassId, ClientKey, Distributed, FlowId, Lane, LimitPolicy, Params, ParamsError, Phase,
    Refusal, RefusedRequest, Request, Scheduler, Tags, Take, Taken, TenantError, TenantKey,
    WaitCause, Waiting,
};
pub use wpq::Wpq;

#[cfg(feature = "ceph")]
pub use {
    capacity::{
        Benchmark, BenchmarkSkipped, Capacity, CapacityVerdict, Sharding, Thresholds,
        benchmark_skipped, judge_capacity, sharding,
    },
    class::ServiceClass,
    cost::{Combine, CostModel, ScrubDepth, TimeCostOptions},
    era::{CostUnit, Era},
    kind::SchedulerKind,
    overrides::{ProfileOverride, overrides},
    plan::{Admission, ClassFigures, RateFigures, ShardPlan},
    preset::{
        ClientReads, CostRule, LOADLINE_PRESET, MclockForm, PRESETS, Preset, QUINCY_PRESET,
        REEF_PRESET, RecordOwner, ReplicaWrites, preset,
    },
    profile::{ClassProfile, ClassValues, Profile, ProfileTable, ProfileValues, Rate},
    profile_tables::{
        LOADLINE, PROFILE_TABLES, QUINCY, QUINCY_MISPRINTED, QUINCY_SCRUB_STUDY,
        QUINCY_STUDY_BUILD, QUINCY_TIGHT, REEF, profile_table,
    },
    work::{Charge, Urgency, Work, WorkOptions, WorkSize},
};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
