//! The paged store on simulated disks.

mod bounds;
mod contract;
mod damaged;
mod log;
mod parts;
mod repair;
mod reread;
mod restart;
mod rot;
mod smoke;
mod soak;
mod stalls;
