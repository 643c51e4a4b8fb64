//! What a backfill says is left, while clients write, and what a read of an earlier interval may still do.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan, write_of};
use loadline_osd::{Activation, ClientOp, Effect, Message, OpKind};
use loadline_qos::SchedulerKind;

fn is_push(effect: &Effect) -> bool {
    matches!(effect, Effect::Send(sent) if matches!(sent.message, Message::Push(_)))
}

fn is_scan_reply(effect: &Effect) -> bool {
    matches!(effect, Effect::Send(sent) if matches!(sent.message, Message::ScanReply(_)))
}

/// Six objects, four compared at a time, of which the target lacks the first and the third. It is stopped here.
fn backfill(stops_at: fn(&Effect) -> bool) -> Bench {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1, 2, 3, 4, 10, 11]);
    // What is filled twice is in the version that it has on the primary, where another object came before it.
    bench.fill(1, &[2, 2, 4, 4, 10, 11]);
    bench.hold(stops_at);
    bench.activate(PG, filling(interval(2, &[0]), 1));
    bench.run();
    bench
}

/// Writes an object; so many objects must be left then.
#[track_caller]
fn writes(bench: &mut Bench, number: u32, object: u64, left: u64) {
    bench.op(number, OpKind::Write, object, 2);
    let seen = bench.run();
    assert!(seen.contains(&format!("reply {number}")), "{seen:?}");
    assert_eq!(bench.osds[0].progress().misplaced, left, "object {object}");
}

#[track_caller]
fn ends(mut bench: Bench, objects: &[u64]) {
    bench.release();
    bench.run();
    bench.check_copies(&[0, 1], objects);
    assert_eq!(bench.osds[0].progress().misplaced, 0);
}

/// Object 1 is on its way, 3 is known to differ, 2 and 4 were found equal, and 10 and 11 are yet to be compared.
#[test]
fn a_write_behind_the_mark_counts_once_and_only_if_it_was_not_left_already() {
    let mut bench = backfill(is_push);
    assert_eq!(bench.osds[0].progress().misplaced, 4);
    writes(&mut bench, 1, 3, 4);
    writes(&mut bench, 2, 2, 5);
    writes(&mut bench, 3, 2, 5);
    writes(&mut bench, 4, 10, 5);
    writes(&mut bench, 5, 20, 6);
    ends(bench, &[1, 2, 3, 4, 10, 11, 20]);
}

/// The range is being compared: what is in it is left until the answer tells otherwise.
#[test]
fn a_write_to_what_is_being_compared_counts_if_it_is_new() {
    let mut bench = backfill(is_scan_reply);
    assert_eq!(bench.osds[0].progress().misplaced, 6);
    writes(&mut bench, 1, 2, 6);
    writes(&mut bench, 2, 2, 6);
    writes(&mut bench, 3, 0, 7);
    writes(&mut bench, 4, 0, 7);
    writes(&mut bench, 5, 20, 8);
    ends(bench, &[0, 1, 2, 3, 4, 10, 11, 20]);
}

/// An object was read to be pushed, and the interval ended before the disk had answered. What was read is of then: the next
/// interval reads it again, and only that goes to the copy that lacks it.
#[test]
fn what_an_earlier_interval_has_read_is_not_pushed() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1, 2]);
    bench.fill(1, &[1]);
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
    bench.run();
    bench.activate(PG, missing(interval(3, &[0, 1]), 1, &[2]));
    bench.run();
    bench.release();
    let seen = bench.run();
    let count = |line: &str| seen.iter().filter(|seen| *seen == line).count();
    assert_eq!(count("osd.0: Read of 4096 as background_recovery"), 2, "{seen:?}");
    assert_eq!(count("osd.0 to osd.1: push 2"), 1, "{seen:?}");
    bench.check_copies(&[0, 1], &[1, 2]);
}

/// The same, pulled by the primary: the holder's answer to the question of an earlier interval goes to nobody.
#[test]
fn what_an_earlier_interval_has_pulled_is_not_pushed() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1]);
    bench.fill(1, &[1, 2]);
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    bench.activate(PG, missing(interval(2, &[0, 1]), 0, &[2]));
    bench.run();
    bench.activate(PG, missing(interval(3, &[0, 1]), 0, &[2]));
    bench.run();
    bench.release();
    let seen = bench.run();
    let pushes = seen.iter().filter(|line| *line == "osd.1 to osd.0: push 2").count();
    assert_eq!(pushes, 1, "{seen:?}");
    bench.check_copies(&[0, 1], &[1, 2]);
}

/// A copy carried out a write that the others went on without, and was away again before the object came; meanwhile the object was removed. (It was not listed, so
/// that it would come anew, and nobody had it: it stayed, and counted as part of a whole copy from then on.)
#[test]
fn what_is_none_of_an_object_s_states_goes_where_the_object_was_removed() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Wpq), options());
    (0..2).for_each(|osd| bench.fill(osd, &[1, 2]));
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    bench.hold(
        |effect| matches!(effect, Effect::Send(sent) if matches!(sent.message, Message::Write(_))),
    );
    bench.op(7, OpKind::Write, 1, 2);
    bench.run();
    bench.drop_held(1);
    bench.hold(is_push);
    let log = bench.ask_for_copy(1, PG).log().clone();
    let undone = Activation { log: Some(log), ..missing(interval(3, &[1, 0]), 0, &[1]) };
    bench.activate(PG, undone);
    bench.run();
    bench.activate(PG, interval(4, &[1]));
    let removal = ClientOp { kind: OpKind::Remove, ..write_of(8, 1) };
    bench.message(None, 1, PG, 4, Message::Op(removal));
    assert!(bench.run().contains(&"reply 8".to_owned()));
    bench.release();
    bench.activate(PG, filling(interval(5, &[1]), 0));
    bench.run();
    bench.check_copies(&[1, 0], &[2]);
}
