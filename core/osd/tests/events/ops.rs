//! Events in, effects out: a client's op, and a shard with its workers.

use crate::bench::{Bench, PG, interval, options, plan, write_of};
use loadline_base::{Bytes, Span, Time};
use loadline_osd::{Effect, Event, OpKind, OpWait, OsdId, OsdOptions, PgId};
use loadline_qos::{LimitPolicy, SchedulerKind};
use loadline_store::{ObjectNo, WindowBounds};

fn three() -> Bench {
    let mut bench = Bench::new(3, plan("quincy", SchedulerKind::Fifo), options());
    bench.activate(PG, interval(1, &[0, 1, 2]));
    bench.check(&[]);
    bench
}

#[test]
fn a_write_is_replied_to_when_every_copy_is_durable() {
    let mut bench = three();
    bench.op(7, OpKind::Write, 5, 1);
    bench.hold(|effect| matches!(effect, Effect::Device(osd, _) if osd.get() == 2));
    bench.check(&[
        "osd.0 to osd.1: write 5",
        "osd.0 to osd.2: write 5",
        "osd.0: Write of 4096 as client",
        "osd.1: Write of 4096 as immediate",
        "osd.1 to osd.0: write done",
    ]);
    bench.release();
    bench.check(&["osd.2: Write of 4096 as immediate", "osd.2 to osd.0: write done", "reply 7"]);
    let copies = [0, 1, 2].map(|osd| bench.osds[osd].objects(PG).clone());
    assert_eq!(copies[0].meta(ObjectNo(5)).map(|meta| meta.length), Some(4096));
    assert!(copies[1] == copies[0] && copies[2] == copies[0]);
}

#[test]
fn a_read_concerns_the_primary_alone() {
    let mut bench = three();
    bench.op(7, OpKind::Read, 5, 1);
    bench.check(&["osd.0: Read of 4096 as client", "reply 7"]);
}

#[test]
fn what_was_sent_in_another_interval_is_void() {
    let mut bench = three();
    bench.op(7, OpKind::Write, 5, 2);
    bench.check(&[]);
    bench.op(8, OpKind::Write, 5, 1);
    bench.hold(|effect| matches!(effect, Effect::Send(_)));
    bench.check(&["osd.0: Write of 4096 as client"]);
    bench.activate(PG, interval(3, &[1, 2, 0]));
    bench.release();
    bench.check(&["osd.0 to osd.1: write 5", "osd.0 to osd.2: write 5"]);
    assert!(bench.osds[1].objects(PG).is_empty(), "nobody carried out the old interval's write");
    bench.op(8, OpKind::Write, 5, 3);
    bench.check(&[]);
}

/// An interval ended between a write and its reply, and the router sent the op again. Carried out a second time, it
/// wrote over what had been written in between.
#[test]
fn a_write_that_is_sent_again_is_carried_out_once() {
    let mut bench = three();
    bench.op(7, OpKind::Write, 5, 1);
    bench.run();
    let version = bench.osds[0].objects(PG).meta(ObjectNo(5)).map(|meta| meta.version);
    bench.activate(PG, interval(2, &[0, 1, 2]));
    bench.op_in(PG, 7, OpKind::Write, 5, 2, true);
    bench.check(&["reply 7"]);
    assert_eq!(bench.osds[0].objects(PG).meta(ObjectNo(5)).map(|meta| meta.version), version);
    bench.op_in(PG, 8, OpKind::Write, 6, 2, true);
    assert_eq!(bench.run().last().map(String::as_str), Some("reply 8"), "it had not arrived");
}

/// A window of 8 KiB lets two writes of 4 KiB in.
#[test]
fn writes_beyond_the_window_wait_for_it() {
    let mut bench = Bench::new(1, plan("quincy", SchedulerKind::Fifo), options());
    bench.activate(PG, interval(1, &[0]));
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    for number in 0..3 {
        bench.op(number, OpKind::Write, u64::from(number), 1);
    }
    bench.check(&[]);
    let sent = |bench: &mut Bench| {
        bench.release();
        bench.run()
    };
    let write = "osd.0: Write of 4096 as client";
    // The third is submitted when the first is done, behind the second that was submitted before.
    let expected = [write, "reply 0", write, "reply 1", write, "reply 2"];
    let mut seen = sent(&mut bench);
    seen.sort();
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(seen, expected);
}

