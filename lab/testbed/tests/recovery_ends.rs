//! How long a recovery still takes, told while it goes on: simulated recoveries under several queues, looked at every second as an operator
//! looks at a cluster, and what was told held against what it then took.

use loadline_base::{Span, Time};
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_cluster::{Config, OsdState, Placement, PoolId, PoolSpec};
use loadline_device::Medium;
use loadline_load::{BlockImage, Load, LoadSpec, Loads};
use loadline_node::{LeftToRecover, RecoveryForecast};
use loadline_osd::{ClientId, OsdId, Policy};
use loadline_qos::preset;
use loadline_sim::{Delays, Drive, OsdDrive, Sim, SimConfig, SimHost};
use loadline_store::ObjectNo;

const OSDS: u32 = 4;
const PGS: u32 = 64;
const OBJECT: u64 = 4 << 20;

/// From here on it is told.
const FIRST_S: usize = 10;

/// Nearer to the end, one object more or less decides.
const LAST_S: usize = 8;

/// What may be wrong with it, as a share of what it then takes.
const ERROR_MAX: f64 = 0.25;

/// A cluster tells of its groups every 5 s, so that nobody sees an end more closely: in the scene with lifted limits the last twelve seconds
/// are told four too long.
const SLACK_S: f64 = 5.0;

fn drive() -> Drive {
    let text = include_str!("../../../drives/nvme-p3700.toml");
    Drive::parse("nvme-p3700", "drives/nvme-p3700.toml", text).expect("the drive's file is sound")
}

fn world(drive: &Drive, preset_name: &str, options: &[(&str, &str)]) -> SimConfig {
    let preset = preset(preset_name).expect("it is there");
    let media = [Medium::Ssd; OSDS as usize];
    let mut settings = Settings::new(*preset, &media, Enforcement::Refuse);
    let stored = LevelTarget::Stored(Scope::Osds);
    let (iops, window) = (drive.capacity_iops.to_string(), drive.window.get().to_string());
    let bandwidth = drive.bandwidth.get().to_string();
    let measured = [
        ("osd_mclock_max_capacity_iops_ssd", &iops),
        ("osd_mclock_max_sequential_bandwidth_ssd", &bandwidth),
        ("bluestore_throttle_bytes", &window),
    ];
    let is_known = |name: &str| {
        settings.option(name).is_ok() && !(preset.holds_dequeue && name.starts_with("bluestore"))
    };
    let measured: Vec<_> = measured.into_iter().filter(|(name, _)| is_known(name)).collect();
    let set = |all: SettingsChange, (name, value): (&str, &str)| all.and_set(stored, name, value);
    let all = measured.iter().map(|(name, value)| (*name, value.as_str()));
    for change in [all.collect::<Vec<_>>(), options.to_vec()] {
        let change = change.into_iter().fold(SettingsChange::default(), set);
        settings.apply(&change).expect("an operator may set these");
    }
    for osd in settings.osds().collect::<Vec<_>>() {
        settings.start(osd);
    }
    let osd = OsdId::new(0);
    let cluster = Config {
        osds: OSDS,
        placement: Placement::Crush,
        placement_seed: 1,
        policy: Policy { plan: settings.plan(osd), seed: 1 },
        options: settings.osd_options(osd),
    };
    let delays = Delays {
        link: drive.link_delay,
        link_mib: drive.link_mib,
        worker: drive.worker_time,
        ..Delays::default()
    };
    let drive = OsdDrive::Calibrated(drive.service);
    SimConfig { cluster, drive, delays, host: SimHost::default() }
}

