//! Objects that a disk cannot read, and that others need. (Each of these reads stopped its OSD, or was an assertion.)

use crate::bench::{Bench, PG, class_name, filling, interval, missing, options, plan, write_of};
use loadline_base::Span;
use loadline_osd::{
    Activation, AsideFor, DamageCounts, Directive, Effect, Message, OpKind, OsdId, OsdSet,
    RecoveryKind, RecoveryState,
};
use loadline_qos::SchedulerKind;
use loadline_store::ObjectNo;
use loadline_store::paged::LostEnds;
use std::collections::BTreeSet;

/// Copies on so many OSDs, all with object 1.
fn copies(osds: u32) -> Bench {
    let mut bench = Bench::new(osds, plan("quincy", SchedulerKind::Wpq), options());
    (0..osds).for_each(|osd| bench.fill(osd, &[1]));
    bench
}

/// A second object, which this OSD lacks and the others have.
fn with_a_laggard(bench: &mut Bench, laggard: u32) {
    (0..3).filter(|osd| *osd != laggard).for_each(|osd| bench.fill(osd, &[2]));
}

/// Two copies, of which the second gets its part of no write until what is held is released.
fn with_writes_on_their_way() -> Bench {
    let mut bench = copies(2);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    bench.hold(|effect| match effect {
        Effect::Send(envelope) => matches!(envelope.message, Message::Write(..)),
        _ => false,
    });
    bench
}

/// An update ends while a copy still asks whether others have what it cannot read: the primary's own store refused it, or the copy has missed it
/// for another reason. Nobody answered any more, and the copy's store stood still with whatever came behind in the group.
#[test]
fn who_asks_about_an_update_has_an_answer_when_it_ends() {
    let mut bench = copies(2);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    bench.hold(|effect| matches!(effect, Effect::Send(_) | Effect::Device(..)));
    bench.op(7, OpKind::Write, 1, 2);
    bench.run();
    let [tag] = bench.held_writes()[..] else { panic!("one is on its way") };
    let is_answer = |effect: &Effect| match effect {
        Effect::Send(envelope) => {
            envelope.to == OsdId::new(1)
                && envelope.message == Message::GoPast(tag, LostEnds::default())
        }
        _ => false,
    };
    bench.message(Some(1), 0, PG, 2, Message::WriteDoubted(tag, LostEnds::BOTH));
    bench.message(Some(1), 0, PG, 2, Message::WriteMissed(tag, ObjectNo(1)));
    bench.run();
    assert_eq!(bench.held(is_answer), 0, "the primary's own part is under way");
    // The copy's part never comes, and the primary's ends.
    bench.drop_held(1);
    bench.release_one();
    assert_eq!(bench.replies.len(), 1);
    assert_eq!(bench.held(is_answer), 1);
}

fn ends_well(bench: &mut Bench, osds: &[u32], objects: &[u64]) {
    bench.check_copies(osds, objects);
    for osd in osds {
        assert_eq!(bench.osds[*osd as usize].unfinished(), None, "osd.{osd}");
    }
}

#[test]
fn a_client_reads_what_another_copy_gives_back() {
    let mut bench = copies(2);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    bench.spoil(0, 1);
    bench.op(7, OpKind::Read, 1, 2);
    bench.check(&[
        "osd.0: Read of 4096 as client",
        "osd.0 to osd.1: pull 1",
        "osd.1: Read of 4096 as background_recovery",
        "osd.1 to osd.0: push 1",
        "osd.0: Write of 4096 as background_recovery",
        "pg 0 recovered in 2",
    ]);
    let damage = bench.osds[0].damage();
    assert_eq!(damage, DamageCounts { found: 1, repaired: 1, failed_ops: 0 });
    // The owner begins the next interval, and the router sends the op again.
    bench.activate(PG, interval(3, &[0, 1]));
    bench.op(7, OpKind::Read, 1, 3);
    bench.check(&["osd.0: Read of 4096 as client", "reply 7"]);
    ends_well(&mut bench, &[0, 1], &[1]);
}

/// In the holder's queue a pull may pass what it was told before. What came then was without the write, and took it away where it had been carried out
/// already: bytes that were acknowledged read as zeros.
#[test]
fn an_object_is_pulled_when_its_holder_has_confirmed_what_is_under_way() {
    let mut bench = with_writes_on_their_way();
    bench.op(7, OpKind::Write, 1, 2);
    bench.run();
    bench.spoil(0, 1);
    bench.op(8, OpKind::Read, 1, 2);
    bench.check(&["osd.0: Read of 4096 as client"]);
    bench.release();
    bench.check(&[
        "osd.0 to osd.1: write 1",
        "osd.1: Write of 4096 as immediate",
        "osd.1 to osd.0: write done",
        "osd.0 to osd.1: pull 1",
        "reply 7",
        "osd.1: Read of 4096 as background_recovery",
        "osd.1 to osd.0: push 1",
        "osd.0: Write of 4096 as background_recovery",
        "pg 0 recovered in 2",
    ]);
    ends_well(&mut bench, &[0, 1], &[1]);
}

