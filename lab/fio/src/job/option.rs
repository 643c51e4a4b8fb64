//! The options of one job: which are known, what their values are, and the load that they make together.

use super::load_job::{JobSize, LoadJob};
use super::problem::JobProblem;
use super::units::{size, span};
use std::time::Duration;

/// What has been said so far.
#[derive(Clone, Debug)]
pub(super) struct JobOptions {
    random: bool,
    direction: JobDirection,
    rwmixread: u32,
    /// Of reads, and of writes if they differ.
    bs: (u64, Option<u64>),
    bssplit: Option<Vec<(u64, u32)>>,
    /// What is asked for, and what the engine makes of it.
    iodepth: (u32, EngineDepth),
    /// Of reads, and of writes.
    rate_iops: (Option<f64>, Option<f64>),
    poisson: bool,
    numjobs: u32,
    runtime: Option<Duration>,
    ramp_time: Option<Duration>,
    size: Option<JobSize>,
}

/// How many operations a job of an engine has in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineDepth {
    /// One, whatever `iodepth` says.
    One,
    /// As many as `iodepth` says.
    Asked,
}

/// Engines of fio whose operations end before the next begins.
const SYNCHRONOUS: [&str; 9] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate", "libzbc"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobDirection {
    Read,
    Write,
    Mixed,
}

/// They say how fio reaches a target, prints or repeats itself; a load is the same with and without them.
const NEUTRAL: [&str; 22] = [
    "direct",
    "buffered",
    "filename",
    "directory",
    "description",
    "name",
    "group_reporting",
    "thread",
    "norandommap",
    "randrepeat",
    "invalidate",
    "time_based",
    "log_avg_msec",
    "log_prio",
    "write_lat_log",
    "write_bw_log",
    "write_iops_log",
    "per_job_logs",
    "lat_percentiles",
    "clat_percentiles",
    "percentile_list",
    "disable_slat",
];

/// What fio knows and a load here cannot follow, with what to do instead.
const UNSUPPORTED: [(&str, &str); 19] = [
    (
        "cmdprio_percentage",
        "give the client's class a priority (`--set osd_device_client_prioclass=rt`)",
    ),
    (
        "cmdprio_class",
        "give the client's class a priority (`--set osd_device_client_prioclass=rt`)",
    ),
    ("cmdprio", "give the client's class a priority (`--set osd_device_client_prio=0`)"),
    ("cmdprio_hint", "give the client's class a limit (`--set osd_device_client_limit=50ms`)"),
    ("cmdprio_bssplit", "give the client's class a limit (`--set osd_device_client_limit=50ms`)"),
    ("prio", "give the client's class a priority (`--set osd_device_client_prio=0`)"),
    ("prioclass", "give the client's class a priority (`--set osd_device_client_prioclass=rt`)"),
    ("priohint", "give the client's class a limit (`--set osd_device_client_limit=50ms`)"),
    ("randseed", "seeds are the study's (`--seed`)"),
    ("kb_base", "write sizes as fio's default reads them, `4k` for 4096"),
    ("blocksize_range", "list the sizes with `bssplit`"),
    ("bsrange", "list the sizes with `bssplit`"),
    ("bs_unaligned", "operations are aligned to their size: leave it out"),
    ("random_distribution", "addresses are uniform: leave it out"),
    ("percentage_random", "take `rw=randread` or `rw=read`"),
    ("rate", "bound operations instead, with `rate_iops`"),
    ("thinktime", "pace operations with `rate_iops`"),
    ("stonewall", "jobs do not follow each other here: keep one job in the file"),
    ("io_size", "say how long with `runtime`"),
];

impl Default for JobOptions {
    /// fio's own defaults.
    fn default() -> JobOptions {
        JobOptions {
            random: false,
            direction: JobDirection::Read,
            rwmixread: 50,
            bs: (4096, None),
            bssplit: None,
            // Its default engine is `psync`.
            iodepth: (1, EngineDepth::One),
            rate_iops: (None, None),
            poisson: false,
            numjobs: 1,
            runtime: None,
            ramp_time: None,
            size: None,
        }
    }
}

impl JobOptions {
    /// Takes one option as it stands in the file.
    pub(super) fn take(&mut self, option: &str, value: Option<&str>) -> Result<(), JobProblem> {
        if NEUTRAL.contains(&option) {
            return Ok(());
        }
        if let Some((_, instead)) = UNSUPPORTED.iter().find(|(name, _)| *name == option) {
            return Err(JobProblem::Unsupported { option: option.to_owned(), instead });
        }
        let text = value.unwrap_or_default();
        let wrong = |wanted| {
            let (option, value) = (option.to_owned(), text.to_owned());
            JobProblem::Value { option, value, wanted }
        };
        match option {
            "rw" | "readwrite" => self.set_rw(text).ok_or_else(|| wrong(RW))?,
            "rwmixread" => self.rwmixread = percent(text).ok_or_else(|| wrong(PERCENT))?,
            "rwmixwrite" => self.rwmixread = 100 - percent(text).ok_or_else(|| wrong(PERCENT))?,
            "bs" | "blocksize" => self.bs = pair(text, block).ok_or_else(|| wrong(BLOCK))?,
            "bssplit" => self.bssplit = Some(split(text).ok_or_else(|| wrong(SPLIT))?),
            "iodepth" => self.iodepth.0 = positive(text).ok_or_else(|| wrong(COUNT))?,
            "ioengine" => {
                self.iodepth.1 = match SYNCHRONOUS.contains(&text) {
                    true => EngineDepth::One,
                    false => EngineDepth::Asked,
                };
            }
            "numjobs" => self.numjobs = positive(text).ok_or_else(|| wrong(COUNT))?,
            "rate_iops" => {
                let (reads, writes) = pair(text, rate).ok_or_else(|| wrong(RATE))?;
                self.rate_iops = (Some(reads), writes);
            }
            "rate_process" => {
                self.poisson = match text {
                    "poisson" => true,
                    "linear" => false,
                    _ => return Err(wrong("`linear` or `poisson`")),
                };
            }
            "runtime" => self.runtime = Some(span(text).ok_or_else(|| wrong(TIME))?),
            "ramp_time" => self.ramp_time = Some(span(text).ok_or_else(|| wrong(TIME))?),
            "size" => self.size = Some(job_size(text).ok_or_else(|| wrong(SIZE))?),
            _ => return Err(JobProblem::Unknown { option: option.to_owned() }),
        }
        Ok(())
    }

