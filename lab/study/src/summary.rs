//! The one JSON object that a study prints under `--json`.

use crate::{ClientResult, Published, RunFacts, SetupResult, StudyResult};
use serde_json::{Map, Value, json};

/// Result and facts as the object of `--json`.
///
/// `recovery` is `null` where nothing was recovered. `published` repeats the keys of its setup for
/// the figures that exist, as plain numbers (words such as "about" stay in the full result), and
/// is empty where none does. `reservation` and `expected` are there only where a setup reserves something for clients, and
/// where the study expects something.
pub fn summary_json(result: &StudyResult, facts: &RunFacts) -> Value {
    let mut object = json!({
        "study": result.study,
        "world": result.world,
        "scale": result.scale,
        "seed": result.seed,
        "setups": result.setups.iter().map(setup_json).collect::<Vec<_>>(),
        "wall_seconds": facts.wall_seconds,
    });
    if !result.expected.is_empty() {
        object["expected"] = json!(result.expected);
    }
    if result.world == "sim" {
        object["simulated_requests_per_s_per_core"] =
            json!(facts.simulated_requests_per_s_per_core);
    }
    object
}

fn setup_json(setup: &SetupResult) -> Value {
    let mut object = json!({
        "name": setup.name,
        "preset": setup.preset,
        "client": client_json(&setup.client),
        "recovery": setup.recovery.map(|r| json!({
            "objects_per_s": r.objects_per_s,
            "mib_per_s": r.mib_per_s,
            "seconds": r.seconds,
            "objects": r.objects,
        })),
        "published": setup.published.as_ref().map_or_else(|| json!({}), published_json),
    });
    if let Some(reservation) = &setup.reservation {
        object["reservation"] = json!(reservation);
    }
    object
}

fn client_json(client: &ClientResult) -> Value {
    let clat = &client.clat_ms;
    json!({
        "iops": client.iops,
        "clat_ms": { "mean": clat.mean, "p95": clat.p95, "p99": clat.p99, "p99.5": clat.p99_5 },
    })
}

fn published_json(published: &Published) -> Value {
    let clat = &published.client.clat_ms;
    let clat = numbers(&[
        ("mean", clat.mean.as_ref().map(|f| f.value)),
        ("p95", clat.p95.as_ref().map(|f| f.value)),
        ("p99", clat.p99.as_ref().map(|f| f.value)),
        ("p99.5", clat.p99_5.as_ref().map(|f| f.value)),
    ]);
    let mut client = numbers(&[("iops", published.client.iops.as_ref().map(|f| f.value))]);
    put_unless_empty(&mut client, "clat_ms", clat);
    let recovery = numbers(&[
        ("objects_per_s", published.recovery.objects_per_s.as_ref().map(|f| f.value)),
        ("mib_per_s", published.recovery.mib_per_s.as_ref().map(|f| f.value)),
        ("seconds", published.recovery.seconds.as_ref().map(|f| f.value)),
        ("objects", published.recovery.objects.as_ref().map(|f| f.value)),
    ]);
    let mut all = Map::new();
    put_unless_empty(&mut all, "client", client);
    put_unless_empty(&mut all, "recovery", recovery);
    Value::Object(all)
}

fn numbers(entries: &[(&str, Option<f64>)]) -> Map<String, Value> {
    let known = entries.iter().filter_map(|(key, value)| Some((key.to_string(), json!((*value)?))));
    known.collect()
}

fn put_unless_empty(into: &mut Map<String, Value>, key: &str, group: Map<String, Value>) {
    if !group.is_empty() {
        into.insert(key.to_string(), Value::Object(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Latency, PublishedClient, RecoveryResult};

    fn setup() -> SetupResult {
        let clat_ms = Latency { mean: 5.5, p95: 9.0, p99: 12.0, p99_5: 14.0, ..Default::default() };
        let iops = Some(Figure { value: 11_209.0, mark: Some("about".to_owned()) });
        let client = PublishedClient { iops, ..Default::default() };
        SetupResult {
            name: "high_client_ops".to_owned(),
            preset: "quincy".to_owned(),
            client: ClientResult { iops: 11_326.5, clat_ms },
            published: Some(Published { client, ..Default::default() }),
            ..Default::default()
        }
    }

    fn result(setups: Vec<SetupResult>) -> StudyResult {
        StudyResult {
            study: "recovery-nvme".to_owned(),
            world: "sim".to_owned(),
            scale: 0.1,
            seed: 7,
            setups,
            ..Default::default()
        }
    }

    #[test]
    fn the_object_has_the_agreed_keys() {
        let recovery =
            RecoveryResult { objects_per_s: 77.0, mib_per_s: 308.0, ..Default::default() };
        let recovering = SetupResult { recovery: Some(recovery), ..setup() };
        let bare = SetupResult { published: None, ..setup() };
        let facts = RunFacts { wall_seconds: 9.5, ..Default::default() };
        let found = summary_json(&result(vec![recovering, bare]), &facts);
        let client = json!({
            "iops": 11_326.5, "clat_ms": { "mean": 5.5, "p95": 9.0, "p99": 12.0, "p99.5": 14.0 },
        });
        let wanted = json!({
            "study": "recovery-nvme", "world": "sim", "scale": 0.1, "seed": 7,
            "setups": [
                {
                    "name": "high_client_ops", "preset": "quincy", "client": client,
                    "recovery": {
                        "objects_per_s": 77.0, "mib_per_s": 308.0, "seconds": 0.0, "objects": 0,
                    },
                    "published": { "client": { "iops": 11_209.0 } },
                },
                {
                    "name": "high_client_ops", "preset": "quincy", "client": client,
                    "recovery": null, "published": {},
                },
            ],
            "simulated_requests_per_s_per_core": 0.0, "wall_seconds": 9.5,
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_stored_result_reads_back_bit_for_bit() {
        let mut stored = result(vec![setup()]);
        // A sum whose last bit a careless reader of decimals loses.
        stored.setups[0].client.iops = 0.1 + 0.2;
        let text = serde_json::to_string(&stored).unwrap();
        assert!(text.contains("\"p99.5\":14.0"));
        assert_eq!(serde_json::from_str::<StudyResult>(&text).unwrap(), stored);
    }
}