/// And in the queue of who lacks it a push may pass a write that was sent before it was known to lack the object: carried out on what came, the write
/// would put a state that a snapshot keeps over an older one.
#[test]
fn an_object_is_pushed_when_its_target_has_confirmed_what_is_under_way() {
    let mut bench = with_writes_on_their_way();
    bench.op(7, OpKind::Write, 1, 2);
    bench.op(8, OpKind::Write, 1, 2);
    bench.run();
    // The other copy could not carry out the first of them, and the second is on its way there.
    let first = bench.held_writes()[0];
    bench.message(Some(1), 0, PG, 2, Message::WriteMissed(first, ObjectNo(1)));
    bench.op(9, OpKind::Write, 1, 2);
    bench.check(&["reply 7", "osd.0 to osd.1: reserve Log 180", "osd.1 to osd.0: granted"]);
    bench.drop_held(1);
    bench.release();
    bench.check(&[
        "osd.0 to osd.1: write 1",
        "osd.1: Write of 4096 as immediate",
        "osd.1 to osd.0: write done",
        "reply 8",
        "osd.0: Read of 4096 as background_recovery",
        "osd.0 to osd.1: push 1",
        "osd.1: Write of 4096 as background_recovery",
        "osd.1 to osd.0: push reply 1",
        "osd.0 to osd.1: released",
        "pg 0 recovered in 2",
    ]);
    ends_well(&mut bench, &[0, 1], &[1]);
}

/// What lacks something is not whole, and the owner of the map goes by that: it hears of it when it is found, not when the next interval begins.
/// (Until then the map called the group clean, and what was kept beside it could go.)
#[test]
fn the_owner_hears_who_lacks_something_while_the_interval_lasts() {
    let mut bench = copies(2);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    assert_eq!(bench.lacking, None);
    bench.spoil(0, 1);
    bench.op(7, OpKind::Read, 1, 2);
    bench.run();
    assert_eq!(bench.lacking, Some(OsdSet::one(OsdId::new(0))), "the interval ends with that");
    bench.activate(PG, interval(3, &[0, 1]));
    bench.run();
    (0..2).for_each(|osd| bench.spoil(osd, 1));
    bench.op(8, OpKind::Read, 1, 3);
    assert!(bench.run().contains(&"reply 8 failed".to_owned()));
    assert_eq!(bench.lacking, Some(OsdSet::EMPTY), "nothing has changed");
}

/// The primary has lost pages of an object, and the other copy lacks it. What is good of it is read. (All of it was refused until recovery had come to
/// it, and found that nobody gives the rest.)
#[test]
fn what_is_good_of_an_object_is_read_though_nobody_gives_the_rest() {
    let mut bench = copies(2);
    bench.hold(|effect| matches!(effect, Effect::Send(_)));
    let damaged = vec![(OsdId::new(0), BTreeSet::from([ObjectNo(1)]))];
    bench.activate(PG, Activation { damaged, ..missing(interval(2, &[0, 1]), 1, &[1]) });
    bench.run();
    assert_eq!(bench.osds[0].recovery_of(PG), Some(RecoveryState::Waiting(RecoveryKind::Log)));
    bench.op(7, OpKind::Read, 1, 2);
    bench.check(&["osd.0: Read of 4096 as client", "reply 7"]);
    // What it lacks altogether is nowhere.
    let nowhere = missing(missing(interval(3, &[0, 1]), 1, &[1]), 0, &[1]);
    bench.activate(PG, nowhere);
    bench.op(8, OpKind::Read, 1, 3);
    bench.check(&["reply 8 failed"]);
}

/// The one copy that serves has lost a page. That nobody has it is told as soon as recovery has come to it. (It was told when a client read there, and
/// until then a disk could be taken away, or made empty, that has the page.)
#[test]
fn what_the_only_copy_has_lost_is_told_before_anybody_asks() {
    let mut bench = copies(1);
    let damaged = vec![(OsdId::new(0), BTreeSet::from([ObjectNo(1)]))];
    bench.activate(PG, Activation { damaged, ..interval(2, &[0]) });
    bench.run();
    assert_eq!(bench.osds[0].unfound_objects(PG), [ObjectNo(1)]);
    bench.op(7, OpKind::Write, 1, 2);
    bench.run();
    assert_eq!(bench.osds[0].unfound_objects(PG), [], "it is written anew");
}

