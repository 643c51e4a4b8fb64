//! `status` and `health`.

use crate::lenient;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `status`, as a monitor answers it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClusterStatus {
    /// The cluster's name for ever.
    pub fsid: String,
    /// How it is.
    pub health: HealthReport,
    /// Its OSDs.
    pub osdmap: OsdTally,
    /// Its placement groups; up to some seconds old.
    pub pgmap: PgTally,
}

/// How a cluster says that it is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HealthReport {
    /// `HEALTH_OK`, `HEALTH_WARN` or `HEALTH_ERR`.
    pub status: String,
    /// Why, by stable codes such as `OSD_DOWN`.
    pub checks: BTreeMap<String, HealthCheck>,
}

/// One reason.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HealthCheck {
    /// `HEALTH_WARN` or `HEALTH_ERR`.
    pub severity: String,
    /// In words.
    pub summary: HealthSummary,
    /// Whether an operator does not want to hear of it.
    #[serde(deserialize_with = "lenient::flag")]
    pub muted: bool,
}

/// A reason in words.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HealthSummary {
    /// One line.
    pub message: String,
}

/// How many OSDs there are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OsdTally {
    /// All.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_osds: u64,
    /// That run.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_up_osds: u64,
    /// That data is placed on.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_in_osds: u64,
    /// PGs that are not where the map wants them; of the map itself, so never late.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_remapped_pgs: u64,
}

/// The placement groups together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PgTally {
    /// How many are in which state.
    pub pgs_by_state: Vec<PgStateCount>,
    /// All.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_pgs: u64,
    /// Objects.
    #[serde(deserialize_with = "lenient::whole")]
    pub num_objects: u64,
    /// Their bytes, each counted once.
    #[serde(deserialize_with = "lenient::whole")]
    pub data_bytes: u64,
    /// Copies that do not exist.
    #[serde(deserialize_with = "lenient::whole")]
    pub degraded_objects: u64,
    /// Copies on the wrong OSD; smoothed.
    #[serde(deserialize_with = "lenient::whole")]
    pub misplaced_objects: u64,
    /// Objects with no readable copy.
    #[serde(deserialize_with = "lenient::whole")]
    pub unfound_objects: u64,
    /// Clients' reads per second; smoothed.
    #[serde(deserialize_with = "lenient::number")]
    pub read_op_per_sec: f64,
    /// Clients' writes per second; smoothed.
    #[serde(deserialize_with = "lenient::number")]
    pub write_op_per_sec: f64,
}

/// PGs of one state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PgStateCount {
    /// Words joined by `+`.
    pub state_name: String,
    /// How many.
    #[serde(deserialize_with = "lenient::whole")]
    pub count: u64,
}

impl ClusterStatus {
    /// Whether data moves, or is about to: by the map, which is never late, or by the groups' states.
    pub fn has_recovery(&self) -> bool {
        const WORDS: [&str; 7] =
            ["recover", "backfill", "degraded", "undersized", "peering", "remapped", "down"];
        self.osdmap.num_remapped_pgs > 0
            || self.pgmap.degraded_objects + self.pgmap.misplaced_objects > 0
            || self.pgmap.pgs_by_state.iter().any(|state| {
                state.count > 0 && WORDS.iter().any(|word| state.state_name.contains(word))
            })
    }

    /// Whether every group serves and is where it belongs, as far as the groups have told.
    pub fn is_clean(&self) -> bool {
        !self.has_recovery()
            && self
                .pgmap
                .pgs_by_state
                .iter()
                .all(|state| state.state_name.starts_with("active+clean"))
    }

    /// Reasons for a health other than OK that nobody has muted.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, &HealthCheck)> {
        let checks = self.health.checks.iter();
        checks.filter(|(_, check)| !check.muted).map(|(code, check)| (code.as_str(), check))
    }
}
