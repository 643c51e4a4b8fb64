//! The published formulas at their published points.

use super::*;

fn micros(span: Span) -> f64 {
    span.as_secs_f64() * 1e6
}

/// Whether two sleeps agree to the two digits that the tables print.
fn close(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= wanted * 0.05
}

/// The table of checkpoint.md 11.3; from 7.2 s on the limit answers.
#[test]
fn back_off_follows_the_published_table_up_to_its_limit() {
    let mut backoff = Backoff::new();
    let sleeps: Vec<f64> = (0..=488).map(|_| micros(backoff.sleep())).collect();
    for (k, wanted) in [(0, 4.0), (50, 46.0), (100, 530.0), (200, 69_000.0)] {
        assert!(close(sleeps[k], wanted), "sleep {k}: {} us", sleeps[k]);
    }
    for k in [300, 400, 488] {
        assert_eq!(sleeps[k], 1e6);
    }
}

/// The table of checkpoint.md 11.4.
#[test]
fn fill_rate_follows_the_published_table() {
    let table = [
        (0.0, 10.0),
        (0.1, 32.0),
        (0.25, 180.0),
        (0.5, 3_200.0),
        (0.75, 56_000.0),
        (0.9, 320_000.0),
        (1.0, 1e6),
    ];
    for (x, wanted) in table {
        let found = micros(fill_rate::by_gap(x));
        assert!(close(found, wanted), "x {x}: {found} us");
    }
}

fn images(buffer_used: u64, images_written: u64) -> Pressure {
    Pressure {
        phase: CheckpointPhase::Images,
        with_images: true,
        images_written,
        pages_total: 900,
        buffer_used,
        buffer_slots: 1000,
        frames: 10_000,
        updaters: 4,
        ..Pressure::default()
    }
}

const KEPT: Dirtied = Dirtied { in_checkpoint: 1, clean: 0, log_bytes: 0 };
const CLEAN: Dirtied = Dirtied { in_checkpoint: 0, clean: 1, log_bytes: 0 };

/// One page of the checkpoint at a fill and a progress.
#[test]
fn fill_rate_asks_only_what_is_ahead_of_the_progress() {
    let check = |pressure: Pressure, wanted: f64| {
        let sleep = Throttle::new(ThrottlePolicy::FillRate).charge(Time::ZERO, &pressure, KEPT);
        assert!(close(micros(sleep), wanted), "{pressure:?}: {sleep}");
    };
    check(images(250, 0), 0.0);
    check(images(500, 0), 3_200.0);
    check(images(1000, 0), 1e6);
    // A progress of 1/2: (2 x 675) / (3 x 900).
    check(images(500, 675), 0.0);
    check(images(750, 675), 3_200.0);
    check(Pressure { phase: CheckpointPhase::Preparing, ..images(900, 0) }, 0.0);
    check(Pressure { phase: CheckpointPhase::Pages, pages_written: 900, ..images(900, 900) }, 0.0);
    check(Pressure { pages_total: 0, ..images(900, 0) }, 0.0);
}

#[test]
fn back_off_is_shared_charged_per_page_and_reset() {
    let mut throttle = Throttle::new(ThrottlePolicy::Exponential);
    let mut charge = |used, pages| {
        let touch = Dirtied { in_checkpoint: pages, clean: 0, log_bytes: 0 };
        micros(throttle.charge(Time::ZERO, &images(used, 0), touch))
    };
    assert!(close(charge(700, 1), 4.0));
    assert!(close(charge(700, 2), 4.2 + 4.41));
    assert_eq!(charge(600, 1), 0.0);
    assert!(close(charge(700, 1), 4.0), "below the threshold it starts anew");
    assert_eq!(charge(700, 1_000), 1e6);
    throttle.checkpoint_ended(Time::ZERO);
    assert!(close(micros(throttle.charge(Time::ZERO, &images(700, 0), KEPT)), 4.0));
}

