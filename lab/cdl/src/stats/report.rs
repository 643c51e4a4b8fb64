//! A JSON+ report of fio in, statistics out: what a run without a log says about each priority.
//!
//! A report counts latencies in bins, each at most 1/64 wide, by priority only where two or more had I/Os, and bytes for all of them together.

use super::{Collector, LogStatistics, MillisecondCounts, PriorityStatistics};
use loadline_device::{Priority, PriorityClass};
use loadline_fio::{DirectionReport, FioJob, FioReport, Keyed, LatencySummary};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// More I/Os than any run has: what counts more is damaged, and sums of such figures have no room.
const IOS_MAX: u64 = 1 << 40;

/// Options by which one job has I/Os of several sizes.
const SIZES: [&str; 3] = ["bssplit", "bsrange", "blocksize_range"];

/// Why a report says nothing of latencies.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLatencies {
    /// Some JSON of another kind.
    #[error("it lists no jobs of fio")]
    NoJobs,
    /// All of the run was over at once, or failed.
    #[error("its jobs have done no I/O")]
    NoIos,
    /// A report in plain JSON, or a job that was not to measure.
    #[error(
        "it has no bins of latencies: run fio with --output-format=json+ and without disable_clat"
    )]
    NoBins,
    /// A figure that no run has.
    #[error("job `{0}` counts latencies that cannot be")]
    Damaged(String),
}

/// What a report leaves open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportDoubt {
    /// One mean size counts for all priorities.
    Sizes,
    /// I/Os of a job had one of several priorities, all the same.
    Priority(String),
    /// Groups of jobs, which may have run one after another.
    Groups(usize),
    /// A job that failed.
    Failed(String, i64),
}

impl fmt::Display for ReportDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportDoubt::Sizes => {
                f.write_str("its I/Os have several sizes, and all priorities are given their mean: MB/s are guesses")
            }
            ReportDoubt::Priority(job) => {
                write!(f, "it does not tell which of its priorities the I/Os of job `{job}` had; they count as those without `cmdprio`")
            }
            ReportDoubt::Groups(count) => {
                write!(f, "its {count} groups of jobs count as if they had run side by side")
            }
            ReportDoubt::Failed(job, error) => write!(f, "job `{job}` ended with error {error}"),
        }
    }
}

impl Collector {
    /// Counts what a report tells. Returns what it leaves open.
    ///
    /// # Errors
    /// [`NoLatencies`] if it tells of no latencies.
    pub fn report(&mut self, report: &FioReport) -> Result<BTreeSet<ReportDoubt>, NoLatencies> {
        if report.jobs.is_empty() {
            return Err(NoLatencies::NoJobs);
        }
        let mut doubts = BTreeSet::new();
        let mut ios = 0;
        for job in &report.jobs {
            let options = ReportedOptions { own: &job.options, global: &report.global_options };
            if job.error != 0 {
                doubts.insert(ReportDoubt::Failed(job.jobname.clone(), job.error));
            }
            for (place, direction) in directions(job) {
                let counted = Counted { job, options, place, direction }.statistics(&mut doubts)?;
                ios += counted.ios;
                self.merge(counted);
            }
        }
        let groups: BTreeSet<u64> = report.jobs.iter().map(|job| job.groupid).collect();
        if groups.len() > 1 {
            doubts.insert(ReportDoubt::Groups(groups.len()));
        }
        if ios == 0 { Err(NoLatencies::NoIos) } else { Ok(doubts) }
    }
}

/// What a job did in each direction, by fio's number of it; all in one where it was not told apart.
fn directions(job: &FioJob) -> Vec<(usize, &DirectionReport)> {
    let apart = [&job.read, &job.write, &job.trim];
    let apart: Vec<_> =
        apart.into_iter().enumerate().filter(|(_, direction)| direction.total_ios > 0).collect();
    match &job.mixed {
        Some(mixed) if apart.is_empty() && mixed.total_ios > 0 => vec![(0, mixed)],
        _ => apart,
    }
}

/// A job's options, its own before those of all.
#[derive(Clone, Copy)]
struct ReportedOptions<'a> {
    own: &'a Keyed<String>,
    global: &'a Keyed<String>,
}

impl ReportedOptions<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.own.get(name).or_else(|| self.global.get(name)).map(String::as_str)
    }

    /// The priority that three options name; `None` if none of them is there. A class that is not named is `class`.
    fn priority(&self, names: [&str; 3], class: PriorityClass) -> Option<Priority> {
        let number = |name: &str| self.get(name)?.trim().parse::<u16>().ok();
        let [named, level, hint] = names.map(number);
        named.or(level).or(hint)?;
        let class =
            named.filter(|named| *named > 0).unwrap_or(Priority::new(class, 0).word() >> 13);
        Some(Priority::from_word(word(class, level.unwrap_or(0), hint.unwrap_or(0))))
    }
}

