//! A checkpoint study as it is meant: everything looked up, checked and ready to run.

use super::conclude::conclude;
use super::drive::StoreDrive;
use super::file::{CheckpointFile, QueueSection, SetupSection};
use super::keys::CHECKPOINT_KEYS;
use super::published::PublishedCheckpointSet;
use super::record::{CheckpointRecord, CheckpointResult};
use super::run::run;
use crate::input::{InputError, Source, fingerprint, unknown};
use crate::overrides::{Override, apply_overrides};
use crate::plan::{Job, Purpose, Request};
use crate::recovery::{RunError, Tick};
use crate::sets::{Sets, choose, read_sets};
use crate::study::{Inputs, Named};
use loadline_base::{Bytes, Span};
use loadline_device::Medium;
use loadline_load::puts::PutSpec;
use loadline_qos::{
    Capacity, CostModel, CostRule, PRESETS, SchedulerKind, ShardPlan, WorkOptions, preset,
};
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::Policy;
use loadline_store::paged::{LogMode, Protection};
use std::str::FromStr;
use toml::Spanned;

/// A question about checkpoints, with the setups that answer it.
#[derive(Clone, Debug)]
pub struct CheckpointStudy {
    /// Its name: the file's, without folder and ending.
    pub name: String,
    /// One line for the top of a page.
    pub title: String,
    /// What it answers.
    pub question: String,
    /// Name of the drive's file.
    pub drive_name: String,
    /// The drive.
    pub drive: StoreDrive,
    /// The amount of work.
    pub work: CheckpointWork,
    /// The store, at scale 1.
    pub store: StoreShape,
    /// What the clients do.
    pub load: PutSpec,
    /// The scheduler.
    pub plan: ShardPlan,
    /// The scheduler's profile.
    pub profile: String,
    /// Bytes at the drive before the scheduler waits.
    pub window: Bytes,
    /// What is compared, in the study's order.
    pub setups: Vec<CheckpointSetup>,
    /// Names for groups of setups.
    pub sets: Sets,
    /// What somebody else measured.
    pub published: Option<PublishedCheckpointSet>,
}

/// The amount of work of one server node; all but `scale` as published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointWork {
    /// Size of keys, memory, log and period against the published node.
    pub scale: f64,
    /// Different keys.
    pub keys: u64,
    /// Keys that are there when clients begin.
    pub filled: u64,
    /// Time between two checkpoints' starts.
    pub period: Span,
    /// Periods before the measured ones.
    pub warm_up: u32,
    /// Measured periods.
    pub periods: u32,
}

/// A store's sizes, at scale 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreShape {
    /// The drive's size.
    pub size: Bytes,
    /// Memory for pages.
    pub cache: Bytes,
    /// Memory for old versions of pages.
    pub old_versions: Bytes,
    /// The log.
    pub log: Bytes,
    /// Room for the images of a checkpoint.
    pub recovery: Bytes,
    /// Share of the log at which a checkpoint starts, in percent.
    pub log_trigger_percent: u8,
}

/// One configuration under test.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointSetup {
    /// The bar's label.
    pub name: String,
    /// Where images go.
    pub protection: Protection,
    /// When a put is answered.
    pub log_mode: LogMode,
    /// How images are stored.
    pub compression: Compression,
    /// How puts are slowed down.
    pub throttle: Policy,
}

impl CheckpointWork {
    /// A number of keys or bytes at this scale.
    pub fn scaled(&self, amount: u64) -> u64 {
        ((amount as f64 * self.scale).round() as u64).max(1)
    }

    /// A length of time at this scale.
    pub fn scaled_span(&self, span: Span) -> Span {
        Span::from_nanos(self.scaled(span.nanos()))
    }

    /// What a second of the published node is here.
    pub fn second(&self) -> Span {
        self.scaled_span(Span::from_secs(1))
    }
}

fn read_file(source: &Source, overrides: &[Override]) -> Result<CheckpointFile, InputError> {
    let mut file: CheckpointFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    apply_overrides(&mut file, CHECKPOINT_KEYS, ("a checkpoint study has", ""), overrides)?;
    Ok(file)
}

impl CheckpointStudy {
    /// The files that a study file asks for.
    pub(crate) fn named_in(study: &Source, overrides: &[Override]) -> Result<Named, InputError> {
        let CheckpointFile { drive, published, .. } = read_file(study, overrides)?;
        Ok(Named { drive, published })
    }

