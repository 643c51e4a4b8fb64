//! What a latency log, or a report, says about each priority: the figures of `cdl_prio_stats.sh` (cdl.md 3.6), and finer ones.
//!
//! The script sorts the whole milliseconds of every priority. They are counted here instead, which comes to the same and
//! takes memory by the longest latency, not by the length of the log.

mod collect;
mod counts;
mod fine;
mod report;
mod script;

pub use collect::{Collector, LogDoubts, LogScope, parts_of_log};
pub use counts::MillisecondCounts;
pub use fine::{FinePercentile, fine_percentiles};
pub use report::{NoLatencies, ReportDoubt};
pub use script::{Decimal, NO_PRIORITIES, PriorityName};

use loadline_stats::LatencyHistogram;
use std::collections::BTreeMap;

/// The figures of one log or report, or of several that ran side by side.
#[derive(Clone, Debug, Default)]
pub struct LogStatistics {
    /// Line ends of the logs: all I/Os, whatever their priority.
    pub ios: u64,
    /// When the last I/O ended: the time of a log's last line, the latest of several logs.
    pub runtime_ms: u64,
    /// By priority word; what a log gives only a flag is not among them.
    pub priorities: BTreeMap<u16, PriorityStatistics>,
}

/// The I/Os of one priority.
#[derive(Clone, Debug, Default)]
pub struct PriorityStatistics {
    /// Bytes moved; a sum that is larger than the type holds ends at its largest number.
    pub bytes: u64,
    /// Latencies in whole milliseconds, what is left over dropped.
    pub latencies: MillisecondCounts,
    /// Latencies to three digits, if they were asked for.
    pub fine: Option<LatencyHistogram>,
}

impl LogStatistics {
    /// Adds a log that ran at the same time.
    pub fn merge(&mut self, other: LogStatistics) {
        self.ios += other.ios;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        for (word, theirs) in other.priorities {
            self.priorities.entry(word).or_default().merge(theirs);
        }
    }
}

impl PriorityStatistics {
    /// How many I/Os had it.
    pub fn ios(&self) -> u64 {
        self.latencies.count()
    }

    fn merge(&mut self, other: PriorityStatistics) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latencies.merge(&other.latencies);
        match (&mut self.fine, other.fine) {
            (Some(ours), Some(theirs)) => ours.merge(&theirs),
            (ours, theirs) => *ours = ours.take().or(theirs),
        }
    }
}
