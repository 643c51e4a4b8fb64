//! Loads against a made-up server that answers when the test says.

use super::*;
use crate::Loads;
use loadline_base::{SlotId, Span};
use loadline_cluster::PoolId;
use loadline_osd::{OpDelay, OpId, OsdId, Reply};
use loadline_store::ObjectNo;

const MS: u64 = 1_000_000;

fn load(text: &str) -> Load {
    let spec: LoadSpec = toml::from_str(text).expect("the text is a load");
    let image =
        BlockImage { pool: PoolId::new(0), first: ObjectNo(0), objects: 4, object_bytes: 1 << 20 };
    Load::new(&spec, image, ClientId::new(0), 1)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn reply(load: &mut impl Workload, now: Time, issued: Issue, out: &mut Vec<Issue>) {
    let zero = Time::ZERO;
    let op = OpId { slot: SlotId::new(0), number: 0 };
    let reply = Reply {
        result: Ok(loadline_osd::Data::NONE),
        op,
        admitted: zero,
        dequeued: zero,
        executed: zero,
        committed: zero,
        replied: zero,
        answered: zero,
        delay: OpDelay::none(OsdId::new(0)),
    };
    load.replied(now, &OpDone { token: issued.token, issued: zero, reply }, out);
}

/// Wakes the load whenever it asks, until `end`; returns what it issued.
fn run_until(load: &mut impl Workload, end: Time) -> Vec<Issue> {
    let mut issued = Vec::new();
    while let Some(now) = load.next_wake().filter(|now| *now <= end) {
        load.woke(now, &mut issued);
    }
    issued
}

#[test]
fn a_closed_loop_keeps_its_depth() {
    let mut load = load("depth = 8\nblock = '4 KiB'\nimage = '4 MiB'");
    let mut out = Vec::new();
    load.start(at(5), &mut out);
    assert_eq!((out.len(), load.next_wake()), (8, None));
    assert!(out.iter().all(|issue| issue.token == 5 * MS));
    let first = out.remove(0);
    reply(&mut load, at(7), first, &mut out);
    assert_eq!((out.len(), out[7].token), (8, 7 * MS));
    load.stop();
    let second = out.remove(0);
    reply(&mut load, at(9), second, &mut out);
    assert_eq!(out.len(), 7, "a stopped load issues nothing more");
    let record = load.record(at(10));
    assert_eq!((record.latency.count(), record.latency.max_ns()), (2, 4 * MS));
}

/// 1000 ops per second for a second, while the server answers none; then it answers all at once. The op
/// intended at i ms took 1000 - i ms: the mean of 0..=999 is 499.5 ms, and the longest is 999 ms.
#[test]
fn an_open_loop_is_measured_from_the_intended_start() {
    let mut load = load("rate = 1000.0\narrivals = 'fixed'\nblock = '4 KiB'\nimage = '4 MiB'");
    let mut out = Vec::new();
    load.start(Time::ZERO, &mut out);
    let issued = run_until(&mut load, at(1000));
    assert_eq!((out.len(), issued.len()), (0, 1000));
    for issue in issued {
        reply(&mut load, at(1000), issue, &mut out);
    }
    let record = load.record(at(2000));
    assert_eq!((record.latency.mean_ns(), record.latency.max_ns()), (499.5e6, 999 * MS));
    assert_eq!((record.iops(), record.seconds.len(), record.seconds[1].count), (500.0, 2, 1000));
}

/// With one op in flight and 10 ms of service at 1000 ops per second, the n-th op (from 1) is intended at n
/// ms, sent at 1 + 10 (n - 1) ms and answered 10 ms later: its latency is 1 + 10 n - n ms, not 10.
#[test]
fn a_bound_on_what_is_in_flight_does_not_hide_the_wait() {
    let mut load =
        load("rate = 1000.0\ndepth = 1\narrivals = 'fixed'\nblock = '4 KiB'\nimage = '4 MiB'");
    let mut out = Vec::new();
    load.start(Time::ZERO, &mut out);
    let mut waiting = run_until(&mut load, at(1));
    for n in 1..=50u64 {
        let issue = waiting.pop().expect("one op is in flight");
        assert_eq!((issue.token, load.next_wake()), (n * MS, None));
        reply(&mut load, at(1 + 10 * n), issue, &mut waiting);
        assert_eq!(load.record(at(1 + 10 * n)).latency.max_ns(), (1 + 9 * n) * MS);
    }
}

/// A second at 10^9 ops per second took minutes and gigabytes before anybody was asked whether to go on. What has no room waits, and counts from when it should
/// have begun: the first op that waited, after 1 ms and an interval, is answered with the others at 100 ms.
#[test]
fn an_open_loop_that_nobody_serves_stays_within_its_bound() {
    let mut load = load("rate = 1e9\narrivals = 'fixed'\nblock = '4 KiB'\nimage = '4 MiB'");
    let mut out = Vec::new();
    load.start(Time::ZERO, &mut out);
    let mut issued = run_until(&mut load, at(100));
    assert_eq!((issued.len(), load.next_wake()), (1_000_000, None));
    let first = issued.remove(0);
    reply(&mut load, at(100), first, &mut out);
    assert_eq!((out.len(), out[0].token), (1, MS + 1));
}

/// 20,000 ops per second for 10 s: 200,000 arrivals with a standard deviation of sqrt(200000) = 447; five of
/// them are 2236.
#[test]
fn poisson_arrivals_reach_their_rate() {
    let mut load = load("rate = 20000.0\nblock = '4 KiB'\nimage = '4 MiB'");
    load.start(Time::ZERO, &mut Vec::new());
    let issued = run_until(&mut load, Time::from_secs(10)).len();
    assert!(issued.abs_diff(200_000) < 2_236, "{issued} arrivals");
}

#[test]
fn a_warm_up_is_forgotten_and_the_traced_ops_are_marked() {
    let mut load = load("depth = 1\nblock = '4 KiB'\nimage = '4 MiB'");
    load.trace(2..4);
    let mut out = Vec::new();
    load.start(Time::ZERO, &mut out);
    let mut traced = vec![out[0].target.traced];
    for ms in 1..=5 {
        let issue = out.pop().expect("one op is in flight");
        reply(&mut load, at(ms), issue, &mut out);
        traced.push(out[0].target.traced);
        if ms == 3 {
            load.measure_from(at(3));
        }
    }
    assert_eq!(traced, [false, false, true, true, false, false]);
    let record = load.record(at(5));
    assert_eq!((record.latency.count(), record.window), (2, Span::from_millis(2)));
}

/// Both ops take 5 ms, of which the primary has 2 ms of the first and, by its own clock, 6 ms of the second. Of the 1.5 s until the
/// record is taken, one second is whole.
#[test]
fn a_record_tells_what_was_outside_the_primary_by_whole_seconds() {
    let mut load = load("depth = 2\nblock = '4 KiB'\nimage = '4 MiB'");
    load.start(Time::ZERO, &mut Vec::new());
    for inside in [2, 6] {
        load.completed(at(5), 0, Span::from_millis(inside), &mut Vec::new());
    }
    let record = load.record(at(1500));
    assert_eq!((record.latency.mean_ns(), record.outside.mean_ns()), (5e6, 1.5e6));
    assert_eq!((record.outside.max_ns(), record.seconds.len()), (3 * MS, 1));
}

/// 1000 ops per second of a client beside 100 per second in the background, for 10 ms: ten ops and one. The client is answered at once
/// in the end, the other one 20 ms later.
#[test]
fn two_loads_beside_each_other_are_told_apart() {
    let open = |rate: u32| {
        load(&format!("rate = {rate}.0\narrivals = 'fixed'\nblock = '4 KiB'\nimage = '4 MiB'"))
    };
    let mut both = Loads::new([open(1000), open(100).in_background()]);
    let mut out = Vec::new();
    both.start(Time::ZERO, &mut out);
    assert_eq!(both.next_wake(), Some(at(1)), "the client is first");
    let issued = run_until(&mut both, at(10));
    both.stop();
    assert_eq!((out.len(), both.next_wake()), (0, None));
    let (background, client): (Vec<Issue>, Vec<Issue>) =
        issued.into_iter().partition(|issue| issue.target.background);
    assert_eq!((client.len(), background.len()), (10, 1));
    client.into_iter().for_each(|issue| reply(&mut both, at(10), issue, &mut out));
    background.into_iter().for_each(|issue| reply(&mut both, at(30), issue, &mut out));
    let records = both.records(at(30));
    let [client, background] = records.as_slice() else { panic!("two loads have two records") };
    assert_eq!((client.latency.count(), client.latency.max_ns()), (10, 9 * MS));
    assert_eq!((background.latency.count(), background.latency.max_ns()), (1, 20 * MS));
}
