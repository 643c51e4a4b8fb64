//! What one add and one take cost together, by mode, load and number of records.
//!
//! Every record always has work. Virtual time advances by one request of the server's capacity per take, so that
//! reservations and limits bind as they would on a device; where nothing may run, it jumps to the time named.
//!
//! - *weights*: equal or random weights only;
//! - *reservations*: nine tenths of the capacity reserved, the rest by weight;
//! - *limits*: limits of half the fair share, so that the server mostly waits for them;
//! - *mixed*: random weights, half the capacity reserved, limits at 2 to 10 times the fair share.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use loadline_base::{Rng, Span, Time};
use loadline_qos::{
    ClientKey, FlowId, Lane, LoadlineConfig, MClock, Params, PublishedConfig, Request, Scheduler,
    Take,
};
use std::hint::black_box;

/// Requests of cost 1 per second.
const CAPACITY: f64 = 1e6;
const SERVICE: Span = Span::from_nanos(1_000);
const RECORDS: [usize; 7] = [1, 3, 10, 100, 1_000, 10_000, 100_000];
/// Requests that wait in each record.
const DEPTH: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Load {
    EqualWeights,
    RandomWeights,
    Reservations,
    Limits,
    Mixed,
}

const LOADS: [(Load, &str); 5] = [
    (Load::EqualWeights, "equal-weights"),
    (Load::RandomWeights, "random-weights"),
    (Load::Reservations, "reservations"),
    (Load::Limits, "limits"),
    (Load::Mixed, "mixed"),
];

fn lanes(load: Load, records: usize) -> Vec<Lane> {
    let mut rng = Rng::new(7);
    let random = load != Load::EqualWeights;
    let weights: Vec<f64> =
        (0..records).map(|_| if random { 1.0 + rng.below(100) as f64 } else { 1.0 }).collect();
    let total: f64 = weights.iter().sum();
    let mut lane = |weight: f64| {
        let fair = CAPACITY * weight / total;
        let (reservation, limit) = match load {
            Load::EqualWeights | Load::RandomWeights => (0.0, 0.0),
            Load::Reservations => (0.9 * CAPACITY / records as f64, 0.0),
            Load::Limits => (0.0, fair / 2.0),
            Load::Mixed => (0.5 * CAPACITY / records as f64, fair * (2.0 + 8.0 * rng.unit_f64())),
        };
        Lane::Shared(Params::new(reservation, weight, limit).unwrap())
    };
    weights.iter().map(|weight| lane(*weight)).collect()
}

/// A scheduler whose every record has work, and its clock.
struct Busy {
    scheduler: MClock<u64>,
    now: Time,
}

impl Busy {
    fn new(mut scheduler: MClock<u64>, lanes: usize) -> Busy {
        let now = Time::from_secs(1);
        let flows: Vec<FlowId> =
            (0..lanes).map(|class| scheduler.flow(now, class.into(), ClientKey(0))).collect();
        for turn in 0..DEPTH {
            for flow in &flows {
                scheduler.enqueue(now, Request::new(*flow, 1, turn as u64)).unwrap();
            }
        }
        let mut busy = Busy { scheduler, now };
        // The steady state: each record was served a few times.
        (0..4 * lanes.max(1_000)).for_each(|_| busy.step());
        busy
    }

    /// One take, and one add to the record that was served.
    fn step(&mut self) {
        loop {
            match self.scheduler.take(self.now) {
                Take::Ready(taken) => {
                    let again = Request::new(taken.flow, 1, taken.payload);
                    self.scheduler.enqueue(self.now, again).unwrap();
                    self.now += SERVICE;
                    return;
                }
                Take::NotBefore(time) => self.now = time,
                Take::Empty => unreachable!("every record has work"),
            }
        }
    }
}

fn add_and_take(criterion: &mut Criterion) {
    for mode in ["loadline", "published"] {
        for (load, name) in LOADS {
            let mut group = criterion.benchmark_group(format!("{mode}/{name}"));
            group.sample_size(100);
            group.warm_up_time(std::time::Duration::from_millis(300));
            group.measurement_time(std::time::Duration::from_secs(1));
            for records in RECORDS {
                let lanes = lanes(load, records);
                let scheduler = match mode {
                    "loadline" => MClock::loadline(LoadlineConfig::default(), &lanes),
                    _ => MClock::as_published(PublishedConfig::default(), &lanes),
                };
                let mut busy = Busy::new(scheduler, records);
                group.bench_function(BenchmarkId::from_parameter(records), |bencher| {
                    bencher.iter(|| black_box(&mut busy).step());
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, add_and_take);
criterion_main!(benches);
