//! WPQ: nanoseconds per add and take, by the number of owners, with the priorities of a busy OSD; and per
//! opened flow, by the order in which the owners come.

mod wpq_load;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loadline_base::Time;
use loadline_qos::{ClassId, ClientKey, Scheduler};
use std::hint::black_box;
use wpq_load::{MIX, cycle, filled};

fn add_and_take(criterion: &mut Criterion) {
    let mixes: [(&str, &[(u32, u32)]); 2] = [("one priority", &MIX[..1]), ("lottery", &MIX)];
    for (name, mix) in mixes {
        let mut group = criterion.benchmark_group(format!("wpq/{name}"));
        group.throughput(Throughput::Elements(1));
        for owners in [1, 3, 10, 100, 1_000, 10_000, 100_000] {
            let mut queue = filled(owners, 6, mix);
            group.bench_function(BenchmarkId::from_parameter(owners), |bencher| {
                bencher.iter(|| cycle(&mut queue));
            });
        }
        group.finish();
    }
}

/// The number of the owner that comes at an index, among so many owners.
type Order = fn(index: u64, owners: u64) -> u64;

/// Opens one flow for each owner of a new queue. A multiplication by an odd number shuffles 2^k numbers.
fn open_flows(criterion: &mut Criterion) {
    let orders: [(&str, Order); 3] = [
        ("rising", |index, _| index),
        ("falling", |index, owners| owners - index),
        ("shuffled", |index, owners| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % owners),
    ];
    let mut group = criterion.benchmark_group("wpq/open");
    group.sample_size(10);
    for (name, number) in orders {
        for owners in [1_024, 16_384, 131_072] {
            group.throughput(Throughput::Elements(owners));
            group.bench_function(BenchmarkId::new(name, owners), |bencher| {
                bencher.iter_batched_ref(
                    || filled(1, 6, &MIX),
                    |queue| {
                        for index in 0..owners {
                            let client = ClientKey(1 + number(index, owners));
                            black_box(queue.flow(Time::ZERO, ClassId::new(0), client));
                        }
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, add_and_take, open_flows);
criterion_main!(benches);
