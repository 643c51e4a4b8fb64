//! Faults of the field's mClock that Loadline's own mode must not have, one test each, opened by its story.

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, LimitPolicy, LoadlineConfig, MClock, Params, Phase, Refusal,
    Request, Scheduler, Take, Taken, WaitCause,
};
use std::collections::BTreeMap;

const START: Time = Time::from_secs(1_000);

fn params(r: f64, w: f64, l: f64) -> Params {
    Params::new(r, w, l).unwrap()
}

fn shared(r: f64, w: f64, l: f64) -> Lane {
    Lane::Shared(params(r, w, l))
}

/// A scheduler with one client per class; class and flow have the same number.
fn scheduler(lanes: &[Lane]) -> MClock<u32> {
    let mut scheduler = MClock::loadline(LoadlineConfig::default(), lanes);
    for class in 0..lanes.len() {
        let flow = scheduler.flow(START, class.into(), ClientKey(0));
        assert_eq!(usize::from(flow), class);
    }
    scheduler
}

fn add(scheduler: &mut MClock<u32>, now: Time, flow: u32, cost: u32, count: usize) {
    for _ in 0..count {
        scheduler.enqueue(now, Request::new(FlowId::new(flow), cost, flow)).unwrap();
    }
}

fn take(scheduler: &mut MClock<u32>, now: Time) -> Taken<u32> {
    match scheduler.take(now) {
        Take::Ready(taken) => taken,
        other => panic!("expected a request at {now}, got {other:?}"),
    }
}

/// The promise of `NotBefore(t)`: `t` lies ahead, nothing runs a nanosecond earlier, something does at `t`. Later times
/// are tried on copies, since a scheduler's time never runs backwards.
fn wait(scheduler: &mut MClock<u32>, now: Time) -> Time {
    let Take::NotBefore(time) = scheduler.take(now) else { panic!("something runs at {now}") };
    assert!(time > now);
    assert_eq!(scheduler.earliest(now), Some(time));
    assert_eq!(scheduler.clone().take(time - Span::from_nanos(1)), Take::NotBefore(time));
    assert!(matches!(scheduler.clone().take(time), Take::Ready(_)));
    time
}

/// Serves `count` requests, each at once, and counts them by class.
fn serve_now(scheduler: &mut MClock<u32>, now: Time, count: usize) -> BTreeMap<u32, u64> {
    let mut served = BTreeMap::new();
    for _ in 0..count {
        *served.entry(take(scheduler, now).class.get()).or_default() += 1;
    }
    served
}

/// The library's next-ready time named the limit of a client without weight, or the tag of a client that was gone:
/// the caller woke, found nothing, and was told the same time again, which lay in the past by then. It spun.
#[test]
fn the_next_time_is_ahead_and_something_runs_then() {
    // Without weight: the limit (1 s) passes unused, the reservation (2 s) counts.
    let mut only_reserved = scheduler(&[shared(0.5, 0.0, 1.0)]);
    add(&mut only_reserved, START, 0, 1, 2);
    take(&mut only_reserved, START);
    let time = wait(&mut only_reserved, START);
    assert_eq!(time, START + Span::from_secs(2));
    assert_eq!(take(&mut only_reserved, time).phase, Phase::Reservation);

    // Without reservation: the limit.
    let mut only_weighted = scheduler(&[shared(0.0, 1.0, 3.0)]);
    add(&mut only_weighted, START, 0, 1, 2);
    take(&mut only_weighted, START);
    let time = wait(&mut only_weighted, START);
    assert_eq!(time, START + Span::from_nanos(333_333_334), "a third of a second, rounded up");
    assert_eq!(take(&mut only_weighted, time).phase, Phase::Weight);

    // After a removal: the class that would have been first is gone, the other one's time is named.
    let mut two = scheduler(&[shared(0.0, 1.0, 2.0), shared(0.0, 1.0, 1.0)]);
    add(&mut two, START, 0, 1, 2);
    add(&mut two, START, 1, 1, 2);
    serve_now(&mut two, START, 2);
    assert_eq!(wait(&mut two, START), START + Span::from_millis(500));
    two.remove_class(START, ClassId::new(0), &mut Vec::new());
    assert_eq!(wait(&mut two, START), START + Span::from_secs(1));

    // After a change: twice the limit, half the wait.
    two.set_params(START, ClassId::new(1), params(0.0, 1.0, 2.0));
    let time = wait(&mut two, START);
    assert_eq!(time, START + Span::from_millis(500));
    take(&mut two, time);
    assert_eq!(two.take(time), Take::Empty);
}

