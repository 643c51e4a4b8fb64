//! A kind of study: a table of figures, and a script of steps that counts them. Everything else is shared.

use crate::figure::Figure;
use crate::input::{InputError, Source};
use crate::library::Shelf;
use crate::overrides::Override;
use crate::plan::{Companion, Job};
use crate::record::RunRecord;
use crate::result::{DriveSummary, FittedFigure, SetupResult};
use crate::study::{Inputs, Named, Study};
use crate::{checkpoint, limits, recovery};
use loadline_base::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;

/// Which steps a study takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An OSD returns after its absence, and is filled beside the clients (qos.md 13.1).
    #[default]
    Recovery,
    /// Clients put keys while a store makes checkpoints (checkpoint.md 14).
    Checkpoint,
    /// Clients read beside background work on a drive with duration limits (cdl.md).
    Limits,
}

/// What a kind declares, beside its script.
pub(crate) struct Declared {
    /// Every figure, in the order of the tables.
    pub figures: &'static [Figure],
    /// The keys of those that tell a run in a few words.
    pub chief: &'static [&'static str],
    /// Where its drives lie.
    pub drives: Shelf,
    pub read: fn(&Inputs) -> Result<Study, InputError>,
    /// The files that a study file asks for.
    pub named_in: fn(&Source, &[Override]) -> Result<Named, InputError>,
    /// What `--quick` sets.
    pub quick: fn(&Source) -> Result<(&'static str, String), InputError>,
    /// Why it does not run on real disks, if it does not.
    pub not_on_disks: Option<&'static str>,
    /// Why its ops cannot be traced, if they cannot.
    pub not_traced: Option<&'static str>,
}

impl Kind {
    pub(crate) fn declared(self) -> &'static Declared {
        match self {
            Kind::Recovery => &recovery::DECLARED,
            Kind::Checkpoint => &checkpoint::DECLARED,
            Kind::Limits => &limits::DECLARED,
        }
    }

    /// Every figure, in the order of the tables.
    pub fn figures(self) -> &'static [Figure] {
        self.declared().figures
    }

    /// The figure of this key.
    pub fn figure(self, key: &str) -> Option<&'static Figure> {
        self.figures().iter().find(|figure| figure.key == key)
    }

    /// The figures that tell a run in a few words.
    pub fn chief(self) -> impl Iterator<Item = &'static Figure> {
        self.declared().chief.iter().filter_map(move |key| self.figure(key))
    }

    /// Whether it runs on real disks; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn runs_on_disks(self) -> Result<(), &'static str> {
        self.declared().not_on_disks.map_or(Ok(()), Err)
    }

    /// Whether its ops can be traced; the error says why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn is_traced(self) -> Result<(), &'static str> {
        self.declared().not_traced.map_or(Ok(()), Err)
    }
}

/// How far a run has come, 0 to 1; the answer is whether to go on.
pub type Tick<'a> = &'a mut dyn FnMut(f64) -> bool;

/// The steps of a kind, with everything that one study sets in them.
pub(crate) trait Script: Debug + Send + Sync {
    /// Everything that a run depends on beside its seeds, its scale and its purpose, as text.
    fn identity(&self, job: &Job) -> String;

    /// Shorter runs beside the answers of a setup.
    fn companions(&self, _setup: usize, _seed: u64) -> Vec<Companion> {
        Vec::new()
    }

    /// How much work a run is; for order and remaining time only.
    fn weight(&self, _study: &Study, _job: &Job) -> f64 {
        1.0
    }

    /// Refuses, before anything is written, what this machine does not let a run do.
    fn before_runs(&self) -> Result<(), InputError> {
        Ok(())
    }

    /// Makes a run; `None` if `tick` ended it.
    fn run(&self, job: &Job, tick: Tick<'_>) -> Result<Option<RunRecord>, RunError>;

    /// What it stood on.
    fn drive(&self, records: &[&RunRecord]) -> DriveSummary;

    /// What was fitted to a published result.
    fn fitted(&self) -> Vec<FittedFigure> {
        Vec::new()
    }

    /// Adds the figures that are of a setup among others.
    fn complete(&self, _setups: &mut [SetupResult]) {}

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