    /// How many periods a study file measures.
    pub(crate) fn periods_in(study: &Source) -> Result<u32, InputError> {
        Ok(read_file(study, &[])?.work.periods)
    }

    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<CheckpointStudy, InputError> {
        let source = &inputs.study;
        if let Some(load) = &inputs.load {
            let reason = "a checkpoint study's clients put keys, which no fio job describes: leave --load out";
            return Err(InputError::new(format!("--load {}", load.file), reason));
        }
        let file = read_file(source, &inputs.overrides)?;
        check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let drive = StoreDrive::parse(&inputs.drive)?;
        let plan = shard_plan(&file.queue, &drive)
            .map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let published = match &inputs.published {
            Some(published) => PublishedCheckpointSet::find(published, &source.name)?,
            None => None,
        };
        let setups = read_setups(&file.setups, source)?;
        let names: Vec<&str> = setups.iter().map(|setup| setup.name.as_str()).collect();
        let (work, store) = (file.work, file.store);
        Ok(CheckpointStudy {
            name: source.name.clone(),
            sets: read_sets(&file.sets, source, &names)?,
            title: file.title,
            question: file.question,
            drive_name: inputs.drive.name.clone(),
            drive,
            work: CheckpointWork {
                scale: work.scale,
                keys: work.keys,
                filled: work.filled,
                period: work.period,
                warm_up: work.warm_up,
                periods: work.periods,
            },
            store: StoreShape {
                size: store.size,
                cache: store.cache,
                old_versions: store.old_versions,
                log: store.log,
                recovery: store.recovery,
                log_trigger_percent: store.log_trigger_percent,
            },
            load: file.load,
            plan,
            profile: file.queue.profile,
            window: file.queue.window,
            setups,
            published,
        })
    }

    /// The setups that a choice names: a set, or setups separated by commas. In the study's order.
    ///
    /// # Errors
    /// [`InputError`] for a name that is neither.
    pub fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        let names: Vec<&str> = self.setups.iter().map(|setup| setup.name.as_str()).collect();
        choose(choice, &names, &self.sets)
    }

    /// All runs, in the order in which results name them.
    pub(crate) fn jobs(&self, request: &Request) -> Vec<Job> {
        let mut jobs = Vec::new();
        for &setup in &request.setups {
            for repeat in 0..u64::from(request.repeats) {
                jobs.push(self.job(request, setup, request.seed.wrapping_add(repeat)));
            }
        }
        jobs
    }

    /// Makes a run; `None` if `tick` ended it.
    pub(crate) fn run(
        &self,
        job: &Job,
        tick: Tick<'_>,
    ) -> Result<Option<CheckpointRecord>, RunError> {
        run(self, job, tick)
    }

    /// The result; `None` while a record is missing.
    pub(crate) fn concluded(
        &self,
        request: &Request,
        records: &[CheckpointRecord],
    ) -> Option<CheckpointResult> {
        conclude(self, request, records)
    }

    fn job(&self, request: &Request, setup: usize, seed: u64) -> Job {
        let question = format!("{:?} {:?} {:?}", self.drive, self.work, self.store);
        let world = format!("{:?} {:?} {}", self.load, self.plan, self.window);
        let own = format!("{:?} {seed}", self.setups[setup]);
        Job {
            key: fingerprint(&[&request.engine, &question, &world, &own]),
            setup,
            purpose: Purpose::Answer,
            scale: self.work.scale,
            seed,
            placement_seed: seed,
            trace: None,
            weight: 1.0,
        }
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
    let mut setups: Vec<CheckpointSetup> = Vec::new();
    for section in sections {
        let SetupSection { name, protection, log_mode, compression, throttle } = section.get_ref();
        if setups.iter().any(|setup| setup.name == *name.get_ref()) {
            let reason = format!("the setup `{}` stands here twice", name.get_ref());
            return Err(source.error_at(name.span().start, reason));
        }
        setups.push(CheckpointSetup {
            name: name.get_ref().clone(),
            protection: word(protection, source)?,
            log_mode: word(log_mode, source)?,
            compression: word(compression, source)?,
            throttle: word(throttle, source)?,
        });
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