/// A read is the last op of an interval that is about to end, and fails: the interval ends all the same. (Nobody was told, and every op of the
/// group waited for the next one for ever.)
#[test]
fn an_interval_ends_though_its_last_read_fails() {
    let mut bench = copies(2);
    bench.fill(0, &[2]);
    bench.spoil(0, 1);
    bench.hold(|effect| match effect {
        Effect::Device(_, it) => class_name(it.request.class.0) == "client",
        _ => false,
    });
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.op(7, OpKind::Read, 1, 2);
    let ends = "pg 0 recovered in 2".to_owned();
    let seen = bench.run();
    assert!(!seen.contains(&ends), "the read is under way: {seen:?}");
    assert_eq!(bench.osds[0].recovery_of(PG), None, "and all else is done");
    bench.op(8, OpKind::Read, 1, 2);
    bench.run();
    let later = write_of(8, 1);
    assert_eq!(bench.osds[0].delay_of_op(bench.now, &later), None, "it is in no queue");
    assert_eq!(bench.osds[0].aside_of_op(&later), Some(AsideFor::Interval));
    bench.release();
    assert!(bench.run().contains(&ends), "the owner begins the next one");
    bench.activate(PG, interval(3, &[0, 1]));
    bench.op(7, OpKind::Read, 1, 3);
    assert!(bench.run().contains(&"osd.1 to osd.0: push 1".to_owned()));
}

/// The primary reads its own copy to push it, and cannot: it pulls another one first.
#[test]
fn what_the_primary_cannot_push_it_pulls_before() {
    let mut bench = copies(3);
    with_a_laggard(&mut bench, 2);
    bench.spoil(0, 2);
    bench.activate(PG, missing(interval(2, &[0, 1, 2]), 2, &[2]));
    let seen = bench.run();
    let order = ["osd.0 to osd.1: pull 2", "osd.1 to osd.0: push 2", "osd.0 to osd.2: push 2"];
    let places = order.map(|line| seen.iter().position(|seen| seen == line).expect("it happens"));
    assert!(places.is_sorted(), "{seen:?}");
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    ends_well(&mut bench, &[0, 1, 2], &[1, 2]);
}

/// The first holder cannot read what the primary pulls: the second one gives it, and the first gets it back, too.
#[test]
fn what_one_holder_cannot_give_another_does() {
    let mut bench = copies(3);
    with_a_laggard(&mut bench, 0);
    bench.spoil(1, 2);
    bench.activate(PG, missing(interval(2, &[0, 1, 2]), 0, &[2]));
    let seen = bench.run();
    let order =
        ["osd.0 to osd.1: pull 2", "osd.1 to osd.0: unreadable 2", "osd.0 to osd.2: pull 2"];
    let places = order.map(|line| seen.iter().position(|seen| seen == line).expect("it happens"));
    assert!(places.is_sorted(), "{seen:?}");
    assert!(seen.contains(&"osd.0 to osd.1: push 2".to_owned()), "it is repaired: {seen:?}");
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    ends_well(&mut bench, &[0, 1, 2], &[1, 2]);
}

#[test]
fn a_backfill_goes_on_with_another_copy_of_what_its_primary_cannot_read() {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Wpq), options());
    (0..2).for_each(|osd| bench.fill(osd, &[1, 2, 3, 4, 5, 6]));
    bench.fill(2, &[]);
    bench.spoil(0, 3);
    bench.spoil(0, 6);
    bench.activate(PG, filling(interval(2, &[0, 1]), 2));
    let seen = bench.run();
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    ends_well(&mut bench, &[0, 1, 2], &[1, 2, 3, 4, 5, 6]);
}

/// A copy that lacks an object may still have what it was before. Whoever takes it for a holder is told otherwise.
#[test]
fn a_copy_gives_nothing_that_it_lacks() {
    let mut bench = copies(2);
    bench.fill(1, &[2]);
    let begun = missing(interval(2, &[0, 1]), 1, &[2]);
    bench.direct(OsdId::new(1), Directive::Activate(PG, Box::new(begun)));
    bench.message(Some(0), 1, PG, 2, Message::Pull(ObjectNo(2)));
    let seen = bench.run();
    assert!(seen.contains(&"osd.1 to osd.0: unreadable 2".to_owned()), "{seen:?}");
    assert!(!seen.contains(&"osd.1 to osd.0: push 2".to_owned()), "{seen:?}");
}

