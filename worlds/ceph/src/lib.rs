//! A Ceph cluster somewhere: what it is asked, how it answers, what its operators should know of it, and what a study may change
//! on it and puts back.
//!
//! This is a world: time passes here by itself, on machines that are not ours. Everything is asked through one trait
//! ([`CephConnection`]) with four implementations: librados, opened at run time; the `ceph` program; and for tests recorded
//! answers, and a small cluster in memory that takes changes. An answer may be late, partial or missing at any time: a daemon that does not answer is a missing sample and no error.
//! This crate may not know studies, loads or reports, and prints nothing. It never asks for a key, and keeps none.

// How a cluster is asked.
mod connect;
mod connection;
mod fake;
mod librados;
mod place;
mod program;
mod recorded;

// What it answers.
pub mod answers;
mod lenient;
mod stamp;

// What is made of the answers.
mod check;
mod describe;
mod estimate;
mod history;
mod look;

// What may be changed, and how it is put back.
pub mod guard;

pub use check::{ClusterFinding, Severity, check};
pub use connection::{CephConnection, CephError, CommandAnswer, CommandTarget, ask, tell};
pub use describe::{DescribedCluster, DescribedGroup, DescribedOsd, DescribedPool, describe};
pub use estimate::{Backlog, BacklogKind, backlogs};
pub use fake::FakeCluster;
pub use librados::Librados;
pub use look::{
    BusySample, ClusterLook, DeepStamp, MovingGroup, OsdLook, PgTotals, SettledGroup, look,
    look_until_told,
};
pub use place::{CephPlace, ConnectBy, NoCephPlace};
pub use program::CephProgram;
pub use recorded::RecordedCluster;
pub use stamp::seconds_of;
