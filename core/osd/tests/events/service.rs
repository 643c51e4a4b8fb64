//! Events in, counters out: what each class was given, and how long it waited.

use crate::bench::{Bench, PG, interval, missing, options, plan};
use loadline_base::{Span, Time};
use loadline_osd::{Effect, Message, OpKind, ServedClass};
use loadline_qos::{LimitPolicy, SchedulerKind, ServiceClass, ShardPlan};

/// What a small op costs.
const OP: u64 = 58_525;

/// A plan that lets clients have one small op per second.
fn slow() -> ShardPlan {
    let mut slow = plan("loadline", SchedulerKind::Mclock);
    slow.values.client.limit = OP as f64 / 1_258_291_200.0;
    slow.values.client.reservation = 0.0;
    slow.values.client.limit_policy = LimitPolicy::Hard;
    slow
}

/// Three ops at time zero, of which one is served at once.
fn limited() -> Bench {
    let mut bench = Bench::new(1, slow(), options());
    bench.activate(PG, interval(1, &[0]));
    for op in 1..=3 {
        bench.op(op, OpKind::Read, 1, 1);
    }
    bench.check(&["osd.0: Read of 4096 as client", "reply 1"]);
    bench
}

#[track_caller]
fn check(bench: &Bench, items: u64, waited: Span) {
    let service = bench.osds[0].service(bench.now);
    let client = service.shards[0][ServiceClass::Client as usize];
    assert_eq!(client, ServedClass { items, cost: items * OP, waited });
}

#[test]
fn a_class_waits_for_as_long_as_any_of_its_items() {
    let mut bench = limited();
    check(&bench, 1, Span::ZERO);
    bench.now = Time::ZERO + Span::from_millis(700);
    check(&bench, 1, Span::from_millis(700));
    bench.configure(0, plan("loadline", SchedulerKind::Mclock), options());
    bench.run();
    check(&bench, 3, Span::from_millis(700));
    bench.now = Time::from_secs(5);
    check(&bench, 3, Span::from_millis(700));
}

#[test]
fn what_a_crash_drops_waits_no_longer() {
    let mut bench = limited();
    bench.now = Time::from_secs(2);
    bench.restart(0);
    bench.now = Time::from_secs(9);
    check(&bench, 1, Span::from_secs(2));
}

/// An op on an object that its primary lacks is taken, waits for the object, and is taken again. Another object is lacking,
/// so that the interval does not end with the first.
#[test]
fn what_was_put_back_counts_once() {
    let mut bench = Bench::new(2, plan("loadline", SchedulerKind::Mclock), options());
    bench.fill(0, &[1]);
    bench.fill(1, &[1, 2, 3]);
    bench.activate(PG, missing(interval(2, &[0, 1]), 0, &[2, 3]));
    bench.hold(|effect| matches!(effect, Effect::Send(e) if matches!(e.message, Message::Push(_))));
    bench.run();
    bench.op(1, OpKind::Read, 2, 2);
    bench.check(&[]);
    bench.release();
    let seen = bench.run();
    assert!(seen.iter().any(|line| line == "reply 1"), "{seen:?}");
    check(&bench, 1, Span::ZERO);
}

/// Balanced in the first eras: two fifths of the 21,500 IOPS, and no cost for what is strict.
#[test]
fn only_mclock_has_reservations_and_only_shared_work_a_cost() {
    let of = |scheduler| {
        let mut bench = Bench::new(2, plan("quincy", scheduler), options());
        bench.activate(PG, interval(1, &[0, 1]));
        bench.op(1, OpKind::Write, 1, 1);
        bench.run();
        let client = bench.osds[0].service(bench.now).reservations[ServiceClass::Client as usize];
        let copy = bench.osds[1].service(bench.now).shards[0][ServiceClass::Immediate as usize];
        (client, copy.items, copy.cost)
    };
    assert_eq!(of(SchedulerKind::Mclock), (8_600.0, 1, 0));
    assert_eq!(of(SchedulerKind::Wpq), (0.0, 1, 4_096));
}
