//! The simulated world: virtual time, links and drives around the same engine that runs on the host. `world.rs` is the one loop
//! in which time passes; what it turns is a node under a load (`sim.rs`) or a store alone (`store_alone.rs`).
//!
//! Equal seeds give equal events. This crate may not know studies, statistics or reports, and reads no clock:
//! a simulated second takes as long as its events do.

mod by_hand;
pub mod disk;
mod drive;
mod drive_file;
mod drive_usage;
mod events;
pub mod hdd;
mod host;
mod lanes;
mod osd_drive;
mod processors;
pub mod rot;
mod sim;
pub mod soak;
mod store_alone;
mod store_disks;
mod workload;
mod world;

pub use drive::{DriveModel, ReadService, ReadTime, ServiceTime, Slices, Started};
pub use drive_file::{AnyDrive, Calibration, Drive, DriveError};
pub use host::{Computer, SimHost};
pub use loadline_node::Delays;
pub use osd_drive::{Mechanical, OsdDrive};
pub use processors::{ProcessorSpec, WorkPrice};
pub use sim::{DisksConfig, LoadedNode, Sim, SimConfig};
pub use store_alone::{LoneStore, SimStore};
pub use store_disks::StoreDisks;
pub use workload::{ByHand, Issue, OpDone, Workload};
pub use world::World;