/// No copy can be read: who asks is told, and everything else goes on. A copy that is written anew is a good one.
#[test]
fn what_no_copy_can_give_is_an_error_and_only_for_who_asks() {
    let mut bench = copies(2);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    (0..2).for_each(|osd| bench.spoil(osd, 1));
    for op in 7..9 {
        bench.op(op, OpKind::Read, 1, 2);
        let seen = bench.run();
        assert!(seen.contains(&format!("reply {op} failed")), "{seen:?}");
        assert_eq!(bench.osds[0].unfound_objects(PG), [ObjectNo(1)], "it is told which");
        assert!(!seen.contains(&"pg 0 recovered in 2".to_owned()), "nothing has changed: {seen:?}");
        assert_eq!(bench.osds[0].recovery_of(PG), None);
    }
    bench.op(9, OpKind::Write, 1, 2);
    bench.op(10, OpKind::Read, 1, 2);
    let seen = bench.run();
    assert!(seen.contains(&"reply 9".to_owned()) && seen.contains(&"reply 10".to_owned()));
    assert_eq!(bench.osds[0].unfound_objects(PG), [], "it is written anew");
    ends_well(&mut bench, &[0, 1], &[1]);
}

/// A copy is missing and the only other one cannot be read. The rest of the group is recovered, and this as soon as it can
/// be read again.
#[test]
fn what_nobody_can_give_to_who_lacks_it_is_tried_again() {
    let mut bench = copies(2);
    bench.fill(0, &[2, 3, 4]);
    bench.spoil(0, 2);
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2, 3, 4]));
    let seen = bench.run();
    assert!(seen.contains(&"osd.1 to osd.0: push reply 4".to_owned()), "{seen:?}");
    assert_eq!(bench.osds[0].recovery_of(PG), Some(RecoveryState::Unfound(RecoveryKind::Log)));
    assert_eq!(bench.osds[0].unfound(PG), 1);
    bench.op(7, OpKind::Read, 2, 2);
    bench.op(8, OpKind::Write, 2, 2);
    bench.op(9, OpKind::Write, 3, 2);
    let seen = bench.run();
    for line in ["reply 7 failed", "reply 8 failed", "reply 9"] {
        assert!(seen.contains(&line.to_owned()), "{seen:?}");
    }
    bench.heal(0, 2);
    let retried = bench.now + options().recovery_retry_interval + Span::from_millis(1);
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.run_until(retried);
    assert_eq!(bench.osds[0].recovery_of(PG), Some(RecoveryState::Running(RecoveryKind::Log)));
    assert_eq!(bench.osds[0].unfound(PG), 1, "it is unfound until it is found");
    bench.release();
    let seen = bench.run();
    assert!(seen.contains(&"pg 0 recovered in 2".to_owned()), "{seen:?}");
    bench.op(10, OpKind::Read, 2, 2);
    assert_eq!(bench.osds[0].unfound(PG), 0);
    bench.run();
    ends_well(&mut bench, &[0, 1], &[1, 2, 3, 4]);
}

/// The same under a backfill: what it could not bring is not forgotten, and writes to it do not reach the copy that lacks it.
#[test]
fn a_backfill_remembers_what_nobody_could_give() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1, 2, 3]);
    bench.fill(1, &[]);
    bench.spoil(0, 2);
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    let state = bench.osds[0].recovery_of(PG);
    assert_eq!(state, Some(RecoveryState::Unfound(RecoveryKind::Backfill)));
    bench.op(7, OpKind::Write, 2, 2);
    let seen = bench.run();
    assert!(!seen.contains(&"osd.0 to osd.1: write 2".to_owned()), "{seen:?}");
    assert!(seen.contains(&"reply 7".to_owned()), "{seen:?}");
    bench.run_until(bench.now + options().backfill_retry_interval + Span::from_millis(1));
    ends_well(&mut bench, &[0, 1], &[1, 2, 3]);
}

/// A copy lacks an object, and before its recovery comes to it a client meets that the only other one cannot be read. (The client was
/// told that it gets nothing, and whoever asked which objects cannot be had was told of none until a slot was free.)
#[test]
fn what_a_client_is_refused_was_told_to_be_unfound_before() {
    let mut bench = copies(2);
    bench.fill(0, &[2]);
    bench.spoil(0, 2);
    bench.hold(|effect| matches!(effect, Effect::Send(_)));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.op(7, OpKind::Read, 2, 2);
    let seen = bench.run();
    assert!(seen.contains(&"reply 7 failed".to_owned()), "{seen:?}");
    let waiting = RecoveryState::Waiting(RecoveryKind::Log);
    assert_eq!(bench.osds[0].recovery_of(PG), Some(waiting), "it has not begun");
    assert_eq!(bench.osds[0].unfound_objects(PG), [ObjectNo(2)]);
}

#[test]
fn a_drive_that_cannot_write_stops_its_osd() {
    let mut bench = copies(1);
    bench.activate(PG, interval(2, &[0]));
    bench.wear_out();
    bench.op(7, OpKind::Write, 1, 2);
    let stops = "osd.0 stopped: the device could not write";
    bench.check(&["osd.0: Write of 4096 as client", stops]);
}
