//! The benchmark of command duration limits: random reads with and without limits, their statistics and their plots, on a
//! modelled drive or, through fio, on a real one.
//!
//! Folders, logs and figures are those of the `cdl-tools` scripts, so that each can go on with the other's results
//! (cdl.md 3). This crate may not know clusters and studies.

pub mod bench;
mod compare;
mod figures;
mod folder;
mod kept;
pub mod plot;
pub mod stats;
mod workload;

pub use compare::{
    CompareError, ComparedBenches, ComparedClass, ComparedVerdict, ReadsFigure, compare,
};
pub use figures::{NoFigures, ReadFigures, of_log};
pub use folder::{BenchFolder, BenchFolderError};
pub use workload::{PriorityMark, ReadPart, ReadWorkload};
