//! A load that somebody brings along as a fio job file, in the place of the study's own.

use crate::input::{InputError, Source};
use crate::overrides::Override;
use loadline_base::{Bytes, Span};
use loadline_fio::{JobSize, LoadJob, parse_jobs};
use loadline_load::{Arrivals, Block, LoadSpec, Pattern};
use std::time::Duration;

/// What a job file says.
pub(crate) struct GivenLoad {
    pub(crate) spec: LoadSpec,
    /// How long it is to be measured.
    pub(crate) runtime: Option<Span>,
    /// How long it is to run before.
    pub(crate) ramp: Option<Span>,
}

impl GivenLoad {
    /// Refuses a time before the measured one, for a study that has none.
    ///
    /// # Errors
    /// [`InputError`] that names the job file.
    pub(crate) fn check_unramped(&self, source: &Source, study: &str) -> Result<(), InputError> {
        let reason = || format!("{study} is measured from its first op: leave `ramp_time` out");
        match self.ramp {
            Some(_) => Err(InputError::new(source.file.clone(), reason())),
            None => Ok(()),
        }
    }
}

/// The figures of a study's own load, with the options of a job that take their place.
const FIGURES: [(&str, &[&str]); 5] = [
    ("block", &["bssplit", "bs", "blocksize"]),
    ("depth", &["iodepth", "numjobs"]),
    ("rate", &["rate_iops"]),
    ("reads", &["rwmixread", "rwmixwrite", "rw", "readwrite"]),
    ("image", &["size"]),
];

/// The shortest time that is measured.
const RUNTIME_MIN: Span = Span::from_secs(1);

/// The one job of a file as a load on objects of `object` bytes, on an image of this size at most.
///
/// # Errors
/// [`InputError`] that names the job file and its line, or what was typed beside it in vain.
pub(crate) fn read(
    source: &Source,
    overrides: &[Override],
    image: Bytes,
    object: Bytes,
) -> Result<GivenLoad, InputError> {
    let replaced = ["block", "depth", "rate", "reads"];
    if let Some(typed) = overrides.iter().find(|typed| replaced.contains(&typed.key.as_str())) {
        let reason = format!("the load is that of {}: set it there", source.file);
        return Err(InputError::new(typed.to_string(), reason));
    }
    let at = |line: usize, reason: String| InputError {
        place: source.file.clone(),
        line: Some(line),
        reason,
    };
    let jobs =
        parse_jobs(&source.text).map_err(|error| at(error.line, error.problem.to_string()))?;
    let [job] = jobs.as_slice() else {
        let reason = format!("a study has one client: keep one of the {} jobs", jobs.len());
        return Err(at(jobs[1].line, reason));
    };
    let refuse = |(options, reason): (&[&str], String)| at(line_of(source, options, job), reason);
    let spec = spec(job, image, object).map_err(refuse)?;
    spec.check(object).map_err(|problem| {
        let options = FIGURES.iter().find(|(figure, _)| *figure == problem.field);
        let options = options.map_or(&[][..], |(_, options)| options);
        let named = options.iter().find(|option| sets(source, option).is_some());
        let option = named.or(options.first()).unwrap_or(&problem.field);
        refuse((options, format!("`{option}` must be {}", problem.wanted)))
    })?;
    let span = |duration: Duration| Span::from_nanos(duration.as_nanos() as u64);
    let runtime = job.runtime.map(span);
    if runtime.is_some_and(|runtime| runtime < RUNTIME_MIN) {
        let reason = format!("`runtime` must be at least {RUNTIME_MIN}");
        return Err(refuse((&["runtime"][..], reason)));
    }
    Ok(GivenLoad { spec, runtime, ramp: job.ramp_time.map(span) })
}

/// The line, from 1, that sets an option last. The file has one job, which is its last section.
fn sets(source: &Source, option: &str) -> Option<usize> {
    let is_it = |line: &str| line.split('=').next().is_some_and(|name| name.trim() == option);
    let lines = source.text.lines().enumerate();
    lines.filter(|(_, line)| is_it(line)).last().map(|(index, _)| index + 1)
}

/// The line of the first of these options that is set, or of the job.
fn line_of(source: &Source, options: &[&str], job: &LoadJob) -> usize {
    options.iter().find_map(|option| sets(source, option)).unwrap_or(job.line)
}

/// The error names the options that it is about.
fn spec(
    job: &LoadJob,
    image: Bytes,
    object: Bytes,
) -> Result<LoadSpec, (&'static [&'static str], String)> {
    let bytes = match job.size {
        None => image.get(),
        Some(JobSize::Percent(share)) => image.get() / 100 * u64::from(share),
        Some(JobSize::Bytes(bytes)) if bytes > image.get() => {
            let reason = format!("`size` is more than the study's image of {image}: lower it");
            return Err((&["size"][..], reason));
        }
        Some(JobSize::Bytes(bytes)) => bytes,
    };
    let blocks = job.blocks.iter();
    Ok(LoadSpec {
        depth: Some(job.iodepth.saturating_mul(job.numjobs)),
        rate: job.rate_iops.map(|rate| rate * f64::from(job.numjobs)),
        arrivals: if job.poisson { Arrivals::Poisson } else { Arrivals::Fixed },
        block: blocks
            .map(|(size, weight)| Block { size: Bytes::new(*size), weight: *weight })
            .collect(),
        reads: job.reads,
        pattern: if job.random { Pattern::Random } else { Pattern::Sequential },
        // An image is made of objects.
        image: Bytes::new((bytes / object.get()).max(1) * object.get()),
    })
}
