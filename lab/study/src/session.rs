//! One sitting over a study's folder: what is recorded already, what is missing, and the conclusion.

use crate::conclude::conclude;
use crate::execute::{Advance, ExecuteError, RunEvent, execute};
use crate::facts::RunFacts;
use crate::folder::{FolderError, Manifest, RECORDS, RESULT, RecordsClaim, RunFolder};
use crate::input::InputError;
use crate::inputs::Inputs;
use crate::job::Job;
use crate::plan::{StudyRequest, plan};
use crate::record::RunRecord;
use crate::result::{StudyResult, VERSION};
use crate::script::RunError;
use crate::stopwatch::Stopwatch;
use crate::study::Study;
use crate::trace::{chrome_trace, traced};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What somebody asked for, as it stands in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What the study is computed from.
    pub inputs: Inputs,
    /// A set, or setups separated by commas.
    pub setups: String,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Runs of each setup.
    pub repeats: u32,
    /// The first traced op, if any.
    pub trace: Option<u64>,
    /// The build that computes.
    pub engine: String,
}

/// A study with its folder.
pub struct Session {
    study: Study,
    request: StudyRequest,
    folder: RunFolder,
    manifest: Manifest,
    records: Vec<RunRecord>,
    /// Setups that were asked for and whose runs were not all made.
    left_out: Vec<String>,
    /// Whoever opened it to make runs has it alone.
    #[expect(dead_code, reason = "it is held")]
    claim: Option<RecordsClaim>,
}

/// Why a sitting did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Something that was asked for cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folder holds something else.
    #[error("{} holds runs of other inputs; choose another folder with --out, or remove this one", .0.display())]
    OtherInputs(PathBuf),
    /// The folder holds what another build computed, which is not told beside this one's.
    #[error("{} holds runs of another build; choose another folder with --out, or remove this one", .0.display())]
    OtherBuild(PathBuf),
    /// Nobody's study is in the folder, and what a study writes is.
    #[error("{} holds {file}, which no study there has written; choose another folder with --out, or take it away", folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// What would be written over.
        file: &'static str,
    },
    /// There is no study in the folder.
    #[error("{} holds no study; the folder of a study has a manifest.json", .0.display())]
    NoStudy(PathBuf),
    /// Runs are missing.
    #[error("{} lacks {missing} of its runs; `loadline study run` with the same arguments and --out continues it", folder.display())]
    Unfinished {
        /// The folder.
        folder: PathBuf,
        /// How many.
        missing: usize,
    },
    /// A run came to no result.
    #[error(transparent)]
    Run(RunError),
    /// Somebody asked to stop; finished runs are recorded.
    #[error("interrupted")]
    Interrupted,
}

impl Session {
    /// Opens the folder for an order: a new one is made, one with the same inputs and by the same build is continued.
    ///
    /// # Errors
    /// [`SessionError`]; nothing has been written unless the folder could be used.
    pub fn open(folder: RunFolder, order: Order, facts: RunFacts) -> Result<Session, SessionError> {
        let (study, request) = order.resolve()?;
        let before = order.may_use(&folder)?;
        let missing = missing_of(&study, &request, &folder.records()?);
        if !missing.is_empty() {
            study.before_runs(facts.jobs, &missing)?;
        }
        // Whoever had it until then may have added some.
        let (claim, records) = folder.claim()?;
        if !missing.is_empty() {
            // It is of fewer runs than are asked for, and nobody could tell once the manifest asks for more.
            folder.remove_result()?;
        }
        let (facts, busy_seconds) = match before {
            Some(before) => (continued(before.facts, facts), before.busy_seconds),
            None => (facts, 0.0),
        };
        let manifest = Manifest { busy_seconds, ..Manifest::new(order, facts) };
        folder.write_manifest(&manifest)?;
        let (left_out, claim) = (Vec::new(), Some(claim));
        Ok(Session { study, request, folder, manifest, records, left_out, claim })
    }

    /// Opens a folder to read it again; everything comes from the folder. Where somebody asked for more setups and interrupted their
    /// runs, those that are whole are read, and the result says what it lacks.
    ///
    /// # Errors
    /// [`SessionError`] if it holds no study.
    pub fn reopen(folder: RunFolder) -> Result<Session, SessionError> {
        if let Err(source) = folder.path().metadata() {
            return Err(FolderError::Unreadable { path: folder.path().to_owned(), source }.into());
        }
        let manifest =
            folder.manifest()?.ok_or_else(|| SessionError::NoStudy(folder.path().to_owned()))?;
        let (study, request) = manifest.order().resolve()?;
        let records = folder.records()?;
        let (left_out, claim) = (Vec::new(), None);
        let mut session = Session { study, request, folder, manifest, records, left_out, claim };
        session.leave_out_unfinished();
        Ok(session)
    }

