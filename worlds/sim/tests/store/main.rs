//! The paged store on simulated disks.

mod smoke;
