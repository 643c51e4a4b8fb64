//! Who waited where: per kind of work and stage, how long, as mergeable histograms.

use loadline_base::{Bytes, Span};
use loadline_qos::Work;

/// A place where a piece of work spends time inside one OSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// In the shard's scheduler: from arrival until a worker takes it.
    Queue,
    /// On a worker, including the wait for its placement group's previous item.
    Worker,
    /// In front of the store's window.
    Window,
    /// On the device.
    Device,
    /// A client's op only: durable here, waiting for the other copies.
    Replicas,
}

impl Stage {
    /// Every stage, in the order in which work passes them.
    pub const ALL: [Stage; 5] =
        [Stage::Queue, Stage::Worker, Stage::Window, Stage::Device, Stage::Replicas];

    /// The stage's name in tables and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Queue => "queue",
            Stage::Worker => "worker",
            Stage::Window => "window",
            Stage::Device => "device",
            Stage::Replicas => "replicas",
        }
    }
}

/// Eight buckets per power of two: a quantile is at most one eighth too large.
const SUB_BUCKETS_LOG2: u32 = 3;
const BUCKETS: usize = (64 - SUB_BUCKETS_LOG2 as usize + 1) << SUB_BUCKETS_LOG2;

/// Durations of one kind of work in one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitHistogram {
    count: u64,
    sum_ns: u64,
    max: Span,
    buckets: Box<[u64; BUCKETS]>,
}

impl Default for WaitHistogram {
    fn default() -> Self {
        WaitHistogram { count: 0, sum_ns: 0, max: Span::ZERO, buckets: Box::new([0; BUCKETS]) }
    }
}

impl WaitHistogram {
    /// Counts one.
    #[inline]
    pub fn record(&mut self, wait: Span) {
        self.count += 1;
        self.sum_ns += wait.nanos();
        self.max = self.max.max(wait);
        self.buckets[bucket_of(wait.nanos())] += 1;
    }

    /// Adds what another histogram counted.
    pub fn merge(&mut self, other: &WaitHistogram) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max = self.max.max(other.max);
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *mine += theirs;
        }
    }

    /// How many pieces of work passed the stage.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean duration, exact; zero without samples.
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.sum_ns.checked_div(self.count).unwrap_or(0))
    }

    /// All of them together.
    pub fn sum(&self) -> Span {
        Span::from_nanos(self.sum_ns)
    }

    /// How many are shorter than two to this power, in nanoseconds. Exact.
    pub fn below(&self, log2: u32) -> u64 {
        self.buckets[..bucket_of(1 << log2)].iter().sum()
    }

    /// How many are longer than this, but for those less than one eighth longer that share its bucket.
    pub(crate) fn beyond(&self, wait: Span) -> u64 {
        self.buckets[bucket_of(wait.nanos()) + 1..].iter().sum()
    }

    /// The longest.
    pub fn max(&self) -> Span {
        self.max
    }

    /// An upper bound of the `q`-quantile (0 to 1), at most one eighth above it.
    pub fn quantile(&self, q: f64) -> Span {
        let rank = (q * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Span::from_nanos(bucket_end(bucket)).min(self.max);
            }
        }
        self.max
    }
}

fn bucket_of(nanos: u64) -> usize {
    let octave = 63 - (nanos | 1).leading_zeros();
    if octave < SUB_BUCKETS_LOG2 {
        return nanos as usize;
    }
    let shift = octave - SUB_BUCKETS_LOG2;
    (((shift + 1) << SUB_BUCKETS_LOG2) as u64 + ((nanos >> shift) & 7)) as usize
}

fn bucket_end(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BUCKETS_LOG2).saturating_sub(1) as u32;
    if bucket >> SUB_BUCKETS_LOG2 == 0 {
        return bucket as u64;
    }
    let low = ((bucket as u64 & 7) | 8) << shift;
    low + ((1 << shift) - 1)
}

/// All kinds of work and stages of one OSD, or of several merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    per_work: Vec<WorkWaits>,
}

impl Default for Waits {
    fn default() -> Self {
        Waits { per_work: vec![WorkWaits::default(); Work::ALL.len()] }
    }
}

/// One kind of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkWaits {
    /// Payload carried.
    pub bytes: Bytes,
    stages: [WaitHistogram; Stage::ALL.len()],
}

impl WorkWaits {
    /// The durations of one stage.
    pub fn stage(&self, stage: Stage) -> &WaitHistogram {
        &self.stages[stage as usize]
    }
}

impl Waits {
    /// Counts one piece of work through one stage.
    #[inline]
    pub fn record(&mut self, work: Work, stage: Stage, wait: Span) {
        self.per_work[work as usize].stages[stage as usize].record(wait);
    }

    /// Counts payload.
    #[inline]
    pub fn add_bytes(&mut self, work: Work, bytes: Bytes) {
        self.per_work[work as usize].bytes += bytes;
    }

    /// Adds what another OSD counted.
    pub fn merge(&mut self, other: &Waits) {
        for (mine, theirs) in self.per_work.iter_mut().zip(&other.per_work) {
            mine.bytes += theirs.bytes;
            for (mine, theirs) in mine.stages.iter_mut().zip(&theirs.stages) {
                mine.merge(theirs);
            }
        }
    }

    /// The kinds of work seen, in the order of the enumeration.
    pub fn iter(&self) -> impl Iterator<Item = (Work, &WorkWaits)> {
        let seen = self.per_work.iter().zip(Work::ALL);
        seen.filter(|(waits, _)| waits.stage(Stage::Queue).count > 0)
            .map(|(waits, work)| (work, waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_quantiles_are_one_eighth_wide() {
        for nanos in (0..5_000).chain([1 << 40, (1 << 40) + 12_345, u64::MAX >> 1]) {
            let bucket = bucket_of(nanos);
            let end = bucket_end(bucket);
            assert!(
                end >= nanos && end - nanos <= nanos / 8,
                "{nanos} in {bucket} ending at {end}"
            );
            assert!(bucket == 0 || bucket_end(bucket - 1) < nanos);
        }
    }

    #[test]
    fn mean_is_exact_and_quantiles_bound_from_above() {
        let mut histogram = WaitHistogram::default();
        for nanos in 1..=1000 {
            histogram.record(Span::from_nanos(nanos));
        }
        assert_eq!(histogram.mean(), Span::from_nanos(500));
        let p99 = histogram.quantile(0.99).nanos();
        assert!((990..=990 + 990 / 8).contains(&p99), "{p99}");
        assert_eq!(histogram.quantile(1.0), Span::from_nanos(1000));
        assert_eq!((histogram.below(9), histogram.below(10), histogram.below(0)), (511, 1000, 0));
    }
}
