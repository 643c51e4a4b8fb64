//! What a folder remembers of its run, so that only the same run goes on in it.

use super::order::BenchOrder;
use super::run::Ground;
use crate::workload::ReadWorkload;
use serde_json::{Value, json};

/// The run as a JSON text; equal runs have equal texts.
pub fn manifest(order: &BenchOrder, ground: &Ground) -> String {
    let workload = |workload: &ReadWorkload| {
        let marks = workload.marks();
        let mark = |mark: &crate::workload::PriorityMark| json!({ "percentage": mark.percentage, "priority": format!("{:#06x}", mark.priority.word()) });
        json!({ "name": workload.folder(), "marks": marks.iter().map(mark).collect::<Value>() })
    };
    let value = json!({
        "loadline": env!("CARGO_PKG_VERSION"),
        "dev": order.device.to_string(),
        "bs": order.block_bytes,
        "ramptime": order.ramp_seconds,
        "runtime": order.run_seconds,
        "qds": order.depths,
        "workloads": order.workloads.iter().map(workload).collect::<Value>(),
        "drive": drive(ground),
    });
    format!("{value:#}\n")
}

/// Everything that a modelled drive's answers depend on; a real one is what it is, but for the descriptors that it was given.
fn drive(ground: &Ground) -> Value {
    match ground {
        Ground::Modelled(drive) => json!({
            "model": drive.spec.model,
            "figures": format!("{:?}", drive.spec),
            "seed": drive.seed,
            "t2a": drive.reads.file(),
            "t2b": drive.writes.file(),
        }),
        Ground::Real(drive) => drive.held().map_or(Value::Null, |held| {
            let [reads, writes] = &held.pages;
            json!({ "t2a": reads.file(), "t2b": writes.file() })
        }),
    }
}
