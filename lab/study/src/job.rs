//! One run to make, and why.

use serde::{Deserialize, Serialize};

/// Why a run is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPurpose {
    /// It is the answer.
    #[default]
    Answer,
    /// The same with another OSD returning.
    OtherReturns,
    /// The same over another placement of the placement groups.
    Placement(u32),
}

/// One run to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Names everything that its result depends on.
    pub key: String,
    /// The setup, by its place in the study.
    pub setup: usize,
    /// Why.
    pub purpose: RunPurpose,
    /// Share of the published amount of work.
    pub scale: f64,
    /// Seeds the load and the lotteries.
    pub seed: u64,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// The first op that is traced.
    pub trace: Option<u64>,
    /// How much work it is, in client ops as far as they can be guessed; for order and remaining time only.
    pub weight: f64,
}

/// A shorter run beside the answers.
pub(crate) struct Companion {
    pub(crate) purpose: RunPurpose,
    /// Never larger than the answers' own.
    pub(crate) scale: f64,
    pub(crate) placement_seed: u64,
}
