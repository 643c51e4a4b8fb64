//! What a measurement found: plain figures, each with what it needs to be believed.

use crate::plan::{Does, Point, SMALL, TransferPattern};
use crate::run::MeasureRun;
use crate::warning::Warning;
use loadline_base::{Bytes, Span};
use loadline_stats::{LatencyHistogram, mean, mean_interval};
use serde::Serialize;
use std::path::PathBuf;

/// Everything that was found about a drive.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What was measured.
    pub drive: MeasuredDrive,
    /// How long each point was measured each time, in seconds.
    pub seconds: f64,
    /// How often.
    pub repeats: u32,
    /// Bytes written in a second where nothing was before: of a file that was made, while it was written whole.
    pub first_write_bytes_per_s: Option<f64>,
    /// The points in the order of [`points`](crate::points).
    pub points: Vec<PointResult>,
    /// Why some of it is to be read with care.
    pub warnings: Vec<Warning>,
}

/// What was measured, and by which way it was reached.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredDrive {
    /// The file or device.
    pub path: PathBuf,
    /// How much of it, from its beginning.
    pub region_bytes: u64,
    /// The device behind it, where there is a single one.
    pub device: Option<String>,
    /// Its maker's name for it.
    pub model: Option<String>,
    /// Whether it says that it rotates.
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// The file system, of a file.
    pub file_system: Option<String>,
    /// `direct` or `buffered`.
    pub mode: String,
    /// Who carried requests out.
    pub event_loop: String,
}

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

impl Measured {
    /// The fastest of the points of one kind up to a depth; `None` if none was measured.
    pub(crate) fn best(&self, does: Does, block: Bytes, depth_max: u32) -> Option<&PointResult> {
        let of_kind = self.points.iter().filter(|point| {
            point.does == does && point.block_bytes == block.get() && point.depth <= depth_max
        });
        of_kind.max_by(|a, b| a.iops.mean.total_cmp(&b.iops.mean))
    }

    /// The mean latency of one kind with nothing else in flight.
    pub(crate) fn alone(&self, does: Does, block: Bytes) -> Option<Span> {
        let point = self.best(does, block, 1)?;
        Some(Span::from_nanos(point.latency_ns.mean.round() as u64))
    }

    /// Whether it behaves like a rotating disk: it says so, and a small random read takes at least a fraction of a turn.
    /// Virtual disks say so too.
    pub fn is_rotating(&self) -> bool {
        /// A tenth of a turn at 7200 per minute, 0.83 ms: less is a cache's, or flash.
        const SEEK_MIN: Span = Span::from_micros(830);
        let slow = self.alone(Does::Read, SMALL).is_some_and(|latency| latency >= SEEK_MIN);
        self.drive.rotational == Some(true) && slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::points;

    fn run(iops: f64, mean_ns: u64, steady: bool) -> MeasureRun {
        let mut latency = LatencyHistogram::new();
        latency.record(mean_ns);
        MeasureRun { iops, latency, cpu_us: 1.0, steady }
    }

    /// All points at 100 IOPS for each in flight and 1 ms, of a drive that says this of itself.
    fn measured(rotational: Option<bool>, read_ns: u64) -> Measured {
        let result = |point: &Point| {
            let latency_ns = if point.does == Does::Read { read_ns } else { 1_000_000 };
            let run = run(100.0 * f64::from(point.depth), latency_ns, true);
            PointResult::new(point, &[run.clone(), run])
        };
        let drive = MeasuredDrive {
            path: "disk".into(),
            region_bytes: 64 << 20,
            device: None,
            model: None,
            rotational,
            scheduler: None,
            file_system: None,
            mode: "direct".into(),
            event_loop: "io_uring".into(),
        };
        let points = points(true).iter().map(result).collect();
        let first_write_bytes_per_s = None;
        Measured {
            drive,
            seconds: 1.0,
            repeats: 2,
            first_write_bytes_per_s,
            points,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_point_is_told_from_all_of_its_repeats() {
        let point = points(false)[0];
        let runs = [run(90.0, 1_000, true), run(110.0, 3_000, false), run(100.0, 5_000, false)];
        let found = PointResult::new(&point, &runs);
        assert_eq!((found.iops.mean, found.unsteady), (100.0, 2));
        assert_eq!(found.bytes_per_s, 409_600.0);
        assert_eq!((found.latency_ns.mean, found.latency_ns.max), (3_000.0, 5_000));
    }

    #[test]
    fn the_best_rate_is_that_of_the_depths_that_a_store_has() {
        let measured = measured(None, 1_000_000);
        let best = measured.best(Does::Write, SMALL, 64).map(|point| point.depth);
        assert_eq!(best, Some(64));
        assert_eq!(measured.alone(Does::Write, SMALL), Some(Span::from_millis(1)));
        assert_eq!(
            measured.best(Does::Write, Bytes::from_mib(2), 64).map(|point| point.depth),
            None
        );
    }

    /// Virtual disks often say that they rotate; one that answers sooner than a head moves does not.
    #[test]
    fn a_drive_rotates_if_it_says_so_and_is_as_slow() {
        assert!(measured(Some(true), 830_000).is_rotating());
        assert!(!measured(Some(true), 200_000).is_rotating());
        assert!(!measured(Some(false), 5_000_000).is_rotating());
        assert!(!measured(None, 5_000_000).is_rotating());
    }
}
