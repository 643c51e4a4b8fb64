//! Why a figure is to be read with care. Each warning ends in what to do.

use crate::plan::Does;
use crate::point::PointResult;
use loadline_base::Bytes;
use loadline_host::{DriveFacts, Mode};
use loadline_stats::trend;
use serde::{Serialize, Serializer};
use std::fmt;

/// Drives for servers have up to a few gibibytes of memory of their own, drives for desktops a quarter of one.
const DRIVE_CACHE: Bytes = Bytes::from_mib(4096);
/// An interval of more than this share of the mean on either side is wide.
const WIDE: f64 = 0.1;
/// Less of a change from the first to the last repeat is no drift worth telling.
const DRIFT: f64 = 0.05;

/// Where transfers take less than this share of the measured time, those in flight at its ends are too few to count.
const LONG: f64 = 0.01;
/// Rate and mean latency that make a depth that is further from the true one than this share do not belong together.
const APART: f64 = 0.05;

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Transfers went through the page cache.
    Buffered,
    /// The file is in memory, not on a drive.
    InMemory,
    /// The page cache could hold the whole region.
    FitsMemory(Bytes, Bytes),
    /// The drive's own cache could hold the whole region.
    FitsDriveCache(Bytes),
    /// Somebody else's machine stands between.
    Virtual(String),
    /// What the drive answers is not yet durable.
    VolatileCache,
    /// Part of the region holds nothing.
    Holes {
        /// The region.
        region: Bytes,
        /// What of it is allocated.
        allocated: Bytes,
    },
    /// Threads carried the requests out.
    Threads,
    /// Points whose interval is wide.
    Wide(Vec<String>),
    /// Points at which most repeats did not settle.
    Unsteady(Vec<String>),
    /// Points whose transfers took so long that the measured time says too little of how long.
    TooShort(Vec<String>),
    /// The drive became faster or slower while it was measured.
    Drift {
        /// In which direction of transfer.
        does: Does,
        /// Change from the first to the last repeat, a share.
        change: f64,
    },
}

impl Warning {
    fn kind(&self) -> &'static str {
        match self {
            Warning::Buffered => "buffered",
            Warning::InMemory => "in_memory",
            Warning::FitsMemory(..) => "fits_memory",
            Warning::FitsDriveCache(_) => "fits_drive_cache",
            Warning::Virtual(_) => "virtual",
            Warning::VolatileCache => "volatile_cache",
            Warning::Holes { .. } => "holes",
            Warning::Threads => "threads",
            Warning::Wide(_) => "wide_intervals",
            Warning::Unsteady(_) => "unsteady",
            Warning::TooShort(_) => "too_short",
            Warning::Drift { .. } => "drift",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Buffered => f.write_str(
                "buffered: transfers go through the page cache, so these are memory's figures; measure on a file system with direct I/O",
            ),
            Warning::InMemory => {
                f.write_str("the file is in memory (tmpfs); choose a place on the drive")
            }
            Warning::FitsMemory(region, memory) => write!(
                f,
                "the region of {region} fits into this machine's {memory} of memory; take a larger --size"
            ),
            Warning::FitsDriveCache(region) => write!(
                f,
                "a region of {region} may fit into the drive's own cache; take a --size of more than {DRIVE_CACHE}"
            ),
            Warning::Virtual(device) => write!(
                f,
                "{device} is a virtual device: its host may cache, and others may share it; measure at different times"
            ),
            Warning::VolatileCache => f.write_str(
                "the drive has a volatile write cache: a write is answered before it is durable, and flushes cost extra; compare with the cache off (`echo 'write through' > /sys/block/DEVICE/queue/write_cache` tells the kernel so, the drive's own tool switches it)",
            ),
            Warning::Holes { region, allocated } => write!(
                f,
                "only {allocated} of the region of {region} are allocated: reads of holes cost nothing; write the file whole first, or measure with --write"
            ),
            Warning::Threads => f.write_str(
                "threads carry requests out, so the depth is bounded by their number; allow io_uring for depths above 16",
            ),
            Warning::Wide(points) => write!(
                f,
                "intervals wider than ±{:.0} %: {}; take a longer --seconds or more of --repeat",
                WIDE * 100.0,
                listed(points)
            ),
            Warning::Unsteady(points) => write!(
                f,
                "the rate did not settle: {}; take a longer --seconds, and let the machine do nothing else",
                listed(points)
            ),
            Warning::TooShort(points) => write!(
                f,
                "latencies do not fit the rate (depth / rate is the mean latency of a full line, and they differ by more than {:.0} %): {}; transfers take long beside the measured time, so take a longer --seconds",
                APART * 100.0,
                listed(points)
            ),
            Warning::Drift { does, change } => write!(
                f,
                "drift: {} changed by {:+.0} % from the first repeat to the last; a drive that was empty or cold needs more of --repeat until it is steady",
                if *does == Does::Read { "reads" } else { "writes" },
                change * 100.0
            ),
        }
    }
}

