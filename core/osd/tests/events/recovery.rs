//! Events in, effects out: recovery from the log, beside the writes, and by backfill.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan, write_of};
use loadline_base::{Span, Time};
use loadline_osd::{
    Activation, Aside, AsideFor, ClientOp, Directive, Effect, Message, OpKind, OsdId, OsdOptions,
    OsdSet, PgId, PgProgress, RecoveryKind, RecoveryState,
};
use loadline_qos::SchedulerKind;
use loadline_store::ObjectNo;

/// Two copies, with what each holds.
pub(crate) fn two(held: [&[u64]; 2], options: OsdOptions) -> Bench {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options);
    bench.fill(0, held[0]);
    bench.fill(1, held[1]);
    bench
}

fn asynchronous(activation: Activation, osd: u32) -> Activation {
    let asynchronous: OsdSet = [OsdId::new(osd)].into_iter().collect();
    Activation { asynchronous, ..activation }
}

#[test]
fn what_a_replica_misses_is_pushed() {
    let mut bench = two([&[1, 2], &[1]], options());
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    assert_eq!(bench.osds[0].progress(), PgProgress { degraded: 1, ..PgProgress::default() });
    bench.check(&[
        "osd.0 to osd.1: reserve Log 180",
        "osd.1 to osd.0: granted",
        "osd.0: Read of 4096 as background_recovery",
        "osd.0 to osd.1: push 2",
        "osd.1: Write of 4096 as background_recovery",
        "osd.1 to osd.0: push reply 2",
        "osd.0 to osd.1: released",
        "pg 0 recovered in 2",
    ]);
    bench.check_copies(&[0, 1], &[1, 2]);
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// What is to be pulled needs no slot of another OSD. (A placement group whose primary alone lacked something waited
/// for a turn that nobody gave it.)
#[test]
fn what_the_primary_misses_is_pulled() {
    let mut bench = two([&[1], &[1, 2]], options());
    bench.activate(PG, missing(interval(2, &[0, 1]), 0, &[2]));
    bench.check(&[
        "osd.0 to osd.1: pull 2",
        "osd.1: Read of 4096 as background_recovery",
        "osd.1 to osd.0: push 2",
        "osd.0: Write of 4096 as background_recovery",
        "pg 0 recovered in 2",
    ]);
    bench.check_copies(&[0, 1], &[1, 2]);
}

/// A crashed primary came back with an object that nobody else had ever heard of. It was recovered as an empty object.
#[test]
fn what_should_not_exist_is_recovered_by_removing_it() {
    let mut bench = two([&[1], &[1, 9]], options());
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[9]));
    let seen = bench.run();
    assert!(seen.contains(&"osd.0 to osd.1: push absence of 9".to_owned()), "{seen:?}");
    bench.check_copies(&[0, 1], &[1]);
}

#[test]
fn an_op_to_a_missing_object_waits_for_it_and_its_recovery_goes_first() {
    let mut bench = two([&[1, 2, 3], &[1]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveGranted));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2, 3]));
    bench.op(7, OpKind::Write, 3, 2);
    bench.op(8, OpKind::Write, 3, 2);
    bench.op(9, OpKind::Read, 3, 2);
    bench.check(&[
        "osd.0 to osd.1: reserve Log 180",
        "osd.0: Read of 4096 as background_recovery",
        "osd.0 to osd.1: push 3",
        "osd.0: Read of 4096 as client",
        "reply 9",
        "osd.1: Write of 4096 as background_recovery",
        "osd.1 to osd.0: push reply 3",
        "osd.0 to osd.1: write 3",
        "osd.0: Write of 4096 as client",
        "osd.0 to osd.1: write 3",
        "osd.0: Write of 4096 as client",
        "osd.1: Write of 4096 as immediate",
        "osd.1: Write of 4096 as immediate",
        "osd.1 to osd.0: write done",
        "osd.1 to osd.0: write done",
        "reply 7",
        "reply 8",
    ]);
    bench.release();
    bench.run();
    bench.check_copies(&[0, 1], &[1, 2, 3]);
    assert_eq!(bench.osds[0].unfinished(), None);
}

