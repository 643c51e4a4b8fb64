//! What a database has counted.

use loadline_base::{Span, Time};
use loadline_store::paged::metrics::Totals;

/// Counts since the database was opened, and what it holds now. Bytes and pages that go to the disk are counted when the disk is asked to write them, a moment
/// before it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DbStatistics {
    /// When this was so, by the clock that its checkpoints are told by.
    pub now: Time,
    /// Keys that were asked for one by one.
    pub gets: u64,
    /// Parts of ranges that were read.
    pub scans: u64,
    /// Commits that were carried out, batches and transactions alike.
    pub commits: u64,
    /// Transactions that ended with a conflict.
    pub conflicts: u64,
    /// Keys that were removed because their time had come.
    pub expired: u64,
    /// Snapshots and transactions that live.
    pub snapshots: u64,
    /// Bytes of former values that are kept for them.
    pub version_bytes: u64,
    /// Those that ended because that memory was used up.
    pub snapshots_ended_early: u64,
    /// Bytes of log records, images and edits of pages included, padding not.
    pub log_bytes: u64,
    /// Of these, images and edits: none but under `log` protection.
    pub log_physical_bytes: u64,
    /// Bytes that went to the log's part of the file; a block that was not full is written again.
    pub log_device_bytes: u64,
    /// Flushes of the log.
    pub log_flushes: u64,
    /// Bytes of images that went to the recovery area: none but under `checkpoint` protection.
    pub recovery_bytes: u64,
    /// Pages that went home.
    pub pages_written: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages that were not what they should be.
    pub pages_damaged: u64,
    /// Checkpoints ended.
    pub checkpoints: u64,
    /// Time in them.
    pub checkpoint_time: Span,
    /// Sleep handed out to commits while they ran.
    pub throttle_time: Span,
    /// Whether one runs.
    pub is_in_checkpoint: bool,
    /// Pages in memory that have changed since the last one's instant.
    pub dirty_pages: u64,
    /// Pages that memory has room for.
    pub cache_pages: u64,
    /// Former versions of pages that are kept for the one that runs.
    pub old_versions: u64,
    /// How many there may be. When they are used up, commits wait that need one.
    pub old_versions_max: u64,
    /// Requests that the disk has carried out; refused ones are not among them.
    pub disk_requests: u64,
    /// Whether the disk is reached past the page cache.
    pub is_direct: bool,
    /// Whether io_uring carries system calls out, and not threads.
    pub has_ring: bool,
    /// Bytes of a page.
    pub page_size: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// Of that, pages for keys and values.
    pub page_bytes: u64,
    /// Of those, free ones.
    pub free_bytes: u64,
}

impl DbStatistics {
    /// Adds what the store has counted.
    pub(super) fn with_totals(self, totals: &Totals) -> DbStatistics {
        DbStatistics {
            log_bytes: totals.log_bytes,
            log_physical_bytes: totals.log_physical_bytes,
            log_device_bytes: totals.log_device_bytes,
            log_flushes: totals.log_flushes,
            recovery_bytes: totals.recovery_data_bytes,
            pages_written: totals.pages_written,
            pages_read: totals.pages_read,
            pages_damaged: totals.pages_damaged,
            checkpoints: totals.checkpoints,
            checkpoint_time: totals.checkpoint_time,
            throttle_time: totals.throttle_time,
            ..self
        }
    }
}
