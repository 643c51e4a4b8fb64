//! Stories of bugs: what happened, told as a history that must end well.

use crate::world::{DOWN, GONE, OUT, RUNS, Shape, World, settings};
use loadline_base::Span;
use loadline_osd::PgId;

const WPQ: &[(&str, &str)] = &[("osd_op_queue", "wpq")];

/// A world that has been under load for a while.
fn loaded(preset: &str, options: &[(&str, &str)], seed: u64) -> World {
    let mut world = World::new(&settings(preset, options), Shape { seed, ..Shape::default() });
    world.sim.start_load();
    world.run(Span::from_millis(20));
    world
}

fn ends_well(mut world: World) {
    world.settle();
    world.judge();
}

/// Ops were sent again to the next primary while their replies, or the first attempt, were still on the way; a late
/// answer then ended whichever op held the slot.
#[test]
fn the_primary_goes_down_in_the_middle_of_writes() {
    for osd in 0..4 {
        for preset in ["quincy", "reef", "loadline"] {
            let mut world = loaded(preset, &[], u64::from(osd));
            world.set(osd, DOWN);
            let before = world.sim.workload().replies();
            world.run(Span::from_millis(50));
            assert!(world.sim.workload().replies() > before, "the others serve");
            ends_well(world);
        }
    }
}

/// What was in the store's window when an OSD crashed stayed in it: after three crashes nothing fitted in any more, and
/// the OSD's first writes waited for ever.
#[test]
fn an_osd_crashes_with_a_full_window_and_comes_back() {
    let mut world = loaded("quincy", &[("bluestore_throttle_bytes", "8 KiB"), WPQ[0]], 2);
    for _ in 0..5 {
        world.set(0, DOWN);
        world.run(Span::from_micros(30));
        world.set(0, RUNS);
        world.run(Span::from_millis(3));
    }
    ends_well(world);
}

/// The OSD that came back first had missed the others' last writes and served what it had; or an OSD without a copy
/// took the group for a new one.
#[test]
fn every_osd_goes_down_and_the_one_that_knows_least_comes_back_first() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut world = loaded("quincy", WPQ, 3);
        for osd in order {
            world.set(osd, DOWN);
            world.run(Span::from_millis(7));
        }
        for osd in order {
            world.set(osd, RUNS);
            world.run(Span::from_millis(7));
        }
        ends_well(world);
    }
}

#[test]
fn an_osd_comes_and_goes_before_it_has_caught_up() {
    for (preset, options) in [("quincy", WPQ), ("quincy", &[]), ("loadline", &[])] {
        let mut world = loaded(preset, options, 4);
        for pause in [1, 40, 3, 200, 2, 7, 90, 1, 1, 15] {
            world.set(1, DOWN);
            world.run(Span::from_millis(pause));
            world.set(1, RUNS);
            world.run(Span::from_millis(21 - pause.min(20)));
        }
        ends_well(world);
    }
}

/// A backfill target went away with its slot: nobody told it that the interval was over, and with one slot per OSD
/// every other group waited for it.
#[test]
fn a_backfill_ends_early_and_its_slots_are_free_again() {
    let mut world = loaded("quincy", WPQ, 5);
    for _ in 0..4 {
        world.set(3, OUT);
        world.run(Span::from_millis(2));
        world.set(0, DOWN);
        world.run(Span::from_millis(2));
        world.set(3, RUNS);
        world.set(0, RUNS);
        world.run(Span::from_millis(2));
    }
    ends_well(world);
}

/// An OSD was away when its copies had become superfluous; a copy that was half deleted when its OSD crashed was never
/// deleted further.
#[test]
fn copies_that_nobody_needs_are_deleted_even_late() {
    let mut world =
        World::new(&settings("quincy", WPQ), Shape { objects: 900, depth: 4, ..Shape::default() });
    world.prefill(900);
    world.set(2, GONE);
    world.sim.start_load();
    world.wait_until_clean();
    world.set(1, OUT);
    world.set(2, RUNS);
    world.run(Span::from_millis(300));
    world.set(1, GONE);
    ends_well(world);
}

/// The last missing objects were recovered because ops waited for them, or after the slot had been taken back: nobody
/// was left to say that the group is recovered.
#[test]
fn ops_that_wait_recover_everything_before_the_reservation_comes() {
    let least =
        [("osd_min_recovery_priority", "230"), WPQ[0], ("osd_async_recovery_min_cost", "1000")];
    let mut world =
        World::new(&settings("quincy", &least), Shape { pgs: 1, objects: 3, ..Shape::default() });
    let member = world.sim.cluster().map().pg(PgId::new(0)).acting[2].get();
    world.sim.start_load();
    world.run(Span::from_millis(5));
    world.set(member, DOWN);
    world.run(Span::from_micros(500));
    world.set(member, RUNS);
    world.run(Span::from_millis(100));
    assert!(world.sim.is_clean(), "three objects, written all the time");
    ends_well(world);
}
