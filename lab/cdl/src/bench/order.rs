//! What is to be run: from the options as typed to the checked order.

use crate::workload::{ReadPart, ReadWorkload};
use loadline_fio::parse_size;
use std::path::PathBuf;

/// The options of `cdl_bench.sh`, as typed (cdl.md 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// `--dev`
    pub dev: Option<String>,
    /// `--bs`
    pub bs: String,
    /// `--ramptime`, in seconds.
    pub ramptime: u64,
    /// `--runtime`, in seconds.
    pub runtime: u64,
    /// `--qds`: numbers with blanks between them.
    pub qds: String,
    /// `--baseline`
    pub baseline: bool,
    /// `--ncq-prio`
    pub ncq_prio: bool,
    /// `--cdl-single`
    pub cdl_single: bool,
    /// `--cdl-multi`
    pub cdl_multi: bool,
    /// `--percentage`
    pub percentage: Option<i64>,
    /// `--dld`
    pub dld: Option<i64>,
    /// `--dldsplit`: `dld/percentage` with commas between them.
    pub dldsplit: Option<String>,
}

/// Bytes of a read, unless said otherwise.
pub const BS_DEFAULT: &str = "131072";
/// Seconds before anything counts, unless said otherwise.
pub const RAMPTIME_DEFAULT: u64 = 60;
/// Seconds that count, unless said otherwise.
pub const RUNTIME_DEFAULT: u64 = 300;
/// Queue depths, unless said otherwise.
pub const QDS_DEFAULT: &str = "1 2 4 8 16 24 32";

/// A run that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOrder {
    /// The drive under test.
    pub device: Device,
    /// The block size as it was typed.
    pub block: String,
    /// The same in bytes.
    pub block_bytes: u64,
    /// Seconds before anything counts.
    pub ramp_seconds: u64,
    /// Seconds that count, per depth.
    pub run_seconds: u64,
    /// Queue depths, in the order in which they run.
    pub depths: Vec<u32>,
    /// Workloads, in the order in which they run.
    pub workloads: Vec<ReadWorkload>,
}

/// A drive to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A modelled drive by its name or its file, in virtual time.
    Modelled(String),
    /// A block device or a file, in real time.
    Real(PathBuf),
}

/// The longest run, in seconds: a year.
const TIME_MAX: u64 = 365 * 24 * 3600;

/// Why nothing can be run. The first words are those of the script.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Nothing to read from.
    #[error("--dev: No device specified; name a block device, a file, or sim:hdd-22tb-cdl")]
    NoDevice,
    /// No workload.
    #[error("Nothing to run; add --baseline, --ncq-prio, --cdl-single or --cdl-multi")]
    NothingToRun,
    /// A percentage out of range.
    #[error("--percentage {0}: Invalid percentage; it is 1 to 100")]
    Percentage(i64),
    /// A workload that needs a percentage has none.
    #[error("{0}: No percentage specified; add --percentage, 1 to 100")]
    NoPercentage(&'static str),
    /// A descriptor out of range.
    #[error("--dld {0}: Invalid limit index; it is 1 to 7")]
    Descriptor(i64),
    /// The workload of one limit has no descriptor.
    #[error("--cdl-single: No CDL descriptor specified; add --dld, 1 to 7")]
    NoDescriptor,
    /// The workload of several limits has no descriptors.
    #[error("--cdl-multi: No CDL specified; add --dldsplit, for example \"2/10,4/20\"")]
    NoSplit,
    /// A part of the split is not of the form.
    #[error("--dldsplit: \"{0}\" is not a descriptor and its percentage, as in \"2/10\"")]
    SplitForm(String),
    /// A part of the split names no descriptor.
    #[error("--dldsplit: \"{0}\": Invalid DLD index specified; it is at most 7")]
    SplitDescriptor(String),
    /// A part of the split has a percentage out of range.
    #[error("--dldsplit: \"{0}\": Invalid DLD index percentage specified; it is 1 to 100")]
    SplitPercentage(String),
    /// A part of the split names a descriptor that another one names.
    #[error(
        "--dldsplit: \"{0}\": a part before it names the same descriptor; each stands there once"
    )]
    SplitTwice(String),
    /// Something was asked of a workload that is not run.
    #[error("{0} changes nothing without {1}: add that, or leave it out")]
    Unused(&'static str, &'static str),
    /// The split gives away more reads than there are.
    #[error("--dldsplit: the percentages add up to {0}, and 100 are there")]
    SplitSum(u32),
    /// The block size is none.
    #[error(
        "--bs {0}: a block size is a multiple of 512 bytes, as a number of bytes, or of KiB, MiB or GiB with k, m or g behind it"
    )]
    Block(String),
    /// The list of depths is none.
    #[error(
        "--qds \"{0}\": queue depths are different numbers from 1 to 4096 with blanks between them"
    )]
    Depths(String),
    /// Nothing would be measured.
    #[error("--runtime 0: a run takes at least a second")]
    NoTime,
    /// No clock counts so far.
    #[error(
        "--ramptime {ramp}, --runtime {run}: a run takes at most a year together, {TIME_MAX} seconds"
    )]
    Time {
        /// What was asked before anything counts.
        ramp: u64,
        /// What was asked to count.
        run: u64,
    },
}