#[test]
fn a_copy_recovered_beside_the_writes_does_not_hold_them_up() {
    let mut bench = two([&[1, 2], &[1]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveGranted));
    bench.activate(PG, asynchronous(missing(interval(2, &[0, 1]), 1, &[2]), 1));
    bench.op(7, OpKind::Write, 2, 2);
    bench.op(8, OpKind::Write, 1, 2);
    bench.check(&[
        "osd.0 to osd.1: reserve Log 180",
        "osd.0: Write of 4096 as client",
        "osd.0 to osd.1: write 1",
        "osd.0: Write of 4096 as client",
        "reply 7",
        "osd.1: Write of 4096 as immediate",
        "osd.1 to osd.0: write done",
        "reply 8",
    ]);
    bench.release();
    bench.run();
    bench.check_copies(&[0, 1], &[1, 2]);
    assert!(!bench.osds[1].copy(PG).expect("it is there").is_complete(), "it has not every write");
    let [mut copy, led] = [1, 0].map(|osd| bench.ask_for_copy(osd, PG));
    assert!(led.has_recovered() && !copy.has_recovered());
    assert!(!copy.state().is_complete(), "its log does not tell of the write to object 2");
    copy.complete(led.log());
    assert!(copy.state().is_complete());
}

/// A copy that recovers beside the writes is given an object with a write that it was not sent, and then gets a later write of another one. The disk that had
/// both loses them: what is left of its log differs from this copy's by the later write alone. (The copy kept what was undone of the first object, because its log's
/// head was behind that write.)
#[test]
fn what_a_copy_was_given_behind_a_hole_of_its_log_counts_as_lacking_until_all_is_recovered() {
    for kind in [OpKind::Write, OpKind::Remove] {
        let mut bench = two([&[1, 2, 3, 4], &[1, 3, 4]], options());
        bench.hold(
            |effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveGranted),
        );
        bench.activate(PG, asynchronous(missing(interval(2, &[0, 1]), 1, &[2, 3]), 1));
        bench.op(7, kind, 2, 2);
        bench.run();
        bench.release();
        bench.hold(|effect| match effect {
            Effect::Send(envelope) => envelope.message == Message::PushReply(ObjectNo(3)),
            _ => false,
        });
        bench.run();
        bench.op(8, OpKind::Write, 4, 2);
        let seen = bench.run();
        assert!(seen.contains(&"osd.0 to osd.1: write 4".to_owned()), "{seen:?}");
        let [mut copy, led] = [1, 0].map(|osd| bench.ask_for_copy(osd, PG));
        assert!(!led.has_recovered(), "an object is still on its way");
        let lacks: Vec<u64> = copy.state().lacks.iter().map(|object| object.0).collect();
        assert_eq!(lacks, [2], "{kind:?}: what its log tells of it has");
        copy.complete(led.log());
        assert!(copy.state().is_complete(), "its log is one that tells of the write");
    }
}

/// A copy that recovers beside the writes could not read an object either that its primary had to get from a third one, and did not know that it counted as
/// lacking that. A write of it went past it, and no later write shows a hole in a log: in the next interval the copy counted as one that had the object, and an
/// acknowledged write was gone where it led.
#[test]
fn no_write_goes_past_a_copy_that_does_not_know_that_it_lacks_the_object() {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1, 2, 3]);
    bench.fill(1, &[1, 2]);
    bench.fill(2, &[1, 2, 3]);
    bench.hold(|effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveGranted));
    bench.activate(PG, asynchronous(missing(interval(2, &[0, 1, 2]), 1, &[3]), 1));
    bench.run();
    (0..2).for_each(|osd| bench.spoil(osd, 1));
    bench.op(7, OpKind::Read, 1, 2);
    let seen = bench.run();
    for part in ["osd.1 to osd.0: unreadable 1", "osd.2 to osd.0: push 1", "reply 7"] {
        assert!(seen.contains(&part.to_owned()), "{part}: {seen:?}");
    }
    bench.heal(1, 1);
    for (number, object) in [(8, 1), (9, 3), (10, 2)] {
        bench.op(number, OpKind::Write, object, 2);
    }
    bench.run();
    assert_eq!(bench.replies.len(), 4);
    let [copy, led] = [1, 0].map(|osd| bench.ask_for_copy(osd, PG));
    let mut missing = led.log().differs_from(copy.log()).expect("they have a common past");
    missing.extend(copy.state().lacks);
    assert_eq!(missing, [ObjectNo(3)].into(), "by its log it has the others");
    for object in [1, 2] {
        let [copy, led] =
            [1, 0].map(|osd: usize| bench.osds[osd].objects(PG).meta(ObjectNo(object)));
        assert_eq!(copy, led, "it was told of the write of {object}");
    }
    bench.check_copies(&[0, 2], &[1, 2, 3]);
}

