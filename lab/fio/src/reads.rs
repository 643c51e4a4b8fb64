//! A finished job of reads: what it counted while it ran, and the report that fio would make of it.

use crate::bins::LatencyBins;
use crate::jsonplus::{DirectionReport, FioJob, FioReport, Keyed, PriorityLatency};
use loadline_device::Priority;

/// One job of reads of one size in a closed loop.
#[derive(Clone, Debug, Default)]
pub struct ReadJob {
    /// The name of the job.
    pub name: String,
    /// Which program ran it, in the place of fio's version.
    pub program: String,
    /// The engine.
    pub engine: String,
    /// Options as they were given.
    pub options: Vec<(String, String)>,
    /// Bytes of a read.
    pub block_bytes: u64,
    /// Reads in flight.
    pub depth: u32,
    /// Milliseconds from the end of the ramp to the last completion.
    pub runtime_ms: u64,
    /// Submission latency of all reads.
    pub slat: LatencyBins,
    /// Completion latency of all reads.
    pub clat: LatencyBins,
    /// Both together.
    pub lat: LatencyBins,
    /// Completion latency by priority, in the order of their words.
    pub priorities: Vec<(Priority, LatencyBins)>,
    /// Reads that ended in each half second, the last one perhaps cut short.
    pub half_seconds: Vec<u32>,
}

/// Upper ends of the latency classes that fio counts in each of its three units.
const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Shares of the reads by latency, in percent.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyClasses {
    pub(crate) ns: Vec<(String, f64)>,
    pub(crate) us: Vec<(String, f64)>,
    pub(crate) ms: Vec<(String, f64)>,
}

impl ReadJob {
    /// Counts a read that ended `ended_ms` after the ramp.
    pub fn count(&mut self, priority: Priority, slat_ns: u64, clat_ns: u64, ended_ms: u64) {
        self.slat.record(slat_ns);
        self.clat.record(clat_ns);
        self.lat.record(slat_ns + clat_ns);
        let place =
            self.priorities.binary_search_by_key(&priority.word(), |(known, _)| known.word());
        let place = place.unwrap_or_else(|place| {
            self.priorities.insert(place, (priority, LatencyBins::new()));
            place
        });
        self.priorities[place].1.record(clat_ns);
        let window = (ended_ms / 500) as usize;
        self.half_seconds.resize(self.half_seconds.len().max(window + 1), 0);
        self.half_seconds[window] += 1;
        self.runtime_ms = self.runtime_ms.max(ended_ms);
    }

    /// Bytes read.
    pub fn bytes(&self) -> u64 {
        self.clat.count() * self.block_bytes
    }

    /// Reads per second.
    pub fn iops(&self) -> f64 {
        self.clat.count() as f64 * 1000.0 / self.runtime_ms.max(1) as f64
    }

    /// Bytes per second.
    pub(crate) fn bytes_per_second(&self) -> u64 {
        (u128::from(self.bytes()) * 1000 / u128::from(self.runtime_ms.max(1))) as u64
    }

    /// fio's JSON+ report of it. It carries no time of day: the same job gives the same bytes.
    pub fn report(&self) -> FioReport {
        let classes = self.latency_classes();
        let job = FioJob {
            jobname: self.name.clone(),
            elapsed: self.runtime_ms.div_ceil(1000),
            options: Keyed(self.options.clone()),
            read: self.direction(),
            job_runtime: self.runtime_ms,
            iodepth_level: Keyed(self.depth_levels()),
            latency_ns: Keyed(classes.ns),
            latency_us: Keyed(classes.us),
            latency_ms: Keyed(classes.ms),
            latency_depth: u64::from(self.depth),
            ..FioJob::default()
        };
        FioReport { version: self.program.clone(), jobs: vec![job], ..FioReport::default() }
    }

    fn direction(&self) -> DirectionReport {
        DirectionReport {
            io_bytes: self.bytes(),
            io_kbytes: self.bytes() >> 10,
            bw_bytes: self.bytes_per_second(),
            bw: self.bytes_per_second() >> 10,
            iops: self.iops(),
            runtime: self.runtime_ms,
            total_ios: self.clat.count(),
            slat_ns: self.slat.extremes(),
            clat_ns: self.clat.summary(),
            lat_ns: self.lat.extremes(),
            prios: self.priority_reports(),
            ..DirectionReport::default()
        }
    }

    fn priority_reports(&self) -> Vec<PriorityLatency> {
        if self.priorities.len() < 2 {
            return Vec::new();
        }
        let report = |(priority, bins): &(Priority, LatencyBins)| {
            let word = u64::from(priority.word());
            PriorityLatency {
                prioclass: word >> 13,
                prio: word & 7,
                priohint: word >> 3 & 0x3ff,
                clat_ns: bins.summary(),
            }
        };
        self.priorities.iter().map(report).collect()
    }

    /// Shares by the depth at submission: a closed loop keeps its depth. fio counts by powers of two.
    pub(crate) fn depth_levels(&self) -> Vec<(String, f64)> {
        const LEVELS: [(u32, &str); 7] =
            [(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32"), (64, ">=64")];
        let of = LEVELS.iter().rposition(|(depth, _)| *depth <= self.depth).unwrap_or(0);
        let share = |(place, (_, name)): (usize, &(u32, &str))| {
            (name.to_string(), if place == of { 100.0 } else { 0.0 })
        };
        LEVELS.iter().enumerate().map(share).collect()
    }

    pub(crate) fn latency_classes(&self) -> LatencyClasses {
        let mut counts = [[0u64; 12]; 3];
        for (ns, count) in self.lat.bins() {
            let (unit, value) = match ns {
                0..1000 => (0, ns),
                1000..1_000_000 => (1, ns / 1000),
                _ => (2, ns / 1_000_000),
            };
            let class = CLASSES.iter().position(|end| value < *end);
            let beyond = if value < 2000 { 10 } else { 11 };
            counts[unit][class.unwrap_or(beyond)] += count;
        }
        let all = self.lat.count().max(1) as f64;
        let shares = |unit: usize| {
            let names = CLASSES.iter().map(u64::to_string);
            let names = names.chain(["2000".to_owned(), ">=2000".to_owned()]);
            names.zip(counts[unit].map(|count| count as f64 * 100.0 / all))
        };
        LatencyClasses {
            ns: shares(0).take(CLASSES.len()).collect(),
            us: shares(1).take(CLASSES.len()).collect(),
            ms: shares(2).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second read ended before the first one: logs of several jobs are read one after the other.
    #[test]
    fn a_job_counts_reads_in_any_order() {
        let mut job = ReadJob { block_bytes: 4096, ..ReadJob::default() };
        job.count(Priority::default(), 10, 90, 1_700);
        job.count(Priority::default(), 20, 100, 1_200);
        assert_eq!((job.runtime_ms, job.half_seconds.as_slice()), (1_700, &[0, 0, 1, 1][..]));
        assert_eq!((job.bytes(), job.iops()), (8_192, 2_000.0 / 1_700.0));
        let whole = job.lat.extremes();
        assert_eq!((whole.min, whole.max, job.clat.extremes().max), (100, 120, 100));
    }

    #[test]
    fn a_depth_counts_for_the_highest_level_that_it_reaches() {
        let check = |depth: u32, wanted: &str| {
            let levels = ReadJob { depth, ..ReadJob::default() }.depth_levels();
            let all: Vec<&str> = levels
                .iter()
                .filter(|(_, share)| *share == 100.0)
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(all, [wanted], "depth {depth}");
        };
        check(1, "1");
        check(3, "2");
        check(32, "32");
        check(63, "32");
        check(256, ">=64");
    }
}
