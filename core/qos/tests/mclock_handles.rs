//! Handles, classes and flows that come and go, in both modes.

use loadline_base::{Span, Time};
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, LimitPolicy, LoadlineConfig, MClock, Params, Phase,
    PublishedConfig, Refusal, Request, Scheduler, Take, TenantKey,
};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};

const START: Time = Time::from_secs(1_000);

fn shared(r: f64, w: f64, l: f64) -> Params {
    Params::new(r, w, l).unwrap()
}

fn both(lanes: &[Lane]) -> [MClock<u64>; 2] {
    [
        MClock::loadline(LoadlineConfig::default(), lanes),
        MClock::as_published(PublishedConfig::default(), lanes),
    ]
}

fn refusal(scheduler: &mut MClock<u64>, flow: FlowId, cost: u32) -> Option<Refusal> {
    let refused = scheduler.enqueue(START, Request::new(flow, cost, 0));
    refused.err().map(|refused| refused.refusal)
}

/// The number of a closed flow was given out again, and its old handle reached the new client's queue.
#[test]
fn the_handle_of_a_closed_flow_is_refused_for_good() {
    for mut scheduler in both(&[Lane::Shared(shared(0.0, 1.0, 0.0))]) {
        let class = ClassId::new(0);
        let old = scheduler.flow(START, class, ClientKey(1));
        scheduler.close_flow(START, old, &mut Vec::new());
        let new = scheduler.flow(START, class, ClientKey(2));
        assert_eq!(new.get(), old.get(), "the number is used again");
        assert_eq!(refusal(&mut scheduler, old, 1), Some(Refusal::UnknownFlow));
        scheduler.close_flow(START, old, &mut Vec::new());
        assert_eq!(
            refusal(&mut scheduler, new, 1),
            None,
            "closing the old handle again does nothing"
        );
        let Take::Ready(taken) = scheduler.take(START) else { panic!("it waits") };
        assert_eq!(taken.flow, new);
        let back = scheduler.enqueue_front(START, Request::new(old, 1, 0));
        assert_eq!(back.unwrap_err().refusal, Refusal::UnknownFlow);
    }
}

/// A request of cost 0 moved no tag, so its class was served for ever.
#[test]
fn cost_0_is_refused_where_costs_are_charged() {
    for mut scheduler in both(&[Lane::Shared(shared(0.0, 1.0, 0.0)), Lane::Strict]) {
        let free = scheduler.flow(START, ClassId::new(0), ClientKey(0));
        assert_eq!(refusal(&mut scheduler, free, 0), Some(Refusal::NoCost));
        let strict = scheduler.flow(START, ClassId::new(1), ClientKey(0));
        assert_eq!(refusal(&mut scheduler, strict, 0), None);
    }
}

/// Classes could only be added: a class for each client grew the table for ever.
#[test]
fn a_hundred_thousand_classes_and_flows_leave_nothing_behind() {
    for mut scheduler in both(&[Lane::Shared(shared(0.0, 1.0, 0.0))]) {
        let stays = scheduler.flow(START, ClassId::new(0), ClientKey(0));
        let mut now = START;
        let (mut classes_most, mut flows_most) = (0, 0);
        for key in 0..100_000 {
            let class = scheduler.add_class(Lane::Shared(shared(10.0, 2.0, 1e5)));
            let flow = scheduler.flow(now, class, ClientKey(key));
            let several = scheduler.flow(now, ClassId::new(0), ClientKey(key + 1));
            for flow in [stays, flow, several] {
                scheduler.enqueue(now, Request::new(flow, 1, key)).unwrap();
            }
            if key % 2 == 0 {
                (0..2).for_each(|_| assert!(matches!(scheduler.take(now), Take::Ready(_))));
            }
            let mut removed = Vec::new();
            scheduler.close_flow(now, several, &mut removed);
            scheduler.close_class(now, class, &mut removed);
            scheduler.remove_class(now, ClassId::new(0), &mut removed);
            assert_eq!((removed.len(), scheduler.len()), (if key % 2 == 0 { 1 } else { 3 }, 0));
            (classes_most, flows_most) =
                (class.get().max(classes_most), flow.get().max(several.get()).max(flows_most));
            now += Span::from_micros(100);
        }
        assert!(classes_most <= 16 && flows_most <= 16, "{classes_most} {flows_most}");
        let left = scheduler.occupancy();
        let entries = left.reserved + left.weighted + left.limited;
        assert!(left.records == 1 && entries <= 256, "{left:?}");
    }
}

/// A class that was closed twice gave its row to two others, which shared one queue from then on; a flow of it, or a tenant, opened it again
/// behind the back of whoever got the row next.
#[test]
fn a_closed_class_is_not_in_the_class_table() {
    type Call = fn(&mut MClock<u64>, ClassId);
    let terms = || shared(0.0, 1.0, 0.0);
    let calls: [(&str, Call); 5] = [
        ("close_class", |scheduler, class| scheduler.close_class(START, class, &mut Vec::new())),
        ("flow", |scheduler, class| {
            scheduler.flow(START, class, ClientKey(0));
        }),
        ("set_params", |scheduler, class| {
            scheduler.set_params(START, class, shared(1.0, 1.0, 0.0));
        }),
        ("params", |scheduler, class| {
            scheduler.params(class);
        }),
        ("set_tenant", |scheduler, class| {
            let (key, terms) = (TenantKey(0), shared(0.0, 1.0, 0.0));
            let _ = scheduler.set_tenant(START, class, key, terms, NonZeroU32::MIN);
        }),
    ];
    for (call, carry_out) in calls {
        for (mode, mut scheduler) in both(&[Lane::Shared(terms())]).into_iter().enumerate() {
            let class = scheduler.add_class(Lane::Shared(terms()));
            scheduler.flow(START, class, ClientKey(0));
            scheduler.close_class(START, class, &mut Vec::new());
            if (call, mode) == ("set_tenant", 1) {
                // The published mode has none, whatever the class.
                continue;
            }
            let ended = catch_unwind(AssertUnwindSafe(|| carry_out(&mut scheduler, class)));
            let told = ended.expect_err(call).downcast::<String>().expect("it says why");
            assert!(told.ends_with("is not in the class table"), "{call}: {told}");
        }
    }
}

