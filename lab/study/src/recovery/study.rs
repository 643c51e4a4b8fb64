//! A recovery study as it is meant.

use super::dry;
use super::file::{Companions, STUDY_KEYS, StudyFile};
use super::run;
use super::setup::{RecoverySetup, read_setups};
use super::stood;
use super::work;
use crate::given_load;
use crate::input::{InputError, Source};
use crate::kind::{RunError, Script, Tick};
use crate::overrides::{Override, apply_overrides};
use crate::place::Place;
use crate::plan::{Companion, Job, Purpose};
use crate::record::RunRecord;
use crate::result::{DriveSummary, FittedFigure, NamedValue, SetupResult};
use crate::study::{Inputs, Named, Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_load::LoadSpec;
use loadline_sim::Drive;
use serde_json::{Value, json};

/// The steps of a recovery study, with what is set in them.
#[derive(Clone, Debug)]
pub struct RecoveryStudy {
    pub(crate) drive: Drive,
    pub(crate) cluster: ClusterShape,
    pub(crate) steps: RecoverySteps,
    /// What the clients do.
    pub(crate) load: LoadSpec,
    pub(crate) companions: Companions,
    pub(crate) setups: Vec<RecoverySetup>,
    /// Where it runs.
    pub(crate) place: Place,
}

/// How many OSDs and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterShape {
    /// OSDs, one drive each.
    pub osds: u32,
    /// Copies of each object.
    pub copies: u32,
}

/// The steps of a recovery study (qos.md 13.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecoverySteps {
    /// Share of the published amount of work; 1.0 is all of it.
    pub scale: f64,
    /// Objects written while an OSD is away, at scale 1.
    pub objects: u64,
    /// Size of each.
    pub object_size: Bytes,
    /// Length of the run without recovery, at scale 1.
    pub baseline: Span,
    /// Simulated time after which a recovery that has not ended is given up.
    pub limit: Span,
}

pub(super) fn read_file(source: &Source, overrides: &[Override]) -> Result<StudyFile, InputError> {
    let mut file: StudyFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let has = ("a study has", " and every option of an OSD");
    let own = overrides.iter().filter(|change| !change.is_option());
    apply_overrides(&mut file, STUDY_KEYS, has, own)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<Named, InputError> {
    let StudyFile { drive, published, .. } = read_file(study, overrides)?;
    Ok(Named { drive, published })
}

impl RecoveryStudy {
    pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
        let (script, asked) = RecoveryStudy::asked(inputs)?;
        Study::of(inputs, asked, script)
    }

    /// The steps that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<RecoveryStudy, InputError> {
        Ok(RecoveryStudy::asked(inputs)?.0)
    }

    fn asked(inputs: &Inputs) -> Result<(RecoveryStudy, StudyQuestion), InputError> {
        let (source, scale) = (&inputs.study, inputs.scale()?);
        let mut file = read_file(source, &inputs.overrides)?;
        if let Some(load) = &inputs.load {
            let object = file.recovery.object_size;
            let given = given_load::read(load, &inputs.overrides, file.load.image, object)?;
            if given.ramp.is_some() {
                let reason =
                    "a recovery study is measured from its first op: leave `ramp_time` out";
                return Err(InputError::new(load.file.clone(), reason));
            }
            file.load = given.spec;
            file.recovery.baseline = given.runtime.unwrap_or(file.recovery.baseline);
        }
        check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let drive =
            Drive::parse(&inputs.drive.name, &inputs.drive.file, &inputs.drive.text).map_err(
                |error| InputError { place: error.file, line: error.line, reason: error.reason },
            )?;
        let StudyFile { cluster, recovery, .. } = &file;
        let shape = ClusterShape { osds: cluster.osds, copies: cluster.copies };
        let setups =
            read_setups(&file, source, (&drive, shape), (&inputs.overrides, &inputs.place))?;
        let mut study = RecoveryStudy {
            cluster: shape,
            steps: RecoverySteps {
                scale,
                objects: recovery.objects,
                object_size: recovery.object_size,
                baseline: recovery.baseline,
                limit: recovery.limit,
            },
            load: file.load,
            companions: file.companions,
            drive,
            setups,
            place: inputs.place.clone(),
        };
        if let Place::Host(_) = inputs.place {
            study = work::fitted(study, inputs);
        }
        let asked = StudyQuestion {
            title: file.title,
            question: file.question,
            load: study.load.to_string(),
            scale,
            setups: study.setups.iter().map(|setup| setup.osds.configuration.clone()).collect(),
            sets: file.sets,
            expectations: file.expectations,
        };
        Ok((study, asked))
    }
}

/// Placements of companions lie this far from the seeds that repeats use.
const PLACEMENT_SEEDS_FROM: u64 = 1 << 32;

