//! The paged store on simulated disks.

mod contract;
mod repair;
mod restart;
mod smoke;
mod soak;