/// Rows of closed classes that had used what nobody else wanted were never used again while another class had work: nobody came to their
/// entries among those who wait for that.
#[test]
fn closed_classes_that_ran_on_the_rest_leave_nothing_behind() {
    let lanes = [Lane::Shared(shared(0.0, 1.0, 0.0))];
    let mut scheduler = MClock::loadline(LoadlineConfig::default(), &lanes);
    let stays = scheduler.flow(START, ClassId::new(0), ClientKey(0));
    scheduler.enqueue(START, Request::new(stays, 1, 0)).unwrap();
    let mut classes_most = 0;
    for key in 0..10_000 {
        let now = START + Span::from_micros(key);
        // By its limit, or by its reservation alone.
        let terms = if key % 2 == 0 { shared(0.0, 1.0, 1.0) } else { shared(1.0, 0.0, 0.0) };
        let conserving = terms.with_limit_policy(LimitPolicy::WorkConserving);
        let class = scheduler.add_class(Lane::Shared(conserving));
        let flow = scheduler.flow(now, class, ClientKey(key));
        scheduler.enqueue(now, Request::new(stays, 1, key)).unwrap();
        (0..2).for_each(|_| scheduler.enqueue(now, Request::new(flow, 1, key)).unwrap());
        (0..2).for_each(|_| assert!(matches!(scheduler.take(now), Take::Ready(_))));
        scheduler.close_class(now, class, &mut Vec::new());
        classes_most = class.get().max(classes_most);
    }
    assert!(classes_most <= 200, "{classes_most}");
    let left = scheduler.occupancy();
    assert!(left.records == 1 && left.reserved + left.weighted + left.limited <= 600, "{left:?}");
}

/// A class with a reservation and no weight never ran on what nobody else wanted, whatever its policy.
#[test]
fn work_conserving_holds_without_weight() {
    let conserving = |r| shared(r, 0.0, 0.0).with_limit_policy(LimitPolicy::WorkConserving);
    let lanes = [Lane::Shared(conserving(100.0)), Lane::Shared(conserving(300.0))];
    let mut scheduler = MClock::loadline(LoadlineConfig::default(), &lanes);
    let flows = [0, 1].map(|class| scheduler.flow(START, ClassId::new(class), ClientKey(0)));
    for flow in flows {
        (0..1_000).for_each(|_| scheduler.enqueue(START, Request::new(flow, 1, 0)).unwrap());
    }
    let mut served = [0u32; 2];
    for turn in 0..1_000 {
        let Take::Ready(taken) = scheduler.take(START) else { panic!("the server is idle") };
        let expected = if turn < 2 { Phase::Reservation } else { Phase::Spare };
        assert_eq!(taken.phase, expected);
        served[usize::from(taken.class)] += 1;
    }
    // By reservation: 1 to 3, within a request of each.
    assert!(served[1].abs_diff(750) <= 2, "{served:?}");
}

/// A joining record used to look at the ledgers of all others. What a join costs cannot be seen from here, but that it
/// finds the same least ledger can: the model of `mclock_model` searches. This is its scale: it takes a second, not hours.
#[test]
fn a_hundred_thousand_join_the_published_mode() {
    let mut scheduler: MClock<u64> =
        MClock::as_published(PublishedConfig::default(), &[Lane::Shared(shared(0.0, 1.0, 0.0))]);
    for key in 0..100_000 {
        let flow = scheduler.flow(START, ClassId::new(0), ClientKey(key));
        scheduler.enqueue(START, Request::new(flow, 1, key)).unwrap();
    }
    assert_eq!(scheduler.occupancy().weighted, 100_000);
}

#[test]
fn what_waits_of_one_class_is_what_waits_of_it_among_all() {
    let lanes = [
        Lane::Strict,
        Lane::Shared(shared(10.0, 1.0, 0.0)),
        Lane::Shared(shared(0.0, 2.0, 5.0)),
        Lane::Shared(shared(0.0, 1.0, 0.0)),
    ];
    for mut scheduler in both(&lanes) {
        for number in 0..40 {
            let class = ClassId::new(number as u32 % 3);
            let flow = scheduler.flow(START, class, ClientKey(number % 7));
            scheduler.enqueue(START, Request::new(flow, 1, number)).unwrap();
        }
        let all = scheduler.waiting(START);
        for class in (0..4).map(ClassId::new) {
            let mut of_class = all.clone();
            of_class.retain(|row| row.class == class);
            assert_eq!(of_class.is_empty(), class.get() == 3);
            assert_eq!(scheduler.waiting_of(START, class), of_class);
        }
    }
}
