//! The steps of a kind of study.

use crate::input::InputError;
use crate::job::{Companion, Job};
use crate::published::PublishedSet;
use crate::record::RunRecord;
use crate::result::{DriveSummary, FittedFigure, SetupResult, Statement};
use loadline_base::Span;
use serde_json::Value;
use std::fmt::Debug;

/// How far a run has come, 0 to 1; the answer is whether to go on.
pub type OnProgress<'a> = &'a mut dyn FnMut(f64) -> bool;

/// The steps of a kind, with everything that one study sets in them.
pub(crate) trait Script: Debug + Send + Sync {
    /// Everything that a run depends on beside its seeds, its scale and its purpose, as text.
    fn identity(&self, job: &Job) -> String;

    /// Shorter runs beside the answers of a setup.
    fn companions(&self, _setup: usize, _seed: u64) -> Vec<Companion> {
        Vec::new()
    }

    /// How much work a run is; for order and remaining time only.
    fn weight(&self, _published: Option<&PublishedSet>, _job: &Job) -> f64 {
        1.0
    }

    /// Refuses, before anything is written, what this machine does not let so many runs at a time do.
    fn before_runs(&self, _workers: u32) -> Result<(), InputError> {
        Ok(())
    }

    /// Makes a run; `None` if `tick` ended it.
    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError>;

    /// What it stood on.
    fn drive(&self, records: &[&RunRecord]) -> DriveSummary;

    /// What was fitted to a published result.
    fn fitted(&self) -> Vec<FittedFigure> {
        Vec::new()
    }

    /// Adds the figures that are of a setup among others.
    fn complete(&self, _setups: &mut [SetupResult]) {}

    /// Says how the clients of each setup fared beside what they were promised; `answers` are its runs, with its place in the study.
    fn judge(&self, _setups: &mut [SetupResult], _answers: &[(usize, Vec<&RunRecord>)]) {}

    /// What is expected of the result beside the claims of its file.
    fn expected(&self, _setups: &[SetupResult]) -> Vec<Statement> {
        Vec::new()
    }

    /// What a reader must know; each ends in advice.
    fn warnings(&self, setups: &[SetupResult], records: &[&RunRecord]) -> Vec<String>;

    /// What the study is, in lines of a name and a text.
    fn in_lines(&self) -> Vec<(&'static str, String)>;

    /// The same for programs, beside what every study has.
    fn in_json(&self) -> Value;

    /// What is said of one setup for programs, beside what every setup has.
    fn setup_in_json(&self, _setup: usize) -> Value {
        Value::Null
    }

    /// What would be done with real disks, if it ran on any.
    fn on_disks(&self, _jobs: &[Job]) -> Option<String> {
        None
    }
}

/// A run that came to no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// After the OSD had gone, its image did not find new places.
    #[error(
        "{setup}: the image's copies were not whole again after {limit} without the OSD; raise `limit`"
    )]
    NeverClean {
        /// The setup.
        setup: String,
        /// Time given.
        limit: Span,
    },
    /// Recovery did not end.
    #[error("{setup}: {left} objects were left after {limit}; raise `limit` or lower the scale")]
    NeverEnded {
        /// The setup.
        setup: String,
        /// Time given.
        limit: Span,
        /// Objects not yet in their places.
        left: u64,
    },
    /// A store, a node, one of its disks or a tool failed.
    #[error("{setup}: {reason}")]
    Failed {
        /// The setup.
        setup: String,
        /// What happened.
        reason: String,
    },
    /// The amount of work rounds to none.
    #[error("{setup}: at scale {scale} no object is misplaced; raise the scale")]
    NothingToRecover {
        /// The setup.
        setup: String,
        /// The scale asked for.
        scale: f64,
    },
}
