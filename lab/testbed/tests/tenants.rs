//! Images as tenants, in simulation: a quiet image beside a noisy one, on the drive of the published recovery study.

use loadline_base::{Bytes, Span, Time};
use loadline_cluster::images::ImageId;
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_cluster::{Config, Placement, PoolId, PoolSpec};
use loadline_device::Medium;
use loadline_load::{BlockImage, Load, LoadRecord, LoadSpec, Loads};
use loadline_osd::{ClientId, OsdId, Policy, TenantTable, TenantTerms};
use loadline_qos::preset;
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{Delays, DisksConfig, Drive, OsdDrive, Sim, SimConfig, SimHost, StoreDisks};
use loadline_store::paged::{Format, Options, Protection};
use std::sync::Arc;

const OSDS: u32 = 4;
const COPIES: u32 = 3;
const OBJECT: u64 = 4 << 20;

fn drive() -> Drive {
    let text = include_str!("../../../drives/nvme-p3700.toml");
    Drive::parse("nvme-p3700", "drives/nvme-p3700.toml", text).expect("the drive's file is sound")
}

/// The latency goal of the window on flash.
const GOAL: Span = Span::from_millis(1);

fn world(drive: &Drive) -> SimConfig {
    let loadline = preset("loadline").expect("it is there");
    let media = [Medium::Ssd; OSDS as usize];
    let mut settings = Settings::new(*loadline, &media, Enforcement::Refuse);
    let stored = LevelTarget::Stored(Scope::Osds);
    let change = SettingsChange::default()
        .and_set(stored, "osd_mclock_max_capacity_iops_ssd", &drive.capacity_iops.to_string())
        .and_set(stored, "osd_window_latency_goal_ssd", "0.001");
    settings.apply(&change).expect("an operator may set these");
    let osd = OsdId::new(0);
    let cluster = Config {
        osds: OSDS,
        placement: Placement::Even,
        placement_seed: 1,
        policy: Policy { plan: settings.plan(osd), seed: 1 },
        options: settings.osd_options(osd),
    };
    let delays = Delays { link: drive.link_delay, worker: drive.worker_time, ..Delays::default() };
    let (drive, host) = (OsdDrive::Calibrated(drive.service), SimHost::default());
    SimConfig { cluster, drive, delays, host }
}

/// A load on an image of its own.
fn load(image: u16, spec: &str) -> Load {
    let spec: LoadSpec = toml::from_str(spec).expect("the text is a load");
    let first = ImageId { family: image, member: 0 }.object(0);
    let object_bytes = OBJECT as u32;
    let blocks = BlockImage { pool: PoolId::new(0), first, objects: 256, object_bytes };
    Load::new(&spec, blocks, ClientId::new(u32::from(image)), 7 + u64::from(image))
}

const IDLE: &str = "rate = 0.001\nblock = '4 KiB'\nimage = '1 GiB'";

fn image(number: u16) -> u32 {
    ImageId { family: number, member: 0 }.get()
}

fn nothing() -> TenantTerms {
    TenantTerms { reservation: 0.0, weight: 1.0, limit: 0.0, burst: Span::ZERO, copies: COPIES }
}

/// What image 1 and image 2 see in ten seconds, on these terms, on modelled drives.
fn run(loads: [&str; 2], terms: [TenantTerms; 2]) -> (LoadRecord, LoadRecord) {
    let drive = drive();
    let both = Loads::new([load(1, loads[0]), load(2, loads[1])]);
    seen(Sim::new(world(&drive), both), COPIES, terms, Span::from_secs(10))
}

/// The same in four seconds with two copies on disks of bytes, which write a log and checkpoints.
fn run_on_disks(loads: [&str; 2], terms: [TenantTerms; 2]) -> (LoadRecord, LoadRecord) {
    let both = Loads::new([load(1, loads[0]), load(2, loads[1])]);
    let SimConfig { cluster, delays, host, .. } = world(&drive());
    let stores = Options { checkpoint_writes: 8, cache: Bytes::from_mib(64), ..Options::default() };
    let disks = (1..=u64::from(OSDS)).map(disk).collect();
    let config = DisksConfig { cluster: &cluster, stores, disks, delays, host };
    let Ok(sim) = Sim::opened(config, both) else { panic!("empty disks make a cluster") };
    seen(sim, 2, terms, Span::from_secs(4))
}

/// An empty one.
fn disk(number: u64) -> SimDisk {
    let size = Bytes::from_mib(1024);
    let timing = Timing {
        per_request: Span::from_micros(150),
        bytes_per_second: 800 << 20,
        flush: Span::from_micros(500),
        channels: 2,
    };
    let spec = SimDiskSpec { size, sector: 4096, write_cache: true, timing };
    let mut disks = StoreDisks { data: SimDisk::new(spec, number), log: None };
    disks
        .format(&Format::of_disk(number, size), Protection::Checkpoint)
        .expect("it is large enough");
    disks.data
}

