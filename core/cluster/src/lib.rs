//! The map of one host's OSDs and their owner: pools, placement, peering, client routing, settings in levels.
//!
//! This crate may not know worlds, load, sockets or wire formats, and no disk beyond its OSD. Time is an
//! argument of [`Cluster::step`].

mod administer;
mod cluster;
pub mod codec;
mod durable;
mod fullness;
mod give_up;
mod grow;
mod heal;
mod healing;
pub mod images;
mod kept_images;
mod lost;
mod map;
mod outage;
mod peering;
mod placement;
mod pools;
pub mod quorum;
mod report;
mod router;
mod seats;
pub mod settings;
mod start;

pub use cluster::{Cluster, Config};
pub use durable::MapChange;
pub use give_up::Loss;
pub use grow::RemoveError;
pub use heal::NotHealed;
pub use lost::NotLost;
pub use map::{Map, OsdState, PgState, Pool, PoolId, PoolSpec};
pub use outage::Outage;
pub use pools::PoolInUse;
pub use report::PgReport;
pub use router::{IssuedOp, Target};
pub use start::StartError;
