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

/// scrub.md 2.5, as qos.md 10.5 and 1.2 fill in the eras between: a step that names a chunk of 15 objects of 32 KiB, and one that names none.
#[test]
fn steps_of_scrubs_cost_as_tabulated() {
    use SchedulerKind::{Mclock, Wpq};
    let cost = |era, scheduler, objects, object_size_average| {
        let name = if era < 3 { "quincy" } else { "reef" };
        let mut plan = plan(name, scheduler, Medium::Ssd, "balanced");
        plan.preset.era = crate::Era::ALL[era];
        let size = WorkSize { payload: 9, objects, object_size_average, ..WorkSize::default() };
        let admission = plan.admit(Work::ScrubEvent, &size, 0);
        assert_eq!((admission.class, admission.priority), (ServiceClass::BestEffort, 5));
        let blocking = plan.admit(Work::BlockingScrubEvent, &size, 0);
        assert_eq!((blocking.cost, blocking.priority), (admission.cost, 63));
        admission.cost
    };
    let kib = 1 << 10;
    let of_chunk = |era, scheduler| {
        [
            cost(era, scheduler, 15, 32 * kib),
            cost(era, scheduler, 15, 0),
            cost(era, scheduler, 0, 0),
        ]
    };
    for era in 0..3 {
        assert_eq!(of_chunk(era, Wpq), [50 << 20; 3]);
        assert_eq!(of_chunk(era, Mclock), [577; 3], "50 MiB on flash (scrub.md 2.5)");
    }
    assert_eq!(of_chunk(3, Wpq), [50 << 20; 3]);
    assert_eq!(of_chunk(3, Mclock), [400 * kib as u32; 3]);
    assert_eq!(of_chunk(4, Wpq), [50 << 20, 50 << 20, 4096]);
    // 1200 MiB/s over 21,500 IOPS are 58,525 bytes for an operation, which is the least that anything costs.
    let per_io = 1200.0 * 1_048_576.0 / 21_500.0;
    let shallow = (4096.0 + 15.0 * per_io) as u32;
    assert_eq!(of_chunk(4, Mclock), [shallow + 15 * 32 * kib as u32, shallow, 58_525]);
}

/// Loadline's own preset charges a step what it reads.
#[test]
fn a_scrub_of_loadlines_own_is_charged_what_it_reads() {
    let plan = plan("loadline", SchedulerKind::Mclock, Medium::Ssd, "balanced");
    let size = WorkSize { payload: 4 << 20, objects: 15, ..WorkSize::default() };
    assert_eq!(plan.admit(Work::ScrubEvent, &size, 0).cost, 4 << 20);
    let nothing = WorkSize { payload: 0, ..size };
    assert_eq!(plan.admit(Work::ScrubEvent, &nothing, 0).cost, 58_525);
}

/// scrub.md 3.4: an item of two objects of 32 KiB, and the last one, which finds none.
#[test]
fn trims_cost_as_tabulated() {
    use SchedulerKind::{Mclock, Wpq};
    let costs = |era: usize, scheduler| {
        let name = if era < 3 { "quincy" } else { "reef" };
        let mut plan = plan(name, scheduler, Medium::Ssd, "balanced");
        plan.preset.era = crate::Era::ALL[era];
        [2, 0].map(|objects| {
            let size = WorkSize { objects, object_size_average: 32 << 10, ..WorkSize::default() };
            let admission = plan.admit(Work::SnapTrim, &size, 0);
            assert_eq!((admission.class, admission.priority), (ServiceClass::BestEffort, 5));
            let deletion = plan.admit(Work::PgDelete, &size, 0);
            (admission.cost, admission.cost == deletion.cost)
        })
    };
    for era in 0..5 {
        assert_eq!(costs(era, Wpq), [(1 << 20, true); 2]);
    }
    for era in 0..3 {
        assert!(costs(era, Mclock).iter().all(|(_, is_a_mebibyte)| *is_a_mebibyte));
    }
    for era in 3..5 {
        assert_eq!(costs(era, Mclock), [(64 << 10, false); 2], "whatever it trims");
    }
}

/// Loadline's own preset charges an operation for each object. A deletion cost a mebibyte for each, which is an object's data, as if it were
/// read or written.
#[test]
fn trims_and_deletions_of_loadlines_own_are_charged_the_operations_that_they_are() {
    let plan = plan("loadline", SchedulerKind::Mclock, Medium::Ssd, "balanced");
    for work in [Work::SnapTrim, Work::PgDelete] {
        let cost = |objects| {
            let size = WorkSize { objects, object_size_average: 4 << 20, ..WorkSize::default() };
            plan.admit(work, &size, 0).cost
        };
        assert_eq!([0, 1, 2].map(cost), [58_525, 58_525, 117_050], "{work:?}");
    }
}

/// scrub.md 4: a deletion item after a full batch, and the first one.
#[test]
fn deletions_cost_as_tabulated() {
    let cost = |era: usize, scheduler, objects| {
        let name = if era < 3 { "quincy" } else { "reef" };
        let mut plan = plan(name, scheduler, Medium::Ssd, "balanced");
        plan.preset.era = crate::Era::ALL[era];
        let size = WorkSize { objects, object_size_average: 4 << 20, ..WorkSize::default() };
        plan.admit(Work::PgDelete, &size, 0).cost
    };
    let costs = |era, scheduler| [30, 1].map(|objects| cost(era, scheduler, objects));
    for era in 0..5 {
        assert_eq!(costs(era, SchedulerKind::Wpq), [1 << 20; 2]);
    }
    assert_eq!(costs(3, SchedulerKind::Mclock), [1 << 20; 2]);
    assert_eq!(costs(4, SchedulerKind::Mclock), [30 << 20, 1 << 20]);
}
