//! One node as one machine: the map's owner and the OSDs, what they tell each other, the events that are due for them, and their
//! timers. Every world turns this one, and none has a dispatch of its own. OSDs stand in racks, one for each loop that turns some: the node
//! has one beside the owner, and others are turned by themselves.
//!
//! This crate may not know worlds, loads or sockets: `now` is an argument, and what takes time is said once ([`Delays`]).

mod delays;
mod images;
mod node;
mod post;
mod rack;
mod report;
#[cfg(test)]
mod tests;

pub use delays::Delays;
pub use images::JobOp;
pub use node::{HeldRacks, Node, OtherRacks};
pub use post::Lateness;
pub use rack::{LifeNotice, Rack, RackEvent};
pub use report::{
    DeletionReport, LeftToRecover, PgReport, PoolScrub, RecoveryForecast, ScrubReport,
    ScrubReports, ScrubSlotsLeft, TrimReport, WrittenBytes,
};
