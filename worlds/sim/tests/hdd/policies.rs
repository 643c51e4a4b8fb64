//! What each policy does with a command whose time has run out, and what is counted.

use crate::closed_loop::{Load, PLAIN, Run, guideline, limited, published_drive, read, run};
use loadline_base::{Span, Time};
use loadline_device::cdl::{AllowedLoss, Descriptor, Limit, Limits, TimeoutPolicy, Unit};
use loadline_sim::hdd::{Ending, FinishedCommand, Hdd};

/// Half of a full queue under one descriptor, for twenty seconds.
fn under(descriptor: Descriptor) -> Run {
    let mut drive = published_drive(1);
    let mut limits =
        Limits { allowed_loss: AllowedLoss::from_code(0xc).unwrap(), ..Limits::default() };
    limits.descriptors[0] = descriptor;
    drive.set_limits(limits, limits);
    run(drive, &Load { depth: 32, shares: vec![(limited(1), 50)], seconds: 20 }, 3)
}

fn endings(run: &Run) -> Vec<Ending> {
    let mut all: Vec<Ending> = run.finished.iter().map(|answer| answer.outcome).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn inactive(time: u16, policy: TimeoutPolicy) -> Descriptor {
    let inactive = Limit { time, policy };
    Descriptor { unit: Unit::TenMilliseconds, inactive, ..Descriptor::default() }
}

fn active(time: u16, policy: TimeoutPolicy) -> Descriptor {
    let active = Limit { time, policy };
    Descriptor { unit: Unit::Microsecond, active, ..Descriptor::default() }
}

/// A full queue of half limited commands makes many of them wait longer than 60 ms; a command takes at least a
/// millisecond and mostly more than four.
#[test]
fn each_policy_ends_commands_in_its_own_way() {
    use Ending::{AbortedBefore, AbortedDuring, DataUnavailable, Good};
    let check = |descriptor, expected: &[Ending]| {
        let run = under(descriptor);
        assert_eq!(endings(&run), expected, "{descriptor:?}");
        let ended = run.finished.iter().filter(|answer| answer.outcome != Good).count() as u64;
        let counts = run.drive.statistics().reads[0];
        assert_eq!(counts.ended, ended, "{descriptor:?}");
        let missed = counts.either_missed + counts.guideline_missed;
        assert!(missed >= ended, "each had a time that ran out: {descriptor:?} {counts:?}");
    };
    check(guideline(6, TimeoutPolicy::CompleteEarliest), &[Good]);
    check(guideline(6, TimeoutPolicy::ContinueNextLimit), &[Good]);
    check(guideline(6, TimeoutPolicy::ContinueNoLimit), &[Good]);
    check(guideline(6, TimeoutPolicy::CompleteUnavailable), &[Good, DataUnavailable]);
    check(guideline(6, TimeoutPolicy::Abort), &[Good, AbortedBefore, AbortedDuring]);
    check(inactive(6, TimeoutPolicy::CompleteEarliest), &[Good]);
    check(inactive(6, TimeoutPolicy::CompleteUnavailable), &[Good, DataUnavailable]);
    check(inactive(6, TimeoutPolicy::Abort), &[Good, AbortedBefore]);
    check(active(4_000, TimeoutPolicy::CompleteEarliest), &[Good]);
    check(active(4_000, TimeoutPolicy::CompleteUnavailable), &[Good, DataUnavailable]);
    check(active(4_000, TimeoutPolicy::Abort), &[Good, AbortedDuring]);
    // Nothing is read again on this medium.
    check(active(4_000, TimeoutPolicy::AbortRecovery), &[Good]);
}

/// The clock of a limit starts half a turnaround after the submission, and the answer takes the other half.
#[test]
fn an_ended_command_is_answered_when_its_time_is_over() {
    for policy in [TimeoutPolicy::Abort, TimeoutPolicy::CompleteUnavailable] {
        let mut limits = Limits::default();
        limits.descriptors[0] = inactive(3, policy);
        let ended = last_of_twenty(limits);
        assert_ne!(ended.outcome, Ending::Good);
        assert_eq!(ended.at.since(Time::ZERO), Span::from_millis(30) + turnaround());
    }
}

/// What becomes of the last of twenty commands, the only one under descriptor 1, if nothing may be lost for it.
fn last_of_twenty(limits: Limits) -> FinishedCommand {
    let mut drive = published_drive(1);
    drive.set_limits(limits, limits);
    for id in 0..20 {
        let priority = if id == 19 { limited(1) } else { PLAIN };
        drive.submit(Time::ZERO, id, &read(id * 5_000_000, priority));
    }
    let answers = drain(&mut drive);
    *answers.iter().find(|answer| answer.id == 19).expect("it is answered")
}

fn turnaround() -> Span {
    published_drive(1).spec().turnaround
}

/// Without a timely answer to hope for, a command that goes on without limit waits as long as all others do.
#[test]
fn continuing_without_limit_takes_the_favour_away() {
    let favoured = under(guideline(6, TimeoutPolicy::CompleteEarliest));
    let given_up = under(guideline(6, TimeoutPolicy::ContinueNoLimit));
    let longer = under(guideline(6, TimeoutPolicy::ContinueNextLimit));
    assert!(favoured.percentile(1, 99.0) * 2 < given_up.percentile(1, 99.0));
    assert!(favoured.percentile(1, 99.0) * 2 < longer.percentile(1, 99.0), "none comes next");
}

/// A chain of guidelines ends a command when its last one does, or when that one is reached if it is shorter.
#[test]
fn the_next_guideline_counts_from_the_arrival_too() {
    for (first, second, ends_after) in [(3, 6, 60), (6, 3, 60)] {
        let mut limits = Limits::default();
        limits.descriptors[0] = guideline(first, TimeoutPolicy::ContinueNextLimit);
        limits.descriptors[1] = guideline(second, TimeoutPolicy::Abort);
        let ended = last_of_twenty(limits);
        assert_eq!(ended.outcome, Ending::AbortedBefore);
        let took = ended.at.since(Time::ZERO) - turnaround();
        assert_eq!(took, Span::from_millis(ends_after), "{first} {second}");
    }
}

#[test]
fn every_missed_time_is_counted() {
    let check = |descriptor, counted: [bool; 4]| {
        let counts = under(descriptor).drive.statistics().reads[0];
        let missed = [counts.inactive_missed, counts.active_missed, counts.either_missed];
        let missed = [missed[0], missed[1], missed[2], counts.guideline_missed];
        assert_eq!(missed.map(|count| count > 0), counted, "{descriptor:?}: {counts:?}");
        assert!(missed.iter().all(|count| *count < counts.commands), "{counts:?}");
    };
    check(guideline(6, TimeoutPolicy::CompleteEarliest), [false, false, false, true]);
    check(inactive(6, TimeoutPolicy::CompleteEarliest), [true, false, true, false]);
    check(active(4_000, TimeoutPolicy::CompleteEarliest), [false, true, true, false]);
}

/// Answers of everything that is in the drive.
pub(crate) fn drain(drive: &mut Hdd) -> Vec<FinishedCommand> {
    let mut done = Vec::new();
    while let Some(now) = drive.next_event() {
        drive.advance(now, &mut done);
    }
    done
}
