//! One node as one machine: the map's owner and the OSDs, what they tell each other, the events that are due for them, and their
//! timers. Every world turns this one, and none has a dispatch of its own.
//!
//! This crate may not know worlds, loads or sockets: `now` is an argument, and what takes time is said once ([`Delays`]).

mod images;
mod node;
mod post;
mod report;
#[cfg(test)]
mod tests;

pub use images::JobOp;
pub use node::{Delays, Node};
pub use post::Lateness;
pub use report::{DeletionReport, PgReport, PoolScrub, ScrubReport, TrimReport, WrittenBytes};