fn seen(
    mut sim: Sim<Loads>,
    copies: u32,
    terms: [TenantTerms; 2],
    length: Span,
) -> (LoadRecord, LoadRecord) {
    sim.create_pool(PoolSpec {
        name: "images".to_owned(),
        pgs: 64,
        copies,
        object_bytes: OBJECT,
        recovery_priority: 0,
    });
    let images = [(image(1), terms[0]), (image(2), terms[1])].into();
    let table = Arc::new(TenantTable { osds: OSDS, images });
    sim.change(|cluster, fx| cluster.share_images(table, fx));
    let begin = sim.now() + Span::from_secs(2);
    sim.start_load();
    sim.run_until(begin);
    sim.workload_mut().measure_from(begin);
    let end: Time = begin + length;
    sim.run_until(end);
    let records = sim.workload().records(end);
    let [first, second] = records.try_into().expect("two loads have two records");
    (first, second)
}

fn p99_ms(seen: &LoadRecord) -> f64 {
    seen.latency.percentile_ns(99.0) as f64 / 1e6
}

/// A noisy image at depth 256 beside a quiet one that is promised twice what it asks for: its p99 is at most that of alone and twice the
/// window's latency goal. The noisy one has the rest.
#[test]
fn a_quiet_image_keeps_its_latency_beside_a_noisy_one() {
    let quiet = "rate = 1000.0\nblock = '4 KiB'\nimage = '1 GiB'";
    let noisy = "depth = 256\nblock = '4 KiB'\nimage = '1 GiB'";
    let promised = TenantTerms { reservation: 2_000.0, ..nothing() };
    let (alone, _) = run([quiet, IDLE], [promised, nothing()]);
    let (beside, rest) = run([quiet, noisy], [promised, nothing()]);
    let (alone, most) = (p99_ms(&alone), p99_ms(&alone) + 2.0 * GOAL.as_secs_f64() * 1e3);
    assert!(p99_ms(&beside) <= most, "p99 alone {alone} ms, beside {} ms", p99_ms(&beside));
    assert!(beside.iops() > 980.0 && rest.iops() > 19_000.0, "{} {}", beside.iops(), rest.iops());
}

/// The store's throttle slows updates down while a checkpoint runs, in the order of each placement group. It did so with what was promised
/// too, behind all that the noisy image had in the same group.
#[test]
fn what_is_promised_is_not_slowed_down_for_a_checkpoint() {
    let quiet = "rate = 500.0\nblock = '4 KiB'\nimage = '128 MiB'";
    let noisy = "depth = 256\nblock = '4 KiB'\nimage = '128 MiB'";
    let promised = TenantTerms { reservation: 1_000.0, ..nothing() };
    let (beside, _) = run_on_disks([quiet, noisy], [promised, nothing()]);
    assert!(p99_ms(&beside) <= 2.4, "p99 beside {} ms", p99_ms(&beside));
}

/// A limit is of the image as a whole, wherever its ops go: at random over all OSDs, or one object after the other.
#[test]
fn a_limit_is_of_all_osds_together() {
    let limited = TenantTerms { limit: 3_000.0, ..nothing() };
    for pattern in ["random", "sequential"] {
        let many = format!("depth = 64\nblock = '4 KiB'\nimage = '1 GiB'\npattern = '{pattern}'");
        let (seen, _) = run([&many, IDLE], [limited, nothing()]);
        assert!((2_970.0..3_030.0).contains(&seen.iops()), "{pattern}: {} IOPS", seen.iops());
    }
}

/// Both ask for all that there is; one is promised more than its share.
#[test]
fn a_reservation_is_a_floor_and_a_weight_a_share() {
    let many = "depth = 128\nblock = '4 KiB'\nimage = '1 GiB'";
    let (one, other) = run([many, many], [nothing(), nothing()]);
    let whole = one.iops() + other.iops();
    assert!((one.iops() / whole - 0.5).abs() < 0.02, "{} {}", one.iops(), other.iops());
    let (one, other) = run([many, many], [TenantTerms { weight: 3.0, ..nothing() }, nothing()]);
    assert!((one.iops() / other.iops() - 3.0).abs() < 0.2, "{} {}", one.iops(), other.iops());
    let heavy = TenantTerms { weight: 9.0, ..nothing() };
    let promised = TenantTerms { reservation: 6_000.0, ..nothing() };
    let (one, other) = run([many, many], [promised, heavy]);
    assert!(one.iops() >= 0.98 * 6_000.0, "{} {}", one.iops(), other.iops());
    assert!(one.iops() + other.iops() > 0.97 * whole, "{} {}", one.iops(), other.iops());
}
