//! The reader of job files with what may come: nothing panics, what is refused is refused in a line that is there, and what
//! is accepted can be carried out and is a job that can be written down again. Shared with the target in `fuzz/`, so it
//! holds no tests.

use loadline_fio::{JobSize, LoadJob, parse_jobs};
use std::fmt::Write;
use std::time::Duration;

/// No time of a job is longer, so that two of them can be added.
const YEARS_100: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Text as a job file. Returns whether it was accepted.
pub(crate) fn jobs(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    match parse_jobs(text) {
        Ok(jobs) => {
            assert!(!jobs.is_empty());
            jobs.iter().for_each(check);
            true
        }
        Err(error) => {
            assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error:?}");
            assert!(!error.problem.to_string().contains('\n'), "one sentence: {error:?}");
            false
        }
    }
}

fn check(job: &LoadJob) {
    assert!(job.iodepth > 0 && job.numjobs > 0 && (0.0..=1.0).contains(&job.reads), "{job:?}");
    assert!(job.random || job.numjobs == 1, "{job:?}");
    assert_eq!(job.blocks.iter().map(|(_, percent)| percent).sum::<u32>(), 100, "{job:?}");
    assert!(job.blocks.iter().all(|(bytes, _)| *bytes > 0), "{job:?}");
    assert!(job.rate_iops.is_none_or(|rate| rate >= 1.0 && rate.is_finite()), "{job:?}");
    let times = [job.runtime, job.ramp_time].into_iter().flatten();
    assert!(times.into_iter().all(|time| time <= YEARS_100), "{job:?}");
    let again = parse_jobs(&written(job)).expect("a job that is written is a job");
    assert_eq!(again, [LoadJob { line: 1, ..job.clone() }]);
}

/// A job file of this job.
fn written(job: &LoadJob) -> String {
    let order = if job.random { "rand" } else { "" };
    let mix = (job.reads * 100.0).round() as u32;
    // The rates of reads and of writes may add up to more than one number may be.
    let is_one_number = job.rate_iops.is_none_or(|rate| rate <= f64::from(u32::MAX));
    let direction = match mix {
        0 if is_one_number => "write",
        100 if is_one_number => "read",
        _ => "rw",
    };
    let mut text = format!("[{}]\nrw={order}{direction}\nrwmixread={mix}\n", job.name);
    let mut line = |option: &str, value: String| {
        writeln!(text, "{option}={value}").expect("a string takes it")
    };
    let block = |(bytes, percent): &(u64, u32)| format!("{bytes}/{percent}");
    line("bssplit", job.blocks.iter().map(block).collect::<Vec<_>>().join(":"));
    line("ioengine", "libaio".to_owned());
    line("iodepth", job.iodepth.to_string());
    line("numjobs", job.numjobs.to_string());
    line("rate_process", if job.poisson { "poisson" } else { "linear" }.to_owned());
    if let Some(rate) = job.rate_iops {
        let half = (rate / 2.0).floor();
        line(
            "rate_iops",
            if direction == "rw" { format!("{half},{}", rate - half) } else { rate.to_string() },
        );
    }
    for (option, time) in [("runtime", job.runtime), ("ramp_time", job.ramp_time)] {
        time.into_iter().for_each(|time| line(option, format!("{}us", time.as_micros())));
    }
    match job.size {
        None => {}
        Some(JobSize::Bytes(bytes)) => line("size", bytes.to_string()),
        Some(JobSize::Percent(percent)) => line("size", format!("{percent}%")),
    }
    text
}
