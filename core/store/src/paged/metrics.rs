//! What a store counts and times (checkpoint.md 13, in our spelling), and the history of its checkpoints.

use super::ids::CheckpointId;
use super::options::Protection;
use loadline_base::{Span, Time};
use std::collections::VecDeque;

/// Checkpoints remembered.
const HISTORY_MAX: usize = 4096;

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointReason {
    /// Its time had come.
    Timer,
    /// Too much of the cache was dirty.
    DirtyPages,
    /// The log had grown too long.
    LogSize,
    /// Free pages were needed that only a checkpoint brings.
    Space,
    /// Somebody asked for it.
    Request,
    /// A restart had replayed more than the cache may hold dirty.
    Restart,
}

/// One checkpoint. A duration is the time of one step of checkpoint.md 5; with one owner taking the instant takes none, so
/// waiting for the lock and holding it have no figure here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Which one.
    pub id: CheckpointId,
    /// Why it was made.
    pub reason: CheckpointReason,
    /// Where its images were.
    pub protection: Protection,
    /// Its instant.
    pub start: Time,
    /// Pages.
    pub total_pages: u64,
    /// Pages of object data among them.
    pub data_pages: u64,
    /// Pages written from the buffer of old versions.
    pub copied_on_write_pages: u64,
    /// Bytes of images in the recovery area.
    pub recovery_data_bytes: u64,
    /// The most slots of old versions in use.
    pub buffer_used_max: u32,
    /// Sleep handed out to ops while it ran, summed over ops.
    pub throttle_time: Span,
    /// Making the log durable through the instant.
    pub log_sync_duration: Span,
    /// Writing and flushing images.
    pub recovery_data_write_duration: Span,
    /// The begin marker.
    pub write_entry_duration: Span,
    /// Writing pages home.
    pub pages_write_duration: Span,
    /// Flushing them, the end marker, freeing.
    pub sync_duration: Span,
    /// All of it.
    pub duration: Span,
}

impl CheckpointReport {
    /// A checkpoint at its instant.
    pub fn new(
        id: CheckpointId,
        reason: CheckpointReason,
        protection: Protection,
        start: Time,
    ) -> CheckpointReport {
        CheckpointReport {
            id,
            reason,
            protection,
            start,
            total_pages: 0,
            data_pages: 0,
            copied_on_write_pages: 0,
            recovery_data_bytes: 0,
            buffer_used_max: 0,
            throttle_time: Span::ZERO,
            log_sync_duration: Span::ZERO,
            recovery_data_write_duration: Span::ZERO,
            write_entry_duration: Span::ZERO,
            pages_write_duration: Span::ZERO,
            sync_duration: Span::ZERO,
            duration: Span::ZERO,
        }
    }
}

/// Counts since the store was opened. Bytes and pages of the device unless said otherwise; what is written is counted when the device is asked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Ops submitted.
    pub ops: u64,
    /// Transactions carried out.
    pub transactions: u64,
    /// Steps before the last of transactions that went in several.
    pub steps: u64,
    /// Bytes of log records, images and edits included, padding not.
    pub log_bytes: u64,
    /// Of these, images and edits.
    pub log_physical_bytes: u64,
    /// Images in the log.
    pub log_images: u64,
    /// Bytes of the log's ring that were taken, padding included: what a checkpoint gives back.
    pub log_ring_bytes: u64,
    /// Bytes written to the log's device; a block that was not full is written again.
    pub log_device_bytes: u64,
    /// Requests for that.
    pub log_writes: u64,
    /// Flushes of the log.
    pub log_flushes: u64,
    /// Times that the log's witness was written, in two requests of a block each, which are not among those above.
    pub log_witnesses: u64,
    /// Bytes of ops' own data written beside the log.
    pub own_bytes: u64,
    /// Updates of which none of that had to be: the log would have held it.
    pub own_small: u64,
    /// Of these, updates whose data went before their turn.
    pub own_ahead: u64,
    /// Transactions carried out again at the restart.
    pub replayed: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages that were not what they should be.
    pub pages_damaged: u64,
    /// Pages written home.
    pub pages_written: u64,
    /// Bytes of images written to the recovery area.
    pub recovery_data_bytes: u64,
    /// Bytes given back to the device.
    pub discarded_bytes: u64,
    /// Sleep handed out to ops by the throttle.
    pub throttle_time: Span,
    /// Checkpoints ended.
    pub checkpoints: u64,
    /// Time in checkpoints.
    pub checkpoint_time: Span,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Since the store was opened.
    pub totals: Totals,
    /// Checkpoints that have ended, the oldest first.
    pub history: VecDeque<CheckpointReport>,
}

impl Metrics {
    /// An op was told to sleep.
    pub(super) fn throttled(&mut self, sleep: Span, report: Option<&mut CheckpointReport>) {
        self.totals.throttle_time += sleep;
        if let Some(report) = report {
            report.throttle_time += sleep;
        }
    }

    /// A checkpoint has ended.
    pub(super) fn checkpointed(&mut self, report: CheckpointReport) {
        self.totals.checkpoints += 1;
        self.totals.checkpoint_time += report.duration;
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(report);
    }
}
