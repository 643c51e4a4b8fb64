//! Bad sectors, the write cache, tags and the layout.

use crate::closed_loop::{BLOCK, HIGH, Load, PLAIN, limited, published_drive, read, run};
use crate::policies::drain;
use loadline_base::{Bytes, Span, Time};
use loadline_device::cdl::{Limit, Limits, TimeoutPolicy, Unit};
use loadline_device::{ClassTag, Outcome, Request, RequestKind};
use loadline_sim::hdd::{Ending, Feature, Hdd, HddSpec, SECTOR};

fn spec() -> HddSpec {
    HddSpec::built_in("hdd-22tb-cdl").expect("the program carries it")
}

fn write(block: u64) -> Request {
    Request { kind: RequestKind::Write, ..read(block, PLAIN) }
}

const FLUSH: Request = Request {
    kind: RequestKind::Flush,
    offset: 0,
    length: Bytes::ZERO,
    class: ClassTag(0),
    priority: PLAIN,
    duration_limit: None,
};

/// How one command ends on an idle drive, and when.
fn alone(drive: &mut Hdd, request: &Request) -> (Ending, Span) {
    drive.submit(Time::ZERO, 0, request);
    let answers = drain(drive);
    assert_eq!(answers.len(), 1, "one command, one answer");
    (answers[0].outcome, answers[0].at.since(Time::ZERO))
}

fn sectors(block: u64) -> std::ops::Range<u64> {
    block * BLOCK / SECTOR..(block + 1) * BLOCK / SECTOR
}

#[test]
fn slow_sectors_cost_whole_turns() {
    let (_, healthy) = alone(&mut Hdd::new(spec(), 1), &read(1_000, PLAIN));
    let mut drive = Hdd::new(spec(), 1);
    drive.make_slow(sectors(1_000), 5);
    assert_eq!(alone(&mut drive, &read(1_000, PLAIN)), (Ending::Good, healthy + spec().turn() * 5));
    assert_eq!(drive.statistics().medium.recovered, 1);
}

#[test]
fn unreadable_sectors_fail_until_they_are_written() {
    let mut drive = Hdd::new(spec(), 1);
    drive.make_unreadable(sectors(1_000));
    let (ending, took) = alone(&mut drive, &read(1_000, PLAIN));
    assert_eq!((ending, Outcome::from(ending)), (Ending::MediaError, Outcome::Failed));
    assert!(took > spec().recovery, "the firmware tries again: {took}");
    let mut now = Time::ZERO + took;
    for (request, ending) in [(write(1_000), Ending::Good), (read(1_000, PLAIN), Ending::Good)] {
        drive.submit(now, 1, &request);
        let answers = drain(&mut drive);
        assert_eq!(answers[0].outcome, ending);
        now = answers[0].at;
    }
}

/// Five turns of recovery are 42 ms; a random access is over within 25 ms.
#[test]
fn recovery_is_what_abort_recovery_ends() {
    for (policy, time) in [(TimeoutPolicy::AbortRecovery, 1), (TimeoutPolicy::Abort, 30)] {
        let mut drive = published_drive(1);
        let mut limits = Limits::default();
        limits.descriptors[0].unit = Unit::HalfMicrosecond;
        limits.descriptors[0].active = Limit { time: time * 2_000, policy };
        drive.set_limits(limits, limits);
        drive.make_slow(sectors(1_000), 5);
        let (ending, _) = alone(&mut drive, &read(1_000, limited(1)));
        assert_eq!(ending, Ending::AbortedInRecovery, "{policy:?}");
        assert_eq!(Outcome::from(ending), Outcome::OverLimit);
    }
}

