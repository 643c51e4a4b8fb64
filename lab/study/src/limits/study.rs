//! A limits study as it is meant: everything looked up, checked and ready to run.

use super::conclude::conclude;
use super::file::{LimitSection, LimitsFile, PolicyWord};
use super::keys::LIMITS_KEYS;
use super::record::{LimitsRecord, LimitsResult};
use super::run::run;
use super::setup::{LimitsSetup, read_setups};
use crate::input::{InputError, Source, fingerprint};
use crate::overrides::{Override, apply_overrides};
use crate::plan::{Job, Purpose, Request};
use crate::recovery::Tick;
use crate::sets::{Sets, choose, read_sets};
use crate::study::{Inputs, Named};
use loadline_base::{Bytes, Span};
use loadline_cluster::settings::DriveLimits;
use loadline_device::cdl::{AllowedLoss, DESCRIPTORS, Descriptor, Limit, Limits, Policy, Unit};
use loadline_load::LoadSpec;
use loadline_sim::AnyDrive;
use loadline_sim::hdd::HddSpec;
use toml::Spanned;

/// Size of the objects that the image is striped over.
pub(super) const OBJECT: Bytes = Bytes::from_mib(4);

/// PERFORMANCE VERSUS COMMAND DURATION GUIDELINES as the published benchmark sets it: code Ch, 20 % (cdl.md 1.2).
const LOSS_CODE: u8 = 0xc;

/// A question about duration limits, with the setups that answer it.
#[derive(Clone, Debug)]
pub struct LimitsStudy {
    /// Its name: the file's, without folder and ending.
    pub name: String,
    /// One line for the top of a page.
    pub title: String,
    /// What it answers.
    pub question: String,
    /// The drive.
    pub drive: HddSpec,
    /// How long, and through which window.
    pub steps: LimitsSteps,
    /// What the client does.
    pub client: LoadSpec,
    /// What goes on beside it.
    pub background: LoadSpec,
    /// What is uploaded to the drive.
    pub limits: Limits,
    /// What is compared, in the study's order.
    pub setups: Vec<LimitsSetup>,
    /// Names for groups of setups.
    pub sets: Sets,
}

/// How long a run is, and what its OSD lets into the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsSteps {
    /// Before it is measured.
    pub ramp: Span,
    /// Measured.
    pub measured: Span,
    /// Requests at the drive before work waits in the OSD's queue.
    pub window: u32,
}

fn read_file(source: &Source, overrides: &[Override]) -> Result<LimitsFile, InputError> {
    let mut file: LimitsFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let own = overrides.iter().filter(|change| !change.is_option());
    let has = ("a limits study has", ", and every option of an OSD");
    apply_overrides(&mut file, LIMITS_KEYS, has, own)?;
    Ok(file)
}

impl LimitsStudy {
    /// The files that a study file asks for.
    pub(crate) fn named_in(study: &Source, overrides: &[Override]) -> Result<Named, InputError> {
        Ok(Named { drive: read_file(study, overrides)?.drive, published: None })
    }

    /// How long a study file measures.
    pub(crate) fn measured_in(study: &Source) -> Result<Span, InputError> {
        Ok(read_file(study, &[])?.steps.measured)
    }

