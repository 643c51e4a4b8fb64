//! What an OSD can do: its capacity, how many shards divide it, and when a measured value is believed.

use crate::{CostUnit, Era, SchedulerKind};
use loadline_device::Medium;

/// The capacity of one OSD and the number of queues that divide it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Random 4 KiB writes per second.
    pub iops: f64,
    /// Bytes per second of sequential transfer; a byte-era figure.
    pub sequential_bandwidth: f64,
    /// Queues of this OSD; each gets an equal part, and none can borrow another's.
    pub shards: u32,
}

impl Capacity {
    /// The compiled-in capacity for a medium (qos.md 4.1 and 4.2).
    pub const fn default_for(medium: Medium, shards: u32) -> Capacity {
        const MIB: f64 = 1_048_576.0;
        match medium {
            Medium::Ssd => Capacity { iops: 21_500.0, sequential_bandwidth: 1_200.0 * MIB, shards },
            Medium::Hdd | Medium::Hybrid => {
                Capacity { iops: 315.0, sequential_bandwidth: 150.0 * MIB, shards }
            }
        }
    }

    /// One shard's operations per second.
    pub fn iops_per_shard(&self) -> f64 {
        self.iops / f64::from(self.shards)
    }

    /// One shard's bytes per second.
    pub fn bandwidth_per_shard(&self) -> f64 {
        self.sequential_bandwidth.max(1.0) / f64::from(self.shards)
    }

    /// Bytes that count as one operation.
    pub fn bytes_per_io(&self) -> f64 {
        self.sequential_bandwidth.max(1.0) / self.iops.max(1.0)
    }

    /// One shard's cost units per second.
    pub fn units_per_shard(&self, unit: CostUnit) -> f64 {
        match unit {
            CostUnit::Mixed => self.iops_per_shard(),
            CostUnit::Bytes => self.bandwidth_per_shard(),
        }
    }
}

/// How an OSD's work is divided among queues and workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// `osd_op_num_shards_{hdd,ssd}`
    pub shards: u32,
    /// `osd_op_num_threads_per_shard_{hdd,ssd}`
    pub threads_per_shard: u32,
}

/// The compiled-in shards and threads (qos.md 3). The newest read gives an HDD one shard: several queues
/// before one disk made throughput erratic.
pub const fn sharding(era: Era, medium: Medium) -> Sharding {
    match (medium, era) {
        (Medium::Ssd, _) => Sharding { shards: 8, threads_per_shard: 2 },
        (Medium::Hdd | Medium::Hybrid, Era::E2Plus) => Sharding { shards: 1, threads_per_shard: 5 },
        (Medium::Hdd | Medium::Hybrid, _) => Sharding { shards: 5, threads_per_shard: 1 },
    }
}

/// The IOPS between which a measured capacity is believed; `None` where the era has no such bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Below it a value is taken for a failed measurement.
    pub lower: Option<f64>,
    /// Above it a value is taken for a cache's.
    pub upper: Option<f64>,
}

impl Thresholds {
    /// The compiled-in thresholds (qos.md 6.1).
    pub const fn default_for(era: Era, medium: Medium) -> Thresholds {
        let (lower, upper) = match medium {
            Medium::Ssd => (1_000.0, 80_000.0),
            Medium::Hdd | Medium::Hybrid => (50.0, 500.0),
        };
        match era {
            Era::E1a | Era::E1b => Thresholds { lower: None, upper: None },
            Era::E1c | Era::E2 => Thresholds { lower: None, upper: Some(upper) },
            Era::E2Plus => Thresholds { lower: Some(lower), upper: Some(upper) },
        }
    }
}

/// What decides whether an OSD measures itself at start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Benchmark {
    /// The scheduler in force; only mClock needs a capacity.
    pub scheduler: SchedulerKind,
    /// `osd_mclock_skip_benchmark`
    pub skip: bool,
    /// `osd_mclock_force_run_benchmark_on_init`
    pub force: bool,
    /// Whether the store has no disk below it.
    pub memory_only: bool,
    /// The capacity in force, IOPS.
    pub current_iops: f64,
    /// The compiled-in capacity, IOPS.
    pub default_iops: f64,
    /// Whether a capacity was measured before and not believed. The original does not remember that.
    pub rejected: bool,
}

/// Why an OSD does not measure itself at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchmarkSkipped {
    /// The scheduler has no use for a capacity.
    NotMclock,
    /// A setting says so.
    Disabled,
    /// There is no disk to measure.
    MemoryOnly,
    /// The capacity differs from the compiled-in one, so somebody determined it.
    AlreadyKnown,
    /// An earlier measurement was not believed, and another one would not be either.
    Rejected,
}