/// An access takes at least the firmware's part, and the cache's answers nothing but that and the link's: 0.24 ms.
#[test]
fn a_write_cache_answers_at_once_and_a_flush_waits_for_the_medium() {
    let mut drive = Hdd::new(HddSpec { cached_writes: 64, ..spec() }, 1);
    for id in 0..20 {
        drive.submit(Time::ZERO, id, &write(id * 5_000_000));
    }
    drive.submit(Time::ZERO, 20, &FLUSH);
    drive.submit(Time::ZERO, 21, &read(0, PLAIN));
    let answers = drain(&mut drive);
    let quick = spec().turnaround + spec().overhead + Span::from_micros(240);
    for answer in &answers {
        let took = answer.at.since(Time::ZERO);
        assert_eq!(took <= quick, answer.id != 20, "{answer:?}");
    }
    let flushed = answers.iter().find(|answer| answer.id == 20).expect("it is answered");
    assert_eq!(flushed.at, answers.iter().map(|answer| answer.at).max().unwrap());
    assert_eq!(drive.statistics().medium.commands, 20);
}

#[test]
fn commands_beyond_the_tags_wait_outside() {
    let mut drive = Hdd::new(HddSpec { tags: 1, ..spec() }, 1);
    for id in 0..8 {
        drive.submit(Time::ZERO, id, &read((8 - id) * 1_000_000, PLAIN));
    }
    let order: Vec<u64> = drain(&mut drive).iter().map(|answer| answer.id).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7], "a drive that holds one command chooses nothing");
}

/// What the host takes back leaves the queue, and its tag is the next command's; what is carried out goes on.
#[test]
fn a_command_taken_back_frees_its_tag() {
    let mut drive = Hdd::new(spec(), 1);
    let tags = u64::from(spec().tags);
    for id in 0..=tags {
        drive.submit(Time::ZERO, id, &read(id * 1000, PLAIN));
    }
    let mut done = Vec::new();
    drive.advance(Time::ZERO + spec().turnaround, &mut done);
    for id in 0..tags {
        drive.take_back(drive.now(), id);
    }
    let ids: Vec<u64> = drain(&mut drive).iter().map(|command| command.id).collect();
    assert_eq!(ids.len(), 2, "one was under way, and one had waited for a tag: {ids:?}");
    assert_eq!(ids[1], tags);
}

/// 64 MiB in one command, from the outermost track and to the innermost: the rate is the zone's, less what a head switch takes
/// of each turn, and the access before it takes at most 30 ms of the 0.25 to 0.5 seconds.
#[test]
fn long_transfers_run_at_the_rate_of_their_zone() {
    let spec = spec();
    let length = Bytes::from_mib(64);
    let check = |offset: u64, rate: Bytes| {
        let request = Request { offset, length, ..read(0, PLAIN) };
        let (_, took) = alone(&mut Hdd::new(spec.clone(), 1), &request);
        let expected = length.get() as f64 / rate.get() as f64;
        let switches = spec.head_switch.as_secs_f64() / spec.turn().as_secs_f64();
        let slowest = expected * (1.0 + switches) * 1.01 + 0.03;
        assert!((expected..slowest).contains(&took.as_secs_f64()), "{took}, not {expected} s");
    };
    check(0, spec.outer_rate);
    check(spec.capacity().get() - length.get(), spec.inner_rate);
}

/// High priority goes first, and costs no more than it may: at 2 % the low class keeps more of the drive than at 20 %.
#[test]
fn high_priority_goes_first_within_its_bound() {
    let rates = [2, 20].map(|loss_percent| {
        let mut drive = Hdd::new(spec(), 1);
        drive.set_feature(Feature::NcqPriority { loss_percent });
        let run = run(drive, &Load { depth: 32, shares: vec![(HIGH, 20)], seconds: 60 }, 3);
        assert!(run.mean(1) < run.mean(0), "{} {}", run.mean(1), run.mean(0));
        (run.iops_total(), run.mean(1))
    });
    let [(tight, slow), (loose, fast)] = rates;
    assert!(tight > loose && fast < slow, "{rates:?}");
    let fair = run(Hdd::new(spec(), 1), &Load { depth: 32, shares: vec![], seconds: 60 }, 3);
    // 2 % is what may be lost by single choices; what a choice does to later ones is not in the account.
    assert!(tight > fair.iops_total() * 0.94, "{tight} of {}", fair.iops_total());
}
