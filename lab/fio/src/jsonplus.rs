//! fio's JSON+ report (`--output-format=json+`, cdl.md 4.4).
//!
//! What a reader does not find counts as zero, as fio's versions differ in what they write; keys that nobody here uses
//! are passed over. The writer puts down every key of its types in fio's order.

use loadline_base::json_in_words;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;

/// A report of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FioReport {
    /// As `fio-3.39`.
    #[serde(rename = "fio version")]
    pub version: String,
    /// Seconds of the Unix clock.
    pub timestamp: u64,
    /// The same in milliseconds.
    pub timestamp_ms: u64,
    /// The same as text.
    pub time: String,
    /// Options of all jobs: what stands before the first job's name on a command line.
    #[serde(rename = "global options", skip_serializing_if = "Keyed::is_empty")]
    pub global_options: Keyed<String>,
    /// One per job, or one per group.
    pub jobs: Vec<FioJob>,
    /// One per block device.
    pub disk_util: Vec<DiskReport>,
}

/// One job, or one group of jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FioJob {
    /// Its section's name.
    pub jobname: String,
    /// Its reporting group.
    pub groupid: u64,
    /// Its error number; 0 if all went well.
    pub error: i64,
    /// Seconds that were left.
    pub eta: u64,
    /// Seconds that it took.
    pub elapsed: u64,
    /// Its options as they were given.
    #[serde(rename = "job options")]
    pub options: Keyed<String>,
    /// Its reads.
    pub read: DirectionReport,
    /// Its writes.
    pub write: DirectionReport,
    /// Its trims.
    pub trim: DirectionReport,
    /// Its syncs.
    pub sync: SyncReport,
    /// All of it in one (`unified_rw_reporting`), in the place of the three directions or beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<DirectionReport>,
    /// Milliseconds that it ran.
    pub job_runtime: u64,
    /// Share of its time in user mode, percent.
    pub usr_cpu: f64,
    /// Share of its time in the kernel, percent.
    pub sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
    /// Page faults with I/O.
    pub majf: u64,
    /// Page faults without.
    pub minf: u64,
    /// Share of I/Os by the depth at their submission, percent.
    pub iodepth_level: Keyed<f64>,
    /// How many were submitted at once, percent.
    pub iodepth_submit: Keyed<f64>,
    /// How many were completed at once, percent.
    pub iodepth_complete: Keyed<f64>,
    /// Share of I/Os by latency in nanoseconds, percent.
    pub latency_ns: Keyed<f64>,
    /// In microseconds.
    pub latency_us: Keyed<f64>,
    /// In milliseconds.
    pub latency_ms: Keyed<f64>,
    /// The depth at the end.
    pub latency_depth: u64,
    /// The latency that the depth was fitted to, microseconds.
    pub latency_target: u64,
    /// The share of I/Os that must keep it, percent.
    pub latency_percentile: f64,
    /// Over how long, microseconds.
    pub latency_window: u64,
}

/// What a job synced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncReport {
    /// Syncs done.
    pub total_ios: u64,
    /// Their latency.
    pub lat_ns: LatencySummary,
}

/// What a job did in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionReport {
    /// Bytes moved.
    pub io_bytes: u64,
    /// The same in KiB.
    pub io_kbytes: u64,
    /// Bytes per second.
    pub bw_bytes: u64,
    /// KiB per second.
    pub bw: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Milliseconds.
    pub runtime: u64,
    /// I/Os done.
    pub total_ios: u64,
    /// I/Os that moved less than asked.
    pub short_ios: u64,
    /// I/Os dropped.
    pub drop_ios: u64,
    /// Submission latency.
    pub slat_ns: LatencySummary,
    /// Completion latency.
    pub clat_ns: LatencySummary,
    /// Both together.
    pub lat_ns: LatencySummary,
    /// Completion latency by priority; empty unless two or more had samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prios: Vec<PriorityLatency>,
    /// Least KiB per second of any sample of half a second.
    pub bw_min: u64,
    /// Greatest.
    pub bw_max: u64,
    /// This job's share of its group's rate, percent.
    pub bw_agg: f64,
    /// Mean of the samples.
    pub bw_mean: f64,
    /// Their deviation.
    pub bw_dev: f64,
    /// How many they are.
    pub bw_samples: u64,
    /// Least I/Os per second of any sample.
    pub iops_min: u64,
    /// Greatest.
    pub iops_max: u64,
    /// Mean of the samples.
    pub iops_mean: f64,
    /// Their deviation.
    pub iops_stddev: f64,
    /// How many they are.
    pub iops_samples: u64,
}

/// Latencies in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySummary {
    /// Shortest; 0 without samples.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub stddev: f64,
    /// Samples.
    #[serde(rename = "N")]
    pub samples: u64,
    /// By percentile with six decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentile: Option<Keyed<u64>>,
    /// Samples by the latency that stands for their bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<Keyed<u64>>,
}

/// Completion latencies of the I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityLatency {
    /// The class's number.
    pub prioclass: u64,
    /// The level.
    pub prio: u64,
    /// The hint.
    pub priohint: u64,
    /// The latencies: from issue to completion where the job asked for percentiles of those (`lat_percentiles`).
    #[serde(alias = "lat_ns")]
    pub clat_ns: LatencySummary,
}

/// What a block device did during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskReport {
    /// Its name.
    pub name: String,
    /// Reads done.
    pub read_ios: u64,
    /// Writes done.
    pub write_ios: u64,
    /// Reads merged into others.
    pub read_merges: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Milliseconds that reads waited and were served.
    pub read_ticks: u64,
    /// The same of writes.
    pub write_ticks: u64,
    /// The same of both, weighted by the queue's length.
    pub in_queue: u64,
    /// Share of the time in which it was busy, percent.
    pub util: f64,
}

/// An object whose keys keep their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyed<T>(pub Vec<(String, T)>);

impl<T> Keyed<T> {
    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What stands under a key.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl<T> Default for Keyed<T> {
    fn default() -> Keyed<T> {
        Keyed(Vec::new())
    }
}

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Keyed<T>, D::Error> {
        deserializer.deserialize_map(KeyedVisitor(PhantomData))
    }
}

struct KeyedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for KeyedVisitor<T> {
    type Value = Keyed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keyed<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Keyed(entries))
    }
}

/// A report that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FioReportError {
    /// No line begins an object.
    #[error("there is no JSON report of fio in it")]
    None,
    /// What begins as one is none.
    #[error("not a JSON report of fio: {}", json_in_words(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Longest note of fio that is passed over: it names a few paths of 4096 bytes at most. A longer line is of something else, which may have no end.
const NOTE_BYTES_MAX: u64 = 64 << 10;

impl FioReport {
    /// Reads a report. fio's notes stand before it in the same file, and text behind it where it was asked for several forms.
    pub fn read(source: impl Read) -> Result<FioReport, FioReportError> {
        let mut source = BufReader::new(source);
        let mut passed = Vec::new();
        while source.fill_buf()?.first() != Some(&b'{') {
            passed.clear();
            let read = source.by_ref().take(NOTE_BYTES_MAX).read_until(b'\n', &mut passed)?;
            if read == 0 || read as u64 == NOTE_BYTES_MAX {
                return Err(FioReportError::None);
            }
        }
        let mut reports = serde_json::Deserializer::from_reader(source).into_iter();
        Ok(reports.next().ok_or(FioReportError::None)??)
    }

    /// Writes it, indented by two as fio does.
    pub fn write(&self, sink: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(sink, self).map_err(io::Error::from)
    }
}