impl Script for RecoveryStudy {
    fn identity(&self, job: &Job) -> String {
        let steps = RecoverySteps { scale: 1.0, ..self.steps };
        let place = self.place.identity().unwrap_or_default();
        let setup = self.setups[job.setup].identity();
        format!("{:?} {:?} {steps:?} {:?}{place} {setup}", self.drive, self.cluster, self.load)
    }

    fn companions(&self, setup: usize, seed: u64) -> Vec<Companion> {
        let of = &self.setups[setup];
        let mut companions = Vec::new();
        if of.software_stage.is_some() {
            companions.push(Companion {
                purpose: Purpose::WithoutStage,
                scale: self.companions.variant_scale,
                placement_seed: seed,
            });
        }
        if of.recovery {
            companions.extend((0..self.companions.spread_placements).map(|index| Companion {
                purpose: Purpose::Placement(index),
                scale: self.companions.spread_scale,
                placement_seed: seed.wrapping_add(PLACEMENT_SEEDS_FROM + u64::from(index)),
            }));
        }
        companions
    }

    /// Client ops that the run will carry: by the published rates, or half of the baseline's where none exist.
    fn weight(&self, study: &Study, job: &Job) -> f64 {
        if self.place != Place::Sim {
            // Filling takes most of the time of every run, and keeps runs of equal weight in the plan's order.
            return 1.0;
        }
        let (setup, steps) = (&self.setups[job.setup], &self.steps);
        let baseline = self.drive.calibration.baseline_iops;
        if !setup.recovery {
            return steps.baseline.as_secs_f64() * job.scale * baseline;
        }
        let published = study.published.as_ref().and_then(|set| set.setup(setup.name()));
        let figure = |key| Some(published.as_ref()?.get(key)?.value);
        let iops = figure("client/iops").unwrap_or(0.5 * baseline);
        // The published recoveries lie around the 215th part of the baseline on flash and a third of that on disk.
        let rate = figure("recovery/objects_per_s").unwrap_or(baseline / 215.0);
        steps.objects as f64 * job.scale / rate * iops
    }

    fn before_runs(&self) -> Result<(), InputError> {
        let (Place::Host(place), Some(setup)) = (&self.place, self.setups.first()) else {
            return Ok(());
        };
        loadline_testbed::check(&self.hosted(place, setup, &Job::default()))
            .map_err(|reason| InputError::new(format!("--on {}", place.disks), reason))
    }

    fn run(&self, job: &Job, tick: Tick<'_>) -> Result<Option<RunRecord>, RunError> {
        run::run(self, job, tick)
    }

    fn drive(&self, records: &[&RunRecord]) -> DriveSummary {
        match self.place {
            Place::Sim => drive_summary(self),
            Place::Host(_) => stood::drive_summary(self, records),
        }
    }

    fn fitted(&self) -> Vec<FittedFigure> {
        fitted(self)
    }

    fn complete(&self, setups: &mut [SetupResult]) {
        let recovered = |setup: &SetupResult| setup.figure("recovery/seconds").is_some();
        let baseline = setups.iter().find(|setup| !recovered(setup));
        let Some(baseline) = baseline.and_then(|setup| setup.figure("client/iops")) else { return };
        for setup in setups.iter_mut().filter(|setup| recovered(setup)) {
            let iops = setup.figure("client/iops").unwrap_or(0.0);
            setup.figures.put("share_of_baseline", iops / baseline);
        }
    }

