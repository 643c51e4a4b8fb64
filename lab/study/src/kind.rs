//! What a sitting needs of a kind of study: one trait, so that folders, resumption and execution are shared.

use crate::checkpoint::{CheckpointRecord, CheckpointResult, CheckpointStudy};
use crate::conclude::conclude;
use crate::input::InputError;
use crate::limits::{LimitsRecord, LimitsResult, LimitsStudy};
use crate::place::Place;
use crate::plan::{Job, Request, plan};
use crate::real;
use crate::record::RunRecord;
use crate::recovery::{RunError, Tick};
use crate::result::StudyResult;
use crate::study::{Inputs, Study};
use crate::trace::chrome_trace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A kind of study: how it is read, run and concluded.
pub trait StudyKind: Sized + Sync {
    /// What a run leaves.
    type Record: Recorded;
    /// What is concluded from all of them.
    type Result: Serialize + DeserializeOwned;

    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    fn read(inputs: &Inputs) -> Result<Self, InputError>;

    /// The setups that a choice names, by their places.
    ///
    /// # Errors
    /// [`InputError`] for a name that is no setup and no set.
    fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError>;

    /// All runs, in the order in which results name them.
    fn plan(&self, request: &Request) -> Vec<Job>;

    /// Refuses, before anything is written, what this machine does not let a run do.
    ///
    /// # Errors
    /// [`InputError`] naming what was typed.
    fn before_runs(&self) -> Result<(), InputError> {
        Ok(())
    }

    /// Makes a run; `None` if `tick` ended it.
    ///
    /// # Errors
    /// [`RunError`] if it comes to no result.
    fn make(&self, job: &Job, tick: Tick<'_>) -> Result<Option<Self::Record>, RunError>;

    /// The result; `None` while a record is missing.
    fn conclude(&self, request: &Request, records: &[Self::Record]) -> Option<Self::Result>;

    /// The stages of traced ops, where the kind traces any.
    fn trace(_recorded: &[(Job, &Self::Record)]) -> Option<serde_json::Value> {
        None
    }
}

/// A line of `runs.jsonl`.
pub trait Recorded: Serialize + DeserializeOwned + Clone + Debug + Send {
    /// The key of its job.
    fn key(&self) -> &str;

    /// Device requests carried out.
    fn device_requests(&self) -> u64;
}

impl Recorded for RunRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn device_requests(&self) -> u64 {
        self.device_requests
    }
}

impl Recorded for CheckpointRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn device_requests(&self) -> u64 {
        self.device_requests
    }
}

impl Recorded for LimitsRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn device_requests(&self) -> u64 {
        self.device_requests
    }
}

impl StudyKind for Study {
    type Record = RunRecord;
    type Result = StudyResult;

    fn read(inputs: &Inputs) -> Result<Study, InputError> {
        Study::new(inputs)
    }

    fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        Study::choose(self, choice)
    }

    fn plan(&self, request: &Request) -> Vec<Job> {
        plan(self, request)
    }

    fn before_runs(&self) -> Result<(), InputError> {
        match &self.place {
            Place::Sim => Ok(()),
            Place::Host(place) => real::before_runs(self, place),
        }
    }

    fn make(&self, job: &Job, tick: Tick<'_>) -> Result<Option<RunRecord>, RunError> {
        crate::recovery::run(self, job, tick)
    }

    fn conclude(&self, request: &Request, records: &[RunRecord]) -> Option<StudyResult> {
        conclude(self, request, records)
    }

    fn trace(recorded: &[(Job, &RunRecord)]) -> Option<serde_json::Value> {
        Some(chrome_trace(recorded))
    }
}

impl StudyKind for CheckpointStudy {
    type Record = CheckpointRecord;
    type Result = CheckpointResult;

    fn read(inputs: &Inputs) -> Result<CheckpointStudy, InputError> {
        CheckpointStudy::new(inputs)
    }

    fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        CheckpointStudy::choose(self, choice)
    }

    fn plan(&self, request: &Request) -> Vec<Job> {
        self.jobs(request)
    }

    fn make(&self, job: &Job, tick: Tick<'_>) -> Result<Option<CheckpointRecord>, RunError> {
        self.run(job, tick)
    }

    fn conclude(
        &self,
        request: &Request,
        records: &[CheckpointRecord],
    ) -> Option<CheckpointResult> {
        self.concluded(request, records)
    }
}

impl StudyKind for LimitsStudy {
    type Record = LimitsRecord;
    type Result = LimitsResult;

    fn read(inputs: &Inputs) -> Result<LimitsStudy, InputError> {
        LimitsStudy::new(inputs)
    }

    fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        LimitsStudy::choose(self, choice)
    }

    fn plan(&self, request: &Request) -> Vec<Job> {
        self.jobs(request)
    }

    fn make(&self, job: &Job, tick: Tick<'_>) -> Result<Option<LimitsRecord>, RunError> {
        Ok(self.run(job, tick))
    }

    fn conclude(&self, request: &Request, records: &[LimitsRecord]) -> Option<LimitsResult> {
        self.concluded(request, records)
    }
}
