//! The benchmark: every workload at every queue depth, on the modelled drive in virtual time or through fio in real time
//! (cdl.md 3.1 to 3.4).
//!
//! A step is finished when its `fio.log` is in place and its latencies are there; a run that was interrupted goes on with
//! those that are not.

mod fio;
mod held;
mod logs;
mod manifest;
mod order;
mod plan;
mod reads;
mod real;
mod real_error;
mod run;
mod sim;
mod summary;
mod switch;

pub use held::held_pages;
pub use manifest::manifest;
pub use order::{
    BS_DEFAULT, BenchOptions, BenchOrder, Device, OrderError, QDS_DEFAULT, RAMPTIME_DEFAULT,
    RUNTIME_DEFAULT, WorkloadStep,
};
pub use plan::{Need, Presence, WorkloadPlan};
pub use real::RealDrive;
pub use real_error::RealError;
pub use run::{Bench, BenchNews, Ground};
pub use sim::Modelled;
pub use summary::{StepFigures, step_figures};
pub use switch::Action;

use crate::figures::NoFigures;
use crate::folder::BenchFolderError;
use loadline_base::Time;

/// Somebody said that the run should end.
#[derive(Debug)]
pub struct Stopped;

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It was told to stop; finished steps are kept.
    #[error("interrupted; the same command continues with the steps that are not finished")]
    Stopped(Stopped),
    /// A file could not be read or written.
    #[error(transparent)]
    Folder(#[from] BenchFolderError),
    /// The drive ended a read without its data. Like the script's fio, the benchmark does not go on past an error.
    #[error("{workload}, QD={depth}: the drive ended a read after {at}: {why}")]
    ReadEnded {
        /// The workload's folder.
        workload: &'static str,
        /// The depth.
        depth: u32,
        /// When.
        at: Time,
        /// How the drive ended it, and what to do about it.
        why: String,
    },
    /// The real drive, or fio, did not do what it should.
    #[error(transparent)]
    Real(#[from] RealError),
    /// A log that the run wrote cannot be read again.
    #[error("{log}: {why}")]
    Log {
        /// The log.
        log: String,
        /// What is wrong.
        why: NoFigures,
    },
}
