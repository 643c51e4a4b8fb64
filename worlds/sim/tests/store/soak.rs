//! The soak in the small: a cut at every event, a fixed set of seeds, seeds that once failed, and a canary.

use loadline_sim::soak::{FaultKind, SeedReplay, SoakCounts, SoakRow, Sweep, run, run_muted};
use loadline_store::paged::{LogMode, Protection};

/// Ops of one sweep. Sixteen of them, for every protection, log mode and place of the log, make two thousand.
const SWEEP_OPS: u64 = 130;
/// What the sweeps of seed 1 come to. Any change of the requests that a store makes changes it: see that every row is still
/// hit, then write the new number.
const SWEEP_CUTS: u64 = 25_461;

/// All sweeps of a seed, half of them on another thread.
fn sweep_all(seed: u64, ops: u64) -> SoakCounts {
    let all_of = |protection| {
        let mut counts = SoakCounts::default();
        for log_mode in LogMode::ALL {
            for has_log_device in [false, true] {
                let sweep = Sweep { seed, protection, log_mode, has_log_device, ops, lies: None };
                match sweep.run() {
                    Ok(more) => counts.add(&more),
                    Err(failure) => panic!("{sweep:?}: {failure:?}"),
                }
            }
        }
        counts
    };
    let mut counts = SoakCounts::default();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| all_of(Protection::Log));
        counts.add(&all_of(Protection::Checkpoint));
        counts.add(&other.join().expect("its sweeps lose nothing"));
    });
    counts
}

#[test]
fn a_power_cut_at_any_event_loses_nothing_and_every_row_is_hit() {
    let counts = sweep_all(1, SWEEP_OPS);
    for row in SoakRow::ALL {
        assert!(counts.rows.of(row) > 0, "no cut fell into the row `{row}`: {counts:?}");
    }
    assert_eq!(counts.cuts, SWEEP_CUTS, "{counts:?}");
}

#[test]
#[ignore = "minutes: make soak"]
fn a_power_cut_at_any_event_of_many_runs_loses_nothing() {
    for seed in 2..12 {
        sweep_all(seed, 4 * SWEEP_OPS);
    }
}

fn check(replay: &SeedReplay) -> SoakCounts {
    let outcome = run(replay);
    if let Some(failure) = outcome.failure {
        panic!("{failure}\n`loadline soak --replay {replay}` meets it again");
    }
    outcome.counts
}

#[test]
fn a_swarm_of_seeds_loses_nothing() {
    let mut counts = SoakCounts::default();
    (1..=150).for_each(|seed| counts.add(&check(&SeedReplay::whole(seed))));
    // A swarm that injects nothing would find nothing.
    assert!(counts.cuts > 300 && counts.kills > 50, "{counts:?}");
    for kind in FaultKind::ALL {
        assert!(counts.faults.of(kind) > 0, "nobody met `{kind}`: {counts:?}");
    }
    assert!(counts.ops.no_space > 0 && counts.refusals > 0, "{counts:?}");
    assert!(counts.ops.sparse > 100, "{counts:?}");
    assert!(counts.least_caches > 10 && counts.smallest_logs > 5, "{counts:?}");
}

#[test]
fn equal_seeds_have_equal_histories() {
    (1..=10).for_each(|seed| {
        assert_eq!(check(&SeedReplay::whole(seed)), check(&SeedReplay::whole(seed)))
    });
}

