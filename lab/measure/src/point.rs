//! What was found at one point.

use crate::plan::{Does, Point, TransferPattern};
use crate::run::MeasureRun;
use loadline_base::Bytes;
use loadline_stats::{LatencyHistogram, mean, mean_interval};
use serde::Serialize;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Over the repeats.
    pub mean: f64,
    /// The interval is `mean ± half_width`.
    pub half_width: f64,
}

/// Completion latencies over all repeats, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latencies {
    /// Exact.
    pub mean: f64,
    /// Half stayed at or below.
    pub p50: u64,
    /// 95 % did.
    pub p95: u64,
    /// 99 % did.
    pub p99: u64,
    /// 99.9 % did.
    pub p99_9: u64,
    /// All did.
    pub max: u64,
}

/// What was found at one point.
#[derive(Clone, Debug, Serialize)]
pub struct PointResult {
    /// Its direction.
    pub does: Does,
    /// Where transfers went.
    pub pattern: TransferPattern,
    /// Bytes of each.
    pub block_bytes: u64,
    /// How many were in flight.
    pub depth: u32,
    /// Transfers per second.
    pub iops: Estimate,
    /// Their bytes per second.
    pub bytes_per_s: f64,
    /// How long they took.
    pub latency_ns: Latencies,
    /// Processor time of each, in microseconds.
    pub cpu_us: f64,
    /// Transfers per second of each repeat, in order.
    pub repeats: Vec<f64>,
    /// In how many repeats the rate did not settle.
    pub unsteady: u32,
}

impl PointResult {
    pub(crate) fn new(point: &Point, runs: &[MeasureRun]) -> PointResult {
        let repeats: Vec<f64> = runs.iter().map(|run| run.iops).collect();
        let interval = mean_interval(&repeats).expect("a point is measured at least twice");
        let iops = Estimate { mean: interval.mean, half_width: interval.half_width };
        let mut latency = LatencyHistogram::new();
        runs.iter().for_each(|run| latency.merge(&run.latency));
        let cpu: Vec<f64> = runs.iter().map(|run| run.cpu_us).collect();
        PointResult {
            does: point.does,
            pattern: point.pattern,
            block_bytes: point.block.get(),
            depth: point.depth,
            iops,
            bytes_per_s: iops.mean * point.block.get() as f64,
            latency_ns: Latencies::of(&latency),
            cpu_us: mean(&cpu).expect("a point is measured at least twice"),
            repeats,
            unsteady: runs.iter().filter(|run| !run.steady).count() as u32,
        }
    }

    /// The point.
    pub fn point(&self) -> Point {
        let block = Bytes::new(self.block_bytes);
        Point { does: self.does, pattern: self.pattern, block, depth: self.depth }
    }
}

impl Latencies {
    fn of(histogram: &LatencyHistogram) -> Latencies {
        let at = |percent| histogram.percentile_ns(percent);
        Latencies {
            mean: histogram.mean_ns(),
            p50: at(50.0),
            p95: at(95.0),
            p99: at(99.0),
            p99_9: at(99.9),
            max: histogram.max_ns(),
        }
    }
}
