//! What one run showed: the raw datum that results are computed from, one line of `runs.jsonl`.

use crate::figure::Figures;
use crate::job::{Job, RunPurpose};
use crate::series::{ClassWaits, Series};
use loadline_host::admin::api::OpSpan;
use loadline_testbed::MachineFacts;
use serde::{Deserialize, Serialize};

/// One finished run. Equal keys have equal records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The job's key.
    pub key: String,
    /// The setup's name.
    pub setup: String,
    /// Why it was made.
    pub purpose: RunPurpose,
    /// Share of the published amount of work.
    pub scale: f64,
    /// The seed of load and lotteries.
    pub seed: u64,
    /// The seed of the placement.
    pub placement_seed: u64,
    /// What was counted, by the keys of the kind's figures.
    pub counted: Figures,
    /// Device requests carried out, preparation included.
    pub device_requests: u64,
    /// Course over time; empty for companions.
    pub series: Series,
    /// Where work spent its time; empty for companions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<ClassWaits>,
    /// What was seen of each image, where there are several or one is promised something; empty for companions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageRecord>,
    /// Stages of traced ops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<OpSpan>,
    /// What it stood on, where the disks were real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<MachineFacts>,
}

impl RunRecord {
    /// The empty record of a job.
    pub(crate) fn of(job: &Job, setup: &str) -> RunRecord {
        RunRecord {
            key: job.key.clone(),
            setup: setup.to_owned(),
            purpose: job.purpose,
            scale: job.scale,
            seed: job.seed,
            placement_seed: job.placement_seed,
            ..RunRecord::default()
        }
    }
}

/// What was seen of an image in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Its name.
    pub image: String,
    /// Operations that its clients completed, per second.
    pub iops: f64,
    /// Their latency.
    pub mean_ms: f64,
    /// See `mean_ms`.
    pub p99_ms: f64,
    /// Operations completed in each second.
    pub seconds: Vec<f64>,
}
