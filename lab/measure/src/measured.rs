//! What a measurement found: plain figures, each with what it needs to be believed.

use crate::plan::{Does, SMALL};
use crate::point::PointResult;
use crate::warning::Warning;
use loadline_base::{Bytes, Span};
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
    use crate::plan::{Point, points};
    use crate::run::MeasureRun;
    use loadline_stats::LatencyHistogram;

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
