//! The one JSON object that a limits study prints under `--json`.

use super::record::{LimitsResult, LimitsSetupResult, StreamResult};
use crate::facts::RunFacts;
use serde_json::{Value, json};

/// Result and facts as the object of `--json`.
pub fn limits_json(result: &LimitsResult, facts: &RunFacts) -> Value {
    json!({
        "study": result.study,
        "world": result.world,
        "seed": result.seed,
        "setups": result.setups.iter().map(setup_json).collect::<Vec<_>>(),
        "simulated_requests_per_s_per_core": facts.simulated_requests_per_s_per_core,
        "wall_seconds": facts.wall_seconds,
    })
}

fn setup_json(setup: &LimitsSetupResult) -> Value {
    json!({
        "name": setup.name,
        "preset": setup.preset,
        "scheduler": setup.scheduler,
        "profile": setup.profile,
        "limit": setup.limit,
        "window": setup.window,
        "client": stream_json(&setup.client),
        "background": stream_json(&setup.background),
        "over_limit_per_s": setup.over_limit_per_s,
    })
}

fn stream_json(stream: &StreamResult) -> Value {
    json!({ "iops": stream.iops, "mib_per_s": stream.mib_per_s, "clat_ms": stream.clat_ms })
}
