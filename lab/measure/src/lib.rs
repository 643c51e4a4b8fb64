//! What a drive does: random and sequential transfers, reads and writes apart, at several depths, repeated so that each
//! figure has an interval; and the drive file that the simulator takes from them.
//!
//! Requests go through the host's event loop, the same one that a node uses. This crate may not know studies, clients or
//! OSDs, and it never writes to anything that was there before without its caller's word that it may.

mod drive_file;
mod error;
mod measure;
mod measured;
mod plan;
mod point;
mod run;
mod target;
mod warning;

pub use drive_file::{NoDriveFile, Provenance, drive_file};
pub use error::{MeasureError, TargetRefused};
pub use measure::{MeasureProgress, measure};
pub use measured::{Measured, MeasuredDrive};
pub use plan::{Does, MeasureOrder, Point, TransferPattern, points};
pub use point::{Estimate, Latencies, PointResult};
pub use target::MeasureTarget;
pub use warning::Warning;
