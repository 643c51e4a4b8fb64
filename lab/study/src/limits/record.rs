//! What a run of a limits study showed, and what the study concluded from its runs.
//!
//! Units stand in the names.

use crate::result::{Latency, NamedValue, SettingRow};
use crate::series::ClassWaits;
use serde::{Deserialize, Serialize};

/// One finished run, a line of `runs.jsonl`. Equal keys have equal records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsRecord {
    /// The job's key.
    pub key: String,
    /// The setup's name.
    pub setup: String,
    /// The seed of addresses and arrivals, and of where the arm rests at the beginning.
    pub seed: u64,
    /// What the client saw.
    pub client: StreamResult,
    /// What the background work saw.
    pub background: StreamResult,
    /// Requests that the drive ended for time and carried out later, per second.
    pub over_limit_per_s: f64,
    /// Device requests carried out, ramp included.
    pub device_requests: u64,
    /// Where the work of each class spent its time.
    pub waits: Vec<ClassWaits>,
    /// Course over time.
    pub series: LimitsSeries,
}

/// What one of the two loads saw in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Completed operations per second.
    pub iops: f64,
    /// Bytes of these in MiB per second.
    pub mib_per_s: f64,
    /// Completion latency: from submission in a closed loop, from the intended start in an open one.
    pub clat_ms: Latency,
}

/// Course of a run, one value per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsSeries {
    /// Start of the second.
    pub t_s: Vec<f64>,
    /// Client operations completed in it.
    pub client_iops: Vec<f64>,
    /// Their mean latency; `None` if there were none.
    pub clat_mean_ms: Vec<Option<f64>>,
    /// Their 99th percentile.
    pub clat_p99_ms: Vec<Option<f64>>,
    /// Background operations completed in it.
    pub background_iops: Vec<f64>,
}

/// The conclusion of a limits study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsResult {
    /// The study's name.
    pub study: String,
    /// One line for the top of a page.
    pub title: String,
    /// The question, as a sentence.
    pub question: String,
    /// The client's load in words.
    pub client: String,
    /// The background work in words.
    pub background: String,
    /// The world that gave time.
    pub world: String,
    /// The seed of the first repeat.
    pub seed: u64,
    /// Drive, limits, window and steps, in reading order.
    pub facts: Vec<NamedValue>,
    /// One per bar, in the study's order; the others are compared with the first.
    pub setups: Vec<LimitsSetupResult>,
    /// What a reader must know before using a figure; each ends in advice.
    pub warnings: Vec<String>,
}

/// What one setup showed; the mean over its repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsSetupResult {
    /// The bar's label.
    pub name: String,
    /// The preset.
    pub preset: String,
    /// `mclock`, `wpq` or `fifo`.
    pub scheduler: String,
    /// The mClock profile, where there is one.
    pub profile: Option<String>,
    /// The client's duration limit in words, where it has one.
    pub limit: Option<String>,
    /// Requests at the drive before work waits in the OSD's queue.
    pub window: u32,
    /// What the client saw.
    pub client: StreamResult,
    /// What the background work saw.
    pub background: StreamResult,
    /// Requests that the drive ended for time, per second.
    pub over_limit_per_s: f64,
    /// Every repeat; intervals are computed from them when there is more than one.
    pub repeats: Vec<StreamRepeat>,
    /// Course over time of the first repeat.
    pub series: LimitsSeries,
    /// Where work spent its time, in the first repeat.
    pub waits: Vec<ClassWaits>,
    /// Settings in force, with where each comes from.
    pub settings: Vec<SettingRow>,
}

/// One run of a setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamRepeat {
    /// The run's own seed.
    pub seed: u64,
    /// What the client saw.
    pub client: StreamResult,
    /// What the background work saw.
    pub background: StreamResult,
}
