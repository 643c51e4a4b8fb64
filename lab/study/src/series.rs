//! The course of a run over time, and where each class of work spent it.

use crate::service::ClassService;
use loadline_stats::LatencySecond;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One value per second of the world's time; all columns have the length of `t_s`, those of `service` may lack a last one.
///
/// Second `t` counts what completed in `[t, t + 1)` after the measured load began. A second in which no operation completed has
/// no latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Start of the second, from zero.
    pub t_s: Vec<f64>,
    /// By name, which a kind of study gives its courses.
    pub columns: BTreeMap<String, Vec<Option<f64>>>,
    /// What the schedulers gave to each class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<ClassService>,
    /// Every checkpoint of the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointPoint>,
}

impl Series {
    /// A column; empty if there is none of this name.
    pub fn column(&self, name: &str) -> &[Option<f64>] {
        self.columns.get(name).map_or(&[], Vec::as_slice)
    }

    /// Adds a column in which every second has a value.
    pub fn put(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        self.columns.insert(name.to_owned(), values.into_iter().map(Some).collect());
    }

    /// So many seconds at least; a column that ended before has no values in the later ones.
    pub(crate) fn fill_up(&mut self, seconds: usize) {
        self.t_s = (0..seconds.max(self.t_s.len())).map(|second| second as f64).collect();
        for column in self.columns.values_mut() {
            column.resize(self.t_s.len(), None);
        }
    }

    /// What clients saw in each second; the rate of a second is its operations times `per_second`.
    pub(crate) fn of_clients(rate: &str, seconds: &[LatencySecond], per_second: f64) -> Series {
        let mut series = Series {
            t_s: (0..seconds.len()).map(|second| second as f64).collect(),
            ..Series::default()
        };
        series.put(rate, seconds.iter().map(|second| second.count as f64 * per_second));
        let mean = seconds.iter().map(|second| second.mean_ns.map(|ns| ns / 1e6));
        series.columns.insert("clat_mean_ms".to_owned(), mean.collect());
        let p99 = seconds.iter().map(|second| second.p99_ns.map(|ns| ns as f64 / 1e6));
        series.columns.insert("clat_p99_ms".to_owned(), p99.collect());
        series
    }
}

/// One checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointPoint {
    /// Its instant, in seconds of the published node.
    pub t_s: f64,
    /// Why it was made.
    pub reason: String,
    /// Its pages.
    pub pages: u64,
    /// Its length in milliseconds of the world's time.
    pub duration_ms: f64,
}

/// Where the work of one class spent its time, from arrival to completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassWaits {
    /// The service class, e.g. `client`, `background_recovery`.
    pub class: String,
    /// Work items that completed.
    pub items: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// In the scheduler's queue.
    pub queue_ms: StageTime,
    /// On a worker thread, including the wait for one.
    pub cpu_ms: StageTime,
    /// For room in the store's window (its throttle).
    pub window_ms: StageTime,
    /// At the device, including the device's own queue.
    pub device_ms: StageTime,
    /// For the other copies after the local one was done.
    pub replica_ms: StageTime,
    /// On links between client and OSD.
    pub link_ms: StageTime,
}

impl ClassWaits {
    /// The stages with their names, in the order work passes them.
    pub fn stages(&self) -> [(&'static str, StageTime); 6] {
        [
            ("queue", self.queue_ms),
            ("cpu", self.cpu_ms),
            ("window", self.window_ms),
            ("device", self.device_ms),
            ("replica", self.replica_ms),
            ("link", self.link_ms),
        ]
    }

    /// Mean time from arrival to completion: the sum of the stages' means, in milliseconds.
    pub fn mean_total_ms(&self) -> f64 {
        self.stages().iter().map(|(_, stage)| stage.mean).sum()
    }
}

/// Time spent in one stage, in milliseconds per item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// Mean over all items of the class, zeros included.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
}
