//! One value per second, recorded without allocation or search.

const SECOND_NS: u64 = 1_000_000_000;

/// Buckets per octave as a power of two: 64, so that a percentile is at most 1/64 too high.
const SUB_BITS: u32 = 6;
const SUB_COUNT: usize = 1 << SUB_BITS;

/// Values below `SUB_COUNT` have a bucket each; every octave above has `SUB_COUNT`. 15 KiB of
/// counts stay in a first-level cache.
const BUCKETS: usize = SUB_COUNT * (64 - SUB_BITS as usize + 1);

/// What completed within one second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySecond {
    /// Completed operations.
    pub count: u64,
    /// Their mean latency in nanoseconds, exact; `None` if nothing completed.
    pub mean_ns: Option<f64>,
    /// Their 99th percentile in nanoseconds, at most 1/64 too high; `None` if nothing completed.
    pub p99_ns: Option<u64>,
}

/// Latencies by the second in which the operation completed.
///
/// Completions come in order of time, as a world delivers them; so only the current second needs
/// counts, and recording is one addition per column.
#[derive(Clone, Debug)]
pub struct LatencySeries {
    closed: Vec<LatencySecond>,
    counts: Box<[u32; BUCKETS]>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
    ends_ns: u64,
}

impl LatencySeries {
    /// An empty series that begins at time 0.
    pub fn new() -> LatencySeries {
        LatencySeries {
            closed: Vec::new(),
            counts: Box::new([0; BUCKETS]),
            count: 0,
            sum_ns: 0,
            max_ns: 0,
            ends_ns: SECOND_NS,
        }
    }