    /// Keeps to the setups whose runs are all recorded, if there are any.
    fn leave_out_unfinished(&mut self) {
        let unfinished: BTreeSet<usize> = self.missing().iter().map(|job| job.setup).collect();
        let is_whole = |setup: &usize| !unfinished.contains(setup);
        if !unfinished.is_empty() && self.request.setups.iter().any(is_whole) {
            self.request.setups.retain(is_whole);
            let name = |setup: usize| self.study.setups[setup].name.clone();
            self.left_out = unfinished.into_iter().map(name).collect();
        }
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// What was asked for.
    pub(crate) fn order(&self) -> Order {
        self.manifest.order()
    }

    /// The circumstances of all sittings together.
    pub fn facts(&self) -> &RunFacts {
        &self.manifest.facts
    }

    /// Whether any run is recorded: of a study without one the folder goes again.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// The runs that are not recorded yet.
    pub fn missing(&self) -> Vec<Job> {
        missing_of(&self.study, &self.request, &self.records)
    }

    /// Makes the missing runs on `workers` threads; each is on disk before `watch` hears of it.
    ///
    /// # Errors
    /// [`SessionError`]; what was recorded until then stays, and a later sitting continues.
    pub fn run(
        &mut self,
        workers: usize,
        interrupted: &AtomicBool,
        mut watch: impl FnMut(SessionEvent<'_>),
    ) -> Result<(), SessionError> {
        let jobs = self.missing();
        let began = Stopwatch::start();
        let (folder, records, manifest) = (&self.folder, &mut self.records, &mut self.manifest);
        let outcome = execute(&self.study, &jobs, workers, interrupted, |event| {
            match event {
                RunEvent::Advanced(advance) => watch(SessionEvent::Advanced(advance)),
                RunEvent::Finished(job, record, seconds) => {
                    folder.append(record)?;
                    manifest.busy_seconds += seconds;
                    manifest.facts.simulated_requests += record.device_requests;
                    records.push(record.clone());
                    watch(SessionEvent::Finished(job, record));
                }
            }
            Ok::<(), FolderError>(())
        });
        manifest.facts.wall_seconds += began.elapsed().as_secs_f64();
        let busy = manifest.busy_seconds.max(f64::MIN_POSITIVE);
        manifest.facts.simulated_requests_per_s_per_core =
            manifest.facts.simulated_requests as f64 / busy;
        self.folder.write_manifest(&self.manifest)?;
        outcome.map_err(|error| match error {
            ExecuteError::Interrupted => SessionError::Interrupted,
            ExecuteError::Run(error) => SessionError::Run(error),
            ExecuteError::Observer(error) => SessionError::Folder(error),
        })
    }

    /// Writes `results.json`, and `trace.json` if ops were traced, and returns the result.
    ///
    /// # Errors
    /// [`SessionError::Unfinished`] while runs are missing.
    pub fn conclude(&self) -> Result<StudyResult, SessionError> {
        let result = self.result()?;
        self.folder.write_result(&result)?;
        if self.request.trace.is_some() {
            self.folder.write_trace(&chrome_trace(&self.recorded()))?;
        }
        Ok(result)
    }

    /// What its runs say. Nothing is written: the folder may be somebody else's.
    ///
    /// # Errors
    /// [`SessionError::Unfinished`] while runs are missing.
    pub fn result(&self) -> Result<StudyResult, SessionError> {
        let Some(mut result) = conclude(&self.study, &self.request, &self.records) else {
            let (folder, missing) = (self.folder.path().to_owned(), self.missing().len());
            return Err(SessionError::Unfinished { folder, missing });
        };
        if !self.left_out.is_empty() {
            result.warnings.push(format!(
                "Left out, because their runs were interrupted: {}. The same command with the same --out makes them.",
                self.left_out.join(", ")
            ));
        }
        if let Some(first) =
            self.request.trace.filter(|_| traced(&self.recorded()).next().is_none())
        {
            result.warnings.push(format!(
                "No op was traced: every run ended before its op {first}; name an earlier one with --trace-op."
            ));
        }
        Ok(result)
    }

    /// The runs of the plan with their records.
    pub(crate) fn recorded(&self) -> Vec<(Job, &RunRecord)> {
        let find = |job: Job| {
            let record = self.records.iter().find(|record| record.key == job.key)?;
            Some((job, record))
        };
        plan(&self.study, &self.request).into_iter().filter_map(find).collect()
    }
}

/// What a sitting shows while it runs.
#[derive(Debug)]
pub enum SessionEvent<'a> {
    /// Somewhat more is done.
    Advanced(Advance),
    /// A run is recorded.
    Finished(&'a Job, &'a RunRecord),
}

impl Order {
    /// Refuses a folder that holds runs of something else: of other inputs, or of the same computed by another build, beside whose runs these would
    /// stand as if they were its own. Answers what the folder says of itself, if it is in use.
    ///
    /// # Errors
    /// [`SessionError::OtherInputs`], [`SessionError::OtherBuild`] and [`SessionError::NotOurs`], or why the folder cannot be read.
    pub fn may_use(&self, folder: &RunFolder) -> Result<Option<Manifest>, SessionError> {
        let Some(before) = folder.manifest()? else {
            // Records that are none are what a kill left.
            let is_there = |file: &&str| {
                let found = folder.path().join(file).symlink_metadata();
                found.is_ok_and(|found| *file != RECORDS || found.len() > 0)
            };
            let written = [RECORDS, RESULT, "report.html", "trace.json", "csv", "plots"];
            return match written.into_iter().find(is_there) {
                Some(file) => Err(SessionError::NotOurs { folder: folder.path().to_owned(), file }),
                None => Ok(None),
            };
        };
        if before.inputs_hash != self.inputs.hash() || before.seed != self.seed {
            return Err(SessionError::OtherInputs(folder.path().to_owned()));
        }
        if before.engine != self.engine && !folder.records()?.is_empty() {
            return Err(SessionError::OtherBuild(folder.path().to_owned()));
        }
        Ok(Some(before))
    }

