//! Reads a study file of this kind, and refuses what cannot be used.

use super::file::{LimitSection, LimitsFile, PolicyWord};
use super::keys::LIMITS_KEYS;
use super::setup::read_setups;
use super::study::{LimitsStudy, OBJECT};
use crate::input::{InputError, Source};
use crate::inputs::{Inputs, NamedFiles};
use crate::overrides::{Override, apply_overrides};
use crate::study::{Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_cluster::settings::DriveLimits;
use loadline_device::cdl::{
    AllowedLoss, DESCRIPTORS, Descriptor, Limit, Limits, TimeoutPolicy, Unit,
};
use loadline_sim::AnyDrive;
use loadline_sim::hdd::HddSpec;
use toml::Spanned;

/// PERFORMANCE VERSUS COMMAND DURATION GUIDELINES as the published benchmark sets it: code Ch, 20 % (cdl.md 1.2).
const LOSS_CODE: u8 = 0xc;

pub(super) fn read_file(source: &Source, overrides: &[Override]) -> Result<LimitsFile, InputError> {
    let mut file: LimitsFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let own = overrides.iter().filter(|change| !change.is_option());
    let has = ("a limits study has", ", and every option of an OSD");
    apply_overrides(&mut file, LIMITS_KEYS, has, own)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<NamedFiles, InputError> {
    Ok(NamedFiles { drive: read_file(study, overrides)?.drive, published: None })
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
    client.check(OBJECT).map_err(|problem| (problem.field, problem.to_string()))
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
        PolicyWord::CompleteEarliest => TimeoutPolicy::CompleteEarliest,
        PolicyWord::ContinueNextLimit => TimeoutPolicy::ContinueNextLimit,
        PolicyWord::ContinueNoLimit => TimeoutPolicy::ContinueNoLimit,
        PolicyWord::CompleteUnavailable => TimeoutPolicy::CompleteUnavailable,
        PolicyWord::Abort => TimeoutPolicy::Abort,
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

impl LimitsStudy {
    /// The study that the inputs describe.
    pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
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
        // The client has fields of the same names.
        file.background.check(OBJECT).map_err(|problem| {
            inputs.refuse_in("background", problem.field, problem.to_string())
        })?;
        let limits = limits(&file.limits, source, &drive)?;
        let of_drive = DriveLimits { reads: limits, writes: Limits::default() };
        let setups = read_setups(&file, source, of_drive, &inputs.overrides)?;
        let asked = StudyQuestion {
            title: file.title,
            question: file.question,
            load: format!("{}; beside it {}", file.client, file.background),
            scale: 1.0,
            departs: Vec::new(),
            setups: setups.iter().map(|setup| setup.osds.configuration.clone()).collect(),
            sets: file.sets,
            expectations: file.expectations,
        };
        let script = LimitsStudy {
            drive,
            steps: file.steps,
            client: file.client,
            background: file.background,
            limits,
            setups,
        };
        Study::of(inputs, asked, script)
    }
}
