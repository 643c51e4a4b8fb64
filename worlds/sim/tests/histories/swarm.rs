//! Random histories: OSDs come and go and profiles change under a load, from a seed. Afterwards everything is brought
//! back, and a naive judge looks at what is there.
//!
//! The seeds of failing histories are printed. A history that found a bug is retold in `regressions.rs`.

use crate::world::{
    DOWN, GONE, OUT, RUNS, Shape, World, ending_drive, engine, quick_drive, settings, store,
};
use loadline_base::{Rng, Span};
use loadline_cluster::settings::Settings;
use loadline_node::Lateness;
use loadline_osd::OsdId;
use loadline_sim::OsdDrive;

const SEEDS: u64 = 200;

fn random_settings(rng: &mut Rng) -> Settings {
    let preset = ["quincy", "reef", "loadline"][rng.below(3) as usize];
    let queue = ["mclock_scheduler", "wpq", "fifo"][rng.below(3) as usize];
    let async_cost = ["1", "100"][rng.below(2) as usize];
    let mut options = vec![("osd_op_queue", queue), ("osd_async_recovery_min_cost", async_cost)];
    if queue != "mclock_scheduler" {
        options.push(("osd_max_backfills", ["1", "8"][rng.below(2) as usize]));
        let sleep = ["0", "0.001"][rng.below(2) as usize];
        options.extend([("osd_recovery_sleep_ssd", sleep), ("osd_delete_sleep_ssd", sleep)]);
    }
    settings(preset, &options)
}

/// One history; the answer is its trace.
pub(crate) fn history(seed: u64) -> u64 {
    let mut rng = Rng::for_purpose(seed, 1);
    let settings = random_settings(&mut rng);
    told(seed, rng, settings, (quick_drive(), None)).sim.workload().trace
}

/// The same on drives that end requests for time: how many they ended.
fn history_under_limits(seed: u64) -> u64 {
    let mut rng = Rng::for_purpose(seed, 2);
    let mut settings = random_settings(&mut rng);
    for class in ["client", "background_recovery", "background_best_effort"] {
        if rng.below(3) > 0 {
            store(&mut settings, &format!("osd_device_{class}_limit"), "20 ms");
        }
    }
    let mut world = told(seed, rng, settings, (ending_drive(seed), None));
    (0..4).map(|osd| world.sim.osd(OsdId::new(osd)).over_limit()).sum()
}

/// One where the map's owner and the OSDs hear each other late.
fn late_history(seed: u64) -> u64 {
    let mut rng = Rng::for_purpose(seed, 4);
    let settings = random_settings(&mut rng);
    let most = Span::from_micros([50, 3_000, 200_000][rng.below(3) as usize]);
    let lateness = Lateness { seed: rng.next_u64(), most };
    told(seed, rng, settings, (quick_drive(), Some(lateness))).sim.workload().replies()
}

/// A history on drives of which one has sectors that cannot be read: how often that was found. (It was an assertion.)
fn history_with_bad_sectors(seed: u64) -> u64 {
    let mut rng = Rng::for_purpose(seed, 3);
    let settings = random_settings(&mut rng);
    let (objects, worker_time) = (60, Span::from_micros(15));
    let drive = ending_drive(seed);
    let mut world =
        World::new(&settings, Shape { seed, pgs: 6, objects, depth: 12, worker_time, drive });
    world.prefill(objects);
    world.sim.start_load();
    let victim = rng.below(4) as u32;
    for _ in 0..6 {
        for _ in 0..10 {
            world.spoil(victim, rng.below(objects));
        }
        world.run(Span::from_millis(rng.below(2_000)));
        let osd = rng.below(4) as u32;
        match rng.below(3) {
            // Another copy is there, beside the bad one.
            0 if world.sim.is_clean() => world.set(osd, DOWN),
            1 if world.sim.is_clean() => world.set(osd, OUT),
            _ => (0..4).for_each(|osd| world.set(osd, RUNS)),
        }
    }
    world.settle();
    world.judge();
    (0..4).map(|osd| world.sim.osd(OsdId::new(osd)).damage().found).sum()
}

/// A history to its end, judged.
fn told(
    seed: u64,
    mut rng: Rng,
    mut settings: Settings,
    (drive, lateness): (OsdDrive, Option<Lateness>),
) -> World {
    let objects = [8, 60, 400][rng.below(3) as usize];
    let worker_time = Span::from_micros([15, 15, 250][rng.below(3) as usize]);
    let shape = Shape { seed, pgs: 6, objects, depth: 1 + rng.below(40), worker_time, drive };
    let mut world = World::new(&settings, shape);
    if rng.below(2) == 0 {
        world.prefill(objects);
    }
    if let Some(lateness) = lateness {
        world.sim.be_late(lateness);
    }
    world.sim.start_load();
    for _ in 0..2 + rng.below(12) {
        let pause = [50, 700, 20_000, 400_000][rng.below(4) as usize];
        world.run(Span::from_micros(rng.below(pause)));
        match rng.below(8) {
            0 => change_profile(&mut world, &mut settings, &mut rng),
            1 => world.set(rng.below(4) as u32, OUT),
            2 => world.set(rng.below(4) as u32, GONE),
            3 | 4 => world.set(rng.below(4) as u32, DOWN),
            _ => world.set(rng.below(4) as u32, RUNS),
        }
    }
    world.run(Span::from_millis(5));
    world.settle();
    world.judge();
    world
}

fn change_profile(world: &mut World, settings: &mut Settings, rng: &mut Rng) {
    let profiles = ["high_client_ops", "balanced", "high_recovery_ops"];
    store(settings, "osd_mclock_profile", profiles[rng.below(3) as usize]);
    let (policy, options) = engine(settings);
    world.sim.configure(&policy, options);
}

#[test]
fn whatever_happens_nothing_acknowledged_is_lost_and_all_copies_end_equal() {
    let fails = |seed: &u64| std::panic::catch_unwind(|| history(*seed)).is_err();
    let failing: Vec<u64> = (0..SEEDS).filter(fails).collect();
    assert!(failing.is_empty(), "histories that fail, for the reasons above: {failing:?}");
}

/// What is on its way when an OSD goes, comes or recovers is of an earlier interval or an earlier life when it arrives.
#[test]
fn nothing_is_lost_where_the_owner_and_osds_hear_each_other_late() {
    let replies: u64 = (0..120).inspect(|seed| println!("seed {seed}")).map(late_history).sum();
    assert!(replies > 10_000, "ops are carried out: {replies}");
}

/// A request that was ended for time is not lost and not damaged: it is asked again.
#[test]
fn nothing_is_lost_on_drives_that_end_requests_for_time() {
    let ended: u64 =
        (0..40).inspect(|seed| println!("seed {seed}")).map(history_under_limits).sum();
    assert!(ended > 1_000, "the drives end requests: {ended}");
}

#[test]
fn nothing_is_lost_on_a_drive_with_bad_sectors() {
    let found: u64 =
        (0..30).inspect(|seed| println!("seed {seed}")).map(history_with_bad_sectors).sum();
    assert!(found > 100, "the bad sectors are read: {found}");
}

#[test]
fn a_history_repeats_to_the_last_reply_and_another_seed_tells_another_one() {
    let traces = |seeds: std::ops::Range<u64>| seeds.map(history).collect::<Vec<_>>();
    let first = traces(0..20);
    assert_eq!(first, traces(0..20));
    let mut different = first.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), first.len());
}