/// Whether the start-up measurement is skipped, and why (qos.md 6.1, steps 1 and 2). Beyond the original, a rejected
/// measurement is not repeated at every start.
pub fn benchmark_skipped(benchmark: &Benchmark) -> Option<BenchmarkSkipped> {
    let known = benchmark.current_iops != benchmark.default_iops;
    if benchmark.scheduler != SchedulerKind::Mclock {
        Some(BenchmarkSkipped::NotMclock)
    } else if benchmark.skip {
        Some(BenchmarkSkipped::Disabled)
    } else if benchmark.memory_only {
        Some(BenchmarkSkipped::MemoryOnly)
    } else if known && !benchmark.force {
        Some(BenchmarkSkipped::AlreadyKnown)
    } else if benchmark.rejected && !benchmark.force {
        Some(BenchmarkSkipped::Rejected)
    } else {
        None
    }
}

/// What becomes of a measured capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CapacityVerdict {
    /// It is stored for this OSD.
    Accepted(f64),
    /// It is above the upper threshold (caches, battery-backed controllers): the current value stays, and an
    /// outside measurement is advised.
    ImplausiblyHigh {
        /// The value kept.
        kept: f64,
        /// The threshold passed.
        threshold: f64,
    },
    /// It is below the lower threshold: the current value stays, and an outside measurement is advised.
    ImplausiblyLow {
        /// The value kept.
        kept: f64,
        /// The threshold not reached.
        threshold: f64,
    },
}

/// Whether to believe a measured capacity (qos.md 6.1, step 3). A value at a threshold is believed.
pub fn judge_capacity(measured: f64, current: f64, thresholds: &Thresholds) -> CapacityVerdict {
    match *thresholds {
        Thresholds { upper: Some(threshold), .. } if measured > threshold => {
            CapacityVerdict::ImplausiblyHigh { kept: current, threshold }
        }
        Thresholds { lower: Some(threshold), .. } if measured < threshold => {
            CapacityVerdict::ImplausiblyLow { kept: current, threshold }
        }
        _ => CapacityVerdict::Accepted(measured),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_gets_an_equal_part() {
        let check = |medium, iops, era, per_shard| {
            let shards = sharding(era, medium).shards;
            let capacity = Capacity { iops, ..Capacity::default_for(medium, shards) };
            assert_eq!(capacity.iops_per_shard(), per_shard);
        };
        check(Medium::Ssd, 21_500.0, Era::E1a, 2_687.5);
        check(Medium::Hdd, 315.0, Era::E1a, 63.0);
        check(Medium::Hybrid, 340.0, Era::E1a, 68.0);
        check(Medium::Hdd, 315.0, Era::E2Plus, 315.0);
        let nvme = Capacity::default_for(Medium::Ssd, 8);
        assert_eq!(nvme.units_per_shard(CostUnit::Bytes), 157_286_400.0);
        assert_eq!(nvme.bytes_per_io() as u64, 58_525);
    }

    #[test]
    fn a_measured_capacity_is_judged_by_its_era() {
        let check = |era, medium, measured, verdict| {
            let thresholds = Thresholds::default_for(era, medium);
            assert_eq!(judge_capacity(measured, 315.0, &thresholds), verdict);
        };
        let high = CapacityVerdict::ImplausiblyHigh { kept: 315.0, threshold: 500.0 };
        let low = CapacityVerdict::ImplausiblyLow { kept: 315.0, threshold: 50.0 };
        check(Era::E1b, Medium::Hdd, 39_546.0, CapacityVerdict::Accepted(39_546.0));
        check(Era::E1c, Medium::Hdd, 500.1, high);
        check(Era::E2, Medium::Hdd, 500.0, CapacityVerdict::Accepted(500.0));
        check(Era::E2, Medium::Hdd, 3.0, CapacityVerdict::Accepted(3.0));
        check(Era::E2Plus, Medium::Hdd, 49.9, low);
        check(Era::E2Plus, Medium::Ssd, 1_000.0, CapacityVerdict::Accepted(1_000.0));
    }

    #[test]
    fn the_benchmark_runs_only_where_its_result_is_needed() {
        let fresh = Benchmark {
            scheduler: SchedulerKind::Mclock,
            skip: false,
            force: false,
            memory_only: false,
            current_iops: 315.0,
            default_iops: 315.0,
            rejected: false,
        };
        let check = |benchmark, skipped| assert_eq!(benchmark_skipped(&benchmark), skipped);
        check(fresh, None);
        check(
            Benchmark { scheduler: SchedulerKind::Wpq, ..fresh },
            Some(BenchmarkSkipped::NotMclock),
        );
        check(Benchmark { skip: true, force: true, ..fresh }, Some(BenchmarkSkipped::Disabled));
        check(Benchmark { memory_only: true, ..fresh }, Some(BenchmarkSkipped::MemoryOnly));
        check(Benchmark { current_iops: 400.0, ..fresh }, Some(BenchmarkSkipped::AlreadyKnown));
        check(Benchmark { current_iops: 400.0, force: true, ..fresh }, None);
        check(Benchmark { rejected: true, ..fresh }, Some(BenchmarkSkipped::Rejected));
        check(Benchmark { rejected: true, force: true, ..fresh }, None);
    }
}