    /// The study that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<LimitsStudy, InputError> {
        let source = &inputs.study;
        let mut file = read_file(source, &inputs.overrides)?;
        let drive = mechanical(&inputs.drive)?;
        if let Some(load) = &inputs.load {
            let given =
                crate::given_load::read(load, &inputs.overrides, file.client.image, OBJECT)?;
            file.client = given.spec;
            file.steps.measured = given.runtime.unwrap_or(file.steps.measured);
            file.steps.ramp = given.ramp.unwrap_or(file.steps.ramp);
        }
        check(&file, &drive).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let limits = limits(&file.limits, source, &drive)?;
        let of_drive = DriveLimits { reads: limits, writes: Limits::default() };
        let setups = read_setups(&file, source, of_drive, &inputs.overrides)?;
        let names: Vec<&str> = setups.iter().map(|setup| setup.name.as_str()).collect();
        Ok(LimitsStudy {
            name: source.name.clone(),
            sets: read_sets(&file.sets, source, &names)?,
            title: file.title,
            question: file.question,
            drive,
            steps: LimitsSteps {
                ramp: file.steps.ramp,
                measured: file.steps.measured,
                window: file.steps.window,
            },
            client: file.client,
            background: file.background,
            limits,
            setups,
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
        let runs = request.setups.iter().flat_map(|setup| {
            (0..u64::from(request.repeats))
                .map(|repeat| (*setup, request.seed.wrapping_add(repeat)))
        });
        runs.map(|(setup, seed)| self.job(request, setup, seed)).collect()
    }

    /// Makes a run; `None` if `tick` ended it.
    pub(crate) fn run(&self, job: &Job, tick: Tick<'_>) -> Option<LimitsRecord> {
        run(self, job, tick)
    }

    /// The result; `None` while a record is missing.
    pub(crate) fn concluded(
        &self,
        request: &Request,
        records: &[LimitsRecord],
    ) -> Option<LimitsResult> {
        conclude(self, request, records)
    }

    fn job(&self, request: &Request, setup: usize, seed: u64) -> Job {
        let question = format!("{:?} {:?} {:?}", self.drive, self.steps, self.limits);
        let loads = format!("{:?} {:?}", self.client, self.background);
        let own = format!("{:?} {seed}", self.setups[setup].engine(seed));
        Job {
            key: fingerprint(&[&request.engine, &question, &loads, &own]),
            setup,
            purpose: Purpose::Answer,
            scale: 1.0,
            seed,
            placement_seed: seed,
            trace: None,
            weight: 1.0,
        }
    }
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &LimitsFile, drive: &HddSpec) -> Result<(), (&'static str, String)> {
    let LimitsFile { steps, client, background, limits, .. } = file;
    let image = Bytes::new(drive.capacity().get() / OBJECT.get() * OBJECT.get());
    let fits = format!("at most {image}, the size of the drive");
    let checks = [
        (steps.measured >= Span::from_secs(1), "measured", "at least `1 s`"),
        (windows(file).all(|window| (1..=100_000).contains(&window)), "window", "from 1 to 100000"),
        (!limits.is_empty() && limits.len() <= DESCRIPTORS, "limit", "given 1 to 7 times"),
        (client.image <= image, "image", &fits),
        (background.image <= image, "image", &fits),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    for load in [client, background] {
        load.check(OBJECT).map_err(|problem| {
            (problem.field, format!("`{}` must be {}", problem.field, problem.wanted))
        })?;
    }
    Ok(())
}

/// The study's window, and those of setups that have their own.
fn windows(file: &LimitsFile) -> impl Iterator<Item = u32> {
    let own = file.setups.iter().filter_map(|setup| setup.get_ref().window);
    own.chain([file.steps.window])
}

fn mechanical(source: &Source) -> Result<HddSpec, InputError> {
    let drive = AnyDrive::parse(&source.name, &source.file, &source.text)
        .map_err(|error| InputError::new(source.file.clone(), error.to_string()))?;
    match drive {
        AnyDrive::Mechanical(spec) if spec.limits.is_some() => Ok(spec),
        AnyDrive::Mechanical(_) => {
            let reason = "the drive knows no duration limits: take one that has `[limits]`";
            Err(InputError::new(source.file.clone(), reason))
        }
        AnyDrive::Calibrated(_) => {
            let reason = "the drive is calibrated and has no queue: take a mechanical one";
            Err(InputError::new(source.file.clone(), reason))
        }
    }
}

/// The descriptors of the file, each within what the drive takes.
fn limits(
    sections: &[Spanned<LimitSection>],
    source: &Source,
    drive: &HddSpec,
) -> Result<Limits, InputError> {
    let range = drive.limits.expect("it was looked at before");
    let mut limits = Limits {
        allowed_loss: AllowedLoss::from_code(LOSS_CODE).expect("the code is not reserved"),
        ..Limits::default()
    };
    for (place, section) in limits.descriptors.iter_mut().zip(sections) {
        let LimitSection { guideline, policy } = *section.get_ref();
        let at = section.span().start;
        if !(range.shortest..=range.longest).contains(&guideline) {
            let reason = format!(
                "the drive takes guidelines from {} to {}, not {guideline}",
                range.shortest, range.longest
            );
            return Err(source.error_at(at, reason));
        }
        *place = descriptor(guideline, policy).ok_or_else(|| {
            source.error_at(at, format!("no unit of a descriptor counts {guideline} exactly"))
        })?;
    }
    Ok(limits)
}

/// The descriptor in the finest unit that holds the guideline.
fn descriptor(guideline: Span, policy: PolicyWord) -> Option<Descriptor> {
    let policy = match policy {
        PolicyWord::CompleteEarliest => Policy::CompleteEarliest,
        PolicyWord::ContinueNextLimit => Policy::ContinueNextLimit,
        PolicyWord::ContinueNoLimit => Policy::ContinueNoLimit,
        PolicyWord::CompleteUnavailable => Policy::CompleteUnavailable,
        PolicyWord::Abort => Policy::Abort,
    };
    let units = [Unit::HalfMicrosecond, Unit::Microsecond, Unit::TenMilliseconds, Unit::HalfSecond];
    units.into_iter().find_map(|unit| {
        let nanos = unit.nanos()?;
        let time = u16::try_from(guideline.nanos() / nanos).ok()?;
        let exact = u64::from(time) * nanos == guideline.nanos();
        exact.then(|| Descriptor {
            unit,
            guideline: Limit { time, policy },
            ..Descriptor::default()
        })
    })
}
