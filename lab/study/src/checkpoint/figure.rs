//! The figures of a checkpoint study, each with what it is called, its unit and its formula.

use super::record::{PutResult, StoreFigures};
use serde::{Deserialize, Serialize};

/// A figure of one setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointFigure {
    /// Puts answered per second.
    PutsPerS,
    /// Mean completion latency.
    ClatMeanMs,
    /// Its median.
    ClatP50Ms,
    /// Its 99th percentile.
    ClatP99Ms,
    /// Its 99.9th percentile.
    ClatP999Ms,
    /// The lowest second over the median second.
    LowestSecondShare,
    /// Bytes in the log per put.
    LogBytesPerPut,
    /// Bytes of recovery data per page of a checkpoint.
    RecoveryBytesPerPage,
    /// Log and recovery data per put.
    LogAndRecoveryBytesPerPut,
    /// Pages written home per put.
    PagesPerPut,
    /// Share of time in checkpoints.
    ShareInCheckpoints,
    /// Share of pages copied on write.
    CopiedOnWriteShare,
    /// The most of the buffer of old versions that was in use.
    BufferMaxShare,
    /// Sleep handed out by the throttle per put.
    ThrottleUsPerPut,
    /// Writing and flushing images, per checkpoint.
    RecoveryWriteMs,
    /// Writing pages home, per checkpoint.
    PagesWriteMs,
    /// Flushing them and ending, per checkpoint.
    SyncMs,
    /// A checkpoint in all.
    CheckpointMs,
    /// Share of a checkpoint's time that goes into images.
    RecoveryShareOfCheckpoint,
}

impl CheckpointFigure {
    /// Every figure, in the order of the tables.
    pub const ALL: [CheckpointFigure; 19] = [
        CheckpointFigure::PutsPerS,
        CheckpointFigure::ClatMeanMs,
        CheckpointFigure::ClatP50Ms,
        CheckpointFigure::ClatP99Ms,
        CheckpointFigure::ClatP999Ms,
        CheckpointFigure::LowestSecondShare,
        CheckpointFigure::LogBytesPerPut,
        CheckpointFigure::RecoveryBytesPerPage,
        CheckpointFigure::LogAndRecoveryBytesPerPut,
        CheckpointFigure::PagesPerPut,
        CheckpointFigure::ShareInCheckpoints,
        CheckpointFigure::CopiedOnWriteShare,
        CheckpointFigure::BufferMaxShare,
        CheckpointFigure::ThrottleUsPerPut,
        CheckpointFigure::RecoveryWriteMs,
        CheckpointFigure::PagesWriteMs,
        CheckpointFigure::SyncMs,
        CheckpointFigure::CheckpointMs,
        CheckpointFigure::RecoveryShareOfCheckpoint,
    ];

    /// The figure of a run; `None` where it has no meaning, as recovery data under `log` protection.
    pub fn of(self, client: &PutResult, store: &StoreFigures) -> Option<f64> {
        let durations = &store.durations_ms;
        match self {
            CheckpointFigure::PutsPerS => Some(client.puts_per_s),
            CheckpointFigure::ClatMeanMs => Some(client.clat_ms.mean),
            CheckpointFigure::ClatP50Ms => Some(client.clat_ms.p50),
            CheckpointFigure::ClatP99Ms => Some(client.clat_ms.p99),
            CheckpointFigure::ClatP999Ms => Some(client.clat_ms.p99_9),
            CheckpointFigure::LowestSecondShare => {
                ratio(client.lowest_second, client.median_second)
            }
            CheckpointFigure::LogBytesPerPut => ratio(store.log_bytes, store.puts),
            CheckpointFigure::RecoveryBytesPerPage => {
                ratio(store.recovery_data_bytes, store.pages_with_recovery_data)
            }
            CheckpointFigure::LogAndRecoveryBytesPerPut => {
                ratio(store.log_bytes + store.recovery_data_bytes, store.puts)
            }
            CheckpointFigure::PagesPerPut => ratio(store.pages_written, store.puts),
            CheckpointFigure::ShareInCheckpoints => Some(store.share_in_checkpoints),
            CheckpointFigure::CopiedOnWriteShare => {
                ratio(store.copied_on_write_pages, store.checkpoint_pages)
            }
            CheckpointFigure::BufferMaxShare => Some(store.buffer_max_share),
            CheckpointFigure::ThrottleUsPerPut => ratio(store.throttle_s * 1e6, store.puts),
            CheckpointFigure::RecoveryWriteMs => positive(durations.recovery_data_write),
            CheckpointFigure::PagesWriteMs => positive(durations.pages_write),
            CheckpointFigure::SyncMs => positive(durations.sync),
            CheckpointFigure::CheckpointMs => positive(durations.total),
            CheckpointFigure::RecoveryShareOfCheckpoint => {
                let images = positive(durations.recovery_data_write)?;
                ratio(images, durations.total)
            }
        }
    }