/// Ops recovered the last missing object before the group had its slots, and nobody said that it was whole.
#[test]
fn a_group_that_its_ops_made_whole_needs_no_slots() {
    let mut bench = two([&[1, 2], &[1]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveGranted));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.op(7, OpKind::Write, 2, 2);
    let seen = bench.run();
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    bench.release();
    bench.run();
    assert_eq!((bench.osds[0].unfinished(), bench.osds[1].unfinished()), (None, None));
}

/// The primary crashed, and the next interval did without its backfill target, which kept the slot for ever.
#[test]
fn a_copy_that_takes_no_part_any_more_frees_its_slot() {
    let mut bench = two([&[1, 2], &[]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    assert!(bench.osds[1].unfinished().is_some());
    bench.direct(OsdId::new(1), Directive::Deactivate(PG));
    assert_eq!(bench.osds[1].unfinished(), None);
}

/// Revoked in the middle, refused as long as there is no room, and ended when there is some.
#[test]
fn a_disk_without_room_takes_no_backfills() {
    let mut bench = two([&[1, 2, 3, 4, 5, 6, 7, 8], &[]], options());
    bench.activate(PG, filling(interval(2, &[0]), 1));
    let nothing = bench.due(|_| true);
    bench.direct(OsdId::new(1), Directive::SetBackfillFull(true));
    assert_eq!(bench.due(|_| true), nothing, "nobody has asked yet");
    let seen = bench.run();
    assert!(seen.contains(&"osd.1 to osd.0: too full".to_owned()), "{seen:?}");
    let state = bench.osds[0].recovery_of(PG);
    assert_eq!(state, Some(RecoveryState::TooFull(RecoveryKind::Backfill)));
    assert!(!seen.iter().any(|line| line.contains("push")), "{seen:?}");
    assert_eq!(bench.osds[1].unfinished(), None, "it holds no slot for anybody");
    bench.direct(OsdId::new(1), Directive::SetBackfillFull(false));
    let retry = bench.now + options().backfill_retry_interval;
    bench.run_until(retry + Span::from_millis(1000));
    bench.check_copies(&[0, 1], &[1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Little comes by log, and it may be what a group needs to serve.
#[test]
fn recovery_by_log_goes_on_without_room_for_backfills() {
    let mut bench = two([&[1, 2, 3], &[1]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2, 3]));
    bench.run();
    bench.direct(OsdId::new(1), Directive::SetBackfillFull(true));
    assert_eq!(bench.due(|_| true), 0);
    bench.release();
    bench.run();
    bench.check_copies(&[0, 1], &[1, 2, 3]);
}

/// An op that is put aside says what for, and one that is not here says nothing.
#[test]
fn an_op_that_waits_for_its_object_says_what_for() {
    let mut bench = two([&[1, 2], &[1]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.run();
    let (op, other) = (write_of(7, 2), write_of(8, 1));
    bench.op(7, OpKind::Write, 2, 2);
    bench.run();
    let aside = |bench: &Bench, op: &ClientOp| {
        assert_eq!(bench.osds[0].delay_of_op(bench.now, op), None, "it is in no queue");
        bench.osds[0].aside_of_op(op)
    };
    assert_eq!(aside(&bench, &op), Some(AsideFor::Recovery));
    assert_eq!(aside(&bench, &other), None, "it is not here");
}

/// What it has begun to fill it with stops too.
#[test]
fn a_disk_that_gets_full_stops_the_backfill_that_fills_it() {
    let mut bench = two([&[1, 2, 3], &[]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    bench.direct(OsdId::new(1), Directive::SetBackfillFull(true));
    let refused = |effect: &Effect| matches!(effect, Effect::Send(e) if e.message == Message::ReserveTooFull && e.to == OsdId::new(0));
    assert_eq!(bench.due(refused), 1);
    bench.direct(OsdId::new(1), Directive::SetBackfillFull(true));
    assert_eq!(bench.due(refused), 1, "it says so once");
}

/// The target lacks 2, has 3 in another version and longer, and has 9, which it should not. (Nobody waited for 9 to be removed:
/// when the group handed over meanwhile, it stayed.)
#[test]
fn backfill_compares_and_makes_equal() {
    let mut bench = two([&[1, 2, 3, 4, 3], &[1, 9]], options());
    bench.osds[1].prefill(PG, [ObjectNo(3)], 8192);
    bench.fill(1, &[4]);
    let filled = filling(Activation { copies: 2, ..interval(2, &[0]) }, 1);
    bench.activate(PG, filled);
    assert_eq!(bench.osds[0].progress(), PgProgress { degraded: 4, ..PgProgress::default() });
    bench.check(&[
        "osd.0 to osd.1: reserve Backfill 221",
        "osd.1 to osd.0: granted",
        "osd.0 to osd.1: scan after None",
        "osd.1 to osd.0: scan reply with 3",
        "osd.0: Read of 4096 as background_recovery",
        "osd.0 to osd.1: push 2",
        "osd.1: Write of 4096 as background_recovery",
        "osd.1 to osd.0: push reply 2",
        "osd.0: Read of 4096 as background_recovery",
        "osd.0 to osd.1: push 3",
        "osd.1: Write of 4096 as background_recovery",
        "osd.1 to osd.0: push reply 3",
        "osd.0 to osd.1: scan after Some(4)",
        "osd.1 to osd.0: scan reply with 1",
        "osd.0: Read of 1 as background_recovery",
        "osd.0 to osd.1: push absence of 9",
        "osd.1: Write of 1 as background_recovery",
        "osd.1 to osd.0: push reply 9",
        "osd.0 to osd.1: released",
        "pg 0 recovered in 2",
    ]);
    bench.check_copies(&[0, 1], &[1, 2, 3, 4]);
    assert_eq!(bench.osds[0].progress(), PgProgress::default());
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// Object 2 is on its way: a write to it waits; one below the mark goes to the target, one above it does not, and a
/// new object above it is found by a later scan.
#[test]
fn writes_during_backfill_reach_the_target_below_the_mark_only() {
    let mut bench = two([&[1, 2, 3], &[1]], options());
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.run();
    for (op, object) in [(7, 1), (8, 2), (9, 3), (10, 20)] {
        bench.op(op, OpKind::Write, object, 2);
    }
    bench.check(&[
        "osd.0 to osd.1: write 1",
        "osd.0: Write of 4096 as client",
        "osd.0: Write of 4096 as client",
        "osd.1: Write of 4096 as immediate",
        "osd.0: Write of 4096 as client",
        "reply 9",
        "osd.1 to osd.0: write done",
        "reply 10",
        "reply 7",
    ]);
    let progress = bench.osds[0].progress();
    assert_eq!(progress, PgProgress { misplaced: 3, degraded: 0, recovering: 1 });
    bench.release();
    assert!(bench.run().contains(&"reply 8".to_owned()));
    bench.check_copies(&[0, 1], &[1, 2, 3, 20]);
    assert_eq!(bench.osds[0].progress(), PgProgress::default());
}

/// The interval ends only when no op is in flight, so that its last writes are not lost on the way.
#[test]
fn a_recovered_group_finishes_its_ops_before_it_hands_over() {
    let mut bench = two([&[1, 2], &[1]], options());
    bench.hold(
        |effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::WriteDone(..))),
    );
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.op(7, OpKind::Write, 1, 2);
    let seen = bench.run();
    assert!(seen.contains(&"osd.0 to osd.1: released".to_owned()), "it is recovered: {seen:?}");
    assert!(!seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    bench.op(8, OpKind::Write, 1, 2);
    bench.check(&[]);
    bench.release();
    bench.check(&["osd.1 to osd.0: write done", "reply 7", "pg 0 recovered in 2"]);
}

/// Sleeps of 100 ms: ten objects take nine of them.
#[test]
fn one_object_starts_per_sleep() {
    let recovery_sleep = Span::from_millis(100);
    let objects: Vec<u64> = (1..=10).collect();
    let mut bench = two([&objects, &[]], OsdOptions { recovery_sleep, ..options() });
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &objects));
    bench.run_until(Time::from_nanos(899_999_999));
    assert_eq!(bench.osds[0].progress().degraded, 1);
    bench.run_until(Time::from_secs(1));
    assert_eq!((bench.osds[0].progress().degraded, bench.now.nanos()), (0, 900_000_000));
}

/// An OSD crashed while a recovery item slept. In its next life the item woke up, and gave back a promise that the new
/// life had never made.
#[test]
fn a_crash_takes_back_what_was_promised() {
    let recovery_sleep = Span::from_millis(100);
    let mut bench = two([&[1, 2, 3], &[]], OsdOptions { recovery_sleep, ..options() });
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[1, 2, 3]));
    bench.run();
    bench.restart(0);
    bench.activate(PG, missing(interval(3, &[0, 1]), 1, &[2, 3]));
    bench.run_until(Time::from_secs(1));
    bench.check_copies(&[0, 1], &[1, 2, 3]);
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// The local slot, then each target's in increasing order.
#[test]
fn slots_are_asked_for_one_after_the_other() {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1]);
    let twice = Activation { backfill: vec![OsdId::new(1), OsdId::new(2)], ..interval(2, &[0]) };
    bench.activate(PG, twice);
    let seen = bench.run();
    let reservations: Vec<&String> =
        seen.iter().filter(|line| !line.contains("push") && !line.contains(" as ")).collect();
    assert_eq!(
        reservations,
        [
            "osd.0 to osd.1: reserve Backfill 100",
            "osd.1 to osd.0: granted",
            "osd.0 to osd.2: reserve Backfill 100",
            "osd.2 to osd.0: granted",
            "osd.0 to osd.1: scan after None",
            "osd.0 to osd.2: scan after None",
            "osd.1 to osd.0: scan reply with 0",
            "osd.2 to osd.0: scan reply with 0",
            "osd.0 to osd.1: released",
            "osd.0 to osd.2: released",
            "pg 0 recovered in 2",
        ]
    );
    bench.check_copies(&[0, 1, 2], &[1]);
}

/// Group 0 is being backfilled at priority 100 when group 1 needs log recovery at 180. Group 0 lets its object in flight
/// finish, gives everything back, and asks again after the backfill's retry interval of 40 s.
#[test]
fn a_more_urgent_group_takes_the_slot_and_the_other_asks_again_later() {
    let other = PgId::new(1);
    let mut bench = two([&[1, 2], &[]], options());
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.run();
    bench.activate(other, missing(interval(2, &[0, 1]), 1, &[5]));
    bench.check(&[
        "osd.0 to osd.1: released",
        "osd.0 to osd.1: reserve Log 180",
        "osd.1 to osd.0: granted",
    ]);
    bench.release();
    let seen = bench.run_until(Time::from_secs(39));
    assert!(seen.contains(&"pg 1 recovered in 2".to_owned()), "{seen:?}");
    assert!(
        seen.contains(&"osd.1 to osd.0: push reply 1".to_owned()),
        "it was in flight: {seen:?}"
    );
    assert_eq!(bench.osds[0].progress().misplaced, 1);
    bench.run_until(Time::from_secs(40));
    bench.check_copies(&[0, 1], &[1, 2]);
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// Two groups, one slot: the second waits, until a setting gives the running OSDs a second slot each.
#[test]
fn more_slots_let_a_waiting_group_in_at_once() {
    let mut bench = two([&[1, 2], &[]], options());
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.activate(PgId::new(1), filling(interval(2, &[0]), 1));
    assert_eq!(reserves(&bench.run()), 1);
    for osd in [1, 0] {
        let two_slots = OsdOptions { backfills_max: 2, ..options() };
        bench.configure(osd, plan("quincy", SchedulerKind::Wpq), two_slots);
    }
    assert_eq!(reserves(&bench.run()), 1);
}

#[test]
fn below_the_least_priority_recovery_waits_until_that_is_lowered() {
    let mut bench = two([&[1, 2], &[]], OsdOptions { recovery_priority_min: 101, ..options() });
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.check(&[]);
    for osd in [1, 0] {
        bench.configure(osd, plan("quincy", SchedulerKind::Wpq), options());
    }
    bench.run();
    bench.check_copies(&[0, 1], &[1, 2]);
}

fn reserves(seen: &[String]) -> usize {
    seen.iter().filter(|line| line.contains("reserve")).count()
}

/// Two groups have three objects to recover each, and two may be active.
#[test]
fn no_more_objects_are_active_than_admitted() {
    let bounds = OsdOptions { recovery_active_max: 2, backfills_max: 9, ..options() };
    let mut bench = two([&[1, 2, 3], &[]], bounds);
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    for pg in 0..3 {
        bench.activate(PgId::new(pg), missing(interval(2, &[0, 1]), 1, &[1, 2, 3]));
    }
    bench.run();
    assert_eq!(bench.osds[0].progress().recovering, 2);
    bench.release();
    bench.run();
    assert_eq!(bench.osds[0].progress(), PgProgress::default());
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// An interval ended while its recovery item was queued, and while another slept: each promise is given back once.
#[test]
fn promises_outlive_their_interval_but_are_returned_once() {
    let recovery_sleep = Span::from_millis(100);
    let mut bench = two([&[1, 2, 3], &[]], OsdOptions { recovery_sleep, ..options() });
    for number in 2..6 {
        bench.activate(PG, missing(interval(number, &[0, 1]), 1, &[1, 2, 3]));
        bench.run();
    }
    bench.run_until(Time::from_secs(2));
    bench.check_copies(&[0, 1], &[1, 2, 3]);
    assert_eq!(bench.osds[0].unfinished(), None);
}

/// An OSD has no room for the object that a write waits for: the write says that it waits for that room, and goes on when recovery has found it.
#[test]
fn a_write_that_waits_for_room_for_its_object_says_so() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1, 2]);
    bench.hold(|effect| match effect {
        Effect::Send(envelope) => matches!(envelope.message, Message::Push(_)),
        _ => false,
    });
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[1, 2]));
    bench.op(7, OpKind::Write, 1, 2);
    bench.run();
    let write = write_of(7, 1);
    assert_eq!(bench.osds[0].aside_of_op(&write), Some(AsideFor::Recovery));
    bench.message(Some(1), 0, PG, 2, Message::NoRoom(ObjectNo(1)));
    bench.run();
    assert_eq!(bench.osds[0].aside_of_op(&write), Some(AsideFor::RecoveryRoom));
    let waits = RecoveryState::TooFull(RecoveryKind::Log);
    assert_eq!((bench.osds[0].recovery_of(PG), bench.replies.len()), (Some(waits), 0));
    // The push that was refused never comes; the next one finds room. The other object's does not, and so the interval goes on.
    bench.hold(|effect| match effect {
        Effect::Send(envelope) => {
            matches!(&envelope.message, Message::Push(push) if push.object == ObjectNo(2))
        }
        _ => false,
    });
    let seen = bench.run_until(bench.now + Span::from_secs(60));
    assert!(seen.contains(&"osd.0 to osd.1: push 1".to_owned()), "{seen:?}");
    let mut aside = Aside::of(AsideFor::Recovery);
    aside.add(AsideFor::RecoveryRoom);
    let told: Vec<Aside> = bench.replies.iter().map(|reply| reply.delay.aside).collect();
    assert_eq!(told, [aside]);
}