    fn warnings(&self, setups: &[SetupResult], records: &[&RunRecord]) -> Vec<String> {
        let is_real = self.place != Place::Sim;
        let compares = setups.iter().any(|setup| !setup.published.is_empty());
        let mut warnings = if is_real { stood::warnings(records, compares) } else { Vec::new() };
        let scale = self.steps.scale;
        if scale != 1.0 && !is_real {
            warnings.push(format!(
                "This is {scale} of the published amount of work: rates and latencies are comparable, \
                 times are not; leave out --quick and --set scale for the published scale."
            ));
        }
        if setups.iter().all(|setup| setup.figure("recovery/seconds").is_some()) {
            warnings.push(
                "No setup without recovery was run, so there is no share of the baseline; add the \
                 baseline to --setups."
                    .to_owned(),
            );
        }
        warnings
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let steps = &self.steps;
        vec![
            ("drive", format!("{} ({})", self.drive.name, self.drive.model)),
            ("cluster", format!("{} OSDs, {} copies", self.cluster.osds, self.cluster.copies)),
            ("load", self.load.to_string()),
            (
                "steps",
                format!(
                    "one OSD goes, {} objects of {} are written without it, it returns, and clients \
                     write until it is filled; the baseline writes {} alone",
                    steps.objects, steps.object_size, steps.baseline
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        json!({
            "osds": self.cluster.osds, "copies": self.cluster.copies,
            "objects": self.steps.objects, "object_bytes": self.steps.object_size.get(),
            "baseline_s": self.steps.baseline.as_secs_f64(),
        })
    }

    fn setup_in_json(&self, setup: usize) -> Value {
        let setup = &self.setups[setup];
        json!({
            "scheduler": setup.osds.configuration.traits[1].value, "recovery": setup.recovery,
            "software_stage_us": setup.software_stage.map(|span| span.as_secs_f64() * 1e6),
        })
    }

    fn on_disks(&self, jobs: &[Job]) -> Option<String> {
        match &self.place {
            Place::Sim => None,
            Place::Host(place) => Some(dry::describe(self, place, jobs)),
        }
    }
}

fn drive_summary(study: &RecoveryStudy) -> DriveSummary {
    let (drive, steps) = (&study.drive, &study.steps);
    let fact = |name: &str, value: String| NamedValue { name: name.to_owned(), value };
    let layouts = study.setups.iter().map(|setup| {
        let options = setup.osds.options();
        format!(
            "{} × {} ({})",
            options.shards, options.threads_per_shard, setup.osds.configuration.preset
        )
    });
    let mut layouts: Vec<String> = layouts.collect();
    layouts.dedup();
    DriveSummary {
        name: drive.name.clone(),
        model: drive.model.clone(),
        calibration: format!(
            "Calibrated from {} IOPS of 4 KiB random writes at depth 64 ({}) and a peak of {}.",
            drive.calibration.baseline_iops, drive.calibration.source, drive.calibration.peak
        ),
        facts: vec![
            fact("OSDs", study.cluster.osds.to_string()),
            fact("Shards × threads of an OSD, by preset", layouts.join(", ")),
            fact("Copies", study.cluster.copies.to_string()),
            fact("Placement groups", format!("{} in each of two pools", drive.fitted.pgs)),
            fact(
                "Objects written without the OSD",
                format!("{:.0} of {}", steps.objects as f64 * steps.scale, steps.object_size),
            ),
            fact("Image of the clients", study.load.image.to_string()),
            fact("Store window", drive.window.to_string()),
            fact("Write of 4 KiB", drive.service.per_request.to_string()),
            fact("Transfer of 1 MiB", drive.service.per_mib.to_string()),
            fact("Worker time per item", drive.worker_time.to_string()),
            fact("One-way delay", drive.link_delay.to_string()),
        ],
    }
}

fn fitted(study: &RecoveryStudy) -> Vec<FittedFigure> {
    if study.place != Place::Sim {
        return Vec::new();
    }
    let fitted = &study.drive.fitted;
    let figure = |name: &str, value: String, where_used: &str, why: &str| FittedFigure {
        name: name.to_owned(),
        value,
        where_used: where_used.to_owned(),
        source: why.to_owned(),
    };
    let mut figures = vec![
        figure("Placement groups per pool", fitted.pgs.to_string(), "all setups", &fitted.pgs_why),
        figure(
            "Handling time of a recovered object",
            fitted.object_handling.to_string(),
            "every setup with recovery",
            &fitted.object_handling_why,
        ),
    ];
    if fitted.software_stage > Span::ZERO {
        figures.push(figure(
            "Software stage under mClock",
            fitted.software_stage.to_string(),
            "setups marked as_published, while recovery is pending",
            &fitted.software_stage_why,
        ));
    }
    figures
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &StudyFile) -> Result<(), (&'static str, String)> {
    let StudyFile { cluster, recovery, companions, .. } = file;
    let is_share = |scale: f64| scale > 0.0 && scale <= 1.0;
    let checks = [
        (is_share(companions.variant_scale), "variant_scale", "more than 0 and at most 1"),
        (is_share(companions.spread_scale), "spread_scale", "more than 0 and at most 1"),
        (companions.spread_placements <= 1000, "spread_placements", "at most 1000"),
        ((2..=64).contains(&cluster.osds), "osds", "from 2 to 64"),
        (
            cluster.copies >= 1 && cluster.copies < cluster.osds,
            "copies",
            "at least 1 and less than `osds`: one OSD is taken out and its copies must find a place",
        ),
        ((1..=100_000_000).contains(&recovery.objects), "objects", "from 1 to 100000000"),
        (
            recovery.object_size >= Bytes::from_kib(4)
                && recovery.object_size <= Bytes::from_mib(64),
            "object_size",
            "from 4 KiB to 64 MiB",
        ),
        (recovery.baseline >= Span::from_secs(1), "baseline", "at least `1 s`"),
        (recovery.limit >= recovery.baseline, "limit", "at least as long as `baseline`"),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    file.load.check(recovery.object_size).map_err(|problem| {
        (problem.field, format!("`{}` must be {}", problem.field, problem.wanted))
    })
}