    /// What it is called: name and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            CheckpointFigure::PutsPerS => ("puts", "1/s"),
            CheckpointFigure::ClatMeanMs => ("mean", "ms"),
            CheckpointFigure::ClatP50Ms => ("p50", "ms"),
            CheckpointFigure::ClatP99Ms => ("p99", "ms"),
            CheckpointFigure::ClatP999Ms => ("p99.9", "ms"),
            CheckpointFigure::LowestSecondShare => ("lowest second", "of median"),
            CheckpointFigure::LogBytesPerPut => ("log", "B/put"),
            CheckpointFigure::RecoveryBytesPerPage => ("recovery data", "B/page"),
            CheckpointFigure::LogAndRecoveryBytesPerPut => ("log + recovery", "B/put"),
            CheckpointFigure::PagesPerPut => ("pages", "1/put"),
            CheckpointFigure::ShareInCheckpoints => ("in checkpoints", "of time"),
            CheckpointFigure::CopiedOnWriteShare => ("copied on write", "of pages"),
            CheckpointFigure::BufferMaxShare => ("buffer, most", "of slots"),
            CheckpointFigure::ThrottleUsPerPut => ("throttled", "us/put"),
            CheckpointFigure::RecoveryWriteMs => ("recovery write", "ms"),
            CheckpointFigure::PagesWriteMs => ("pages write", "ms"),
            CheckpointFigure::SyncMs => ("sync", "ms"),
            CheckpointFigure::CheckpointMs => ("checkpoint", "ms"),
            CheckpointFigure::RecoveryShareOfCheckpoint => ("recovery write", "of checkpoint"),
        }
    }

    /// The formula.
    pub const fn formula(self) -> &'static str {
        match self {
            CheckpointFigure::PutsPerS => "puts answered in the measured window / its length",
            CheckpointFigure::ClatMeanMs => {
                "sum of latencies / puts; closed loop: from sending, open loop: from the intended start"
            }
            CheckpointFigure::ClatP50Ms => {
                "the smallest latency that at least half of the puts stayed at or below"
            }
            CheckpointFigure::ClatP99Ms => "the same for 99 %",
            CheckpointFigure::ClatP999Ms => "the same for 99.9 %",
            CheckpointFigure::LowestSecondShare => {
                "puts of the second with the fewest / puts of the median second; a second of the published node, shrunk by the scale"
            }
            CheckpointFigure::LogBytesPerPut => {
                "bytes of log records, images and edits included, padding not / puts"
            }
            CheckpointFigure::RecoveryBytesPerPage => {
                "bytes written to the recovery area / pages of the checkpoints that wrote it"
            }
            CheckpointFigure::LogAndRecoveryBytesPerPut => {
                "(log bytes + bytes written to the recovery area) / puts"
            }
            CheckpointFigure::PagesPerPut => "pages written home / puts",
            CheckpointFigure::ShareInCheckpoints => {
                "time from each checkpoint's instant to its end / measured time"
            }
            CheckpointFigure::CopiedOnWriteShare => {
                "pages written from the buffer of old versions / pages of the checkpoints"
            }
            CheckpointFigure::BufferMaxShare => "most slots in use at once / slots",
            CheckpointFigure::ThrottleUsPerPut => "sleep handed out by the throttle / puts",
            CheckpointFigure::RecoveryWriteMs => {
                "mean over checkpoints: writing images and making them durable"
            }
            CheckpointFigure::PagesWriteMs => "mean over checkpoints: writing pages home",
            CheckpointFigure::SyncMs => {
                "mean over checkpoints: flushing the pages, the end marker, freeing"
            }
            CheckpointFigure::CheckpointMs => "mean over checkpoints: from the instant to the end",
            CheckpointFigure::RecoveryShareOfCheckpoint => {
                "mean time of recovery writing / mean time of a checkpoint"
            }
        }
    }
}

fn ratio(of: f64, than: f64) -> Option<f64> {
    (than > 0.0 && of.is_finite()).then(|| of / than)
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}
