//! The node seen from outside: clients and tools that nobody here wrote, clients that mean harm, and kills at any moment.
//! Needs fio, qemu-utils, libnbd-bin and nbdkit, which `scripts/setup` installs.

#![expect(clippy::disallowed_methods, reason = "other processes take their own time")]

mod access;
#[cfg(feature = "tls")]
#[path = "../../../worlds/tls/tests/talk/authority.rs"]
mod authority;
mod backups;
mod busy;
mod checker;
mod client;
mod connections;
mod copying;
mod crowds;
mod cuts;
mod fio;
mod guest;
mod hostile;
mod lost;
mod node;
mod patterns;
mod places;
mod refusals;
mod room;
mod snapshots;
mod stopping;
#[cfg(feature = "tls")]
mod tls;
mod tools;
mod vhost;
mod zeros;
