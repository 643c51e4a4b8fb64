//! A mechanical hard disk: places on the platters, an arm that seeks, a spindle that turns, a queue that is reordered
//! under duration limits, and a medium that may fail. `docs/drive-models.md` derives the model and states its error
//! against every published figure.
//!
//! **A command's life.** [`Hdd::submit`] hands it over; it can be seen by the firmware half a host turnaround later, if one
//! of the drive's tags is free, and waits. Whenever the arm begins a command, the firmware settles which one comes after it,
//! so a command never starts right after it arrived behind others. It is carried out (seek, wait for the sector, transfer)
//! without interruption, and answered half a turnaround after its last sector. The time that the host needs for its next
//! command is the other use of the turnaround: a closed loop may submit again at the instant of the answer.
//!
//! **What may fail.** Sectors may be made slow (a number of turns more for each read that touches them) or unreadable (the
//! firmware retries until its recovery time is over, and the read fails). Writing unreadable sectors makes them readable.
//! Nothing fails by itself, nothing is lost, and the model holds no contents.
//!
//! Equal specs, seeds and calls give equal answers on every machine: times are integers of nanoseconds, and costs use no
//! floating point operation but the four basic ones and the square root, which are exact to the last bit everywhere.

mod access;
mod command;
mod drive;
mod ending;
mod faults;
mod file;
mod geometry;
mod limits;
mod loss;
mod order;
mod spec;
mod statistics;

pub use command::FinishedCommand;
pub use drive::{Feature, Hdd};
pub use ending::{Ending, Sense};
pub use geometry::{Geometry, SectorPlace};
pub use spec::{HddSpec, LimitRange, Ordering, SECTOR, Seek};
pub use statistics::{DescriptorCounts, MediumCounts, Statistics};
