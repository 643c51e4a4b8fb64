//! What a checkpoint run showed, and what a study concluded from its runs.
//!
//! Units stand in the names. Figures of a window are differences of the store's counters between its ends.

use super::figure::CheckpointFigure;
use crate::published::Figure;
use crate::result::{Latency, NamedValue, Statement};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One finished run, a line of `runs.jsonl`. Equal keys have equal records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRecord {
    /// The job's key.
    pub key: String,
    /// The setup's name.
    pub setup: String,
    /// The seed of keys, values and arrivals.
    pub seed: u64,
    /// What the clients saw.
    pub client: PutResult,
    /// What the store did.
    pub store: StoreFigures,
    /// Device requests carried out, preparation included.
    pub device_requests: u64,
    /// Course over time.
    pub series: CheckpointSeries,
}

/// What the clients saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PutResult {
    /// Puts answered per second.
    pub puts_per_s: f64,
    /// Completion latency in milliseconds.
    pub clat_ms: Latency,
    /// Puts per second in the second with the fewest; a second of the published node, shrunk by the scale.
    pub lowest_second: f64,
    /// The same in the median second.
    pub median_second: f64,
    /// Seconds in which no put was answered.
    pub empty_seconds: u64,
    /// Puts that ended with an error.
    pub failed: u64,
}

/// What the store did in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreFigures {
    /// Length of the window in seconds of the world's time.
    pub seconds: f64,
    /// Puts carried out.
    pub puts: f64,
    /// Bytes of log records, images and edits included.
    pub log_bytes: f64,
    /// Of these, images and edits.
    pub log_physical_bytes: f64,
    /// Bytes written to the log, blocks that were written again as they filled included.
    pub log_device_bytes: f64,
    /// Bytes written to the recovery area.
    pub recovery_data_bytes: f64,
    /// Pages of checkpoints that wrote recovery data.
    pub pages_with_recovery_data: f64,
    /// Pages written home.
    pub pages_written: f64,
    /// Bytes of these.
    pub page_bytes: f64,
    /// Bytes of pages read because they were not in memory.
    pub read_bytes: f64,
    /// Checkpoints that ended in the window.
    pub checkpoints: f64,
    /// Pages of these.
    pub checkpoint_pages: f64,
    /// Pages of these that were written from the buffer.
    pub copied_on_write_pages: f64,
    /// Share of the window in checkpoints.
    pub share_in_checkpoints: f64,
    /// The most of the buffer in use at once, as a share.
    pub buffer_max_share: f64,
    /// Sleep handed out by the throttle, in seconds over all puts.
    pub throttle_s: f64,
    /// Mean durations of a checkpoint's steps.
    pub durations_ms: Durations,
}

/// Steps of a checkpoint in milliseconds (checkpoint.md 13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// Making the log durable.
    pub log_sync: f64,
    /// Writing images and making them durable.
    pub recovery_data_write: f64,
    /// The begin marker.
    pub write_entry: f64,
    /// Writing pages home.
    pub pages_write: f64,
    /// Making them durable, the end marker.
    pub sync: f64,
    /// All of it.
    pub total: f64,
}

/// Course of a run; one value per second of the published node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointSeries {
    /// Start of the second, in seconds of the published node.
    pub t_s: Vec<f64>,
    /// Puts answered per second.
    pub puts_per_s: Vec<f64>,
    /// Their mean latency in milliseconds; `None` if there were none.
    pub clat_mean_ms: Vec<Option<f64>>,
    /// Their 99th percentile.
    pub clat_p99_ms: Vec<Option<f64>>,
    /// Share of the buffer of old versions in use at the end of the second.
    pub buffer_share: Vec<f64>,
    /// Sleep that the throttle handed out per put in the second, in microseconds.
    pub throttle_us_per_put: Vec<f64>,
    /// Every checkpoint of the window.
    pub checkpoints: Vec<CheckpointPoint>,
}

/// One checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointPoint {
    /// Its instant, in seconds of the published node.
    pub t_s: f64,
    /// Why it was made.
    pub reason: String,
    /// Its pages.
    pub pages: u64,
    /// Its length in milliseconds of the world's time.
    pub duration_ms: f64,
}

/// The conclusion of a checkpoint study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointResult {
    /// The study's name.
    pub study: String,
    /// One line for the top of a page.
    pub title: String,
    /// The question which the study answers, as a sentence.
    pub question: String,
    /// The clients' load, for captions.
    pub load: String,
    /// The world that gave time.
    pub world: String,
    /// Size of keys, memory, log and period against the published node.
    pub scale: f64,
    /// The seed of the first repeat.
    pub seed: u64,
    /// Drive, processor and store, in reading order.
    pub facts: Vec<NamedValue>,
    /// One per setup, in the study's order.
    pub setups: Vec<CheckpointSetupResult>,
    /// Published ratios beside ours.
    pub ratios: Vec<ComparedRatio>,
    /// What the published summary says in words, tested against this result.
    pub statements: Vec<Statement>,
    /// What a reader must know before using a figure; each ends in advice.
    pub warnings: Vec<String>,
}

/// A scale as a fraction where it is one.
pub(super) fn scale_in_words(scale: f64) -> String {
    let parts = 1.0 / scale;
    if parts.fract() == 0.0 { format!("1/{parts}") } else { scale.to_string() }
}

/// What one setup showed: means over its repeats, the course of the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointSetupResult {
    /// Its name.
    pub name: String,
    /// Protection, log mode, compression and throttle.
    pub settings: Vec<NamedValue>,
    /// What the clients saw.
    pub client: PutResult,
    /// What the store did.
    pub store: StoreFigures,
    /// Every figure that this setup has.
    pub figures: BTreeMap<CheckpointFigure, f64>,
    /// Each figure in every repeat.
    pub repeats: Vec<BTreeMap<CheckpointFigure, f64>>,
    /// The published figures of the same setup.
    pub published: BTreeMap<CheckpointFigure, Figure>,
    /// Course of the first repeat.
    pub series: CheckpointSeries,
}

/// A figure of one setup over that of another, ours and published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRatio {
    /// What is compared, in words.
    pub text: String,
    /// Ours; `None` where one of the setups was not run.
    pub ours: Option<f64>,
    /// Published.
    pub published: f64,
}

impl CheckpointResult {
    /// The scale as a fraction where it is one: `1/128`.
    pub fn scale_in_words(&self) -> String {
        scale_in_words(self.scale)
    }

    /// The setup with this name.
    pub fn setup(&self, name: &str) -> Option<&CheckpointSetupResult> {
        self.setups.iter().find(|setup| setup.name == name)
    }
}
