//! Tenants: a class that is divided shares what it is given by the same rule as the server does among classes.

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, LoadlineConfig, MClock, Params, PublishedConfig, Refusal,
    Request, Scheduler, Take, TenantError, TenantKey,
};
use std::num::NonZeroU32;

const START: Time = Time::from_secs(1_000);
const CLASS: ClassId = ClassId::new(0);
/// Its requests go to this server alone.
const HERE: NonZeroU32 = NonZeroU32::MIN;

fn params(r: f64, w: f64, l: f64) -> Params {
    Params::new(r, w, l).unwrap()
}

fn scheduler(lanes: &[Params]) -> MClock<u64> {
    let lanes: Vec<Lane> = lanes.iter().map(|params| Lane::Shared(*params)).collect();
    MClock::loadline(LoadlineConfig::default(), &lanes)
}

fn tenant(scheduler: &mut MClock<u64>, key: u64, params: Params) -> FlowId {
    scheduler.set_tenant(START, CLASS, TenantKey(key), params, HERE).unwrap();
    scheduler.tenant_flow(CLASS, TenantKey(key), ClientKey(0)).unwrap()
}

fn add(scheduler: &mut MClock<u64>, now: Time, flow: FlowId, count: usize) {
    (0..count).for_each(|_| scheduler.enqueue(now, Request::new(flow, 1, 0)).unwrap());
}

/// Services of each flow in `seconds` on a server of this many a second, each flow always with requests waiting.
fn serve(scheduler: &mut MClock<u64>, flows: &[FlowId], capacity: u64, seconds: u64) -> Vec<u64> {
    flows.iter().for_each(|flow| add(scheduler, START, *flow, 4));
    serve_on(scheduler, flows, capacity, (0, seconds))
}

/// The same from one second on to another one, of flows that have requests waiting.
fn serve_on(
    scheduler: &mut MClock<u64>,
    flows: &[FlowId],
    capacity: u64,
    (from, to): (u64, u64),
) -> Vec<u64> {
    let (mut now, mut served) = (START + Span::from_secs(from), vec![0; flows.len()]);
    while now < START + Span::from_secs(to) {
        match scheduler.take(now) {
            Take::Ready(taken) => {
                let at = flows.iter().position(|flow| *flow == taken.flow).unwrap();
                served[at] += 1;
                add(scheduler, now, taken.flow, 1);
                now += Span::from_nanos(1_000_000_000 / capacity);
            }
            Take::NotBefore(time) => {
                assert!(time > now);
                now = time;
            }
            Take::Empty => unreachable!("all have work"),
        }
    }
    served
}

/// Each within 1 % and the requests with which everybody starts.
fn check(served: &[u64], expected: &[u64]) {
    let near = |(got, want): (&u64, &u64)| got.abs_diff(*want) <= want / 100 + 8;
    assert!(served.iter().zip(expected).all(near), "observed {served:?}, expected {expected:?}");
}

#[test]
fn a_class_is_divided_by_floor_weight_and_cap() {
    // The class gets 1,500 of 2,000 by weight, its tenants 900, 300, 200 and 100 of it.
    let mut scheduler = scheduler(&[params(1_000.0, 3.0, 0.0), params(0.0, 1.0, 0.0)]);
    let flows = [
        tenant(&mut scheduler, 1, params(900.0, 1.0, 0.0)),
        tenant(&mut scheduler, 2, params(0.0, 3.0, 0.0)),
        tenant(&mut scheduler, 3, params(0.0, 9.0, 200.0)),
        tenant(&mut scheduler, 4, params(50.0, 1.0, 0.0)),
        scheduler.flow(START, ClassId::new(1), ClientKey(0)),
    ];
    let served = serve(&mut scheduler, &flows, 2_000, 10);
    check(&served, &[9_000, 3_000, 2_000, 1_000, 5_000]);
}

#[test]
fn clients_of_a_tenant_are_fair_and_the_rest_is_a_tenant() {
    let mut scheduler = scheduler(&[params(0.0, 1.0, 0.0)]);
    // Clients that were there before the class was divided belong to no tenant.
    let rest = [0, 1].map(|key| scheduler.flow(START, CLASS, ClientKey(key)));
    add(&mut scheduler, START, rest[1], 1);
    let first = tenant(&mut scheduler, 7, params(0.0, 2.0, 0.0));
    let second = scheduler.tenant_flow(CLASS, TenantKey(7), ClientKey(1)).unwrap();
    let late = scheduler.flow(START, CLASS, ClientKey(2));
    assert_eq!(scheduler.flow(START, CLASS, ClientKey(1)), rest[1]);
    assert_eq!(scheduler.tenant_flow(CLASS, TenantKey(8), ClientKey(0)), None);
    let flows = [first, second, rest[0], rest[1], late];
    let served = serve(&mut scheduler, &flows, 900, 10);
    check(&served, &[3_000, 3_000, 1_000, 1_000, 1_000]);
}

