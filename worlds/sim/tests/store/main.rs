//! The paged store on simulated disks.

mod contract;
mod damaged;
mod log;
mod repair;
mod restart;
mod rot;
mod smoke;
mod soak;
mod stalls;
