//! Keys that a disk alone keeps, put through the OSD's queue, beside checkpoints that pass the same one.

use loadline_base::{Bytes, Rng, Span, Time};
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_cluster::{Config, Placement};
use loadline_device::{ClassTag, Medium};
use loadline_osd::{ClientId, KeyPut, OsdId, OsdOptions, Policy, PutEnd};
use loadline_qos::{LOADLINE_PRESET, LimitPolicy, ServiceClass};
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{Delays, DisksConfig, Issue, OpDone, Sim, SimHost, StoreDisks, Workload};
use loadline_store::paged::ids::PageSize;
use loadline_store::paged::{Format, Options, Protection};

const OSD: OsdId = OsdId::new(0);
const BANDWIDTH: u64 = 400_000_000;
const BEST_EFFORT: ClassTag = ClassTag(ServiceClass::BestEffort as u8);

/// Puts of random keys, so many at a time.
struct Puts {
    rng: Rng,
    due: Vec<(OsdId, KeyPut)>,
    done: u64,
    refused: u64,
}

impl Puts {
    fn draw(&mut self) {
        let key = self.rng.below(5_000).to_be_bytes().to_vec();
        let put =
            KeyPut { token: 0, client: ClientId::new(1), key, value: vec![self.done as u8; 100] };
        self.due.push((OSD, put));
    }
}

impl Workload for Puts {
    fn start(&mut self, _: Time, _: &mut Vec<Issue>) {
        (0..32).for_each(|_| self.draw());
    }

    fn replied(&mut self, _: Time, _: &OpDone, _: &mut Vec<Issue>) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn woke(&mut self, _: Time, _: &mut Vec<Issue>) {}

    fn stop(&mut self) {}

    fn puts(&mut self) -> Vec<(OsdId, KeyPut)> {
        std::mem::take(&mut self.due)
    }

    fn put_ended(&mut self, _: Time, end: &PutEnd) {
        *if end.is_kept { &mut self.done } else { &mut self.refused } += 1;
        self.draw();
    }
}

/// One OSD with one queue and one worker, whose best-effort class may take this share of the capacity; 0 is no limit.
fn config(limit: f64) -> Config {
    let mut settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
    let stored = [
        ("osd_op_num_shards_ssd", "1".to_owned()),
        ("osd_mclock_max_capacity_iops_ssd", "600000".to_owned()),
        ("osd_mclock_max_sequential_bandwidth_ssd", BANDWIDTH.to_string()),
    ];
    for (option, value) in stored {
        let change = SettingsChange::set(LevelTarget::Stored(Scope::Osds), option, &value);
        settings.apply(&change).expect("it may be set");
    }
    settings.start(OSD);
    let mut plan = settings.plan(OSD);
    // A reservation is served whatever the limit is.
    plan.values.best_effort.reservation = 0.0;
    plan.values.best_effort.limit = limit;
    plan.values.best_effort.limit_policy = LimitPolicy::Hard;
    let options = OsdOptions { threads_per_shard: 1, ..settings.osd_options(OSD) };
    Config {
        osds: 1,
        placement: Placement::Even,
        placement_seed: 0,
        policy: Policy { plan, seed: 1 },
        options,
    }
}

/// A world after a second of puts.
fn run(protection: Protection, limit: f64, seed: u64) -> Sim<Puts> {
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
    let mut disks = StoreDisks { data: SimDisk::new(spec, seed), log: None };
    disks.format(&format, protection).expect("the format is sound");
    let config = DisksConfig {
        cluster: &config(limit),
        stores: Options {
            protection,
            cache: Bytes::from_mib(16),
            checkpoint_interval: Span::from_millis(50),
            ..Options::default()
        },
        disks: vec![disks.data],
        delays: Delays {
            worker: Span::from_nanos(1600),
            logged_kib: Span::from_nanos(500),
            ..Delays::default()
        },
        host: SimHost::default(),
    };
    let load = Puts { rng: Rng::new(seed), due: Vec::new(), done: 0, refused: 0 };
    let opened = Sim::opened(config, load);
    let mut sim = opened.map_err(|(error, _)| error).expect("a disk that can be opened");
    sim.run_until(Time::from_secs(1));
    sim.start_load();
    sim.run_until(Time::from_secs(2));
    sim
}

/// Nothing reaches a disk without a class, and of a checkpoint nothing that the scheduler did not give out.
#[test]
fn each_request_has_a_class_and_a_checkpoint_s_have_passed_the_scheduler() {
    for protection in [Protection::Log, Protection::Checkpoint] {
        let mut sim = run(protection, 0.0, 1);
        let now = sim.now();
        let (done, refused) = (sim.workload().done, sim.workload().refused);
        assert!(done > 10_000 && refused == 0, "{protection}: {done}, {refused}");
        let store = sim.osd(OSD).paged_store().expect("it is open");
        assert!(store.metrics().totals.checkpoints >= 10, "{protection}");
        let service = sim.osd(OSD).service(now);
        let taken = |class: ServiceClass| service.shards[0][usize::from(class.id())].items;
        let disk = sim.disk(OSD);
        let requests = |class| {
            let of = disk.traffic_of(class);
            of.reads + of.writes + of.flushes + of.discards
        };
        assert!(taken(ServiceClass::Client) >= done);
        assert_eq!(requests(BEST_EFFORT), taken(ServiceClass::BestEffort));
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
    let bytes = |limit| {
        run(Protection::Checkpoint, limit, 1).disk(OSD).traffic_of(BEST_EFFORT).written_bytes
    };
    let (limited, free) = (bytes(0.02), bytes(0.0));
    assert!(limited <= 8_000_000 + 2 * 256 * 1024, "{limited}");
    assert!(free > limited * 5 / 4, "{free} against {limited}");
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let image = |seed| run(Protection::Checkpoint, 0.0, seed).disk(OSD).image();
    let first = image(1);
    assert!(first == image(1));
    assert!(first != image(2));
}