    /// Counts an operation that completed `at_ns` after the start of the series.
    ///
    /// # Panics
    /// If `at_ns` lies in a second before that of an earlier call.
    pub fn record(&mut self, at_ns: u64, latency_ns: u64) {
        assert!(at_ns + SECOND_NS >= self.ends_ns, "completions come in order of time");
        while at_ns >= self.ends_ns {
            self.close_second();
        }
        self.counts[bucket_of(latency_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// The seconds `0..whole_seconds`; what completed later is left out, seconds without a
    /// completion are empty.
    pub fn finish(mut self, whole_seconds: usize) -> Vec<LatencySecond> {
        while self.closed.len() < whole_seconds {
            self.close_second();
        }
        self.closed.truncate(whole_seconds);
        self.closed
    }

    fn close_second(&mut self) {
        self.ends_ns += SECOND_NS;
        if self.count == 0 {
            self.closed.push(LatencySecond::default());
            return;
        }
        self.closed.push(LatencySecond {
            count: self.count,
            mean_ns: Some(self.sum_ns as f64 / self.count as f64),
            p99_ns: Some(self.p99_ns()),
        });
        self.counts.fill(0);
        (self.count, self.sum_ns, self.max_ns) = (0, 0, 0);
    }

    /// Upper end of the bucket that holds the 99th percentile: the smallest value with at most one
    /// in a hundred operations above it.
    fn p99_ns(&self) -> u64 {
        let above_max = self.count / 100;
        let mut above = 0;
        for (bucket, &count) in self.counts.iter().enumerate().rev() {
            above += u64::from(count);
            if above > above_max {
                return bucket_end(bucket).min(self.max_ns);
            }
        }
        unreachable!("more operations were counted than one in a hundred of them")
    }
}

impl Default for LatencySeries {
    fn default() -> LatencySeries {
        LatencySeries::new()
    }
}

/// Log-linear bucket: the position of the leading bit, and the `SUB_BITS` bits after it.
fn bucket_of(value: u64) -> usize {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    (octave as usize) * SUB_COUNT + (value >> octave) as usize
}

/// The largest value in a bucket; the inverse of [`bucket_of`].
fn bucket_end(bucket: usize) -> u64 {
    let octave = (bucket / SUB_COUNT).saturating_sub(1);
    let steps = (bucket - octave * SUB_COUNT) as u64;
    (steps << octave) + ((1 << octave) - 1)
}

/// Things counted by the second in which they happened, in any order.
#[derive(Clone, Debug, Default)]
pub struct CountSeries {
    seconds: Vec<u64>,
}

impl CountSeries {
    /// An empty series that begins at time 0.
    pub fn new() -> CountSeries {
        CountSeries::default()
    }

    /// Counts `n` things that happened `at_ns` after the start of the series.
    pub fn add(&mut self, at_ns: u64, n: u64) {
        let second = (at_ns / SECOND_NS) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += n;
    }

    /// The seconds `0..whole_seconds`; what happened later is left out.
    pub fn finish(mut self, whole_seconds: usize) -> Vec<u64> {
        self.seconds.resize(whole_seconds, 0);
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_that_is_at_most_a_64th_too_high() {
        let check = |value: u64| {
            let end = bucket_end(bucket_of(value));
            assert!(end >= value && end - value <= value / 64, "{value} ends at {end}");
        };
        (0..5_000).for_each(check);
        (6..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).for_each(check);
        check(u64::MAX);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        let ends: Vec<u64> = (0..BUCKETS).map(bucket_end).collect();
        assert!(ends.is_sorted_by(|a, b| a < b), "no two buckets overlap");
    }

    /// 1000 operations of 1..=1000 ms in the first second: ten are above 990 ms, which is the 99th
    /// percentile; the bucket may round it up by a 64th.
    #[test]
    fn a_second_has_its_count_mean_and_p99() {
        let mut series = LatencySeries::new();
        (1..=1000).for_each(|ms| series.record(ms * 900_000, ms * 1_000_000));
        let second = series.finish(1)[0];
        assert_eq!((second.count, second.mean_ns), (1000, Some(500_500_000.0)));
        let p99 = second.p99_ns.unwrap();
        assert!((990_000_000..=990_000_000 * 65 / 64).contains(&p99), "{p99}");
    }

    /// Latencies below 64 ns have a bucket each, so the rank is seen exactly: of 100 one may be above, of 199 one as well.
    #[test]
    fn a_99th_percentile_has_at_most_one_in_a_hundred_above_it() {
        let check = |latencies: &[(u64, usize)], wanted: u64| {
            let mut series = LatencySeries::new();
            let all = latencies.iter().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count));
            all.for_each(|ns| series.record(0, ns));
            assert_eq!(series.finish(1)[0].p99_ns, Some(wanted), "{latencies:?}");
        };
        check(&[(10, 99), (60, 1)], 10);
        check(&[(10, 98), (60, 1)], 60);
        check(&[(10, 98), (60, 2)], 60);
        check(&[(10, 198), (60, 1)], 10);
        check(&[(10, 197), (60, 2)], 60);
        check(&[(1_000_000, 1)], 1_000_000);
    }

    #[test]
    fn a_second_knows_nothing_of_the_ones_before() {
        let mut series = LatencySeries::new();
        [50, 50].iter().for_each(|ns| series.record(0, *ns));
        (0..99).for_each(|_| series.record(1_000_000_000, 7));
        series.record(1_000_000_000, 60);
        let second = series.finish(2)[1];
        assert_eq!(second, LatencySecond { count: 100, mean_ns: Some(7.53), p99_ns: Some(7) });
    }

    #[test]
    fn empty_seconds_stay_empty_and_late_ones_are_left_out() {
        let mut series = LatencySeries::new();
        series.record(0, 10);
        series.record(2_000_000_000, 30);
        series.record(2_999_999_999, 50);
        series.record(9_000_000_000, 7);
        let seconds = series.finish(4);
        let counts: Vec<_> = seconds.iter().map(|second| second.count).collect();
        assert_eq!(counts, [1, 0, 2, 0]);
        assert_eq!(seconds[1], LatencySecond::default());
        assert_eq!((seconds[2].mean_ns, seconds[2].p99_ns), (Some(40.0), Some(50)));
    }

    #[test]
    #[should_panic(expected = "in order of time")]
    fn a_completion_from_an_earlier_second_is_a_bug() {
        let mut series = LatencySeries::new();
        series.record(2_000_000_000, 1);
        series.record(1_999_999_999, 1);
    }

    #[test]
    fn counts_fall_into_their_seconds() {
        let mut series = CountSeries::new();
        series.add(2_500_000_000, 3);
        series.add(100, 2);
        series.add(999_999_999, 1);
        series.add(7_000_000_000, 9);
        assert_eq!(series.finish(4), [3, 0, 3, 0]);
    }
}
