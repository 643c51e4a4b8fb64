//! Traced ops in the trace event format that Perfetto and Chrome open.

use crate::job::{Job, RunPurpose};
use crate::record::RunRecord;
use loadline_host::admin::api::OpSpan;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Ops that are traced in a row.
pub(crate) const TRACED_OPS: u64 = 3;

/// Process numbers of one setup: its ops first, then its OSDs.
const PROCESSES_PER_SETUP: u32 = 100;

/// The traced ops of every setup: a process per setup and OSD, a track per kind of work, and each stage as a
/// complete event. Each op also stands as a whole, in a process of its setup's own. Times are microseconds of
/// the run's clock.
pub fn chrome_trace(runs: &[(Job, &RunRecord)]) -> Value {
    let mut events = Vec::new();
    for (job, record) in traced(runs) {
        let base = job.setup as u32 * PROCESSES_PER_SETUP;
        stage_events(base, &record.setup, &record.trace, &mut events);
    }
    trace_of(&events)
}

/// The runs whose result counts and that have stages of ops.
pub(crate) fn traced<'a, 'b>(
    runs: &'a [(Job, &'b RunRecord)],
) -> impl Iterator<Item = &'a (Job, &'b RunRecord)> {
    runs.iter()
        .filter(|(job, record)| job.purpose == RunPurpose::Answer && !record.trace.is_empty())
}

/// The same of ops that were traced on a running node, such as those of an image of this name.
pub fn chrome_trace_of(name: &str, stages: &[OpSpan]) -> Value {
    let mut events = Vec::new();
    stage_events(0, name, stages, &mut events);
    trace_of(&events)
}

fn trace_of(events: &[Value]) -> Value {
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}

fn stage_events(base: u32, name: &str, stages: &[OpSpan], events: &mut Vec<Value>) {
    events.push(process_name(base, &format!("{name}: client ops")));
    let mut tracks: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for stage in stages {
        let process = base + 1 + stage.osd;
        if !tracks.keys().any(|(known, _)| *known == process) {
            events.push(process_name(process, &format!("{name}: osd.{}", stage.osd)));
        }
        let next = tracks.len() as u32 + 1;
        let track = *tracks.entry((process, &stage.work)).or_insert(next);
        if track == next {
            events.push(json!({
                "name": "thread_name", "ph": "M", "pid": process, "tid": track,
                "args": { "name": stage.work },
            }));
        }
        events.push(complete(&stage.stage, &stage.work, process, track, stage));
    }
    for (op, whole) in whole_ops(stages) {
        events.push(complete(&format!("op {op}"), "op", base, op + 1, &whole));
    }
}

/// From the first to the last stage of each op.
fn whole_ops(stages: &[OpSpan]) -> BTreeMap<u32, OpSpan> {
    let mut ops: BTreeMap<u32, OpSpan> = BTreeMap::new();
    for stage in stages {
        let whole = ops.entry(stage.op).or_insert_with(|| stage.clone());
        whole.start_ns = whole.start_ns.min(stage.start_ns);
        whole.end_ns = whole.end_ns.max(stage.end_ns);
    }
    ops
}

fn process_name(process: u32, name: &str) -> Value {
    json!({ "name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": { "name": name } })
}

fn complete(name: &str, category: &str, process: u32, track: u32, stage: &OpSpan) -> Value {
    json!({
        "name": name, "cat": category, "ph": "X", "pid": process, "tid": track,
        "ts": stage.start_ns as f64 / 1e3,
        "dur": (stage.end_ns - stage.start_ns) as f64 / 1e3,
        "args": { "op": stage.op, "osd": stage.osd, "work": stage.work },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(osd: u32, work: &str, stage: &str, start_ns: u64, end_ns: u64) -> OpSpan {
        OpSpan { op: 7, osd, work: work.into(), stage: stage.into(), start_ns, end_ns }
    }

    fn record() -> RunRecord {
        RunRecord {
            setup: "balanced".to_owned(),
            trace: vec![
                stage(0, "client op", "queue", 1_000, 3_500),
                stage(0, "client op", "device", 3_500, 60_000),
                stage(2, "replica write", "queue", 5_000, 6_000),
            ],
            ..RunRecord::default()
        }
    }

    #[test]
    fn the_form_is_what_viewers_open() {
        let job = Job { setup: 4, trace: Some(0), ..Job::default() };
        let trace = chrome_trace(&[(job, &record())]);
        let events = trace["traceEvents"].as_array().expect("a list of events");
        for event in events {
            assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64());
            match event["ph"].as_str() {
                Some("M") => assert!(event["args"]["name"].is_string(), "{event}"),
                Some("X") => assert!(event["ts"].is_f64() && event["dur"].is_f64(), "{event}"),
                other => panic!("{other:?} is no phase that is written"),
            }
        }
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        assert_eq!((named("process_name"), named("thread_name")), (3, 2));
        let device = events.iter().find(|event| event["name"] == "device").expect("it is there");
        assert_eq!((device["ts"].as_f64(), device["dur"].as_f64()), (Some(3.5), Some(56.5)));
        let op = events.iter().find(|event| event["name"] == "op 7").expect("it is there");
        assert_eq!((op["ts"].as_f64(), op["dur"].as_f64()), (Some(1.0), Some(59.0)));
    }
}