/// All tenants at their limits: the class waits, others do not, and it is back on time.
#[test]
fn a_class_whose_tenants_are_at_their_limits_sleeps() {
    let mut scheduler = scheduler(&[params(500.0, 1.0, 0.0), params(0.0, 1.0, 0.0)]);
    let flows = [
        tenant(&mut scheduler, 1, params(0.0, 1.0, 100.0)),
        tenant(&mut scheduler, 2, params(0.0, 1.0, 50.0)),
        scheduler.flow(START, ClassId::new(1), ClientKey(0)),
    ];
    let served = serve(&mut scheduler.clone(), &flows[..2], 1_000, 10);
    check(&served, &[1_000, 500]);
    let served = serve(&mut scheduler, &flows, 1_000, 10);
    check(&served, &[1_000, 500, 8_500]);
}

#[test]
fn a_burst_is_used_after_less_than_the_limit() {
    let mut scheduler = scheduler(&[params(0.0, 1.0, 0.0)]);
    let bursting = params(0.0, 1.0, 100.0).with_burst(Span::from_secs(2));
    let flow = tenant(&mut scheduler, 1, bursting);
    assert_eq!(scheduler.tenant_params(CLASS, TenantKey(1)), Some(bursting));
    add(&mut scheduler, START, flow, 1_000);
    let at_once = std::iter::repeat_with(|| scheduler.take(START))
        .take_while(|take| matches!(take, Take::Ready(_)))
        .count();
    assert_eq!(at_once, 200, "two seconds of the limit");
    assert_eq!(scheduler.take(START), Take::NotBefore(START + Span::from_millis(10)));
}

/// At half of what it is promised, but two at a time: the second waits for its promise, unless the first half was saved.
#[test]
fn what_is_saved_of_a_reservation_is_due_at_once() {
    let due_at_once = |saved: u64| {
        let mut scheduler = scheduler(&[params(1_000.0, 1.0, 0.0)]);
        let flow = tenant(&mut scheduler, 1, params(1_000.0, 1.0, 0.0));
        scheduler.save_reservations(CLASS, Span::from_millis(saved));
        for time in [START, START + Span::from_millis(50)] {
            add(&mut scheduler, time, flow, 8);
            let mut count = 0;
            while scheduler.promise_due_at(time, CLASS) == Some(time) {
                assert!(matches!(scheduler.take(time), Take::Ready(_)));
                count += 1;
            }
            // The rest goes by weight.
            while scheduler.take(time) != Take::Empty {}
            assert_eq!(count, saved.max(1), "at {time}, {saved} ms saved");
        }
    };
    due_at_once(0);
    due_at_once(1);
    due_at_once(3);
}

/// A tenant that had never had a reservation, or for long, or a tiny one, and was busy when it got one, was owed that for all the time before:
/// its first request was the most overdue of all, and 26 days of reservations were written off for everybody.
#[test]
fn a_reservation_that_begins_under_backlog_leaves_others_theirs() {
    for before in [0.0, 0.01] {
        let mut scheduler = scheduler(&[params(1_000.0, 1.0, 0.0)]);
        let flows = [
            tenant(&mut scheduler, 1, params(500.0, 1.0, 0.0)),
            tenant(&mut scheduler, 2, params(before, 99.0, 0.0)),
        ];
        let first = serve(&mut scheduler, &flows, 1_000, 50);
        check(&first, &[25_000, 25_000]);
        let then = START + Span::from_secs(50);
        scheduler
            .set_tenant(then, CLASS, TenantKey(2), params(100.0, 99.0, 0.0), HERE)
            .expect("there is enough");
        check(&serve_on(&mut scheduler, &flows, 1_000, (50, 60)), &[5_000, 5_000]);
        // And away, and back later.
        for (from, reservation) in [(60, 0.0), (160, 100.0)] {
            let then = START + Span::from_secs(from);
            let terms = params(reservation, 99.0, 0.0);
            scheduler.set_tenant(then, CLASS, TenantKey(2), terms, HERE).expect("there is enough");
            let served = serve_on(&mut scheduler, &flows, 1_000, (from, from + 100));
            check(&served, &[50_000, 50_000]);
        }
    }
}