/// A look each second, from an OSD's return until all is in its place. The groups of the clients' pool have nothing to move that counts.
fn scene(preset: &str, options: &[(&str, &str)], objects: u64) -> Vec<LeftToRecover> {
    let drive = drive();
    let load = "depth = 64\nblock = '4 KiB'\nimage = '2 GiB'";
    let spec: LoadSpec = toml::from_str(load).expect("the text is a load");
    let (pool, first, object_bytes) = (PoolId::new(0), ObjectNo(0), OBJECT as u32);
    let image = BlockImage { pool, first, objects: 512, object_bytes };
    let loads = Loads::new([Load::new(&spec, image, ClientId::new(1), 7)]);
    let config = world(&drive, preset, options);
    let mut sim = Sim::new(config, loads);
    let mut make_pool = |name: &str, objects: u64| {
        let name = name.to_owned();
        let spec =
            PoolSpec { name, pgs: PGS, copies: 3, object_bytes: OBJECT, recovery_priority: 0 };
        let pool = sim.create_pool(spec);
        (pool, objects)
    };
    let (clients, image) = make_pool("clients", 512);
    let (moved, objects) = make_pool("moved", objects);
    sim.prefill(clients, ObjectNo(0), image);
    sim.set_osd(OsdId::new(0), OsdState { up: false, is_in: false });
    while !sim.is_clean() {
        sim.run_until(sim.now() + Span::from_secs(1));
    }
    sim.prefill(moved, ObjectNo(0), objects);
    sim.set_osd(OsdId::new(0), OsdState { up: true, is_in: true });
    sim.start_load();
    let mut looks = Vec::new();
    loop {
        let look = sim.node_mut().left_to_recover();
        let is_over = look.is_empty();
        looks.push(look);
        if is_over {
            return looks;
        }
        assert!(looks.len() < 2000, "it does not end");
        sim.run_until(sim.now() + Span::from_secs(1));
    }
}

/// The largest error of what is told in a scene, as a share of what it then took, and the largest of all that is left over all that moves.
fn errors(looks: Vec<LeftToRecover>) -> (f64, f64) {
    let end = looks.len() - 1;
    let (mut worst, mut worst_of_totals) = (0.0_f64, 0.0_f64);
    let mut course = RecoveryForecast::default();
    for (second, look) in looks.into_iter().enumerate() {
        let left: f64 = look.values().map(|group| group.left).sum();
        course.note(Time::from_secs(second as u64), look);
        if second < FIRST_S || second >= end - LAST_S {
            continue;
        }
        let told = course.time_left().expect("something moves");
        let took = (end - second) as f64;
        let about = told.about_s.expect("copies move");
        if (about - took).abs() > SLACK_S {
            worst = worst.max((about / took - 1.0).abs());
        }
        worst_of_totals = worst_of_totals.max((left / told.rate_per_s / took - 1.0).abs());
        assert!(told.least_s <= about);
    }
    (worst, worst_of_totals)
}

const OPEN: [(&str, &str); 3] = [
    ("osd_max_backfills", "1000"),
    ("osd_recovery_max_active", "1000"),
    ("osd_async_recovery_min_cost", "1"),
];
const CLIENTS_FIRST: (&str, &str) = ("osd_mclock_profile", "high_client_ops");
const LIFTED: (&str, &str) = ("osd_mclock_override_recovery_settings", "true");

fn check(name: &str, preset: &str, own: &[(&str, &str)], open: bool, objects: u64) -> f64 {
    let opened = if open { &OPEN[..] } else { &[] };
    let looks = scene(preset, &[own, opened].concat(), objects);
    let took_s = looks.len() - 1;
    let (worst, worst_of_totals) = errors(looks);
    println!(
        "{name}: {took_s} s, off by {worst:.2} where by more than {SLACK_S} s, by totals {worst_of_totals:.2}"
    );
    assert!(took_s >= 60, "{name}: a minute at least, and it took {took_s} s");
    assert!(worst <= ERROR_MAX, "{name}: off by {worst:.2}");
    worst_of_totals
}

/// By totals this was told as 0.44 of what it took: each queue has a limit of its own, and some have twice as much to do.
#[test]
fn queues_with_limits_of_their_own_are_told_by_the_slowest() {
    let by_totals = check("quincy", "quincy", &[CLIENTS_FIRST], true, 8000);
    assert!(by_totals > ERROR_MAX, "the scene shows what totals get wrong: {by_totals:.2}");
    check("reef, limits lifted", "reef", &[CLIENTS_FIRST, LIFTED], true, 14_000);
}

#[test]
fn who_waits_for_slots_is_told_by_the_pace_of_all() {
    check("reef", "reef", &[CLIENTS_FIRST], false, 2200);
    check("wpq", "quincy", &[("osd_op_queue", "wpq")], false, 12_000);
}

#[test]
fn one_queue_for_each_disk_is_told_by_the_pace_of_all() {
    check("loadline", "loadline", &[CLIENTS_FIRST, LIFTED], true, 9000);
}
