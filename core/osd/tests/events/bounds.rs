//! Events in, effects out: deletion, and what settings bound.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan, write_of};
use crate::recovery::two;
use loadline_base::{Span, Time};
use loadline_osd::{Directive, LogReach, OpKind, OsdId, OsdOptions};
use loadline_qos::SchedulerKind;

/// Thirty objects go with each item, and the copy is gone with the last.
#[test]
fn a_copy_that_has_left_is_deleted_in_the_background() {
    let objects: Vec<u64> = (0..61).collect();
    let mut bench = two([&objects, &[]], options());
    bench.activate(PG, interval(2, &[0]));
    bench.direct(OsdId::new(0), Directive::Retire(PG));
    bench.check(&["osd.0: Write of 4096 as background_best_effort"; 3]);
    assert!(bench.osds[0].objects(PG).is_empty() && bench.osds[0].copy(PG).is_none());
}

/// A pause of a second follows each of the two transactions that leave something. A copy that is wanted again while its
/// deletion sleeps is deleted no more, and one that leaves once more sleeps once.
#[test]
fn a_deletion_sleeps_between_its_transactions() {
    let delete_sleep = Span::from_secs(1);
    let leaving = || {
        let objects: Vec<u64> = (0..61).collect();
        let mut bench = two([&objects, &[]], OsdOptions { delete_sleep, ..options() });
        bench.activate(PG, interval(2, &[0]));
        bench.direct(OsdId::new(0), Directive::Retire(PG));
        bench.run_until(Time::from_nanos(999_999_999));
        assert_eq!(bench.osds[0].objects(PG).len(), 31);
        bench
    };
    let mut bench = leaving();
    bench.run_until(Time::from_nanos(1_999_999_999));
    assert_eq!(bench.osds[0].objects(PG).len(), 1);
    bench.run_until(Time::from_secs(2));
    assert!(bench.osds[0].objects(PG).is_empty() && bench.osds[0].copy(PG).is_none());

    let mut bench = leaving();
    bench.activate(PG, interval(3, &[0]));
    bench.run_until(Time::ZERO + Span::from_secs(1));
    assert_eq!(bench.osds[0].objects(PG).len(), 31);
    bench.direct(OsdId::new(0), Directive::Retire(PG));
    bench.run_until(Time::ZERO + Span::from_millis(1_999));
    assert_eq!(bench.osds[0].objects(PG).len(), 1);

    let mut bench = leaving();
    bench.restart(0);
    bench.run_until(Time::from_secs(9));
    assert_eq!(bench.osds[0].objects(PG).len(), 31, "the next life has not been told to delete it");
}

#[test]
fn an_item_starts_as_many_objects_as_it_was_promised() {
    for (recovery_single_start_max, pushes) in [(1, 1), (3, 3)] {
        let recovery_sleep = Span::from_secs(1);
        let bounds = OsdOptions { recovery_single_start_max, recovery_active_max: 3, ..options() };
        let mut bench = two([&[1, 2, 3], &[]], OsdOptions { recovery_sleep, ..bounds });
        bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[1, 2, 3]));
        bench.run_until(Time::ZERO + Span::from_millis(999));
        assert_eq!(bench.osds[1].objects(PG).len(), pushes);
    }
}

#[test]
fn a_scan_compares_as_many_objects_as_allowed() {
    for (backfill_scan_max, scans) in [(1, 4), (4, 1)] {
        let mut bench = two([&[1, 2, 3], &[]], OsdOptions { backfill_scan_max, ..options() });
        bench.activate(PG, filling(interval(2, &[0]), 1));
        let seen = bench.run();
        assert_eq!(seen.iter().filter(|line| line.contains("scan after")).count(), scans);
    }
}

/// While all is well as many as one setting says, and while a copy lacks something as many as another.
#[test]
fn a_log_remembers_as_many_writes_as_it_is_told() {
    let reach =
        |clean, degraded| OsdOptions { log_reach: LogReach { clean, degraded }, ..options() };
    let mut bench = two([&[1], &[1]], reach(4, 6));
    let known = |bench: &Bench| {
        let log = bench.osds[0].copy(PG).expect("it is there").log;
        (1..=9).filter(|number| log.knows(write_of(*number, 1).id)).collect::<Vec<u32>>()
    };
    bench.activate(PG, interval(2, &[0, 1]));
    (1..=6).for_each(|number| bench.op(number, OpKind::Write, 1, 2));
    bench.run();
    assert_eq!(known(&bench), [3, 4, 5, 6]);
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), reach(2, 3));
    assert_eq!(known(&bench), [5, 6], "what is set counts at once");
    bench.activate(PG, missing(interval(3, &[0, 1]), 1, &[1]));
    (7..=9).for_each(|number| bench.op(number, OpKind::Write, 2, 3));
    bench.run();
    assert_eq!(known(&bench), [7, 8, 9]);
}

#[test]
fn a_copy_tells_how_far_others_may_lie_behind() {
    let mut bench = two([&[1], &[]], options());
    bench.activate(PG, interval(2, &[0]));
    let told = |bench: &Bench| bench.osds[0].copy(PG).unwrap().asynchronous_above;
    assert_eq!(told(&bench), options().asynchronous_above);
    let seven = OsdOptions { asynchronous_above: 7, ..options() };
    bench.configure(0, plan("quincy", SchedulerKind::Wpq), seven);
    assert_eq!(told(&bench), 7);
}