/// The first few of many points.
fn listed(points: &[String]) -> String {
    const SHOWN: usize = 4;
    match points.len().checked_sub(SHOWN) {
        None | Some(0) => points.join(", "),
        Some(more) => format!("{} and {more} more", points[..SHOWN].join(", ")),
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = [("kind", self.kind().to_owned()), ("text", self.to_string())];
        serializer.collect_map(parts)
    }
}

/// What is known before the first transfer.
pub(crate) struct Circumstances<'a> {
    pub facts: &'a DriveFacts,
    pub direct: bool,
    pub mode: &'a Mode,
    pub region: Bytes,
    pub writes: bool,
    pub memory: Option<Bytes>,
}

/// What the circumstances alone say.
pub(crate) fn of_circumstances(at: &Circumstances<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    let facts = at.facts;
    if facts.is_in_memory() {
        found.push(Warning::InMemory);
    } else if !at.direct {
        found.push(Warning::Buffered);
    }
    match at.memory {
        Some(memory) if !at.direct && at.region < memory => {
            found.push(Warning::FitsMemory(at.region, memory));
        }
        _ if at.region < DRIVE_CACHE && !facts.is_in_memory() => {
            found.push(Warning::FitsDriveCache(at.region));
        }
        _ => {}
    }
    if let Some(device) = facts.device.as_ref().filter(|_| facts.is_virtual) {
        found.push(Warning::Virtual(device.clone()));
    }
    if at.writes && facts.volatile_cache == Some(true) {
        found.push(Warning::VolatileCache);
    }
    if let Some(allocated) = facts.allocated.filter(|allocated| *allocated < at.region) {
        found.push(Warning::Holes { region: at.region, allocated });
    }
    if matches!(at.mode, Mode::Threads { .. }) {
        found.push(Warning::Threads);
    }
    found
}

/// Whether transfers took long beside the measured time, and their mean is not that of a full line (Little's law).
fn is_too_short(point: &PointResult, seconds: f64) -> bool {
    let full = f64::from(point.depth) / point.iops.mean;
    let mean = point.latency_ns.mean / 1e9;
    full > LONG * seconds && (mean / full - 1.0).abs() > APART
}

/// What the figures say of points that were measured for so many seconds each time.
pub(crate) fn of_points(points: &[PointResult], seconds: f64) -> Vec<Warning> {
    let named = |wanted: &dyn Fn(&PointResult) -> bool| {
        let name = |point: &PointResult| format!("{} at depth {}", point.point(), point.depth);
        points.iter().filter(|point| wanted(point)).map(name).collect::<Vec<_>>()
    };
    let wide = named(&|point| point.iops.half_width > WIDE * point.iops.mean);
    let unsteady = named(&|point| 2 * point.unsteady as usize > point.repeats.len());
    let short = named(&|point| is_too_short(point, seconds));
    let lists = [Warning::Wide(wide), Warning::Unsteady(unsteady), Warning::TooShort(short)];
    let holds = |warning: &Warning| match warning {
        Warning::Wide(points) | Warning::Unsteady(points) | Warning::TooShort(points) => {
            !points.is_empty()
        }
        _ => true,
    };
    let drifts = [Does::Read, Does::Write].into_iter().filter_map(|does| drift(points, does));
    lists.into_iter().filter(holds).chain(drifts).collect()
}