impl BenchOptions {
    /// Whether everything that was asked is of a workload that is asked as well. The script takes what is not, and a description of several runs may have it.
    ///
    /// # Errors
    /// [`OrderError::Unused`].
    pub fn check_used(&self) -> Result<(), OrderError> {
        let (single, multi) = (self.cdl_single, self.cdl_multi);
        let of = "--ncq-prio or --cdl-single";
        let options = [
            ("--percentage", self.percentage.is_none() || self.ncq_prio || single, of),
            ("--dld", self.dld.is_none() || single, "--cdl-single"),
            ("--dldsplit", self.dldsplit.is_none() || multi, "--cdl-multi"),
        ];
        match options.into_iter().find(|(_, is_good, _)| !is_good) {
            Some((option, _, of)) => Err(OrderError::Unused(option, of)),
            None => Ok(()),
        }
    }
}

impl BenchOrder {
    /// Checks what was typed.
    pub fn new(asked: &BenchOptions) -> Result<BenchOrder, OrderError> {
        let percentage = asked.percentage.map(percentage).transpose()?;
        let descriptor = asked.dld.map(descriptor).transpose()?;
        let device = match asked.dev.as_deref() {
            None | Some("") => return Err(OrderError::NoDevice),
            Some(text) => match text.strip_prefix("sim:") {
                Some(name) => Device::Modelled(name.to_owned()),
                None => Device::Real(PathBuf::from(text)),
            },
        };
        let mut workloads = Vec::new();
        if asked.baseline {
            workloads.push(ReadWorkload::Baseline);
        }
        if asked.ncq_prio {
            let percentage = percentage.ok_or(OrderError::NoPercentage("--ncq-prio"))?;
            workloads.push(ReadWorkload::NcqPrio { percentage });
        }
        if asked.cdl_single {
            let percentage = percentage.ok_or(OrderError::NoPercentage("--cdl-single"))?;
            let descriptor = descriptor.ok_or(OrderError::NoDescriptor)?;
            workloads.push(ReadWorkload::CdlSingle { percentage, descriptor });
        }
        if asked.cdl_multi {
            let text = asked.dldsplit.as_deref().filter(|text| !text.is_empty());
            workloads
                .push(ReadWorkload::CdlMulti { split: split(text.ok_or(OrderError::NoSplit)?)? });
        }
        if workloads.is_empty() {
            return Err(OrderError::NothingToRun);
        }
        if asked.runtime == 0 {
            return Err(OrderError::NoTime);
        }
        let (ramp, run) = (asked.ramptime, asked.runtime);
        if ramp.saturating_add(run) > TIME_MAX {
            return Err(OrderError::Time { ramp, run });
        }
        Ok(BenchOrder {
            device,
            block: asked.bs.clone(),
            block_bytes: block_bytes(&asked.bs)?,
            ramp_seconds: asked.ramptime,
            run_seconds: asked.runtime,
            depths: depths(&asked.qds)?,
            workloads,
        })
    }

    /// Every workload at every depth, in the order of the script.
    pub fn steps(&self) -> Vec<WorkloadStep<'_>> {
        let steps = |workload| {
            self.depths.iter().map(move |depth| WorkloadStep {
                order: self,
                workload,
                depth: *depth,
            })
        };
        self.workloads.iter().flat_map(steps).collect()
    }

    /// Whether a workload needs duration limits.
    pub fn has_limits(&self) -> bool {
        self.workloads.iter().any(ReadWorkload::has_limits)
    }
}

