//! What leaves the queues while the disk has enough to do, and how large transfers enter the disk.

use crate::bench::{Bench, PG, interval, missing, options, plan};
use loadline_base::{Bytes, Span};
use loadline_osd::{Effect, OpKind, OsdId, OsdOptions, Pacing};
use loadline_qos::SchedulerKind;
use loadline_store::{ObjectNo, WindowBounds};

/// At 1,200 MiB/s a write of 4 KiB counts as 58,525 bytes, and 1,258,291 fit the goal. Of these 524,288 are kept for the next
/// item, which may be a part of a push, so 13 writes are taken.
const TAKEN: usize = 13;

fn paced() -> OsdOptions {
    OsdOptions {
        threads_per_shard: 16,
        window: WindowBounds { bytes: Bytes::from_mib(8), ops: 1024 },
        windowed: loadline_osd::Windowed::All,
        pacing: Some(Pacing { goal: Span::from_millis(1), part_max: Bytes::from_kib(512) }),
        recovery_active_max: 10,
        ..options()
    }
}

fn alone(options: OsdOptions) -> Bench {
    let mut bench = Bench::new(1, plan("loadline", SchedulerKind::Mclock), options);
    bench.fill(0, &[1]);
    bench.activate(PG, interval(2, &[0]));
    bench.run();
    bench
}

fn writes(bench: &mut Bench, numbers: std::ops::Range<u32>) {
    for number in numbers {
        bench.op(number, OpKind::Write, 1, 2);
    }
    bench.run();
}

/// With limits lifted, Loadline's own profiles left clients 14 % of their IOPS: sixteen workers took whatever waited, and it then
/// stood behind the store's throttle in the order of its arrival.
#[test]
fn no_more_is_taken_than_the_disk_could_begin_within_the_goal() {
    let mut bench = alone(paced());
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    writes(&mut bench, 0..100);
    assert_eq!(bench.osds[0].queued(), 100 - TAKEN);
    bench.release();
    let replies = bench.run().iter().filter(|seen| seen.starts_with("reply")).count();
    assert_eq!((replies, bench.osds[0].unfinished()), (100, None));
}

/// What a worker holds counts: it is on its way to the disk.
#[test]
fn what_was_taken_counts_before_it_reaches_the_disk() {
    let mut bench = alone(paced());
    bench.hold(|effect| matches!(effect, Effect::Compute(..)));
    writes(&mut bench, 0..100);
    let now = bench.now;
    let waiting: usize = bench.osds[0].waiting(now).iter().map(|(_, items)| items.len()).sum();
    assert_eq!(waiting, 100 - TAKEN);
}

#[test]
fn a_longer_goal_lets_in_what_waits() {
    let mut bench = alone(paced());
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    writes(&mut bench, 0..100);
    let goal = Span::from_millis(3);
    let pacing = Some(Pacing { goal, part_max: Bytes::from_kib(512) });
    let wider = OsdOptions { pacing, ..paced() };
    bench.configure(0, plan("loadline", SchedulerKind::Mclock), wider);
    bench.run();
    assert_eq!(bench.osds[0].queued(), 100 - 56);
}

/// The copies' answers need nothing of the disk. Held back, they would make each write wait twice.
#[test]
fn answers_of_the_copies_pass_while_the_disk_has_enough_to_do() {
    let mut bench = Bench::new(2, plan("loadline", SchedulerKind::Mclock), paced());
    bench.fill(0, &[1]);
    bench.fill(1, &[1]);
    bench.activate(PG, interval(2, &[0, 1]));
    bench.run();
    let of_first =
        |effect: &Effect| matches!(effect, Effect::Device(osd, _) if *osd == OsdId::new(0));
    bench.hold(of_first);
    writes(&mut bench, 0..100);
    assert_eq!(bench.osds[0].queued(), 100 - TAKEN);
}

/// A push of 4 MiB stood at the drive for 2.8 ms, and with it whoever came after.
#[test]
fn a_recovered_object_is_read_and_written_in_parts() {
    let mut bench = Bench::new(2, plan("loadline", SchedulerKind::Mclock), paced());
    bench.fill(0, &[]);
    bench.fill(1, &[]);
    bench.osds[0].prefill(PG, [ObjectNo(1)], 4 << 20);
    let mut activation = missing(interval(2, &[0, 1]), 1, &[1]);
    activation.object_bytes = 4 << 20;
    bench.activate(PG, activation);
    let seen = bench.run();
    let count = |what: &str| seen.iter().filter(|line| line.starts_with(what)).count();
    let read = "osd.0: Read of 524288 as background_recovery";
    let write = "osd.1: Write of 524288 as background_recovery";
    assert_eq!((count(read), count(write), count("osd.0: R"), count("osd.1: W")), (8, 8, 8, 8));
    assert_eq!(seen.last().map(String::as_str), Some("pg 0 recovered in 2"));
}

/// While a part of the push is at the disk, a write that arrives goes before the other seven.
#[test]
fn a_write_waits_behind_the_parts_at_the_disk_alone() {
    let mut bench = Bench::new(2, plan("loadline", SchedulerKind::Mclock), paced());
    bench.fill(0, &[2]);
    bench.fill(1, &[2]);
    bench.osds[1].prefill(PG, [ObjectNo(1)], 4 << 20);
    let mut activation = missing(interval(2, &[0, 1]), 0, &[1]);
    activation.object_bytes = 4 << 20;
    bench.hold(|effect| {
        let of_first = |osd: &OsdId| *osd == OsdId::new(0);
        matches!(effect, Effect::Device(osd, s) if of_first(osd) && s.request.length.get() > 4096)
    });
    bench.activate(PG, activation);
    bench.run();
    bench.op(1, OpKind::Write, 2, 2);
    bench.run();
    bench.release();
    let seen = bench.run();
    let at = |what: &str| seen.iter().position(|line| line.starts_with(what)).expect("it came");
    let parts_before =
        seen[..at("osd.0: Write of 4096")].iter().filter(|line| line.contains("524288")).count();
    assert!(parts_before <= 2, "{seen:?}");
}

#[test]
fn after_a_crash_nothing_is_in_flight() {
    let mut bench = alone(paced());
    bench.hold(|effect| matches!(effect, Effect::Device(..)));
    writes(&mut bench, 0..100);
    bench.restart(0);
    bench.activate(PG, interval(2, &[0]));
    bench.run();
    writes(&mut bench, 100..200);
    assert_eq!(bench.osds[0].queued(), 100 - TAKEN);
    bench.release();
    let replies = bench.run().iter().filter(|seen| seen.starts_with("reply")).count();
    assert_eq!((replies, bench.osds[0].unfinished()), (100, None));
}