    fn set_rw(&mut self, text: &str) -> Option<()> {
        (self.random, self.direction) = match text {
            "read" => (false, JobDirection::Read),
            "write" => (false, JobDirection::Write),
            "rw" | "readwrite" => (false, JobDirection::Mixed),
            "randread" => (true, JobDirection::Read),
            "randwrite" => (true, JobDirection::Write),
            "randrw" => (true, JobDirection::Mixed),
            _ => return None,
        };
        Some(())
    }

    /// The job that all of it makes.
    pub(super) fn job(self, name: String, line: usize) -> Result<LoadJob, JobProblem> {
        let unsupported = |option: &str, instead| {
            Err(JobProblem::Unsupported { option: option.to_owned(), instead })
        };
        if self.numjobs > 1 && !self.random {
            return unsupported("numjobs", "several sequential jobs read the same bytes: take one");
        }
        if self.iodepth.0 > 1 && self.iodepth.1 == EngineDepth::One {
            let instead = "fio would keep 1 with this `ioengine` (its default is psync): say libaio or io_uring, or leave it out";
            return unsupported("iodepth", instead);
        }
        let (of_reads, of_writes) = (self.bs.0, self.bs.1.unwrap_or(self.bs.0));
        if self.bssplit.is_none() && self.direction == JobDirection::Mixed && of_reads != of_writes
        {
            return unsupported("bs", "reads and writes of one load have the same sizes: give one");
        }
        let bs = if self.direction == JobDirection::Write { of_writes } else { of_reads };
        let reads = match self.direction {
            JobDirection::Read => 1.0,
            JobDirection::Write => 0.0,
            JobDirection::Mixed => f64::from(self.rwmixread) / 100.0,
        };
        Ok(LoadJob {
            name,
            line,
            random: self.random,
            reads,
            blocks: self.bssplit.clone().unwrap_or_else(|| vec![(bs, 100)]),
            iodepth: self.iodepth.0,
            rate_iops: self.rate(),
            poisson: self.poisson,
            numjobs: self.numjobs,
            runtime: self.runtime,
            ramp_time: self.ramp_time,
            size: self.size,
        })
    }

    /// Reads and writes of one rate each go at the sum of both, in their mix.
    fn rate(&self) -> Option<f64> {
        let (reads, writes) = self.rate_iops;
        let writes = writes.or(reads);
        match self.direction {
            JobDirection::Read => reads,
            JobDirection::Write => writes,
            JobDirection::Mixed => Some(reads? + writes?),
        }
    }
}

const RW: &str = "read, write, rw, randread, randwrite or randrw";
const PERCENT: &str = "a whole number from 0 to 100";
const BLOCK: &str = "a size such as `4k`, or two for reads and writes";
const SPLIT: &str = "sizes with their percent, as `4k/60:64k/40`, which are 100 together";
const COUNT: &str = "a whole number of at least 1";
const RATE: &str = "whole operations per second, or two numbers for reads and writes";
const TIME: &str = "a time such as `30`, `30s` or `5m`, of at most 36500 days";
const SIZE: &str = "a size such as `10g`, or a percentage such as `50%`";

fn percent(text: &str) -> Option<u32> {
    text.parse().ok().filter(|percent| *percent <= 100)
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| *count > 0)
}

fn block(text: &str) -> Option<u64> {
    size(text).filter(|bytes| *bytes > 0)
}

/// fio counts in whole operations.
fn rate(text: &str) -> Option<f64> {
    positive(text).map(f64::from)
}

/// `READS` or `READS,WRITES`.
fn pair<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<(T, Option<T>)> {
    match text.split_once(',') {
        None => Some((read(text)?, None)),
        Some((reads, writes)) => Some((read(reads.trim())?, Some(read(writes.trim())?))),
    }
}

/// `SIZE/PERCENT:SIZE/PERCENT`; where a percentage is left out, what is missing of 100 is shared.
fn split(text: &str) -> Option<Vec<(u64, u32)>> {
    let mut blocks = Vec::new();
    for part in text.split(':') {
        let (bytes, percentage) = part.split_once('/').unwrap_or((part, ""));
        let percentage = match percentage.trim() {
            "" => None,
            text => Some(percent(text)?),
        };
        blocks.push((block(bytes.trim())?, percentage));
    }
    let said: u32 = blocks.iter().filter_map(|(_, percentage)| *percentage).sum();
    let silent = blocks.iter().filter(|(_, percentage)| percentage.is_none()).count() as u32;
    let rest = 100u32.checked_sub(said)?;
    let share = rest.checked_div(silent).unwrap_or(0);
    let complete = if silent == 0 { rest == 0 } else { share * silent == rest };
    complete.then(|| blocks.into_iter().map(|(bytes, own)| (bytes, own.unwrap_or(share))).collect())
}

fn job_size(text: &str) -> Option<JobSize> {
    match text.strip_suffix('%') {
        Some(text) => positive(text).filter(|share| *share <= 100).map(JobSize::Percent),
        None => block(text).map(JobSize::Bytes),
    }
}
