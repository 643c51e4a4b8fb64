//! Percentiles to three digits, with the interval in which each lies.

use super::PriorityStatistics;

/// One percentile of one priority's latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinePercentile {
    /// 0 to 100.
    pub percent: f64,
    /// The latency, in nanoseconds.
    pub latency_ns: u64,
    /// The ends of its 95 % interval, in nanoseconds.
    pub interval_ns: (u64, u64),
}

/// 97.5 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// The percentiles of what was counted finely; empty if nothing was.
///
/// How many of n latencies fall below the true percentile is binomial; so the latencies at the ranks np ± z √(np(1 - p))
/// enclose it in 95 of 100 logs. That takes them for independent. Latencies of one queue follow each other, so the
/// interval is the least that must be reckoned with.
///
/// # Panics
/// If a percentile is outside 0..=100.
pub fn fine_percentiles(of: &PriorityStatistics, percents: &[f64]) -> Vec<FinePercentile> {
    let Some(fine) = &of.fine else { return Vec::new() };
    let count = fine.count() as f64;
    let interval = |percent: f64| {
        let share = percent / 100.0;
        let reach = Z * (share * (1.0 - share) / count).sqrt();
        let end = |share: f64| fine.percentile_ns(share.clamp(0.0, 1.0) * 100.0);
        (end(share - reach), end(share + reach))
    };
    let percentile = |percent: &f64| FinePercentile {
        percent: *percent,
        latency_ns: fine.percentile_ns(*percent),
        interval_ns: interval(*percent),
    };
    percents.iter().map(percentile).collect()
}