#[test]
fn reservations_beyond_the_class_are_refused() {
    let mut scheduler = scheduler(&[params(1_000.0, 1.0, 0.0)]);
    let mut set =
        |key, r| scheduler.set_tenant(START, CLASS, TenantKey(key), params(r, 1.0, 0.0), HERE);
    assert_eq!(set(1, 600.0), Ok(()));
    let error = TenantError::ReservationsExceedClass { wanted: 500.0, left: 400.0 };
    assert_eq!(set(2, 500.0), Err(error));
    assert_eq!(set(2, 400.0), Ok(()));
    assert_eq!(set(1, 500.0), Ok(()), "its own reservation is replaced, not added to");
    assert_eq!(set(2, 500.0), Ok(()));
    let mut strict: MClock<u64> = MClock::loadline(LoadlineConfig::default(), &[Lane::Strict]);
    let refused = strict.set_tenant(START, CLASS, TenantKey(1), params(0.0, 1.0, 0.0), HERE);
    assert_eq!(refused, Err(TenantError::StrictClass));
    let lanes = [Lane::Shared(params(0.0, 1.0, 0.0))];
    let mut published: MClock<u64> = MClock::as_published(PublishedConfig::default(), &lanes);
    let refused = published.set_tenant(START, CLASS, TenantKey(1), params(0.0, 1.0, 0.0), HERE);
    assert_eq!(refused, Err(TenantError::NotInThisMode));
}

#[test]
fn a_tenant_leaves_with_its_requests_and_its_reservation() {
    let mut scheduler = scheduler(&[params(100.0, 1.0, 0.0)]);
    let stays = tenant(&mut scheduler, 1, params(0.0, 1.0, 0.0));
    add(&mut scheduler, START, stays, 1);
    for _ in 0..1_000 {
        let goes = tenant(&mut scheduler, 2, params(100.0, 1.0, 0.0));
        add(&mut scheduler, START, goes, 3);
        assert!(matches!(scheduler.take(START), Take::Ready(_)));
        let mut removed = Vec::new();
        scheduler.close_tenant(START, CLASS, TenantKey(2), &mut removed);
        scheduler.close_flow(START, stays, &mut Vec::new());
        assert!((2..=3).contains(&removed.len()));
        let refused = scheduler.enqueue(START, Request::new(goes, 1, 0)).unwrap_err();
        assert_eq!(refused.refusal, Refusal::UnknownFlow);
        assert_eq!(scheduler.len(), 0);
    }
    assert_eq!(scheduler.occupancy().records, 0);
    assert_eq!(scheduler.take(START), Take::Empty);
}

/// A tenant whose requests go to four servers in turns, beside another that is always there: it gets its reservation of all
/// together, no more than its limit, and the class is charged what it costs here.
#[test]
fn a_tenant_of_several_servers_has_its_terms_as_a_whole() {
    const SERVERS: usize = 4;
    let run = |terms: Params, beside: Params| {
        let servers = NonZeroU32::new(SERVERS as u32).unwrap();
        let mut each: Vec<_> = (0..SERVERS)
            .map(|_| {
                let lanes = [params(300.0, 1.0, 0.0), params(0.0, 1.0, 0.0)];
                let mut scheduler = scheduler(&lanes);
                scheduler.set_tenant(START, CLASS, TenantKey(1), terms, servers).unwrap();
                let own = scheduler.tenant_flow(CLASS, TenantKey(1), ClientKey(0)).unwrap();
                let flows = [own, tenant(&mut scheduler, 2, beside)];
                let other = scheduler.flow(START, ClassId::new(1), ClientKey(0));
                flows.iter().for_each(|flow| add(&mut scheduler, START, *flow, 8));
                add(&mut scheduler, START, other, 8);
                (scheduler, flows[0], 0)
            })
            .collect();
        let (mut served, mut whole) = ([0, 0, 0], 0);
        for step in 0..10_000 * SERVERS {
            // A thousand a second each.
            let now = START + Span::from_micros(1_000 * (step / SERVERS) as u64);
            let (scheduler, own, told) = &mut each[step % SERVERS];
            let Take::Ready(taken) = scheduler.take(now) else { continue };
            let mut next = Request::new(taken.flow, 1, 0);
            if taken.flow == *own {
                whole += 1;
                next.distributed.rho = whole - 1 - *told;
                *told = whole;
            }
            let party = usize::from(taken.class != CLASS) * 2;
            served[party.max(usize::from(party == 0 && taken.flow != *own))] += 1;
            scheduler.enqueue(now, next).unwrap();
        }
        served
    };
    // 4,000 a second, half of it the class's.
    check(&run(params(1_000.0, 1.0, 0.0), params(0.0, 99.0, 0.0)), &[10_000, 10_000, 20_000]);
    check(&run(params(0.0, 99.0, 400.0), params(0.0, 1.0, 0.0)), &[4_000, 16_000, 20_000]);
}