    /// The study with the runs that are asked for.
    ///
    /// # Errors
    /// [`InputError`] for anything that cannot be used.
    pub fn resolve(&self) -> Result<(Study, StudyRequest), InputError> {
        let study = Study::new(&self.inputs)?;
        if !(1..=1000).contains(&self.repeats) {
            return Err(InputError::new("--repeat", "takes a number from 1 to 1000"));
        }
        if self.seed.checked_add(u64::from(self.repeats - 1)).is_none() {
            let reason = format!(
                "{} leaves no seeds for --repeat {}: the greatest is {}",
                self.seed,
                self.repeats,
                u64::MAX
            );
            return Err(InputError::new("--seed", reason));
        }
        if self.trace.is_some() {
            study.kind.is_traced().map_err(|reason| InputError::new("--trace", reason))?;
        }
        let request = StudyRequest {
            setups: study.choose(&self.setups)?,
            seed: self.seed,
            repeats: self.repeats,
            trace: self.trace,
            engine: self.engine.clone(),
        };
        Ok((study, request))
    }
}

impl Manifest {
    /// That of a study of which nothing has run yet.
    pub(crate) fn new(order: Order, facts: RunFacts) -> Manifest {
        let Order { inputs, setups, seed, repeats, trace, engine } = order;
        Manifest {
            version: VERSION,
            inputs_hash: inputs.hash(),
            inputs,
            setups,
            seed,
            repeats,
            trace,
            engine,
            facts,
            busy_seconds: 0.0,
        }
    }

    /// What was asked for.
    fn order(&self) -> Order {
        Order {
            inputs: self.inputs.clone(),
            setups: self.setups.clone(),
            seed: self.seed,
            repeats: self.repeats,
            trace: self.trace,
            engine: self.engine.clone(),
        }
    }
}

/// The runs that have no record.
fn missing_of(study: &Study, request: &StudyRequest, records: &[RunRecord]) -> Vec<Job> {
    let recorded: BTreeSet<&str> = records.iter().map(|record| record.key.as_str()).collect();
    let jobs = plan(study, request).into_iter();
    jobs.filter(|job| !recorded.contains(job.key.as_str())).collect()
}

/// The facts of a continued study: it began when it first did, and its speed is that of all sittings.
fn continued(before: RunFacts, now: RunFacts) -> RunFacts {
    RunFacts {
        started_at: before.started_at,
        wall_seconds: before.wall_seconds,
        simulated_requests: before.simulated_requests,
        simulated_requests_per_s_per_core: before.simulated_requests_per_s_per_core,
        ..now
    }
}
