//! A store in its world: classes, the scheduler in the way, and equal seeds.

use super::*;
use crate::disk::{SimDiskSpec, Timing};
use loadline_base::{Bytes, Rng, Span};
use loadline_qos::{
    Capacity, Combine, CostModel, LOADLINE_PRESET, LimitPolicy, SchedulerKind, ServiceClass,
    WorkOptions,
};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Ask, Edit, Protection};

/// Puts of random keys, so many at a time.
struct Puts {
    depth: u32,
    rng: Rng,
    running: bool,
    done: u64,
}

impl Puts {
    fn issue(&mut self, now: Time, out: &mut Vec<StoreIssue>) {
        if self.running {
            let key = self.rng.below(5_000).to_be_bytes().to_vec();
            let put = Edit::Put { key, value: vec![self.done as u8; 100] };
            out.push(StoreIssue { ask: Ask::Transaction(vec![put]), token: now.nanos() });
        }
    }
}

impl StoreWorkload for Puts {
    fn start(&mut self, now: Time, issue: &mut Vec<StoreIssue>) {
        self.running = true;
        (0..self.depth).for_each(|_| self.issue(now, issue));
    }

    fn done(&mut self, now: Time, done: &StoreDone, issue: &mut Vec<StoreIssue>) {
        assert!(done.is_good);
        self.done += 1;
        self.issue(now, issue);
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn woke(&mut self, _: Time, _: &mut Vec<StoreIssue>) {}

    fn stop(&mut self) {
        self.running = false;
    }
}

const BANDWIDTH: u64 = 400_000_000;

/// The plan of one OSD with one queue, whose best-effort class may take `best_effort_limit` of the capacity; 0 is no limit.
fn plan(best_effort_limit: f64) -> ShardPlan {
    let capacity = Capacity { iops: 600_000.0, sequential_bandwidth: BANDWIDTH as f64, shards: 1 };
    let table = LOADLINE_PRESET.profiles;
    let profile = table.profile("balanced").expect("there is such a profile");
    let mut values = profile.values(table.unit, &capacity);
    // A reservation is served whatever the limit is.
    values.best_effort.reservation = 0.0;
    values.best_effort.limit = best_effort_limit;
    values.best_effort.limit_policy = LimitPolicy::Hard;
    ShardPlan {
        preset: LOADLINE_PRESET,
        scheduler: SchedulerKind::Mclock,
        capacity,
        values,
        cost_model: CostModel::bytes(BANDWIDTH as f64, capacity.iops, Combine::Max),
        work_options: WorkOptions::default(),
        cut_off: 196,
    }
}

fn world(protection: Protection, best_effort_limit: f64, seed: u64) -> StoreWorld<Puts> {
    let format = Format {
        store_id: 1,
        data_bytes: Bytes::from_mib(64),
        log_device_bytes: None,
        log_bytes: Bytes::from_mib(16),
        segment_bytes: Bytes::from_mib(1),
        block_bytes: 4096,
        recovery_bytes: Bytes::from_mib(8),
        page: PageSize::DEFAULT,
    };
    let timing = Timing {
        per_request: Span::from_micros(20),
        bytes_per_second: BANDWIDTH,
        flush: Span::from_micros(100),
        channels: 32,
    };
    let spec = SimDiskSpec { size: format.data_bytes, sector: 4096, write_cache: false, timing };
    let config = StoreWorldConfig {
        plan: plan(best_effort_limit),
        window: WindowBounds { bytes: Bytes::from_kib(256), ops: 256 },
        options: Options {
            protection,
            cache: Bytes::from_mib(16),
            checkpoint_interval: Span::from_millis(50),
            ..Options::default()
        },
        format,
        disks: StoreDisks { data: SimDisk::new(spec, seed), log: None },
        processor: ProcessorCosts {
            op: Span::from_nanos(1600),
            physical_log_kib: Span::from_nanos(500),
        },
        seed,
    };
    let load = Puts { depth: 32, rng: Rng::new(seed), running: false, done: 0 };
    StoreWorld::new(config, load).expect("a store that can be")
}

fn run(protection: Protection, best_effort_limit: f64, seed: u64) -> StoreWorld<Puts> {
    let mut world = world(protection, best_effort_limit, seed);
    world.run_until(Time::from_secs(1));
    assert!(world.store().is_open());
    world.start_load();
    world.run_until(world.now() + Span::from_secs(1));
    world
}

/// Nothing reaches a disk without a class, and of a checkpoint nothing that the scheduler did not give out.
#[test]
fn each_request_has_a_class_and_a_checkpoint_s_have_passed_the_scheduler() {
    for protection in [Protection::Log, Protection::Checkpoint] {
        let world = run(protection, 0.0, 1);
        let disk = &world.disks().data;
        let counts = world.gate_counts();
        assert!(world.store().metrics().totals.checkpoints >= 10, "{protection}");
        assert!(counts.client_ops >= world.workload().done && world.workload().done > 10_000);
        let requests = |class: ClassTag| {
            let of = disk.traffic_of(class);
            of.reads + of.writes + of.flushes + of.discards
        };
        assert_eq!(requests(world.checkpoint_class()), counts.checkpoint_requests);
        let all = disk.traffic();
        let known: u64 =
            ServiceClass::ALL.map(|class| requests(ClassTag(class as u8))).iter().sum();
        assert_eq!(known, all.reads + all.writes + all.flushes + all.discards);
    }
}

/// The class's limit is a 50th of 400 MB/s: 8 MB in the second, and at most one request of 256 KiB is on top of it at
/// either end. Without a limit the same checkpoints write more than that.
#[test]
fn a_limit_on_the_class_slows_checkpoints_down() {
    let bytes = |limit| run(Protection::Checkpoint, limit, 1).gate_counts().checkpoint_bytes;
    let (limited, free) = (bytes(0.02), bytes(0.0));
    assert!(limited <= 8_000_000 + 2 * 256 * 1024, "{limited}");
    assert!(free > limited * 5 / 4, "{free} against {limited}");
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let image = |seed| run(Protection::Checkpoint, 0.0, seed).disks().data.image();
    let first = image(1);
    assert!(first == image(1));
    assert!(first != image(2));
}
