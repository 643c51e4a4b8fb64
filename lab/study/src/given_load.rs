//! A load that somebody brings along as a fio job file, in the place of the study's own.

use crate::input::{InputError, Source};
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

/// Sizes are rounded down to this: an image is made of objects.
const OBJECT: u64 = 4 << 20;

/// The one job of a file as a load on an image of this size at most.
pub(crate) fn read(source: &Source, image: Bytes) -> Result<GivenLoad, InputError> {
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
    let spec = spec(job, image).map_err(|reason| at(job.line, reason))?;
    let span = |duration: Duration| Span::from_nanos(duration.as_nanos() as u64);
    Ok(GivenLoad { spec, runtime: job.runtime.map(span), ramp: job.ramp_time.map(span) })
}

fn spec(job: &LoadJob, image: Bytes) -> Result<LoadSpec, String> {
    let bytes = match job.size {
        None => image.get(),
        Some(JobSize::Percent(share)) => image.get() / 100 * u64::from(share),
        Some(JobSize::Bytes(bytes)) if bytes > image.get() => {
            return Err(format!("`size` is more than the study's image of {image}: lower it"));
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
        image: Bytes::new((bytes / OBJECT * OBJECT).max(OBJECT)),
    })
}