/// Drift of all points of a direction together, where the data exclude that there is none.
fn drift(points: &[PointResult], does: Does) -> Option<Warning> {
    let of_does = points.iter().filter(|point| point.does == does);
    let series: Vec<Vec<f64>> = of_does.map(|point| point.repeats.clone()).collect();
    let change = trend(&series)?;
    let shown = change.mean.abs() > DRIFT && !change.contains(0.0);
    shown.then_some(Warning::Drift { does, change: change.mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::points;
    use crate::point::{Estimate, Latencies};

    const GIB: u64 = 1024;

    /// What is warned of a direct measurement of a device of 8 GiB on a machine with 16 GiB, but for what `change` changes.
    fn check(change: impl FnOnce(&mut DriveFacts, &mut Circumstances<'_>), wanted: &[Warning]) {
        let (mut changed, facts, mode) =
            (DriveFacts::default(), DriveFacts::default(), Mode::Uring { unregistered: None });
        let mut at = Circumstances {
            facts: &facts,
            direct: true,
            mode: &mode,
            region: Bytes::from_mib(8 * GIB),
            writes: true,
            memory: Some(Bytes::from_mib(16 * GIB)),
        };
        change(&mut changed, &mut at);
        assert_eq!(of_circumstances(&Circumstances { facts: &changed, ..at }), wanted);
    }

    #[test]
    fn each_circumstance_has_its_warning() {
        let (small, large) = (Bytes::from_mib(GIB), Bytes::from_mib(8 * GIB));
        let memory = Bytes::from_mib(16 * GIB);
        check(|_, _| {}, &[]);
        check(|_, at| at.region = small, &[Warning::FitsDriveCache(small)]);
        let buffered = [Warning::Buffered, Warning::FitsMemory(large, memory)];
        check(|_, at| at.direct = false, &buffered);
        check(|_, at| (at.direct, at.region) = (false, memory), &[Warning::Buffered]);
        check(|facts, _| facts.volatile_cache = Some(true), &[Warning::VolatileCache]);
        check(|facts, at| (facts.volatile_cache, at.writes) = (Some(true), false), &[]);
        check(|facts, _| facts.allocated = Some(large), &[]);
        check(
            |facts, _| facts.allocated = Some(small),
            &[Warning::Holes { region: large, allocated: small }],
        );
        check(
            |facts, _| (facts.is_virtual, facts.device) = (true, Some("vda".into())),
            &[Warning::Virtual("vda".into())],
        );
    }

    /// Random reads of one depth with these rates, so many of which did not settle.
    fn point(repeats: &[f64], half_width: f64, unsteady: u32) -> PointResult {
        let point = points(false)[0];
        PointResult {
            does: point.does,
            pattern: point.pattern,
            block_bytes: point.block.get(),
            depth: point.depth,
            iops: Estimate { mean: repeats[0], half_width },
            bytes_per_s: 1.0,
            latency_ns: Latencies { mean: 1.0, p50: 1, p95: 1, p99: 1, p99_9: 1, max: 1 },
            cpu_us: 1.0,
            repeats: repeats.to_vec(),
            unsteady,
        }
    }

    #[test]
    fn figures_that_are_wide_unsteady_or_drift_are_named() {
        let kinds = |points: &[PointResult]| -> Vec<&str> {
            of_points(points, 10.0).iter().map(Warning::kind).collect()
        };
        let name = "4 KiB random read at depth 1".to_owned();
        assert_eq!(of_points(&[point(&[100.0; 3], 11.0, 0)], 10.0), [Warning::Wide(vec![name])]);
        assert!(
            of_points(&[point(&[100.0; 3], 9.0, 1)], 10.0).is_empty(),
            "one of three is unsteady"
        );
        assert_eq!(kinds(&[point(&[100.0; 3], 0.0, 2)]), ["unsteady"]);
        assert_eq!(kinds(&[point(&[90.0, 100.0, 110.0], 0.0, 0)]), ["drift"]);
        let by_chance = point(&[90.0, 120.0, 105.0], 0.0, 0);
        assert!(kinds(&[by_chance]).is_empty(), "a change that chance explains is none");
    }

    /// 256 in flight at 150 a second are 1.71 s each; 0.56 s were told.
    #[test]
    fn latencies_that_do_not_fit_the_rate_are_named() {
        let check = |depth, mean_s: f64, seconds, wanted: bool| {
            let of = point(&[150.0; 3], 0.0, 0);
            let latency_ns = Latencies { mean: mean_s * 1e9, ..of.latency_ns };
            let found = of_points(&[PointResult { depth, latency_ns, ..of }], seconds);
            let is = found.iter().any(|warning| matches!(warning, Warning::TooShort(_)));
            assert_eq!(is, wanted, "{depth} {mean_s} {seconds}");
        };
        check(256, 0.56, 1.0, true);
        check(256, 1.7, 1.0, false);
        check(256, 2.5, 1.0, true);
        check(256, 0.56, 200.0, false);
    }
}
