//! How fast recovery goes is set by one bound at a time (qos.md 13.3b), and a change of settings reaches every shard.

use crate::world::{GONE, RUNS, Shape, World, engine, settings, store};
use loadline_base::Span;
use loadline_cluster::settings::Settings;
use loadline_osd::PgId;

/// A cluster in which an OSD that holds PG 0 has just come back to find these objects written without it.
fn returning(settings: &Settings, pgs: u32, objects: u64) -> World {
    let mut world = World::new(settings, Shape { pgs, objects, depth: 1, ..Shape::default() });
    let osd = world.sim.cluster().map().pg(PgId::new(0)).acting[2].get();
    world.set(osd, GONE);
    world.wait_until_clean();
    world.prefill(objects);
    world.set(osd, RUNS);
    world
}

fn left(world: &mut World) -> u64 {
    world.sim.progress().misplaced
}

/// The seconds until nothing is left, to a tenth of a millisecond: an item may take a third of one.
fn seconds_to_recover(world: &mut World) -> f64 {
    let begun = world.sim.now();
    while left(world) > 0 {
        world.run(Span::from_micros(100));
    }
    world.sim.now().since(begun).as_secs_f64()
}

/// One PG with `objects` to move. The first recovery item finds nothing compared yet and starts the comparison, so
/// there is one item more than objects; the answer may be off by one item at either end.
fn check(settings: &Settings, items_per_s: f64) {
    let objects = 200;
    let mut world = returning(settings, 1, objects);
    let expected = (objects + 1) as f64 / items_per_s;
    let seconds = seconds_to_recover(&mut world);
    assert!((seconds - expected).abs() <= 2.0 / items_per_s, "{seconds} s instead of {expected} s");
}

/// 100 % of 21500 IOPS over 8 shards is 2688 units per second; an item of 20 MiB costs 231.
#[test]
fn under_mclock_as_published_a_shard_recovers_its_limit_over_the_cost_of_an_item() {
    check(&settings("quincy", &[("osd_mclock_profile", "high_client_ops")]), 2688.0 / 231.0);
}

/// One object under way: three items on a worker, 15 us each, a read of 50 us, a push on its way for 60 us, its
/// write of 50 us and 1/16 of 700 us, and the reply's 60 us.
const OBJECT_US: f64 = 3.0 * 15.0 + 50.0 + 60.0 + 50.0 + 700.0 / 16.0 + 60.0;

/// The sleep begins when an item is taken, and a group's next item is queued when its object is recovered: with one group
/// the object's own time comes on top, and 15 us of a worker who sends the item to sleep.
#[test]
fn under_wpq_with_sleep_one_item_starts_per_sleep() {
    for (sleep, sleep_us) in [("0.1", 100_000.0), ("0.025", 25_000.0)] {
        let options = [("osd_op_queue", "wpq"), ("osd_recovery_sleep_ssd", sleep)];
        check(&settings("quincy", &options), 1e6 / (sleep_us + OBJECT_US + 15.0));
    }
}

#[test]
fn under_wpq_without_sleep_one_object_is_under_way_at_a_time() {
    check(&settings("quincy", &[("osd_op_queue", "wpq")]), 1e6 / OBJECT_US);
}

/// The limit of recovery is 100, 150 and 200 % of 2688 units in the three profiles. Each PG has a shard of its own, so
/// in five seconds each moves five times limit / 231 objects, give or take the item before and the item after.
#[test]
fn a_profile_switch_changes_the_rate_of_every_shard_at_once() {
    let mut settings = settings("quincy", &[]);
    let mut world = returning(&settings, 8, 8 * 400);
    let moving = |world: &mut World| {
        world.sim.cluster().map().pgs().filter(|(_, state)| !state.backfill.is_empty()).count()
    };
    let pgs = moving(&mut world);
    assert!(pgs >= 4, "most PGs have a copy on the OSD that came back");
    world.sim.run_until(world.sim.now() + Span::from_secs(1));
    for (profile, percent) in
        [("high_client_ops", 100.0), ("high_recovery_ops", 200.0), ("balanced", 150.0)]
    {
        store(&mut settings, "osd_mclock_profile", profile);
        let (policy, options) = engine(&settings);
        world.sim.configure(&policy, options);
        // The tags of the items in hand still carry the old limit.
        world.run(Span::from_millis(200));
        let before = left(&mut world);
        world.run(Span::from_secs(5));
        let moved = (before - left(&mut world)) as f64;
        let expected = pgs as f64 * 5.0 * (percent / 100.0) * 2688.0 / 231.0;
        let tolerance = 2.0 * pgs as f64;
        assert!((moved - expected).abs() <= tolerance, "{profile}: {moved}, not {expected}");
        assert_eq!(moving(&mut world), pgs, "all still have something to do");
    }
}
