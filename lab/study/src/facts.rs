//! On what, when and how fast a study ran. Kept in the manifest, apart from the result, because the
//! result of one seed must be the same bytes on every machine.

use serde::{Deserialize, Serialize};

/// Circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Version of this program.
    pub version: String,
    /// Source commit it was built from, where known.
    pub commit: Option<String>,
    /// The machine.
    pub host: Host,
    /// The command line as typed.
    pub command: String,
    /// Wall-clock start, RFC 3339 in UTC.
    pub started_at: String,
    /// Runs that could go at the same time.
    pub jobs: u32,
    /// Wall-clock length of the whole study in seconds.
    pub wall_seconds: f64,
    /// Device requests completed over all runs, in simulated time or by real disks.
    pub simulated_requests: u64,
    /// `simulated_requests` over the processor time that all runs took together.
    pub simulated_requests_per_s_per_core: f64,
}

/// The machine that computed a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processor model.
    pub cpu: String,
    /// Cores the program could use.
    pub cores: u32,
    /// Operating system kernel.
    pub kernel: String,
    /// Main memory in bytes, or what control groups leave of it.
    pub memory_bytes: u64,
}
