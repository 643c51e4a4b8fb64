//! The map of one host's OSDs and their owner: pools, placement, peering, client routing, settings in levels.
//!
//! This crate may not know worlds, load, sockets or wire formats, and no disk beyond its OSD. Time is an
//! argument of [`Cluster::step`].

mod cluster;
mod map;
mod peering;
mod placement;
mod router;
pub mod settings;

pub use cluster::{Cluster, Config};
pub use map::{Map, OsdState, PgState, Pool, PoolId, PoolSpec};
pub use router::{IssuedOp, Target};
