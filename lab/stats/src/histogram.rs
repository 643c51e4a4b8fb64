//! A histogram of latencies that can be merged.

use hdrhistogram::Histogram;

/// Longest latency told apart from longer ones: an hour. Nothing that waits longer is a latency.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Decimal digits that a percentile keeps; its relative error is at most 1/1000.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies in nanoseconds: percentiles to three digits, mean and extremes exact.
///
/// Recording neither allocates nor fails. The counts take about 270 KiB.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new() -> LatencyHistogram {
        let counts = Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the histogram accepts");
        LatencyHistogram { counts, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency_ns: u64) {
        self.counts.saturating_record(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.counts.add(&other.counts).expect("both histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What was counted since this was `earlier`. Its longest latency is exact where it is the longest of all, and else to three digits.
    ///
    /// # Panics
    /// If `earlier` counted anything that this has not.
    #[must_use]
    pub fn since(&self, earlier: &LatencyHistogram) -> LatencyHistogram {
        let mut counts = self.counts.clone();
        counts.subtract(&earlier.counts).expect("what was counted stays counted");
        let max_ns = match self.max_ns > earlier.max_ns {
            true => self.max_ns,
            false => counts.max().min(self.max_ns),
        };
        LatencyHistogram { counts, sum_ns: self.sum_ns - earlier.sum_ns, max_ns }
    }

    /// Latencies counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Exact mean in nanoseconds; 0 if nothing was counted.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count().max(1) as f64
    }

    /// The longest latency, exact; 0 if nothing was counted.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The latency that `percent` of all stayed at or below, in nanoseconds; 0 if nothing was
    /// counted. Never above [`max_ns`](LatencyHistogram::max_ns).
    ///
    /// # Panics
    /// If `percent` is outside 0..=100.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        assert!((0.0..=100.0).contains(&percent), "a percentile is 0 to 100, not {percent}");
        self.counts.value_at_percentile(percent).min(self.max_ns)
    }

    /// Between which nanoseconds the latency at `rank` lies, the shortest having rank 1: to three digits. `None` for rank 0 and beyond the last.
    pub fn bounds_at_rank_ns(&self, rank: u64) -> Option<(u64, u64)> {
        let mut passed = 0;
        let mut recorded = self.counts.iter_recorded().filter(|_| rank > 0);
        let found = recorded.find(|bin| {
            passed += bin.count_at_value();
            passed >= rank
        })?;
        let at = found.value_iterated_to();
        let high =
            if passed == self.count() { self.max_ns } else { self.counts.highest_equivalent(at) };
        Some((self.counts.lowest_equivalent(at), high))
    }
}

impl Default for LatencyHistogram {
    fn default() -> LatencyHistogram {
        LatencyHistogram::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        latencies.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    /// 1 µs to 10 ms in steps of 1 µs: percentile p is p/100 x 10 ms, within one part in 1000.
    #[test]
    fn percentiles_keep_three_digits_and_the_mean_is_exact() {
        let histogram = of((1..=10_000).map(|us| us * 1_000));
        for percent in [50.0, 95.0, 99.0, 99.5, 99.9] {
            let wanted = percent / 100.0 * 1e7;
            let found = histogram.percentile_ns(percent) as f64;
            assert!((found / wanted - 1.0).abs() <= 1e-3, "p{percent}: {found} for {wanted}");
        }
        assert_eq!(histogram.mean_ns(), 5_000_500.0);
        assert_eq!(histogram.percentile_ns(100.0), 10_000_000);
    }

    #[test]
    fn the_latency_at_a_rank_is_known_to_three_digits() {
        let histogram = of((1..=10_000).rev().map(|us| us * 1_000));
        for rank in [1, 2, 2_500, 9_999, 10_000] {
            let (low, high) = histogram.bounds_at_rank_ns(rank).unwrap();
            let wanted = rank * 1_000;
            assert!(low <= wanted && wanted <= high, "rank {rank}: {low} to {high}");
            assert!(high - low <= wanted / 1_000, "rank {rank}: {low} to {high}");
        }
        assert_eq!([0, 10_001].map(|rank| histogram.bounds_at_rank_ns(rank)), [None; 2]);
        // An hour is the longest that is told apart, and the longest of all is exact.
        assert_eq!(of([1, u64::MAX]).bounds_at_rank_ns(2).map(|(_, high)| high), Some(u64::MAX));
    }

    #[test]
    fn parts_merge_into_the_whole() {
        let (mut odd, even) = (of([1_000, 3_000, 5_000_000_000]), of([2_000, 4_000]));
        odd.merge(&even);
        let whole = of([1_000, 2_000, 3_000, 4_000, 5_000_000_000]);
        assert_eq!((odd.count(), odd.max_ns()), (5, 5_000_000_000));
        assert_eq!(odd.mean_ns(), whole.mean_ns());
        for percent in [0.0, 20.0, 40.0, 60.0, 80.0, 100.0] {
            assert_eq!(odd.percentile_ns(percent), whole.percentile_ns(percent));
        }
        let mut longer = of([1_000]);
        longer.merge(&of([7_000]));
        assert_eq!(longer.max_ns(), 7_000);
    }

    #[test]
    fn what_was_counted_since_knows_nothing_of_before() {
        let earlier = of([9_000_000, 1_000, 2_000]);
        let mut later = earlier.clone();
        assert_eq!(later.since(&earlier).count(), 0);
        [3_000, 5_000].iter().for_each(|ns| later.record(*ns));
        let since = later.since(&earlier);
        assert_eq!((since.count(), since.mean_ns()), (2, 4_000.0));
        let close = |found: u64, wanted: u64| found.abs_diff(wanted) <= wanted / 1_000;
        assert!(close(since.percentile_ns(50.0), 3_000) && close(since.max_ns(), 5_000));
        later.record(10_000_000);
        assert_eq!(later.since(&earlier).max_ns(), 10_000_000);
    }

    #[test]
    fn nothing_counted_and_beyond_the_range() {
        let empty = LatencyHistogram::new();
        assert_eq!((empty.count(), empty.mean_ns(), empty.percentile_ns(99.0)), (0, 0.0, 0));
        let endless = of([u64::MAX, u64::MAX]);
        assert_eq!(endless.max_ns(), u64::MAX);
        assert_eq!(endless.mean_ns(), u64::MAX as f64);
        assert!(endless.percentile_ns(50.0) >= LATENCY_NS_MAX);
    }
}
