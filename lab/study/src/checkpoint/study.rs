//! A checkpoint study as it is meant: everything looked up, checked and ready to run.

use super::drive::StoreDrive;
use super::file::{CheckpointFile, QueueSection, SetupSection, StoreSection, WorkSection};
use super::keys::CHECKPOINT_KEYS;
use super::run::run;
use crate::input::{InputError, Source, unknown};
use crate::kind::{RunError, Script, Tick};
use crate::overrides::{Override, apply_overrides};
use crate::plan::Job;
use crate::record::RunRecord;
use crate::result::{Configuration, DriveSummary, NamedValue, SetupResult};
use crate::sets::refuse_twins;
use crate::study::{Inputs, Named, Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_device::Medium;
use loadline_load::puts::PutSpec;
use loadline_qos::{
    Capacity, CostModel, CostRule, PRESETS, SchedulerKind, ShardPlan, WorkOptions, preset,
};
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::Policy;
use loadline_store::paged::{LogMode, Protection};
use serde_json::{Value, json};
use std::str::FromStr;
use toml::Spanned;

/// The steps of a checkpoint study, with what is set in them.
#[derive(Clone, Debug)]
pub(super) struct CheckpointStudy {
    drive_name: String,
    pub(super) drive: StoreDrive,
    pub(super) work: WorkSection,
    /// The store, at scale 1.
    pub(super) store: StoreSection,
    pub(super) load: PutSpec,
    /// The scheduler.
    pub(super) plan: ShardPlan,
    profile: String,
    /// Bytes at the drive before the scheduler waits.
    pub(super) window: Bytes,
    pub(super) setups: Vec<CheckpointSetup>,
}

/// One configuration under test.
#[derive(Clone, Debug)]
pub(super) struct CheckpointSetup {
    pub(super) configuration: Configuration,
    /// Where images go.
    pub(super) protection: Protection,
    /// When a put is answered.
    pub(super) log_mode: LogMode,
    /// How images are stored.
    pub(super) compression: Compression,
    /// How puts are slowed down.
    pub(super) throttle: Policy,
}

impl WorkSection {
    /// A number of keys or bytes at this scale.
    pub(super) fn scaled(&self, amount: u64) -> u64 {
        ((amount as f64 * self.scale).round() as u64).max(1)
    }

    /// A length of time at this scale.
    pub(super) fn scaled_span(&self, span: Span) -> Span {
        Span::from_nanos(self.scaled(span.nanos()))
    }

    /// What a second of the published node is here.
    pub(super) fn second(&self) -> Span {
        self.scaled_span(Span::from_secs(1))
    }
}

pub(super) fn read_file(
    source: &Source,
    overrides: &[Override],
) -> Result<CheckpointFile, InputError> {
    let mut file: CheckpointFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    apply_overrides(&mut file, CHECKPOINT_KEYS, ("a checkpoint study has", ""), overrides)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<Named, InputError> {
    let CheckpointFile { drive, published, .. } = read_file(study, overrides)?;
    Ok(Named { drive, published })
}

/// The study that the inputs describe.
pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
    let source = &inputs.study;
    if let Some(load) = &inputs.load {
        let reason =
            "a checkpoint study's clients put keys, which no fio job describes: leave --load out";
        return Err(InputError::new(format!("--load {}", load.file), reason));
    }
    let file = read_file(source, &inputs.overrides)?;
    check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
    let drive = StoreDrive::parse(&inputs.drive)?;
    let plan =
        shard_plan(&file.queue, &drive).map_err(|(field, reason)| inputs.refuse(field, reason))?;
    let setups = read_setups(&file.setups, source)?;
    let asked = StudyQuestion {
        title: file.title,
        question: file.question,
        load: file.load.to_string(),
        scale: file.work.scale,
        setups: setups.iter().map(|setup| setup.configuration.clone()).collect(),
        sets: file.sets,
        expectations: file.expectations,
    };
    let script = CheckpointStudy {
        drive_name: inputs.drive.name.clone(),
        drive,
        work: file.work,
        store: file.store,
        load: file.load,
        plan,
        profile: file.queue.profile,
        window: file.queue.window,
        setups,
    };
    Study::of(inputs, asked, script)
}

/// A scale as a fraction where it is one.
fn in_words(scale: f64) -> String {
    let parts = 1.0 / scale;
    if parts.fract() == 0.0 { format!("1/{parts}") } else { scale.to_string() }
}

impl Script for CheckpointStudy {
    fn identity(&self, job: &Job) -> String {
        let CheckpointStudy { drive, work, store, load, plan, window, setups, .. } = self;
        let CheckpointSetup { protection, log_mode, compression, throttle, .. } = setups[job.setup];
        format!(
            "{drive:?} {work:?} {store:?} {load:?} {plan:?} {window} {protection} {log_mode} {compression} {throttle}"
        )
    }

    fn run(&self, job: &Job, tick: Tick<'_>) -> Result<Option<RunRecord>, RunError> {
        run(self, job, tick)
    }

    fn drive(&self, _records: &[&RunRecord]) -> DriveSummary {
        let CheckpointStudy { drive, work, store, .. } = self;
        let scaled = |bytes: Bytes| {
            format!("{:.1} MiB", work.scaled(bytes.get()) as f64 / f64::from(1 << 20))
        };
        let (keys, filled) = (work.scaled(work.keys), work.scaled(work.filled));
        let facts = [
            ("Scale", format!("{} of one server node", in_words(work.scale))),
            ("Keys", format!("{keys}, {filled} at the start")),
            ("Checkpoint period", format!("{:.1}", work.scaled_span(work.period))),
            ("Measured", format!("{} periods after {} to settle", work.periods, work.warm_up)),
            ("A second of the published node", format!("{:.2}", work.second())),
            ("Memory for pages", scaled(store.cache)),
            ("Buffer of old versions", scaled(store.old_versions)),
            ("Log", scaled(store.log)),
            ("Drive's figures", drive.source.clone()),
            ("Transfer per second", drive.bandwidth.to_string()),
            ("Time per request", format!("{}, {} at once", drive.per_request, drive.channels)),
            ("Flush", drive.flush.to_string()),
            ("Processor time of a put", drive.op.to_string()),
            (
                "Processor time of a KiB of images and edits in the log",
                drive.physical_log_kib.to_string(),
            ),
            ("Scheduler", format!("{}, profile {}", self.plan.preset.name, self.profile)),
            ("Window", self.window.to_string()),
        ];
        DriveSummary {
            name: self.drive_name.clone(),
            model: drive.model.clone(),
            calibration: String::new(),
            facts: facts.map(NamedValue::from).into(),
        }
    }

    fn warnings(&self, setups: &[SetupResult], _records: &[&RunRecord]) -> Vec<String> {
        let mut warnings = vec![
            "Drive and processor are modelled: ratios between setups are comparable with published \
             ones, absolute rates are not; look at the ratios first."
                .to_owned(),
        ];
        for setup in setups {
            let (name, of) = (setup.name(), |key| setup.figure(key).unwrap_or(0.0));
            let failed = of("client/failed").ceil();
            if failed > 0.0 {
                warnings.push(format!(
                    "{name}: {failed} puts ended with an error; give the store more room."
                ));
            }
            if of("checkpoint/checkpoints") < 3.0 {
                warnings
                    .push(format!("{name}: fewer than three checkpoints ended; raise `periods`."));
            }
        }
        warnings
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let work = &self.work;
        vec![
            ("drive", format!("{} ({})", self.drive_name, self.drive.model)),
            ("load", self.load.to_string()),
            (
                "steps",
                format!(
                    "a store is filled with {} of {} keys, clients put for {} checkpoint periods of {} \
                     and are measured for {} more; keys, memory, log and period are all times {}",
                    work.filled, work.keys, work.warm_up, work.period, work.periods, work.scale
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        let work = &self.work;
        json!({
            "scale": work.scale, "keys": work.keys, "filled": work.filled,
            "period_s": work.period.as_secs_f64(), "warm_up": work.warm_up, "periods": work.periods,
        })
    }
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &CheckpointFile) -> Result<(), (&'static str, String)> {
    let CheckpointFile { work, store, .. } = file;
    let checks = [
        (work.scale > 0.0 && work.scale <= 1.0, "scale", "more than 0 and at most 1"),
        (work.keys as f64 * work.scale >= 100.0, "keys", "at least 100 at the study's scale"),
        (work.filled <= work.keys, "filled", "at most `keys`"),
        ((1..=10_000).contains(&work.periods), "periods", "from 1 to 10000"),
        (work.warm_up <= 10_000, "warm_up", "at most 10000"),
        (work.period >= Span::from_millis(100), "period", "at least `100 ms`"),
        ((1..=100).contains(&store.log_trigger_percent), "log_trigger_percent", "from 1 to 100"),
        (
            store.cache.get() as f64 * work.scale >= f64::from(256 << 12),
            "cache",
            "at least 1 MiB at the study's scale",
        ),
        (store.recovery >= store.cache, "recovery", "at least as large as `cache`"),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    file.load.check().map_err(|problem| {
        (problem.field, format!("`{}` must be {}", problem.field, problem.wanted))
    })
}

/// What the scheduler of the one OSD is built from: one queue, all of the drive.
fn shard_plan(
    queue: &QueueSection,
    drive: &StoreDrive,
) -> Result<ShardPlan, (&'static str, String)> {
    let preset = *preset(&queue.preset).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        ("preset", unknown("preset", &queue.preset, known))
    })?;
    let profile = preset.profiles.profile(&queue.profile).ok_or_else(|| {
        let known: Vec<&str> = preset.profiles.names().collect();
        ("profile", unknown("profile", &queue.profile, known))
    })?;
    let bandwidth = drive.bandwidth.get() as f64;
    let capacity =
        Capacity { iops: drive.capacity_iops, sequential_bandwidth: bandwidth, shards: 1 };
    let cost_model = match preset.cost_rule {
        CostRule::Time(options) => CostModel::time(&options, Medium::Ssd),
        CostRule::Bytes(combine) => CostModel::bytes(bandwidth, capacity.iops, combine),
    };
    /// The high cut-off of qos.md 1.2; nothing here reaches it.
    const CUT_OFF: u32 = 196;
    Ok(ShardPlan {
        preset,
        scheduler: SchedulerKind::Mclock,
        capacity,
        values: profile.values(preset.profiles.unit, &capacity),
        cost_model,
        work_options: WorkOptions::default(),
        cut_off: CUT_OFF,
    })
}

fn read_setups(
    sections: &[Spanned<SetupSection>],
    source: &Source,
) -> Result<Vec<CheckpointSetup>, InputError> {
    refuse_twins(source, sections.iter().map(|section| &section.get_ref().name))?;
    let mut setups: Vec<CheckpointSetup> = Vec::new();
    for section in sections {
        let SetupSection { name, protection, log_mode, compression, throttle } = section.get_ref();
        let protection: Protection = word(protection, source)?;
        let log_mode: LogMode = word(log_mode, source)?;
        let compression: Compression = word(compression, source)?;
        let throttle: Policy = word(throttle, source)?;
        let traits = [
            ("protection", protection.to_string()),
            ("log mode", log_mode.to_string()),
            ("compression of images", compression.to_string()),
            ("throttle", throttle.to_string()),
        ];
        let configuration = Configuration {
            name: name.get_ref().clone(),
            traits: traits.map(NamedValue::from).into(),
            ..Configuration::default()
        };
        setups.push(CheckpointSetup { configuration, protection, log_mode, compression, throttle });
    }
    Ok(setups)
}

/// One of the words that a setting knows.
fn word<T: FromStr<Err: std::fmt::Display>>(
    typed: &Spanned<String>,
    source: &Source,
) -> Result<T, InputError> {
    typed.get_ref().parse().map_err(|error: T::Err| {
        source.error_at(typed.span().start, format!("`{}`: {error}", typed.get_ref()))
    })
}
