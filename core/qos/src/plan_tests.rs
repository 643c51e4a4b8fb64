//! Presets filled in for the study's devices.

use super::*;
use crate::{CostRule, PRESETS, Scheduler, Take, Urgency, preset, sharding};
use alloc::vec;
use loadline_base::Time;
use loadline_device::Medium;

fn plan(name: &str, scheduler: SchedulerKind, medium: Medium, profile: &str) -> ShardPlan {
    let preset = *preset(name).expect("a preset");
    let shards = preset.sharding(medium).shards;
    let capacity = Capacity::default_for(medium, shards);
    let cost_model = match preset.cost_rule {
        CostRule::Time(options) => CostModel::time(&options, medium),
        CostRule::Bytes(combine) => {
            CostModel::bytes(capacity.sequential_bandwidth, capacity.iops, combine)
        }
    };
    let table = preset.profiles;
    ShardPlan {
        preset,
        scheduler,
        capacity,
        values: table.profile(profile).expect("a profile").values(table.unit, &capacity),
        cost_model,
        work_options: WorkOptions::default(),
        cut_off: 196,
    }
}

const SIZE: WorkSize = WorkSize {
    payload: 4_096,
    read: 0,
    objects: 1,
    object_size_average: 4 << 20,
    remaining: 0,
    urgency: Urgency::Degraded,
};

fn check(preset: &str, scheduler: SchedulerKind, work: Work, expected: (ServiceClass, u64, u32)) {
    let plan = plan(preset, scheduler, Medium::Ssd, "balanced");
    let admission = plan.admit(work, &SIZE, 7);
    let (class, client, cost) = expected;
    let seen = (admission.class, admission.client, admission.cost);
    assert_eq!(seen, (class, ClientKey(client), cost), "{work:?}, {preset}, {scheduler:?}");
}

#[test]
fn work_enters_as_each_preset_has_it() {
    use SchedulerKind::{Mclock, Wpq};
    use ServiceClass::{Client, Immediate, Recovery};
    check("quincy", Mclock, Work::ClientOp, (Client, 7, 1));
    check("quincy", Mclock, Work::RecoveryItem, (Recovery, 7, 231));
    check("quincy", Mclock, Work::ReplicaWrite, (Immediate, 7, 1));
    check("quincy", Wpq, Work::RecoveryItem, (Recovery, 7, 20 << 20));
    check("reef", Mclock, Work::ClientOp, (Client, 0, 58_525));
    check("reef", Mclock, Work::RecoveryItem, (Recovery, 0, 4 << 20));
    check("reef", Mclock, Work::ReplicaWrite, (Immediate, 0, 58_525));
    check("loadline", Mclock, Work::ReplicaWrite, (Client, 7, 58_525));
    check("loadline", Mclock, Work::ReplicaAck, (Immediate, 7, 58_525));
}

#[test]
fn loadline_charges_what_a_read_reads() {
    let size = WorkSize { payload: 0, read: 1 << 20, ..SIZE };
    let cost = |name| {
        plan(name, SchedulerKind::Mclock, Medium::Ssd, "balanced")
            .admit(Work::ClientOp, &size, 1)
            .cost
    };
    assert_eq!([cost("quincy"), cost("reef"), cost("loadline")], [1, 58_525, 1 << 20]);
}

#[test]
fn one_queue_per_device_keeps_all_workers() {
    let check = |name, medium, shards, threads_per_shard| {
        let sharding = preset(name).unwrap().sharding(medium);
        assert_eq!((sharding.shards, sharding.threads_per_shard), (shards, threads_per_shard));
    };
    check("quincy", Medium::Ssd, 8, 2);
    check("quincy", Medium::Hybrid, 5, 1);
    check("reef", Medium::Hdd, 5, 1);
    check("loadline", Medium::Hdd, 1, 5);
    check("loadline", Medium::Ssd, 1, 16);
    assert_eq!(sharding(crate::Era::E2Plus, Medium::Ssd).shards, 8);
}

/// "672 units/s per shard" is a quarter of 21500/8; its recovery items are 672/231 = 2.9 per second. In large
/// transfers at 0.011 us/B a unit is 1/0.000011 = 90,909 bytes.
#[test]
fn figures_in_every_unit() {
    let quincy = plan("quincy", SchedulerKind::Mclock, Medium::Ssd, "high_client_ops");
    let figures = quincy.figures().unwrap();
    let recovery = figures[1].reservation.unwrap();
    assert_eq!((recovery.units_per_shard, recovery.iops_per_osd), (672.0, 5_376.0));
    assert!((recovery.part - 672.0 / 2_687.5).abs() < 1e-12);
    assert!((recovery.bytes_per_shard - 672.0 / 0.000_011).abs() < 1.0);
    let reef = plan("reef", SchedulerKind::Mclock, Medium::Ssd, "balanced");
    let figures = reef.figures().unwrap();
    let client = figures[0].reservation.unwrap();
    assert_eq!((client.part, client.bytes_per_osd), (0.5, 629_145_600.0));
    assert!((client.iops_per_osd - 10_750.0).abs() < 1e-6);
    assert_eq!((figures[0].limit, figures[2].reservation), (None, None));
}

/// Each kind of queue under each preset serves what each class queues.
#[test]
fn every_queue_serves_every_class() {
    for preset in PRESETS {
        for scheduler in SchedulerKind::ALL {
            let plan = plan(preset.name, scheduler, Medium::Hdd, "balanced");
            let mut queue = plan.queue(1).unwrap();
            let mut now = Time::from_secs(1);
            for (index, work) in Work::ALL.into_iter().enumerate() {
                let admission = plan.admit(work, &SIZE, 0);
                let flow = queue.flow(now, admission.class.id(), admission.client);
                let request = crate::Request {
                    priority: admission.priority,
                    ..crate::Request::new(flow, admission.cost, index)
                };
                queue.enqueue(now, request).unwrap();
            }
            let mut served = vec![false; Work::ALL.len()];
            loop {
                match queue.take(now) {
                    Take::Ready(taken) => served[taken.payload] = true,
                    Take::NotBefore(later) => now = later,
                    Take::Empty => break,
                }
            }
            assert!(served.iter().all(|served| *served), "{} {scheduler:?}", preset.name);
        }
    }
}

/// A replica write has priority 127: strict if the cut-off is low, so that a client's op waits behind it, and in the lottery
/// with that if it is high.
#[test]
fn the_cut_off_decides_what_is_strict() {
    for (cut_off, in_the_lottery) in [(64, 0), (196, 2)] {
        let high = plan("quincy", SchedulerKind::Wpq, Medium::Ssd, "balanced");
        let plan = ShardPlan { cut_off, ..high };
        let (mut queue, now) = (plan.queue(1).unwrap(), Time::from_secs(1));
        for work in [Work::ReplicaWrite, Work::ClientOp] {
            let admission = plan.admit(work, &SIZE, 0);
            let flow = queue.flow(now, admission.class.id(), admission.client);
            let priority = admission.priority;
            let request = crate::Request { priority, ..crate::Request::new(flow, 1, work) };
            queue.enqueue(now, request).unwrap();
        }
        let waiting = queue.waiting(now);
        let drawn = waiting.iter().filter(|row| matches!(row.reason, crate::WaitCause::Lottery(_)));
        assert_eq!(drawn.count(), in_the_lottery);
    }
}
