//! WPQ's shares against the formula of qos.md 8: priority times (1 - 0.9 cost / largest cost).

use loadline_base::Time;
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, Params, Request, Scheduler, Take, WaitCause, Wpq,
};

const NOW: Time = Time::ZERO;
const DRAWS: u32 = 200_000;

/// A priority, the cost of each of its items, and its expected share.
type Row = (u32, u32, f64);

fn shared_lane() -> Vec<Lane> {
    vec![Lane::Shared(Params::new(1.0, 1.0, 0.0).unwrap())]
}

fn add(queue: &mut Wpq<usize>, flow: FlowId, (priority, cost): (u32, u32), row: usize) {
    let request = Request { priority, ..Request::new(flow, cost, row) };
    queue.enqueue(NOW, request).unwrap();
}

/// A queue whose largest cost ever is `cost_max`, with one item of each row.
fn contended(rows: &[Row], cost_max: u32) -> (Wpq<usize>, FlowId) {
    let mut queue = Wpq::new(&shared_lane(), 196, 42);
    let flow = queue.flow(NOW, ClassId::new(0), ClientKey(0));
    add(&mut queue, flow, (1, cost_max), 0);
    assert!(matches!(queue.take(NOW), Take::Ready(_)));
    for (row, (priority, cost, _)) in rows.iter().enumerate() {
        add(&mut queue, flow, (*priority, *cost), row);
    }
    (queue, flow)
}

/// Each served item is replaced at once, so that every draw sees the same heads. The count of a row with
/// probability p is binomial: its standard deviation is sqrt(DRAWS p (1 - p)), and five of them are allowed.
/// `rounding` is half a digit of the share as printed in the specification.
fn check(rows: &[Row], cost_max: u32, rounding: f64) {
    let (mut queue, flow) = contended(rows, cost_max);
    let product = |(priority, cost, _): &Row| {
        f64::from(*priority) * (1.0 - 0.9 * f64::from(*cost) / f64::from(cost_max))
    };
    let sum: f64 = rows.iter().map(product).sum();
    let mut counts = vec![0u32; rows.len()];
    for _ in 0..DRAWS {
        let Take::Ready(taken) = queue.take(NOW) else { panic!("something waits") };
        counts[taken.payload] += 1;
        add(&mut queue, flow, (taken.priority, taken.cost), taken.payload);
    }
    for (row, count) in rows.iter().zip(counts) {
        let share = product(row) / sum;
        let tolerance = 5.0 * (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
        let measured = f64::from(count) / f64::from(DRAWS);
        assert!((measured - share).abs() < tolerance, "{row:?}: {measured} is not {share}");
        assert!((share - row.2).abs() <= rounding, "{row:?}: {share} is not as printed");
    }
}

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// "Shares: 64.8 %, 32.2 %, 1.6 %, 1.4 %."
#[test]
fn the_worked_example() {
    let rows =
        [(127, 64 * KIB, 0.648), (63, 4 * KIB, 0.322), (5, 20 * MIB, 0.016), (3, 4 * MIB, 0.014)];
    check(&rows, 50 * MIB, 0.000_5);
}

/// "With a requested scrub (priority 120, 50 MiB): 5.8 % of dequeues."
#[test]
fn the_worked_example_with_a_requested_scrub() {
    let rows = [
        (127, 64 * KIB, 0.610),
        (120, 50 * MIB, 0.058),
        (63, 4 * KIB, 0.303),
        (5, 20 * MIB, 0.015),
        (3, 4 * MIB, 0.013),
    ];
    check(&rows, 50 * MIB, 0.000_5);
}

#[test]
fn equal_costs_leave_the_priorities() {
    check(&[(60, 1_000, 0.6), (40, 1_000, 0.4)], 1_000_000, 1e-9);
}

/// With three possible draws (0, 1, 2) the integer formula differs much from the real one: cost 3 of 3 has
/// slack 3 - 27/10 = 1 and is accepted by two draws of three; cost 0 by all. So 10 : 10 becomes 2 : 3.
#[test]
fn small_costs_show_the_integer_arithmetic() {
    let mut queue = Wpq::new(&shared_lane(), 196, 3);
    let flow = queue.flow(NOW, ClassId::new(0), ClientKey(0));
    for (row, pair) in [(11, 3), (10, 0)].into_iter().enumerate() {
        add(&mut queue, flow, pair, row);
    }
    let dear = 11.0 * 2.0 / (11.0 * 2.0 + 10.0 * 3.0);
    let chances: Vec<WaitCause> = queue.waiting(NOW).iter().map(|row| row.reason).collect();
    assert_eq!(chances, [WaitCause::Lottery(dear), WaitCause::Lottery(1.0 - dear)]);
    let mut wins = 0u32;
    for _ in 0..DRAWS {
        let Take::Ready(taken) = queue.take(NOW) else { panic!("something waits") };
        wins += u32::from(taken.payload == 0);
        add(&mut queue, flow, (taken.priority, taken.cost), taken.payload);
    }
    let tolerance = 5.0 * (dear * (1.0 - dear) * f64::from(DRAWS)).sqrt();
    assert!((f64::from(wins) - dear * f64::from(DRAWS)).abs() < tolerance, "{wins}");
}

/// The chance that is shown counts accepting draws as the integer formula does, so it differs from the real
/// one by at most two draws in `cost_max` for each priority.
#[test]
fn waiting_requests_show_their_chance() {
    let rows = [(127, 64 * KIB, 0.648), (63, 4 * KIB, 0.322), (5, 20 * MIB, 0.016)];
    let (queue, _) = contended(&rows, 50 * MIB);
    let products = rows.map(|(priority, cost, _)| {
        f64::from(priority) * (1.0 - 0.9 * f64::from(cost) / f64::from(50 * MIB))
    });
    let sum: f64 = products.iter().sum();
    for (waiting, product) in queue.waiting(NOW).iter().zip(products) {
        let WaitCause::Lottery(chance) = waiting.reason else { panic!("{waiting:?}") };
        let tolerance = 2.0 * 2.0 / f64::from(50 * MIB);
        assert!((chance - product / sum).abs() < tolerance, "{waiting:?}");
    }
}

/// The costliest item ever counts, even after it has left: an item of half its cost is accepted 55 times in
/// a hundred, not ten.
#[test]
fn the_largest_cost_is_never_forgotten() {
    let (queue, _) = contended(&[(60, 500_000, 0.0), (40, 0, 0.0)], 1_000_000);
    assert_eq!(queue.cost_max(), 1_000_000);
    let WaitCause::Lottery(chance) = queue.waiting(NOW)[0].reason else { panic!("no chance") };
    let share = 60.0 * 0.55 / (60.0 * 0.55 + 40.0);
    assert!((chance - share).abs() < 4.0 / 1e6, "{chance} is not {share}");
}
