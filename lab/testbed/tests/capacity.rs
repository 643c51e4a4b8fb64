//! Capacity is tracked: a disk that slows down in the run, and capacities that are stored five times too high and too low, are found within
//! ten seconds, and promises go by what was found.

use loadline_base::{Bytes, Span};
use loadline_cluster::images::ImageId;
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_cluster::{Config, Placement, PoolId, PoolSpec};
use loadline_device::Medium;
use loadline_load::{BlockImage, Load, LoadSpec};
use loadline_osd::{ClientId, OsdId, Policy, TrackedCapacity};
use loadline_qos::{ServiceClass, preset};
use loadline_sim::disk::{SimDisk, SimDiskSpec, Timing};
use loadline_sim::{
    Delays, DisksConfig, Drive, OsdDrive, ServiceTime, Sim, SimConfig, SimHost, StoreDisks,
    Workload,
};
use loadline_store::paged::{Format, Options, Protection};

const OSDS: u32 = 4;
const OBJECT: u64 = 4 << 20;
/// Within which it is to be found.
const FOUND_WITHIN: Span = Span::from_secs(10);

fn drive() -> Drive {
    let text = include_str!("../../../drives/nvme-p3700.toml");
    Drive::parse("nvme-p3700", "drives/nvme-p3700.toml", text).expect("the drive's file is sound")
}

