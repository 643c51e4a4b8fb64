//! Nothing reaches a device without the class of its work, under any preset and any scheduler.

use crate::bench::{Bench, PG, filling, interval, missing, options, plan};
use loadline_base::Time;
use loadline_osd::{Activation, Directive, OpKind, OsdId};
use loadline_qos::{PRESETS, SchedulerKind, ServiceClass, Urgency, Work, WorkSize};

/// Every device request of these events must carry the class in which the preset admits work of this kind.
fn check(work: Work, urgency: Urgency, lines: [&str; 2], events: fn(&mut Bench)) {
    for preset in PRESETS {
        for scheduler in SchedulerKind::ALL {
            let plan = plan(preset.name, scheduler);
            let size = WorkSize { urgency, ..WorkSize::default() };
            let class: ServiceClass = plan.admit(work, &size, 0).class;
            let mut bench = Bench::new(2, plan, options());
            bench.fill(0, &[1, 2]);
            bench.fill(1, &[1]);
            events(&mut bench);
            let seen = bench.run_until(Time::from_secs(100));
            let [of_osd, request] = lines;
            let start = format!("{of_osd}: {request}");
            let mut requests = seen.iter().filter(|line| line.starts_with(&start)).peekable();
            assert!(requests.peek().is_some(), "{}, {scheduler:?}: {seen:?}", preset.name);
            for line in requests {
                assert!(line.ends_with(class.name()), "{line}: {}, {scheduler:?}", preset.name);
            }
        }
    }
}

fn written(bench: &mut Bench) {
    bench.activate(PG, interval(2, &[0, 1]));
    bench.op(1, OpKind::Write, 1, 2);
}

fn degraded(bench: &mut Bench) {
    bench.activate(PG, missing(interval(2, &[0, 1]), 1, &[2]));
}

fn pulled(bench: &mut Bench) {
    bench.activate(PG, missing(interval(2, &[1, 0]), 1, &[2]));
}

fn misplaced(bench: &mut Bench) {
    bench.activate(PG, filling(interval(2, &[0]), 1));
}

fn undersized(bench: &mut Bench) {
    bench.activate(PG, filling(Activation { copies: 2, ..interval(2, &[0]) }, 1));
}

fn deleted(bench: &mut Bench) {
    bench.activate(PG, interval(2, &[0, 1]));
    bench.direct(OsdId::new(0), Directive::Retire(PG));
}

#[test]
fn every_device_request_carries_the_class_of_its_work() {
    let any = Urgency::default();
    check(Work::ClientOp, any, ["osd.0", "Write"], written);
    check(Work::ReplicaWrite, any, ["osd.1", "Write"], written);
    check(Work::PgDelete, any, ["osd.0", "Write"], deleted);
    check(Work::RecoveryItem, Urgency::Degraded, ["osd.0", "Read"], degraded);
    check(Work::Push, Urgency::Degraded, ["osd.1", "Write"], degraded);
    check(Work::RecoveryItem, Urgency::Degraded, ["osd.0", "Read"], pulled);
    check(Work::Push, Urgency::Degraded, ["osd.1", "Write"], pulled);
    check(Work::RecoveryItem, Urgency::Misplaced, ["osd.0", "Read"], misplaced);
    check(Work::Push, Urgency::Misplaced, ["osd.1", "Write"], misplaced);
    check(Work::RecoveryItem, Urgency::Undersized, ["osd.0", "Read"], undersized);
    check(Work::Push, Urgency::Undersized, ["osd.1", "Write"], undersized);
}
