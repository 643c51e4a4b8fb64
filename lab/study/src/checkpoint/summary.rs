//! The one JSON object that a checkpoint study prints under `--json`.

use super::record::{CheckpointResult, CheckpointSetupResult};
use crate::facts::RunFacts;
use serde_json::{Map, Value, json};

/// Result and facts as the object of `--json`. `published` repeats the keys of `figures` for those that exist, as plain
/// numbers.
pub fn checkpoint_json(result: &CheckpointResult, facts: &RunFacts) -> Value {
    json!({
        "study": result.study,
        "world": result.world,
        "scale": result.scale,
        "seed": result.seed,
        "setups": result.setups.iter().map(setup_json).collect::<Vec<_>>(),
        "ratios": result.ratios,
        "statements": result.statements,
        "simulated_requests_per_s_per_core": facts.simulated_requests_per_s_per_core,
        "wall_seconds": facts.wall_seconds,
    })
}

fn setup_json(setup: &CheckpointSetupResult) -> Value {
    let clat = &setup.client.clat_ms;
    let published: Map<String, Value> = setup
        .published
        .iter()
        .map(|(figure, published)| {
            (json!(figure).as_str().unwrap_or_default().to_owned(), json!(published.value))
        })
        .collect();
    json!({
        "name": setup.name,
        "client": {
            "puts_per_s": setup.client.puts_per_s,
            "clat_ms": { "mean": clat.mean, "p50": clat.p50, "p99": clat.p99, "p99.9": clat.p99_9 },
            "lowest_second": setup.client.lowest_second,
            "median_second": setup.client.median_second,
            "empty_seconds": setup.client.empty_seconds,
        },
        "checkpoint": setup.store,
        "figures": setup.figures,
        "published": published,
    })
}
