//! A modelled drive for real kernels: a SCSI disk behind vhost-user, whose commands take the time of the mechanical model
//! (`worlds/sim/src/hdd`) by the real clock, or by one of its own.
//!
//! **A command's life.** The machine puts it into a ring (`worlds/vhost`) and kicks. [`device`] reads the request, asks
//! `core/scsi` what it means, and either answers at once or hands a read, a write or a flush to the [`medium`]. That one says
//! when it ends and how; at that instant the loop ([`serve`]) wakes, the data moves between [`contents`] and the machine's
//! memory, and the answer goes into the ring. [`session`] is the talk about memory and rings before that, over a
//! socket; [`counts`] is what can be asked afterwards.
//!
//! A machine whose kernel lets its time be kept by another can be served in virtual time ([`virtual_time`]): the drive owns
//! the clock then ([`calendar`]), nothing takes longer than the model says, and nobody waits.
//!
//! This crate may not know studies, reports or the engine, and nothing in it knows what boots the machine. It is a world of
//! its own beside `host` and `sim`: the kernel is real as there, and the drive is modelled as here.

mod calendar;
mod contents;
mod counts;
mod device;
mod medium;
mod serve;
mod session;
mod virtual_time;
mod waiting;

pub use contents::{ContentsError, DriveContents};
pub use counts::{CommandCounts, DriveCounts, DriveStatistics};
pub use device::ScsiDevice;
pub use medium::{DriveMedium, MediumFault};
pub use serve::{ServeError, ServeOrders, serve};
pub use virtual_time::serve_in_virtual_time;
