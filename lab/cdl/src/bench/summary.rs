//! What came of a run, step by step, for programs.

use super::BenchError;
use super::order::WorkloadStep;
use crate::figures::{self, ReadFigures};
use crate::folder::{BenchFolder, LAT_LOG};

/// One step's reads by priority.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFigures {
    /// The workload's folder.
    pub workload: &'static str,
    /// Reads in flight.
    pub depth: u32,
    /// In the order of the priorities' words.
    pub classes: Vec<ReadFigures>,
}

/// Reads the figures of finished steps from their logs.
pub fn step_figures(
    folder: &BenchFolder,
    steps: &[WorkloadStep<'_>],
) -> Result<Vec<StepFigures>, BenchError> {
    let of = |step: &WorkloadStep<'_>| {
        let workload = step.workload.folder();
        let log = folder.step(workload, step.depth).join(LAT_LOG);
        let classes = figures::of_log(&log)
            .map_err(|why| BenchError::Log { log: log.display().to_string(), why })?;
        Ok(StepFigures { workload, depth: step.depth, classes })
    };
    steps.iter().map(of).collect()
}
