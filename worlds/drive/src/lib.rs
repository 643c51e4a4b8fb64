//! A modelled drive for real kernels: a SCSI disk behind vhost-user, whose commands take the time of the mechanical model
//! (`worlds/sim/src/hdd`) by the real clock.
//!
//! **A command's life.** The machine puts it into a ring ([`ring`]) and kicks. [`device`] reads the request, asks
//! `core/scsi` what it means, and either answers at once or hands a read, a write or a flush to the [`medium`]. That one says
//! when it ends and how; at that instant the loop ([`serve`]) wakes, the data moves between [`contents`] and the machine's
//! memory ([`memory`]), and the answer goes into the ring. [`session`] is the talk about memory and rings before that, over a
//! socket ([`socket`]); [`counts`] is what can be asked afterwards.
//!
//! This crate may not know studies, reports or the engine, and nothing in it knows what boots the machine. It is a world of
//! its own beside `host` and `sim`: time is the real clock's as there, and the drive is modelled as here.

mod contents;
mod counts;
mod device;
mod medium;
mod memory;
mod ring;
mod serve;
mod session;
mod socket;

pub use contents::{ContentsError, DriveContents};
pub use counts::{CommandCounts, DriveCounts, DriveStatistics};
pub use device::ScsiDevice;
pub use medium::{DriveMedium, MediumFault};
pub use serve::{ServeError, ServeOrders, serve};
pub use socket::bind;
