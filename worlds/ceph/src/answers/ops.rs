//! `dump_historic_ops`: the slowest ops of the last minutes, and what each of them waited for.

use crate::lenient;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The history of an OSD: by default 20 ops of 600 s.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OpHistory {
    /// The ops.
    pub ops: Vec<HistoricOp>,
}

/// One op.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HistoricOp {
    /// What was asked, as Ceph prints it.
    pub description: String,
    /// When it came.
    pub initiated_at: String,
    /// Seconds from then to the answer.
    #[serde(deserialize_with = "lenient::number")]
    pub duration: f64,
    type_data: OpTypeData,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct OpTypeData {
    events: Vec<OpEvent>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct OpEvent {
    event: String,
    /// Seconds since the one before.
    #[serde(deserialize_with = "lenient::number")]
    duration: f64,
}

/// Waits shorter than this, in seconds, are not worth a word.
const TOLD_FROM_S: f64 = 0.001;

impl HistoricOp {
    /// Whether a client sent it.
    pub fn is_of_client(&self) -> bool {
        self.description.starts_with("osd_op(")
    }

    /// Seconds by what passed in them, the longest first. The time up to an event belongs to what the op was in since the event
    /// before; up to `reached_pg` it waited in the queue, unless it says for what else.
    pub fn waits(&self) -> Vec<(String, f64)> {
        let mut waits: BTreeMap<String, f64> = BTreeMap::new();
        let events = &self.type_data.events;
        for pair in events.windows(2) {
            let [before, event] = pair else { continue };
            let cause = if before.event.starts_with("waiting for subops") {
                "for the other copies and the disk".to_owned()
            } else if before.event.starts_with("waiting for") {
                before.event.clone()
            } else if event.event == "reached_pg" {
                "in the queue".to_owned()
            } else if ["sub_op_commit_rec", "op_commit", "commit_sent", "sub_op_committed"]
                .contains(&event.event.as_str())
            {
                "for the other copies and the disk".to_owned()
            } else {
                "elsewhere".to_owned()
            };
            *waits.entry(cause).or_default() += event.duration.max(0.0);
        }
        let mut waits: Vec<(String, f64)> = waits.into_iter().collect();
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        waits
    }

    /// The same in words: `3.05 s waiting for peered, 0.08 s in the queue`.
    pub fn in_words(&self) -> String {
        let waits = self.waits();
        let told = waits.iter().filter(|(_, seconds)| *seconds >= TOLD_FROM_S).take(3);
        let words: Vec<String> =
            told.map(|(cause, seconds)| format!("{} {cause}", in_seconds(*seconds))).collect();
        if words.is_empty() { in_seconds(self.duration) } else { words.join(", ") }
    }
}

fn in_seconds(seconds: f64) -> String {
    if seconds >= 0.01 { format!("{seconds:.2} s") } else { format!("{:.1} ms", seconds * 1e3) }
}
