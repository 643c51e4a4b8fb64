//! What a database has counted.

use loadline_base::Span;
use loadline_store::paged::metrics::Totals;

/// Counts since the database was opened, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DbStatistics {
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
    /// Bytes of log records.
    pub log_bytes: u64,
    /// Flushes of the log.
    pub log_flushes: u64,
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
            log_flushes: totals.log_flushes,
            pages_read: totals.pages_read,
            pages_damaged: totals.pages_damaged,
            checkpoints: totals.checkpoints,
            checkpoint_time: totals.checkpoint_time,
            throttle_time: totals.throttle_time,
            ..self
        }
    }
}