/// One workload at one depth.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadStep<'a> {
    /// What it is part of.
    pub order: &'a BenchOrder,
    /// The workload.
    pub workload: &'a ReadWorkload,
    /// Reads in flight.
    pub depth: u32,
}

impl WorkloadStep<'_> {
    /// The name of fio's job.
    pub fn job_name(&self) -> String {
        format!("rndrd_qd{}", self.depth)
    }

    /// What stands behind `fio` on the command line (cdl.md 3.3).
    pub fn fio_arguments(&self) -> Vec<String> {
        let order = self.order;
        let mut arguments: Vec<String> = vec![
            format!("--name={}", self.job_name()),
            format!("--filename={}", order.device),
            "--random_generator=tausworthe64".into(),
            "--continue_on_error=none".into(),
            "--group_reporting=1".into(),
            "--ioscheduler=none".into(),
            "--write_lat_log=randread.log".into(),
            "--per_job_logs=0".into(),
            "--log_prio=1".into(),
            "--numjobs=1".into(),
            "--rw=randread".into(),
            format!("--bs={}", order.block),
            "--ioengine=libaio".into(),
            format!("--iodepth={}", self.depth),
            "--direct=1".into(),
        ];
        if order.ramp_seconds > 0 {
            arguments.push(format!("--ramp_time={}", order.ramp_seconds));
        }
        arguments.push(format!("--runtime={}", order.run_seconds));
        arguments.extend(self.workload.fio_options(&order.block));
        arguments
    }

    /// The whole command line.
    pub fn fio_command(&self) -> String {
        format!("fio {}", self.fio_arguments().join(" "))
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Modelled(name) => write!(f, "sim:{name}"),
            Device::Real(path) => write!(f, "{}", path.display()),
        }
    }
}

fn percentage(found: i64) -> Result<u32, OrderError> {
    let percentage = u32::try_from(found).ok().filter(|found| (1..=100).contains(found));
    percentage.ok_or(OrderError::Percentage(found))
}

fn descriptor(found: i64) -> Result<u8, OrderError> {
    let descriptor = u8::try_from(found).ok().filter(|found| (1..=7).contains(found));
    descriptor.ok_or(OrderError::Descriptor(found))
}

fn split(text: &str) -> Result<Vec<ReadPart>, OrderError> {
    let mut parts: Vec<ReadPart> = Vec::new();
    for part in text.split(',') {
        let numbers = part.split_once('/').and_then(|(descriptor, percentage)| {
            Some((descriptor.parse::<u64>().ok()?, percentage.parse::<u64>().ok()?))
        });
        let (index, percentage) = numbers.ok_or_else(|| OrderError::SplitForm(part.to_owned()))?;
        if index > 7 {
            return Err(OrderError::SplitDescriptor(part.to_owned()));
        }
        if !(1..=100).contains(&percentage) {
            return Err(OrderError::SplitPercentage(part.to_owned()));
        }
        if parts.iter().any(|before| u64::from(before.descriptor) == index) {
            return Err(OrderError::SplitTwice(part.to_owned()));
        }
        parts.push(ReadPart { descriptor: index as u8, percentage: percentage as u32 });
    }
    let sum = parts.iter().map(|part| part.percentage).sum();
    if sum > 100 { Err(OrderError::SplitSum(sum)) } else { Ok(parts) }
}

/// A block size, which fio must read alike.
fn block_bytes(text: &str) -> Result<u64, OrderError> {
    parse_size(text)
        .filter(|bytes| *bytes >= 512 && bytes.is_multiple_of(512))
        .ok_or_else(|| OrderError::Block(text.to_owned()))
}

fn depths(text: &str) -> Result<Vec<u32>, OrderError> {
    let wrong = || OrderError::Depths(text.to_owned());
    let parsed: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    let depths = parsed.map_err(|_| wrong())?;
    let different =
        depths.iter().enumerate().all(|(place, depth)| !depths[..place].contains(depth));
    let fits = depths.iter().all(|depth| (1..=4096).contains(depth));
    if depths.is_empty() || !different || !fits { Err(wrong()) } else { Ok(depths) }
}

#[cfg(test)]
mod tests;