/// OSDs of a preset whose stored capacity is so many times an IOPS figure.
fn world(drive: &Drive, preset_name: &str, iops: f64) -> SimConfig {
    let of = preset(preset_name).expect("it is there");
    let media = [Medium::Ssd; OSDS as usize];
    let mut settings = Settings::new(*of, &media, Enforcement::Refuse);
    let stored = LevelTarget::Stored(Scope::Osds);
    let bandwidth = iops * drive.bandwidth.get() as f64 / drive.capacity_iops;
    let change = SettingsChange::default()
        .and_set(stored, "osd_mclock_max_capacity_iops_ssd", &iops.to_string())
        .and_set(stored, "osd_mclock_max_sequential_bandwidth_ssd", &format!("{bandwidth:.0}"));
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

/// 4 KiB writes all over an image, so many at a time.
fn load(depth: u32, image: &str) -> Load {
    let spec = format!("depth = {depth}\nblock = '4 KiB'\nimage = '{image}'");
    let spec: LoadSpec = toml::from_str(&spec).expect("the text is a load");
    let first = ImageId { family: 1, member: 0 }.object(0);
    let objects = spec.image.get() / OBJECT;
    let blocks = BlockImage { pool: PoolId::new(0), first, objects, object_bytes: OBJECT as u32 };
    Load::new(&spec, blocks, ClientId::new(1), 7)
}

fn begin<W: Workload>(sim: &mut Sim<W>) {
    sim.create_pool(PoolSpec {
        name: "image".to_owned(),
        pgs: 64,
        copies: 3,
        object_bytes: OBJECT,
        recovery_priority: 0,
    });
    sim.start_load();
}

fn of<W: Workload>(sim: &mut Sim<W>, osd: u32) -> TrackedCapacity {
    sim.osd(OsdId::new(osd)).capacity()
}

/// What one shard has reserved for clients, in cost units per second.
fn reserved<W: Workload>(sim: &mut Sim<W>, osd: u32) -> f64 {
    let now = sim.now();
    sim.osd(OsdId::new(osd)).service(now).reservations[ServiceClass::Client as usize]
}

/// How long it takes until an OSD has found that it does so many times what it was told, within a quarter.
fn finds<W: Workload>(sim: &mut Sim<W>, osd: u32, times: f64) -> Span {
    let (begun, before) = (sim.now(), reserved(sim, osd));
    let is_it = |found: f64| (0.75..1.34).contains(&(found / times));
    while !of(sim, osd).found.is_some_and(is_it) {
        let tracked = of(sim, osd);
        assert!(sim.now() < begun + FOUND_WITHIN, "not found: {tracked:?}");
        sim.run_until(sim.now() + Span::from_millis(100));
    }
    let (after, found) = (reserved(sim, osd), of(sim, osd).found.expect("it was found"));
    assert!((after / before / found - 1.0).abs() < 1e-6, "{before} {after}: the promise follows");
    sim.now().since(begun)
}

fn slower(service: ServiceTime, times: u64) -> ServiceTime {
    ServiceTime {
        per_request: service.per_request * times,
        per_part: service.per_part * times,
        per_mib: service.per_mib * times,
        ..service
    }
}

#[test]
fn a_drive_that_slows_down_is_found_and_found_again_when_it_recovers() {
    let drive = drive();
    let world = world(&drive, "loadline", drive.capacity_iops);
    let mut sim = Sim::new(world, load(64, "1 GiB"));
    begin(&mut sim);
    sim.run_until(sim.now() + Span::from_secs(20));
    for osd in 0..OSDS {
        assert_eq!(of(&mut sim, osd).found, None, "osd.{osd} does what it was told");
    }
    sim.set_service(OsdId::new(3), slower(drive.service, 5));
    let after = finds(&mut sim, 3, 0.2);
    assert!(after <= FOUND_WITHIN, "{after}");
    assert_eq!(of(&mut sim, 0).found, None);
    sim.set_service(OsdId::new(3), drive.service);
    sim.run_until(sim.now() + FOUND_WITHIN);
    assert_eq!(of(&mut sim, 3).found, None, "it is as it was told again");
}

/// In a closed loop one disk holds up all: it alone is always busy, and shows that it was told too much. That they were told too little all
/// show by what they write.
#[test]
fn a_capacity_that_was_stored_five_times_wrong_is_found() {
    let drive = drive();
    for (times, found, at_least) in [(5.0, 0.2, 1), (0.2, 5.0, OSDS)] {
        let world = world(&drive, "loadline", drive.capacity_iops * times);
        let mut sim = Sim::new(world, load(64, "1 GiB"));
        begin(&mut sim);
        let before = reserved(&mut sim, 0);
        sim.run_until(sim.now() + FOUND_WITHIN);
        let all: Vec<TrackedCapacity> = (0..OSDS).map(|osd| of(&mut sim, osd)).collect();
        // What a disk writes that others hold up is less than it could.
        let is_near = |of: f64| (0.5..1.34).contains(&(of / found));
        let those: Vec<u32> = (0..OSDS).filter(|osd| all[*osd as usize].found.is_some()).collect();
        assert!(those.len() as u32 >= at_least, "told {times} x: {all:?}");
        for osd in those {
            let times_found = all[osd as usize].found.expect("it was found");
            assert!(is_near(times_found), "told {times} x: {all:?}");
            let after = reserved(&mut sim, osd);
            assert!((after / before / times_found - 1.0).abs() < 1e-6, "the promise follows");
        }
    }
}

/// The promises of other systems' presets are what they were told: that is how those systems behave.
#[test]
fn other_presets_go_by_what_they_are_told() {
    let mut sim = disks("reef", 100_000.0);
    let before = reserved(&mut sim, 0);
    sim.run_until(sim.now() + FOUND_WITHIN);
    let tracked = of(&mut sim, 0);
    assert!(tracked.found.is_some_and(|found| found < 0.1), "{tracked:?}");
    assert!(!tracked.is_followed && tracked.in_force() == tracked.told, "{tracked:?}");
    assert_eq!(reserved(&mut sim, 0), before);
}

const TIMING: Timing = Timing {
    per_request: Span::from_micros(1_000),
    bytes_per_second: 100 << 20,
    flush: Span::from_micros(3_000),
    channels: 2,
};

/// OSDs on disks of bytes that are told so much.
fn disks(preset_name: &str, iops: f64) -> Sim<Load> {
    let SimConfig { cluster, delays, host, .. } = world(&drive(), preset_name, iops);
    let stores = Options { checkpoint_writes: 8, cache: Bytes::from_mib(64), ..Options::default() };
    let disks = (1..=u64::from(OSDS)).map(disk).collect();
    let config = DisksConfig { cluster: &cluster, stores, disks, delays, host };
    let Ok(mut sim) = Sim::opened(config, load(128, "128 MiB")) else {
        panic!("empty disks make a cluster")
    };
    begin(&mut sim);
    sim
}

/// An empty one.
fn disk(number: u64) -> SimDisk {
    let size = Bytes::from_mib(1024);
    let spec = SimDiskSpec { size, sector: 4096, write_cache: true, timing: TIMING };
    let mut disks = StoreDisks { data: SimDisk::new(spec, number), log: None };
    let formatted = disks.format(&Format::of_disk(number, size), Protection::Checkpoint);
    formatted.expect("it is large enough");
    disks.data
}

/// What such a disk does is what it is found to do where it was told far too much. The log commits in groups and checkpoints come and go, so
/// what is found is within a factor of two.
#[test]
fn on_disks_of_bytes_five_times_wrong_is_found_too() {
    let does = {
        let mut sim = disks("loadline", 100_000.0);
        sim.run_until(sim.now() + FOUND_WITHIN);
        of(&mut sim, 0).found_iops().expect("it is too much")
    };
    for (times, found) in [(5.0, 0.2), (0.2, 5.0)] {
        let mut sim = disks("loadline", does * times);
        sim.run_until(sim.now() + FOUND_WITHIN);
        for osd in 0..OSDS {
            let tracked = of(&mut sim, osd);
            let is_near = |of: f64| (0.5..2.0).contains(&(of / found));
            assert!(tracked.found.is_some_and(is_near), "osd.{osd}, told {times} x: {tracked:?}");
        }
    }
    let mut sim = disks("loadline", does);
    sim.run_until(sim.now() + FOUND_WITHIN);
    assert_eq!(of(&mut sim, 2).found, None, "{:?}", of(&mut sim, 2));
    let five = |span: Span| span * 5;
    let Timing { per_request, bytes_per_second, flush, .. } = TIMING;
    sim.disk(OsdId::new(2)).set_timing(Timing {
        per_request: five(per_request),
        bytes_per_second: bytes_per_second / 5,
        flush: five(flush),
        ..TIMING
    });
    sim.run_until(sim.now() + FOUND_WITHIN);
    assert!(of(&mut sim, 2).found.is_some_and(|found| found < 0.45), "{:?}", of(&mut sim, 2));
}
