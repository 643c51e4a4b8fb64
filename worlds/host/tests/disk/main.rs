//! Real disks behind the loop: the device contract on each kind of disk with each backend, opening and its refusals,
//! and what happens when requests are many, long, or abandoned.

mod contract;
mod driven;
mod many;
mod opening;