/// What is told of the longest wait is where the op was, and what was there before it: a store's window that two writes fill, and the
/// replica that answers last.
#[test]
fn a_reply_says_what_kept_its_op_longest() {
    let mut bench = Bench::new(2, plan("quincy", SchedulerKind::Fifo), options());
    bench.activate(PG, interval(1, &[0, 1]));
    bench.check(&[]);
    bench.hold(|effect| matches!(effect, Effect::Device(osd, _) if osd.get() == 0));
    for number in 0..3 {
        bench.op(number, OpKind::Write, u64::from(number), 1);
    }
    bench.run();
    bench.now += Span::from_millis(7);
    let waits = bench.osds[0].delay_of_op(bench.now, &write_of(2, 2)).expect("it is there");
    assert_eq!((waits.osd, waits.span), (OsdId::new(0), Span::from_millis(7)));
    bench.release();
    bench.run();
    let wait = |bench: &Bench, number: u32| {
        let reply = bench.replies.iter().find(|reply| reply.op.number == number);
        OpWait::longest(Time::ZERO, reply.expect("it has ended"))
    };
    assert_eq!(wait(&bench, 0).to_string(), "device of osd.0: requests at the disk");
    assert_eq!(wait(&bench, 2).to_string(), "store window of osd.0: full");
    assert_eq!(wait(&bench, 2).span(), Span::from_millis(7));

    bench.hold(|effect| matches!(effect, Effect::Device(osd, _) if osd.get() == 1));
    bench.op(3, OpKind::Write, 3, 1);
    bench.run();
    bench.now += Span::from_millis(3);
    bench.release();
    bench.run();
    let issued = bench.now - Span::from_millis(3);
    let last = bench.replies.last().expect("it has ended");
    let wait = OpWait::longest(issued, last);
    assert_eq!(wait.to_string(), "replica, device of osd.1: requests at the disk");
    assert_eq!((wait.stage(), wait.span()), ("replicas", Span::from_millis(3)));
}

/// A group's items are carried out one at a time and in order; a worker that has taken the next one of a busy group
/// waits, and another group's items need another worker.
#[test]
fn a_busy_group_blocks_the_worker_that_takes_its_next_item() {
    let other = PgId::new(1);
    let mut bench = Bench::new(1, plan("quincy", SchedulerKind::Fifo), options());
    bench.activate(PG, interval(1, &[0]));
    bench.activate(other, interval(1, &[0]));
    bench.run();
    let mut runs = Vec::new();
    for (number, pg) in [(1, PG), (2, PG), (3, other)] {
        bench.op_in(pg, number, OpKind::Read, 1, 1, false);
        runs.push(bench.due(|effect| matches!(effect, Effect::Compute(..))));
    }
    assert_eq!(runs, [1, 1, 1], "two workers hold the group's two items, the third one waits");
    bench.check(&[
        "osd.0: Read of 4096 as client",
        "osd.0: Read of 4096 as client",
        "osd.0: Read of 4096 as client",
        "reply 1",
        "reply 2",
        "reply 3",
    ]);
}

/// A small op costs 58,525 of the 1,258,291,200 bytes that the OSD may move per second. Limited to so many, the second
/// op would wait for a second; without a limit, set while it waits, it goes at once.
#[test]
fn new_parameters_reach_what_already_waits() {
    let free = plan("loadline", SchedulerKind::Mclock);
    let mut slow = free.clone();
    slow.values.client.limit = 58_525.0 / 1_258_291_200.0;
    slow.values.client.reservation = 0.0;
    slow.values.client.limit_policy = LimitPolicy::Hard;
    let mut bench = Bench::new(1, slow, options());
    bench.activate(PG, interval(1, &[0]));
    for op in 1..=3 {
        bench.op(op, OpKind::Read, 1, 1);
    }
    bench.check(&["osd.0: Read of 4096 as client", "reply 1"]);
    bench.now = Time::from_secs(1) - Span::from_millis(1);
    bench.check(&[]);
    bench.configure(0, free, options());
    let read = "osd.0: Read of 4096 as client";
    bench.check(&[read, read, "reply 2", "reply 3"]);
}

#[test]
fn a_wider_window_lets_in_what_waits() {
    let mut bench = Bench::new(1, plan("quincy", SchedulerKind::Fifo), options());
    bench.activate(PG, interval(1, &[0]));
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    for number in 0..3 {
        bench.op(number, OpKind::Write, u64::from(number), 1);
    }
    bench.run();
    let window = WindowBounds { bytes: Bytes::from_kib(64), ops: u32::MAX };
    bench.configure(0, plan("quincy", SchedulerKind::Fifo), OsdOptions { window, ..options() });
    assert_eq!(bench.due(|effect| matches!(effect, Effect::Device(..))), 1);
}

/// A worker was computing when its OSD crashed. Its end came after the OSD had begun anew, and is nothing to the item that the worker
/// has then.
#[test]
fn a_worker_of_an_earlier_life_carries_nothing_out() {
    let mut bench = Bench::new(1, plan("quincy", SchedulerKind::Wpq), options());
    bench.fill(0, &[1]);
    bench.activate(PG, interval(2, &[0]));
    bench.run();
    bench.hold(|effect| matches!(effect, Effect::Compute(..)));
    bench.op(7, OpKind::Read, 1, 2);
    bench.run();
    bench.restart(0);
    bench.activate(PG, interval(3, &[0]));
    bench.op(8, OpKind::Read, 1, 3);
    bench.run();
    let [earlier, present] = bench.held_runs()[..] else { panic!("two runs") };
    bench.step(OsdId::new(0), Event::Computed(earlier));
    bench.check(&[]);
    bench.step(OsdId::new(0), Event::Computed(present));
    bench.check(&["osd.0: Read of 4096 as client", "reply 8"]);
}
