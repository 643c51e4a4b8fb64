//! The course of a run over time, and where each class of work spent it.

use crate::service::ClassService;
use serde::{Deserialize, Serialize};

/// One value per second of the world's time; all columns have the length of `t_s`, those of `service` may lack a last one.
///
/// Second `t` counts what completed in `[t, t + 1)` after the measured load began. A second in
/// which no operation completed has no latency (`None`); a run without recovery leaves the last
/// two columns empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetupSeries {
    /// Start of the second, from zero.
    pub t_s: Vec<f64>,
    /// Client operations completed.
    pub client_iops: Vec<f64>,
    /// Mean completion latency of those operations, in milliseconds.
    pub clat_mean_ms: Vec<Option<f64>>,
    /// Their 99th percentile, in milliseconds.
    pub clat_p99_ms: Vec<Option<f64>>,
    /// Objects still misplaced or degraded at the end of the second.
    pub objects_left: Vec<f64>,
    /// Objects recovered within the second.
    pub objects_per_s: Vec<f64>,
    /// What the schedulers gave to each class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<ClassService>,
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
    pub queue_ms: Stage,
    /// On a worker thread, including the wait for one.
    pub cpu_ms: Stage,
    /// For room in the store's window (its throttle).
    pub window_ms: Stage,
    /// At the device, including the device's own queue.
    pub device_ms: Stage,
    /// For the other copies after the local one was done.
    pub replica_ms: Stage,
    /// On links between client and OSD.
    pub link_ms: Stage,
    /// Before the OSD and beyond the link: the study era's software stage, where it is on.
    pub software_stage_ms: Stage,
}

impl ClassWaits {
    /// The stages with their names, in the order work passes them.
    pub fn stages(&self) -> [(&'static str, Stage); 7] {
        [
            ("queue", self.queue_ms),
            ("cpu", self.cpu_ms),
            ("window", self.window_ms),
            ("device", self.device_ms),
            ("replica", self.replica_ms),
            ("link", self.link_ms),
            ("software stage", self.software_stage_ms),
        ]
    }

    /// Mean time from arrival to completion: the sum of the stages' means, in milliseconds.
    pub fn mean_total_ms(&self) -> f64 {
        self.stages().iter().map(|(_, stage)| stage.mean).sum()
    }
}

/// Time spent in one stage, in milliseconds per item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Mean over all items of the class, zeros included.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
}
