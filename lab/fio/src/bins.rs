//! fio's histogram of latencies: 29 groups of 64 bins, each bin at most 1/64 wide (cdl.md 4.4).
//!
//! Below 128 ns each nanosecond has its own bin; every further group covers one more power of two.

use crate::jsonplus::{Keyed, LatencySummary};

/// Bins of the histogram.
pub const BINS: usize = 29 * 64;

/// The percentiles that fio prints unless asked otherwise.
pub const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// The bin that counts a latency. The last one takes whatever is too long for its own.
pub fn bin_of(latency_ns: u64) -> usize {
    if latency_ns < 128 {
        return latency_ns as usize;
    }
    let shift = latency_ns.ilog2() - 6;
    let place = latency_ns >> shift & 63;
    (BINS - 1).min((shift as usize + 1) * 64 + place as usize)
}

/// The latency in nanoseconds that stands for a bin: its middle.
///
/// # Panics
/// If there is no such bin.
pub fn bin_value(bin: usize) -> u64 {
    assert!(bin < BINS, "bin {bin} of {BINS}");
    if bin < 128 {
        return bin as u64;
    }
    let shift = bin / 64 - 1;
    // The middle of a bin that is 2^shift wide; one nanosecond wide bins have none but themselves.
    (1 << (shift + 6)) + ((bin as u64 % 64) << shift) + (1 << shift >> 1)
}

/// Latencies counted as fio counts them.
#[derive(Clone, Debug)]
pub struct LatencyBins {
    counts: Vec<u64>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    mean_ns: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl LatencyBins {
    /// Without any latency.
    pub fn new() -> LatencyBins {
        let counts = vec![0; BINS];
        LatencyBins { counts, count: 0, min_ns: u64::MAX, max_ns: 0, mean_ns: 0.0, squares: 0.0 }
    }

    /// Counts one latency. Mean and deviation follow Welford's recurrence, as in fio.
    pub fn record(&mut self, latency_ns: u64) {
        self.counts[bin_of(latency_ns)] += 1;
        self.count += 1;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        let distance = latency_ns as f64 - self.mean_ns;
        self.mean_ns += distance / self.count as f64;
        self.squares += distance * (latency_ns as f64 - self.mean_ns);
    }

    /// Latencies counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value of the first bin up to which `percent` of all latencies were counted; 0 if none was.
    ///
    /// # Panics
    /// If `percent` is outside 0..=100.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        assert!((0.0..=100.0).contains(&percent), "a percentile is 0 to 100, not {percent}");
        let wanted = percent / 100.0 * self.count as f64;
        let mut running = 0;
        let reached = |count: &u64| {
            running += count;
            running > 0 && running as f64 >= wanted
        };
        self.counts.iter().position(reached).map_or(0, bin_value)
    }

    /// Bins that counted something: the latency that stands for each, and how many.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bin, count)| (bin_value(bin), *count))
    }

    /// The latency object of a JSON+ report, with percentiles and bins.
    pub fn summary(&self) -> LatencySummary {
        let percentile = |percent: &f64| (format!("{percent:.6}"), self.percentile_ns(*percent));
        let percentiles = PERCENTILES.iter().map(percentile).collect();
        let bins = self.bins().map(|(value, count)| (value.to_string(), count)).collect();
        LatencySummary {
            percentile: Some(Keyed(percentiles)),
            bins: Some(Keyed(bins)),
            ..self.extremes()
        }
    }

    /// The latency object of a JSON+ report where fio gives no percentiles.
    pub fn extremes(&self) -> LatencySummary {
        let freedom = self.count.saturating_sub(1).max(1);
        LatencySummary {
            min: if self.count > 0 { self.min_ns } else { 0 },
            max: self.max_ns,
            mean: self.mean_ns,
            stddev: (self.squares / freedom as f64).sqrt(),
            samples: self.count,
            percentile: None,
            bins: None,
        }
    }
}

impl Default for LatencyBins {
    fn default() -> LatencyBins {
        LatencyBins::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index and representative by the rule of cdl.md 4.4, worked by hand.
    #[test]
    fn bins_follow_the_rule() {
        let check = |latency_ns: u64, bin: usize, value: u64| {
            assert_eq!((bin_of(latency_ns), bin_value(bin)), (bin, value), "{latency_ns}");
        };
        check(0, 0, 0);
        check(127, 127, 127);
        // 128 = 2^7: shift 1, group 2; bins are two wide, and the middle of 128..130 is 129.
        check(128, 128, 129);
        check(131, 129, 131);
        check(255, 191, 255);
        check(256, 192, 258);
        // 10 ms: 2^23 is 8388608, shift 17; (10^7 - 2^23) >> 17 is 12, and the middle 2^23 + 12.5 x 2^17.
        check(10_000_000, 18 * 64 + 12, 10_027_008);
        // 2^33 and 63/64 of it is the last bin: 17.1 s.
        check(u64::MAX, BINS - 1, (1 << 33) + (63 << 27) + (1 << 26));
    }

    #[test]
    fn bins_follow_each_other_without_gaps() {
        let mut last = 0;
        for bin in 1..BINS {
            let value = bin_value(bin);
            assert!(value > last && bin_of(value) == bin, "bin {bin} at {value}");
            last = value;
        }
    }

    #[test]
    fn a_percentile_is_the_first_bin_that_reaches_it() {
        let mut bins = LatencyBins::new();
        assert_eq!(bins.percentile_ns(50.0), 0);
        (1..=100).for_each(|ns| bins.record(ns));
        for (percent, wanted) in
            [(0.0, 1), (1.0, 1), (1.5, 2), (50.0, 50), (99.0, 99), (100.0, 100)]
        {
            assert_eq!(bins.percentile_ns(percent), wanted, "p{percent}");
        }
        let summary = bins.summary();
        assert_eq!((summary.min, summary.max, summary.samples), (1, 100, 100));
        // The deviation of 1 to n is sqrt(n (n + 1) / 12). Each of 100 steps rounds a few times by 1.1e-16, so
        // 1000 roundings bound the relative error of either figure.
        let bound = 1000.0 * f64::EPSILON / 2.0;
        let deviation = (100.0f64 * 101.0 / 12.0).sqrt();
        assert!((summary.mean / 50.5 - 1.0).abs() < bound, "{}", summary.mean);
        assert!((summary.stddev / deviation - 1.0).abs() < bound, "{}", summary.stddev);
        assert_eq!(summary.bins.unwrap().0.len(), 100);
    }
}
