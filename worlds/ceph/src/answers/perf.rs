//! `perf dump` of an OSD.

use crate::lenient;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The counters of an OSD's process, from its start on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfDump {
    /// Ops, copies, recovery.
    pub osd: OsdCounters,
    /// Its store.
    pub bluestore: StoreCounters,
    /// What waits in the scheduler, over all shards, by class as Ceph calls them: `client`, `recovery`, `best_effort`,
    /// `immediate`. Empty under WPQ, whose queues tell nothing.
    pub waiting: BTreeMap<String, u64>,
    /// Times that groups spent in states of recovery, by the state.
    pub states: BTreeMap<String, LatencyCounter>,
}

/// A latency as Ceph counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LatencyCounter {
    /// How many.
    #[serde(deserialize_with = "lenient::number")]
    pub avgcount: f64,
    /// Their seconds together.
    #[serde(deserialize_with = "lenient::number")]
    pub sum: f64,
}

/// A mean above this, in seconds, is no time but a defect: the queue latencies of recovery in 18.2 hold 1e6 to 1e9
/// (tracker 70811).
const NONSENSE_S: f64 = 1e5;

impl LatencyCounter {
    /// Mean in seconds of what came since `before`; `None` if nothing did, or the counter is one of those that hold nonsense.
    pub fn mean_since(&self, before: &LatencyCounter) -> Option<f64> {
        let (count, sum) = (self.avgcount - before.avgcount, self.sum - before.sum);
        let mean = (count > 0.0 && sum >= 0.0).then_some(sum / count)?;
        (mean < NONSENSE_S).then_some(mean)
    }
}

/// The group `osd`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdCounters {
    /// Clients' ops that it has carried out as a primary.
    #[serde(deserialize_with = "lenient::number")]
    pub op: f64,
    /// Of them writes.
    #[serde(deserialize_with = "lenient::number")]
    pub op_w: f64,
    /// Of them reads.
    #[serde(deserialize_with = "lenient::number")]
    pub op_r: f64,
    /// Under way.
    #[serde(deserialize_with = "lenient::number")]
    pub op_wip: f64,
    /// Writes of clients that it has carried out as a copy.
    #[serde(deserialize_with = "lenient::number")]
    pub subop_w: f64,
    /// Copies that it has sent to where they belong.
    #[serde(deserialize_with = "lenient::number")]
    pub push: f64,
    /// Their bytes.
    #[serde(deserialize_with = "lenient::number")]
    pub push_out_bytes: f64,
    /// Objects that it has fetched as a primary that lacked them.
    #[serde(deserialize_with = "lenient::number")]
    pub pull: f64,
    /// Groups of removed pools whose objects it still removes.
    #[serde(deserialize_with = "lenient::number")]
    pub numpg_removing: f64,
    /// From a client's op to the answer.
    pub op_latency: LatencyCounter,
    /// From a write to the answer.
    pub op_w_latency: LatencyCounter,
    /// In the scheduler: of all classes, and again for what was queued again.
    pub op_before_dequeue_op_lat: LatencyCounter,
}

/// The group `bluestore`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoreCounters {
    /// Bytes of objects that it holds now.
    #[serde(alias = "bluestore_stored", deserialize_with = "lenient::number")]
    pub stored: f64,
    /// From a transaction to durable.
    pub txc_commit_lat: LatencyCounter,
    /// Waiting for the disk's data.
    pub state_aio_wait_lat: LatencyCounter,
    /// Committing metadata.
    pub kv_commit_lat: LatencyCounter,
    /// Flushing.
    pub kv_flush_lat: LatencyCounter,
    /// Waiting before the store, because too much is in it.
    pub txc_throttle_lat: LatencyCounter,
}

impl<'de> Deserialize<'de> for PerfDump {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<PerfDump, D::Error> {
        let mut groups: BTreeMap<String, Value> = BTreeMap::deserialize(from)?;
        let mut take = |name: &str| groups.remove(name).unwrap_or(Value::Null);
        let osd = serde_json::from_value(take("osd")).unwrap_or_default();
        let bluestore = serde_json::from_value(take("bluestore")).unwrap_or_default();
        let states: BTreeMap<String, Value> =
            serde_json::from_value(take("recoverystate_perf")).unwrap_or_default();
        let counter = |value: Value| serde_json::from_value::<LatencyCounter>(value).ok();
        let states =
            states.into_iter().filter_map(|(name, value)| Some((name, counter(value)?))).collect();
        let mut waiting = BTreeMap::new();
        for (_, group) in groups.iter().filter(|(name, _)| name.starts_with("mclock-shard-queue")) {
            for (name, value) in group.as_object().into_iter().flatten() {
                let class =
                    name.strip_prefix("mclock_").and_then(|rest| rest.strip_suffix("_queue_len"));
                if let (Some(class), Some(length)) = (class, value.as_u64()) {
                    let sum: &mut u64 = waiting.entry(class.to_owned()).or_default();
                    *sum = sum.saturating_add(length);
                }
            }
        }
        waiting.remove("all_type");
        Ok(PerfDump { osd, bluestore, waiting, states })
    }
}
