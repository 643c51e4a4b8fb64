//! Who waited where, from the engine's counters to the rows of a report.

use crate::series::{ClassWaits, StageTime};
use loadline_osd::{Stage as Place, WaitHistogram, Waits};
use loadline_qos::{ServiceClass, ShardPlan, Work, WorkSize};
use loadline_stats::LatencyHistogram;
use loadline_testbed::Outside;

/// Work that a report shows together.
struct WorkGroup {
    name: &'static str,
    items: u64,
    bytes: u64,
    stages: [WaitHistogram; Place::ALL.len()],
}

/// On the links.
fn on_links(outside: &Outside) -> StageTime {
    let of = |all: &LatencyHistogram| StageTime {
        mean: all.mean_ns() / 1e6,
        p99: all.percentile_ns(99.0) as f64 / 1e6,
    };
    match outside {
        Outside::Way(all) => of(all),
        Outside::Unknown => StageTime::default(),
    }
}

/// One row for the clients' ops, one for the copies of their writes, whose class depends on the preset, and
/// one for the rest of each class. What only ever passes a queue, such as acknowledgements, is left out.
pub(crate) fn class_waits(plan: &ShardPlan, waits: &Waits, outside: &Outside) -> Vec<ClassWaits> {
    let mut groups: Vec<WorkGroup> = Vec::new();
    for (work, found) in waits.iter() {
        let Some(name) = group_name(plan, work) else { continue };
        let index = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            groups.push(WorkGroup { name, items: 0, bytes: 0, stages: Default::default() });
            groups.len() - 1
        });
        let group = &mut groups[index];
        group.items += found.stage(Place::Queue).count();
        group.bytes += found.bytes.get();
        for (mine, place) in group.stages.iter_mut().zip(Place::ALL) {
            mine.merge(found.stage(place));
        }
    }
    groups.iter().map(|group| row(group, outside)).collect()
}

fn group_name(plan: &ShardPlan, work: Work) -> Option<&'static str> {
    match work {
        Work::ClientOp => Some("client"),
        Work::ReplicaWrite => Some("replica_write"),
        Work::ReplicaAck | Work::PeeringEvent => None,
        work => match plan.admit(work, &WorkSize::default(), 0).class {
            ServiceClass::Immediate => None,
            class => Some(class.name()),
        },
    }
}

fn row(group: &WorkGroup, outside: &Outside) -> ClassWaits {
    let stage = |place: Place| per_item(&group.stages[place as usize], group.items);
    let link_ms = match group.name {
        "client" => on_links(outside),
        _ => StageTime::default(),
    };
    ClassWaits {
        class: group.name.to_owned(),
        items: group.items,
        bytes: group.bytes,
        queue_ms: stage(Place::Queue),
        cpu_ms: stage(Place::Worker),
        window_ms: stage(Place::Window),
        device_ms: stage(Place::Device),
        replica_ms: stage(Place::Replicas),
        link_ms,
    }
}

/// Mean and 99th percentile over all items of a group, of which some did not pass this stage.
fn per_item(stage: &WaitHistogram, items: u64) -> StageTime {
    if items == 0 || stage.count() == 0 {
        return StageTime::default();
    }
    let passed = (stage.count() as f64 / items as f64).min(1.0);
    // The slowest hundredth of all items is this share of those that passed.
    let slowest = (0.01 / passed).min(1.0);
    StageTime {
        mean: stage.mean().as_millis_f64() * passed,
        p99: if slowest < 1.0 { stage.quantile(1.0 - slowest).as_millis_f64() } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Span;

    /// 200 items, of which 4 passed a stage in 10 ms each: the mean over all is 0.2 ms, and the slowest
    /// hundredth is half of those that passed, so the 99th percentile is theirs.
    #[test]
    fn items_that_skip_a_stage_count_as_zero() {
        let mut waits = Waits::default();
        for _ in 0..4 {
            waits.record(Work::Push, Place::Queue, Span::from_millis(10));
        }
        let (_, found) = waits.iter().next().expect("one kind of work");
        let stage = per_item(found.stage(Place::Queue), 200);
        assert!((stage.mean - 0.2).abs() < 1e-9, "{stage:?}");
        assert!((10.0..=11.25).contains(&stage.p99), "{stage:?}");
        assert_eq!(per_item(found.stage(Place::Queue), 500).p99, 0.0);
    }
}