/// Each failed once; the story says why.
#[test]
fn seeds_that_once_failed_lose_nothing() {
    let check = |story: &str, replay: &str| {
        let replay = replay.parse().expect("it is a replay");
        let outcome = run(&replay);
        assert_eq!(outcome.failure, None, "{story} ({replay})");
    };
    check("a restore missed an instant that padding follows", "45:lives=1,ops=12,faults=0");
    check("a begun marker that was never flushed led the restore", "8157:lives=2,ops=137,faults=0");
    check(
        "a truncation planned with the length before its transaction",
        "184:lives=3,ops=819,faults=0",
    );
    check("a page planned as punched whole, applied in part", "21:lives=1,ops=92,faults=0");
    check("a log cut behind a pad never ended", "208:lives=4,ops=126,faults=0");
    check("readers waited for each other's pages", "320:faults=4294967295");
    check("a truncation of what its own transaction had made", "538:lives=1,ops=380,faults=0");
    check(
        "a page that lost its second owner in the same transaction",
        "906:lives=5,ops=1113,faults=0",
    );
    check("a replay refused what had been answered", "2332:faults=4294967295");
    // A put of a long value was refused by an estimate in which every page of every way may be split twice.
    check("a transaction was too large without a reason", "159587951768282:lives=2,ops=828");
    check("the rest of a block was taken for a damaged log", "13600:lives=1,ops=69,faults=0");
    // What a replay had read ahead and then not needed stayed in memory for good. Such a page, and all that were given
    // back together with it, never became free, and who waited for them made empty checkpoints for ever.
    check("a page that a replay had read ahead was kept", "350:lives=3,ops=196,faults=0");
    check("a damaged page was told of behind the end of its object", "900877");
    check("a device that costs nothing left the other no turn", "900728");
    check("a step's edits were a larger record than a segment takes", "90001297:lives=2,faults=0");
    check("what waited for frames woke itself by what it let go", "5550432:lives=5,ops=400");
    check("the same, where pages come at once", "123454179:lives=3,faults=0");
    let story =
        "a device from the past whose log has gone round since passed for all that there was";
    check(story, "771204159:lives=3,ops=1225,faults=0");
    check(
        "a write's two ragged ends take all of a small log's transaction",
        "424303:ops=573,faults=0",
    );
    // The second reading of the log went by what it found itself, and took for a torn end what the first had read whole.
    let story = "the log went bad between the two readings of a restart";
    check(story, "20264384:lives=2,ops=32,faults=18302908165882117638");
    let story =
        "a commit in steps that was durable already was to be flushed at a time for ever past";
    check(story, "20270498:ops=889");
    check(
        "data beside a tail's only record was not compared",
        "2504:lives=3,ops=19,faults=18412122106113294208",
    );
    check("remains behind the end had pages that were others'", "3274:lives=3,ops=151,faults=0");
    // The next life wrote before the padding that the restart had vouched for, and a power cut left a hole in it.
    check("a log was gone on with before its durable end", "3656:lives=3,ops=400");
}

/// The canary: disks that answer every fiftieth flush without carrying it out are found out.
#[test]
fn disks_that_lie_about_flushes_are_found_out() {
    let sweep = Sweep {
        seed: 1,
        protection: Protection::Checkpoint,
        log_mode: LogMode::Fsync,
        has_log_device: false,
        ops: 2 * SWEEP_OPS,
        lies: Some(50),
    };
    assert!(sweep.run().is_err(), "a sweep that trusts such disks proves nothing");
}

/// The canary of faults: where those of one kind excuse nothing, some seed that passes otherwise fails. Those of which a store must
/// notice nothing at all are not among them, nor are most copies that are tried beside the run.
#[test]
#[ignore = "a minute: make soak"]
fn every_kind_of_fault_makes_a_difference() {
    let quiet = [
        FaultKind::Slow,
        FaultKind::Full,
        FaultKind::Resized,
        FaultKind::Swapped,
        FaultKind::Stale,
    ];
    let mut left: Vec<FaultKind> =
        FaultKind::ALL.into_iter().filter(|kind| !quiet.contains(kind)).collect();
    for replay in (1..2000).map(SeedReplay::whole) {
        let excused = run(&replay);
        assert_eq!(excused.failure, None, "seed {replay:?}");
        let makes_none = |kind: &FaultKind| {
            excused.counts.faults.of(*kind) == 0 || run_muted(&replay, *kind).failure.is_none()
        };
        left.retain(makes_none);
        if left.is_empty() {
            return;
        }
    }
    panic!("a search without these would have found as much: {left:?}");
}