/// The kernel's word of a priority.
fn word(class: u16, level: u16, hint: u16) -> u16 {
    (class & 7) << 13 | (hint & 0x3ff) << 3 | level & 7
}

/// What one job did in one direction.
struct Counted<'a> {
    job: &'a FioJob,
    options: ReportedOptions<'a>,
    place: usize,
    direction: &'a DirectionReport,
}

impl Counted<'_> {
    fn statistics(&self, doubts: &mut BTreeSet<ReportDoubt>) -> Result<LogStatistics, NoLatencies> {
        let direction = self.direction;
        if direction.total_ios > IOS_MAX {
            return Err(self.damaged());
        }
        if SIZES.iter().any(|name| self.options.get(name).is_some()) {
            doubts.insert(ReportDoubt::Sizes);
        }
        let mut priorities = BTreeMap::new();
        for of in &direction.prios {
            let word = word(of.prioclass as u16, of.prio as u16, of.priohint as u16);
            priorities.insert(word, self.latencies(&of.clat_ns)?);
        }
        if priorities.is_empty() {
            let whole = [&direction.clat_ns, &direction.lat_ns];
            let whole = whole.into_iter().find(|of| of.bins.is_some());
            let of = self.latencies(whole.ok_or(NoLatencies::NoBins)?)?;
            priorities.insert(self.sole_priority(doubts).word(), of);
        }
        Ok(LogStatistics { ios: direction.total_ios, runtime_ms: direction.runtime, priorities })
    }

    /// The priority of all I/Os of a direction, of which a report says nothing.
    fn sole_priority(&self, doubts: &mut BTreeSet<ReportDoubt>) -> Priority {
        let options = &self.options;
        let plain = options.priority(["prioclass", "prio", "priohint"], PriorityClass::BestEffort);
        let plain = plain.unwrap_or_default();
        let shares = options.get("cmdprio_percentage").unwrap_or("0");
        // One share counts for all directions.
        let share = shares.split(',').nth(self.place).or_else(|| shares.split(',').next());
        match share.map(str::trim) {
            _ if options.get("cmdprio_bssplit").is_some() => {}
            Some("0") => return plain,
            Some("100") => {
                let names = ["cmdprio_class", "cmdprio", "cmdprio_hint"];
                let marked = options.priority(names, PriorityClass::RealTime);
                return marked.unwrap_or(Priority::new(PriorityClass::RealTime, 0));
            }
            _ => {}
        }
        doubts.insert(ReportDoubt::Priority(self.job.jobname.clone()));
        plain
    }

    /// The I/Os of one summary. Its shortest and longest are exact, the others stand in the middle of their bins.
    fn latencies(&self, of: &LatencySummary) -> Result<PriorityStatistics, NoLatencies> {
        let bins = &of.bins.as_ref().ok_or(NoLatencies::NoBins)?.0;
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut ios = 0u64;
        for (ns, times) in bins.iter().filter(|(_, times)| *times > 0) {
            let ns: u64 = ns.parse().map_err(|_| self.damaged())?;
            ios = ios.saturating_add(*times);
            if ios > IOS_MAX || of.min > of.max {
                return Err(self.damaged());
            }
            *counts.entry(ns.clamp(of.min, of.max)).or_default() += times;
        }
        if let Some(shortest) = counts.keys().next().copied() {
            put_one(&mut counts, shortest, of.min);
        }
        if let Some(longest) = counts.keys().next_back().copied() {
            put_one(&mut counts, longest, of.max);
        }
        let mut latencies = MillisecondCounts::default();
        counts.iter().for_each(|(ns, times)| latencies.add(ns / 1_000_000, *times));
        Ok(PriorityStatistics { bytes: self.bytes_of(ios), latencies, fine: None })
    }

    fn bytes_of(&self, ios: u64) -> u64 {
        let DirectionReport { io_bytes, total_ios, .. } = self.direction;
        let bytes = u128::from(*io_bytes) * u128::from(ios) / u128::from((*total_ios).max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    fn damaged(&self) -> NoLatencies {
        NoLatencies::Damaged(self.job.jobname.clone())
    }
}

/// Puts one latency of a bin where it is known to be.
fn put_one(counts: &mut BTreeMap<u64, u64>, bin: u64, known: u64) {
    let Some(times) = counts.get_mut(&bin) else { return };
    *times -= 1;
    if *times == 0 {
        counts.remove(&bin);
    }
    *counts.entry(known).or_default() += 1;
}