/// When the last tenant has gone the class is as it was: whoever is left in it keeps handle and place, and gets what the class gets.
#[test]
fn a_class_is_whole_again_when_its_last_tenant_goes() {
    let mut scheduler = scheduler(&[params(0.0, 3.0, 0.0), params(0.0, 1.0, 0.0)]);
    let rest = [0, 1].map(|key| scheduler.flow(START, CLASS, ClientKey(key)));
    let other = scheduler.flow(START, ClassId::new(1), ClientKey(0));
    let late = {
        tenant(&mut scheduler, 7, params(0.0, 9.0, 0.0));
        scheduler.flow(START, CLASS, ClientKey(2))
    };
    add(&mut scheduler, START, rest[1], 2);
    add(&mut scheduler, START, late, 1);
    let gone = scheduler.tenant_flow(CLASS, TenantKey(7), ClientKey(0)).unwrap();
    add(&mut scheduler, START, gone, 3);
    let mut removed = Vec::new();
    scheduler.close_tenant(START, CLASS, TenantKey(7), &mut removed);
    assert_eq!(removed.len(), 3);
    assert_eq!(scheduler.len(), 3);
    assert_eq!(scheduler.tenant_flow(CLASS, TenantKey(7), ClientKey(0)), None);
    let again = [0, 1, 2].map(|key| scheduler.flow(START, CLASS, ClientKey(key)));
    assert_eq!(again, [rest[0], rest[1], late]);
    let flows = [rest[0], rest[1], late, other];
    let served = serve(&mut scheduler, &flows, 1_200, 10);
    check(&served, &[3_000, 3_000, 3_000, 3_000]);
    // And divided once more.
    let first = tenant(&mut scheduler, 8, params(0.0, 1.0, 0.0));
    assert!(scheduler.enqueue(START, Request::new(first, 1, 0)).is_ok());
}

/// Many tenants that were busy once and are not now: nobody looks at them for each request of another. It took as long for one request as for
/// all of them together.
#[test]
fn idle_tenants_cost_nothing() {
    const TENANTS: u64 = 20_000;
    let mut scheduler = scheduler(&[params(1e6, 1.0, 0.0)]);
    let flows: Vec<FlowId> =
        (0..TENANTS).map(|key| tenant(&mut scheduler, key, params(1.0, 1.0, 0.0))).collect();
    let mut now = START;
    for round in 0..20 {
        for flow in &flows {
            add(&mut scheduler, now, *flow, 1);
            assert!(matches!(scheduler.take(now), Take::Ready(_)), "round {round}");
            now += Span::from_micros(1);
        }
    }
    let mut removed = Vec::new();
    (0..TENANTS).for_each(|key| scheduler.close_tenant(now, CLASS, TenantKey(key), &mut removed));
}

/// What counts against the limit alone leaves the promise as it is.
#[test]
fn what_was_served_elsewhere_beyond_the_promise_is_the_limits() {
    let mut scheduler = scheduler(&[params(500.0, 1.0, 0.0)]);
    let flow = tenant(&mut scheduler, 1, params(100.0, 1.0, 200.0));
    add(&mut scheduler, START, flow, 1);
    assert!(matches!(scheduler.take(START), Take::Ready(_)));
    // 300 elsewhere in a second: 100 of them were promised, and the limit is passed for half a second.
    let later = START + Span::from_secs(1);
    scheduler.served_elsewhere(later, CLASS, TenantKey(1), 200);
    let mut next = Request::new(flow, 1, 0);
    next.distributed.rho = 99;
    scheduler.enqueue(later, next).unwrap();
    assert_eq!(scheduler.promise_due_at(later, CLASS), Some(later));
    assert!(matches!(scheduler.take(later), Take::Ready(_)), "by its promise");
    add(&mut scheduler, later, flow, 2);
    let due = scheduler.promise_due_at(later, CLASS).expect("one waits");
    assert!(due > later && due <= later + Span::from_millis(11), "{due}");
    let soon = later + Span::from_millis(300);
    assert!(matches!(scheduler.take(soon), Take::Ready(_)), "the next by its promise, too");
}