#[test]
fn sleepers_are_woken_once_on_the_way_down() {
    let check = |policy, at: u64| {
        let mut throttle = Throttle::new(policy);
        throttle.charge(Time::ZERO, &images(900, 0), KEPT);
        let woken: Vec<u64> =
            (0..900).rev().filter(|&used| throttle.buffer_released(used, 1000)).collect();
        assert_eq!(woken, [at], "{policy}");
    };
    check(ThrottlePolicy::Exponential, 500);
    check(ThrottlePolicy::FillRate, 200);
    check(ThrottlePolicy::Speed, 200);
}

/// Limits of checkpoint.md 11.5: 7/12 of 0.05 at the beginning, of 0.525 half-way; 3/4 when all is written.
#[test]
fn the_target_ratio_grows_with_the_checkpoint() {
    let check = |pressure: Pressure, wanted: f64| {
        assert!((target_ratio::limit(&pressure) - wanted).abs() < 1e-9);
    };
    check(images(0, 0), 0.05 * 7.0 / 12.0);
    check(images(0, 900), 0.525 * 7.0 / 12.0);
    check(Pressure { pages_written: 450, with_images: false, ..images(0, 0) }, 0.525 * 7.0 / 12.0);
    check(Pressure { pages_written: 900, ..images(0, 900) }, 0.75);
    let mut throttle = Throttle::new(ThrottlePolicy::TargetRatio);
    let mut charge =
        |dirty| micros(throttle.charge(Time::ZERO, &Pressure { dirty, ..images(0, 0) }, CLEAN));
    assert_eq!(charge(291), 0.0);
    assert!(close(charge(292), 4.0));
    assert!(close(charge(292), 4.2));
}

/// Worked through by hand: half of the images after 1 s give done = 2 x 450 / 4 = 225 pages and 225 pages/s. With 5,000 of
/// 10,000 frames dirty, vall = 0.25 x 10,000 / (675 / 225) = 833.3 pages/s and dgoal = (0.5 + 0.5 x 225 / 900) x 0.75 = 0.469.
/// 2,000 pages were made dirty in that second, which is more than 833; so 4 updaters sleep 4 / 833.3 s = 4.8 ms each.
#[test]
fn speed_follows_the_published_formula() {
    let mut throttle = Throttle::new(ThrottlePolicy::Speed);
    throttle.checkpoint_began(Time::ZERO);
    let dirty = |dirty| Pressure { dirty, ..images(0, 450) };
    let early = Time::from_nanos(900_000_000);
    throttle.charge(early, &images(0, 0), Dirtied { in_checkpoint: 0, clean: 2_000, log_bytes: 0 });
    let mut charge = |dirty_pages| {
        let now = Time::from_secs(1);
        micros(throttle.charge(now, &Pressure { pages_written: 1, ..dirty(dirty_pages) }, CLEAN))
    };
    assert!(close(charge(5_000), 4_800.0));
    assert_eq!(charge(7_500), 0.0, "the cap will stop it");
    // Within 5 % of the cap: vall = 0.02 x 10,000 / 3 = 66.7 pages/s, and three times the sleep.
    assert!(close(charge(7_300), 180_000.0));
    assert_eq!(charge(1_000), 0.0, "below the goal");
}

#[test]
fn words_are_read_and_printed() {
    for policy in ThrottlePolicy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    let error = "fast".parse::<ThrottlePolicy>().expect_err("there is no such policy");
    assert!(
        ThrottlePolicy::ALL.iter().all(|policy| error.to_string().contains(&format!("`{policy}`")))
    );
}

#[test]
fn nothing_is_charged_without_a_checkpoint_or_for_pages_that_are_dirty() {
    for policy in ThrottlePolicy::ALL {
        let mut throttle = Throttle::new(policy);
        let idle =
            Pressure { phase: CheckpointPhase::Idle, buffer_used: 0, dirty: 5_000, ..images(0, 0) };
        assert_eq!(throttle.charge(Time::ZERO, &idle, CLEAN), Span::ZERO, "{policy}");
        let sleep = throttle.charge(Time::ZERO, &images(990, 0), Dirtied::default());
        assert_eq!(sleep, Span::ZERO, "{policy}");
    }
}