/// Tags were computed once per request and kept: raising a limit left the waiting head where the old limit had put it,
/// for hours with a small one, and lowering it let the head through. A change must reach what waits.
#[test]
fn a_new_limit_reaches_the_waiting_head() {
    let mut raised = scheduler(&[shared(0.0, 1.0, 1.0 / 4096.0)]);
    add(&mut raised, START, 0, 1, 2);
    take(&mut raised, START);
    assert_eq!(wait(&mut raised, START), START + Span::from_secs(4096));
    raised.set_params(START, ClassId::new(0), params(0.0, 1.0, 10.0));
    assert_eq!(wait(&mut raised, START), START + Span::from_millis(100));

    let mut lowered = scheduler(&[shared(0.0, 1.0, 1000.0)]);
    add(&mut lowered, START, 0, 1, 2);
    take(&mut lowered, START);
    lowered.set_params(START, ClassId::new(0), params(0.0, 1.0, 0.1));
    assert_eq!(wait(&mut lowered, START), START + Span::from_secs(10));
}

/// A cleaning pass erased a record that had been quiet for ten minutes although requests waited in it (its limit was
/// low): they were lost. Nothing is erased here, and a closed flow hands its requests back.
#[test]
fn requests_wait_for_hours_and_are_not_lost() {
    let mut scheduler = scheduler(&[shared(0.0, 1.0, 0.0005), shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, 1, 3);
    take(&mut scheduler, START);
    let mut now = START;
    for _ in 0..1_500 {
        now += Span::from_secs(1);
        add(&mut scheduler, now, 1, 1, 1);
        assert_eq!(take(&mut scheduler, now).class, ClassId::new(1));
    }
    let time = wait(&mut scheduler, now);
    assert_eq!(time, START + Span::from_secs(2_000));
    take(&mut scheduler, time);
    let mut removed = Vec::new();
    scheduler.close_flow(time, FlowId::new(0), &mut removed);
    assert_eq!((removed, scheduler.len()), (vec![0], 0));
    let again = scheduler.enqueue(time, Request::new(FlowId::new(0), 1, 0));
    assert_eq!(again.unwrap_err().refusal, Refusal::UnknownFlow);
}

/// Weighted tags were a ledger of all past service. After 20,000 services of A alone, B came back and took everything
/// up to its limit for 25,000 services; after a longer absence it was flagged idle and got none of 10,000 instead.
///
/// Start-time fairness: B starts where A is, so in any stretch both being backlogged differ by one request each.
#[test]
fn a_returning_client_neither_takes_nor_loses_share() {
    for away in [Span::from_secs(1), Span::from_secs(400), Span::from_secs(7_200)] {
        let mut scheduler = scheduler(&[shared(0.0, 1.0, 0.0), shared(0.0, 1.0, 0.0)]);
        // B has a past of its own, then is away while A is served.
        add(&mut scheduler, START, 1, 58_525, 10_000);
        serve_now(&mut scheduler, START, 10_000);
        add(&mut scheduler, START, 0, 58_525, 40_000);
        serve_now(&mut scheduler, START, 20_000);
        let back = START + away;
        add(&mut scheduler, back, 1, 58_525, 20_000);
        for stretch in 0..10 {
            let served = serve_now(&mut scheduler, back, 1_000);
            let (a, b) = (served[&0], served[&1]);
            assert!(a.abs_diff(b) <= 2, "{away} away, stretch {stretch}: {a} and {b}");
        }
    }
}

/// The same between the clients of one class, and for one that never was there before.
#[test]
fn a_newcomer_among_clients_gets_its_share_from_the_start() {
    let mut scheduler = scheduler(&[shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, 4_096, 30_000);
    serve_now(&mut scheduler, START, 10_000);
    let newcomer = scheduler.flow(START, ClassId::new(0), ClientKey(7));
    add(&mut scheduler, START, newcomer.get(), 4_096, 10_000);
    let of_newcomer = (0..1_000).filter(|_| take(&mut scheduler, START).flow == newcomer).count();
    assert!(of_newcomer.abs_diff(500) <= 1, "{of_newcomer} of 1000");
}

/// Work done by reservation was charged to the weight's ledger as well, so that a class served by a large
/// reservation had no weighted share left for as long as it had been served. Its start may be one request ahead.
#[test]
fn reservation_work_leaves_the_weighted_share() {
    let mut scheduler = scheduler(&[shared(1_000.0, 1.0, 0.0), shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, 1, 40_000);
    let mut now = START;
    for _ in 0..10_000 {
        assert_eq!(take(&mut scheduler, now).phase, Phase::Reservation);
        now += Span::from_millis(1);
    }
    // The reservation stops; only weights count, and both are equal.
    scheduler.set_params(now, ClassId::new(0), params(0.0, 1.0, 0.0));
    add(&mut scheduler, now, 1, 1, 5_000);
    let served = serve_now(&mut scheduler, now, 1_000);
    assert!(served[&0].abs_diff(served[&1]) <= 2, "{served:?}");
}

/// Removing the waiting head gave the next request a tag without the limit's spacing: a client that kept cancelling
/// its head was served at any rate it liked.
#[test]
fn removing_the_head_does_not_let_the_next_pass_the_limit() {
    let mut scheduler = MClock::loadline(LoadlineConfig::default(), &[shared(0.0, 1.0, 10.0)]);
    let flow = scheduler.flow(START, ClassId::new(0), ClientKey(0));
    let mut next = 0u64;
    let mut add = |scheduler: &mut MClock<u64>, now| {
        next += 1;
        scheduler.enqueue(now, Request::new(flow, 1, next)).unwrap();
    };
    (0..3).for_each(|_| add(&mut scheduler, START));
    let (mut now, mut served) = (START, 0);
    let end = START + Span::from_secs(10);
    while now < end {
        match scheduler.take(now) {
            Take::Ready(_) => {
                served += 1;
                add(&mut scheduler, now);
            }
            Take::NotBefore(_) => {
                // Cancel the head, add one behind, try again a millisecond later.
                let mut head = true;
                let mut removed = Vec::new();
                scheduler.remove_where(now, &mut |_| std::mem::take(&mut head), &mut removed);
                assert_eq!(removed.len(), 1);
                add(&mut scheduler, now);
                now += Span::from_millis(1);
            }
            Take::Empty => unreachable!("three always wait"),
        }
    }
    // Tags at START, then every 100 ms up to and without 10 s; a successor that arrives after its predecessor's tag
    // has its own arrival as tag, so each may be late by the millisecond between two tries: 10 s / 101 ms = 99.
    assert!((99..=100).contains(&served), "{served} in 10 s at 10/s");
}

/// Nanoseconds were the unit of tags, and 1/r was rounded to it: at 3 million per second the interval became 333 ns
/// (0.1 % too fast), above a billion it became 0 and the rate had no effect.
#[test]
fn millions_per_second_keep_their_rate() {
    for (rate, most) in [(3e6, 300_000u64), (7e8, 7_000_000), (1e10, 10_000_000)] {
        let mut scheduler = scheduler(&[shared(0.0, 1.0, rate)]);
        let (mut now, mut served) = (START, 0);
        add(&mut scheduler, START, 0, 1, 2);
        while served < most {
            match scheduler.take(now) {
                Take::Ready(_) => {
                    served += 1;
                    add(&mut scheduler, START, 0, 1, 1);
                }
                Take::NotBefore(time) => now = time,
                Take::Empty => unreachable!("two always wait"),
            }
        }
        // The last tag is (most - 1)/rate; the clock is at it, rounded up to 1 ns. A tick is 2^-10 ns, and each
        // interval is short by less than one: 0.4 % of it at 10^10 per second, where it is 102.4 ticks long.
        let exact = (most - 1) as f64 / rate * 1e9;
        let short = most as f64 / 1024.0;
        let passed = now.since(START).nanos() as f64;
        assert!(passed >= exact - short && passed <= exact + 1.0, "{rate}: {passed} {exact}");
    }
}

/// Very slow and very fast, very cheap and very dear: no overflow, and the one tag that follows is right to 10^-6.
#[test]
fn extremes_neither_overflow_nor_lose_precision() {
    for (rate, cost) in [(1e-3, 1), (1e-3, 1_000), (1.0, u32::MAX), (1e10, u32::MAX), (1e10, 1)] {
        let mut scheduler = scheduler(&[shared(rate, 0.0, 0.0)]);
        add(&mut scheduler, START, 0, cost, 2);
        take(&mut scheduler, START);
        let exact = f64::from(cost) / rate * 1e9;
        let passed = wait(&mut scheduler, START).since(START).nanos() as f64;
        assert!((passed - exact).abs() <= exact * 1e-6 + 1.0, "{rate} {cost}: {passed} {exact}");
    }
    // 136,000 years lie beyond the clock: the end of time is named, and others are served meanwhile.
    let mut scheduler = scheduler(&[shared(1e-3, 0.0, 0.0), shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, u32::MAX, 2);
    take(&mut scheduler, START);
    assert_eq!(scheduler.take(START), Take::NotBefore(Time::MAX));
    add(&mut scheduler, START, 1, u32::MAX, 1);
    assert_eq!(take(&mut scheduler, START).class, ClassId::new(1));
}

/// Weights worked only while 1/w was above the clock's resolution and below the ledger's: 1000:3000 did not act as 1:3.
///
/// Start tags of backlogged classes stay within one request of each other, so of n services a class with share s
/// gets s*n within one request of each class: 2.
#[test]
fn only_the_ratio_of_weights_counts() {
    for unit in [1.0, 1_000.0, 1e-3, 1e-9, 1e9, 1e15, 2.5e-7] {
        let lanes =
            [shared(0.0, unit, 0.0), shared(0.0, 3.0 * unit, 0.0), shared(0.0, 0.5 * unit, 0.0)];
        let mut scheduler = scheduler(&lanes);
        (0..3).for_each(|flow| add(&mut scheduler, START, flow, 4_096, 9_000));
        let served = serve_now(&mut scheduler, START, 9_000);
        for (class, share) in [(0, 2_000), (1, 6_000), (2, 1_000)] {
            assert!(served[&class].abs_diff(share) <= 2, "unit {unit}: {served:?}");
        }
    }
}

/// A join walked all clients to find the least ledger. Here it costs one heap insertion; told by what a join changes:
/// nothing of the others, and the newcomer is in order at once.
#[test]
fn a_class_joins_among_many_without_touching_them() {
    let lanes = vec![shared(0.0, 1.0, 0.0); 1_000];
    let mut scheduler = scheduler(&lanes);
    (0..1_000).for_each(|flow| add(&mut scheduler, START, flow, 1, 3));
    serve_now(&mut scheduler, START, 1_500);
    let joined = scheduler.add_class(shared(0.0, 1.0, 0.0));
    let flow = scheduler.flow(START, joined, ClientKey(0));
    let before = scheduler.waiting(START);
    add(&mut scheduler, START, flow.get(), 1, 1);
    let after = scheduler.waiting(START);
    assert_eq!(before, after[..before.len()]);
    // Its start is virtual time, 1: at a tie with the 500 that were served once, it is the last by number.
    let place = (1..).find(|_| take(&mut scheduler, START).class == joined);
    assert_eq!(place, Some(501));
}

/// With everything at its limit, each arrival woke the server, which looked at every client and slept again.
/// An arrival behind others changes nothing: the same time stands.
#[test]
fn arrivals_do_not_wake_a_limited_server() {
    let mut scheduler = scheduler(&[shared(0.0, 1.0, 1.0), shared(0.0, 1.0, 2.0)]);
    (0..2).for_each(|flow| add(&mut scheduler, START, flow, 1, 2));
    serve_now(&mut scheduler, START, 2);
    let time = wait(&mut scheduler, START);
    let occupancy = scheduler.occupancy();
    for _ in 0..100 {
        add(&mut scheduler, START, 0, 1, 1);
        add(&mut scheduler, START, 1, 1, 1);
        assert_eq!(scheduler.earliest(START), Some(time));
    }
    let after = scheduler.occupancy();
    assert_eq!((after.limited, after.weighted), (occupancy.limited, occupancy.weighted));
    assert_eq!(take(&mut scheduler, time).class, ClassId::new(1));
}

/// Strict work (peering, say) starved everything else for as long as it lasted.
#[test]
fn strict_work_lets_one_request_through_per_run() {
    let config = LoadlineConfig { strict_run_max: Some(8), strict_priority: Some(196) };
    let lanes = [Lane::Strict, shared(0.0, 1.0, 0.0)];
    let mut scheduler: MClock<u32> = MClock::loadline(config, &lanes);
    let strict = scheduler.flow(START, ClassId::new(0), ClientKey(0));
    let client = scheduler.flow(START, ClassId::new(1), ClientKey(0));
    add(&mut scheduler, START, strict.get(), 1, 20);
    let urgent = Request { priority: 196, ..Request::new(client, 1, 1) };
    scheduler.enqueue(START, urgent).unwrap();
    add(&mut scheduler, START, client.get(), 1, 20);
    let phases: Vec<Phase> = (0..27).map(|_| take(&mut scheduler, START).phase).collect();
    for (place, phase) in phases.iter().enumerate() {
        let expected = if place % 9 == 8 || place >= 23 { Phase::Weight } else { Phase::Strict };
        assert_eq!(*phase, expected, "place {place}");
    }
}

/// A class at its limit idled the device although nobody else wanted it, or was made to pay for the gift afterwards.
#[test]
fn work_conserving_classes_use_the_rest_and_are_not_punished() {
    let lent = params(0.0, 1.0, 10.0).with_limit_policy(LimitPolicy::WorkConserving);
    let mut scheduler = scheduler(&[Lane::Shared(lent), shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, 1, 1_000);
    let alone: Vec<Phase> = (0..500).map(|_| take(&mut scheduler, START).phase).collect();
    assert_eq!(alone[0], Phase::Weight);
    assert!(alone[1..].iter().all(|phase| *phase == Phase::Spare));
    // Another class comes: now the limit holds, and it runs from the last service, not from the 500 lent ones.
    add(&mut scheduler, START, 1, 1, 1_000);
    let mut now = START;
    let mut served = BTreeMap::new();
    for _ in 0..1_000 {
        *served.entry(take(&mut scheduler, now).class.get()).or_insert(0u32) += 1;
        now += Span::from_millis(1);
    }
    // Due at 100, 200, .. 900 ms within the second; 9 in all, each at once.
    assert_eq!(served[&0], 9);
}

/// Reject answers on arrival, with the time at which the same request would be within the limit.
#[test]
fn rejecting_classes_name_the_time() {
    let rejecting = params(0.0, 1.0, 10.0).with_limit_policy(LimitPolicy::Reject);
    let mut scheduler = scheduler(&[Lane::Shared(rejecting)]);
    let request = |cost| Request::new(FlowId::new(0), cost, 0);
    scheduler.enqueue(START, request(1)).unwrap();
    let due = START + Span::from_millis(200);
    let refused = scheduler.enqueue(START, request(2)).unwrap_err();
    assert_eq!(refused.refusal, Refusal::OverLimit(due));
    scheduler.enqueue(due, request(2)).unwrap();
    assert_eq!(serve_now(&mut scheduler, due, 2)[&0], 2);
}

/// Reservations beyond the capacity are shared by their tags: each class falls behind by the same time.
#[test]
fn reservations_beyond_capacity_share_it_in_proportion() {
    // 100 + 300 reserved, 200 served per second: 50 and 150.
    let mut scheduler = scheduler(&[shared(100.0, 1.0, 0.0), shared(300.0, 1.0, 0.0)]);
    let mut now = START;
    let mut served = [0u32; 2];
    (0..2).for_each(|flow| add(&mut scheduler, now, flow, 1, 2));
    for _ in 0..2_000 {
        let taken = take(&mut scheduler, now);
        served[taken.class.get() as usize] += 1;
        add(&mut scheduler, START, taken.class.get(), 1, 1);
        now += Span::from_millis(5);
    }
    // 2000 services at ratio 1:3, within one request of each class.
    assert!(served[0].abs_diff(500) <= 2 && served[1].abs_diff(1_500) <= 2, "{served:?}");
}

/// A limit below the reservation does not touch the reservation (qos.md 2.8).
#[test]
fn the_reservation_ignores_the_limit() {
    let mut scheduler = scheduler(&[shared(100.0, 1.0, 10.0)]);
    add(&mut scheduler, START, 0, 1, 101);
    let mut now = START;
    take(&mut scheduler, now);
    for _ in 0..100 {
        now = wait(&mut scheduler, now);
        assert_eq!(take(&mut scheduler, now).phase, Phase::Reservation);
    }
    assert_eq!(now, START + Span::from_secs(1));
}

/// What was put back goes before all shared work and is charged once only.
#[test]
fn requeued_work_is_charged_once() {
    let mut scheduler = scheduler(&[shared(0.0, 1.0, 10.0), shared(0.0, 1.0, 0.0)]);
    add(&mut scheduler, START, 0, 1, 2);
    let taken = take(&mut scheduler, START);
    scheduler.enqueue_front(START, Request::new(taken.flow, taken.cost, taken.payload)).unwrap();
    add(&mut scheduler, START, 1, 1, 1);
    assert_eq!(take(&mut scheduler, START).phase, Phase::Requeued);
    assert_eq!(take(&mut scheduler, START).class, ClassId::new(1));
    assert_eq!(wait(&mut scheduler, START), START + Span::from_millis(100));
}

/// Each waiting request can say why it waits.
#[test]
fn every_wait_has_its_reason() {
    let lanes = [
        shared(10.0, 0.0, 0.0),
        shared(0.0, 1.0, 5.0),
        shared(0.0, 2.0, 0.0),
        shared(0.0, 1.0, 0.0),
    ];
    let mut scheduler = scheduler(&lanes);
    add(&mut scheduler, START, 0, 1, 2);
    add(&mut scheduler, START, 1, 1, 2);
    take(&mut scheduler, START);
    take(&mut scheduler, START);
    add(&mut scheduler, START, 2, 1, 2);
    add(&mut scheduler, START, 3, 1, 1);
    let other = scheduler.flow(START, ClassId::new(3), ClientKey(1));
    add(&mut scheduler, START, other.get(), 1, 1);
    let reasons: Vec<WaitCause> =
        scheduler.waiting(START).into_iter().map(|row| row.reason).collect();
    let expected = [
        WaitCause::ReservedAt(START + Span::from_millis(100)),
        WaitCause::LimitedUntil(START + Span::from_millis(200)),
        WaitCause::Next,
        WaitCause::BehindOwnFlow(1),
        WaitCause::BehindWeight(FlowId::new(2)),
        WaitCause::BehindClient(FlowId::new(3)),
    ];
    assert_eq!(reasons, expected);
}
