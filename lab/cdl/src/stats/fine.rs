//! Percentiles to three digits, with the interval in which each lies.

use super::PriorityStatistics;
use loadline_stats::{QuantileRanks, quantile_ranks};

/// One percentile of one priority's latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinePercentile {
    /// 0 to 100.
    pub percent: f64,
    /// The latency, in nanoseconds.
    pub latency_ns: u64,
    /// The ends of its 95 % interval, in nanoseconds; no upper one where the percentile may lie beyond all latencies that were counted.
    pub interval_ns: (u64, Option<u64>),
}

/// The percentiles of what was counted finely; empty if nothing was.
///
/// Each has the interval between two latencies of the log, whose ranks [`quantile_ranks`] tells: it holds the true percentile in at least 95 of 100
/// logs, however few latencies lie beyond it. That takes them for independent. Latencies of one queue follow each other, so the interval is
/// the least that must be reckoned with.
///
/// # Panics
/// If a percentile is outside 0..=100.
pub fn fine_percentiles(of: &PriorityStatistics, percents: &[f64]) -> Vec<FinePercentile> {
    let Some(fine) = &of.fine else { return Vec::new() };
    let interval = |percent: f64| {
        let QuantileRanks { low, high } = quantile_ranks(fine.count(), percent / 100.0);
        let bounds = |rank: Option<u64>| fine.bounds_at_rank_ns(rank?);
        // No latency is below zero.
        (bounds(low).map_or(0, |(low, _)| low), bounds(high).map(|(_, high)| high))
    };
    let percentile = |percent: &f64| FinePercentile {
        percent: *percent,
        latency_ns: fine.percentile_ns(*percent),
        interval_ns: interval(*percent),
    };
    percents.iter().map(percentile).collect()
}
