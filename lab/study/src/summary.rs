//! The one JSON object that a study prints under `--json`.

use crate::facts::RunFacts;
use crate::figure::{Figure, Print};
use crate::result::{SetupResult, StudyResult};
use serde_json::{Map, Value, json};

/// Result and facts as the object of `--json`.
///
/// A setup has its figures by their keys, an object for each group, which is `null` where the setup has none of them;
/// `published` repeats the keys for the figures that exist, as plain numbers (words such as "about" stay in the full result).
/// What a study lacks is not there: ratios, statements, expectations, a reservation.
pub fn summary_json(result: &StudyResult, facts: &RunFacts) -> Value {
    let figures = result.kind.figures();
    let setups: Vec<Value> = result.setups.iter().map(|setup| setup_json(figures, setup)).collect();
    let mut object = json!({
        "study": result.study,
        "world": result.world,
        "scale": result.scale,
        "seed": result.seed,
        "setups": setups,
        "wall_seconds": facts.wall_seconds,
    });
    if !result.ratios.is_empty() {
        object["ratios"] = json!(result.ratios);
    }
    if !result.statements.is_empty() {
        object["statements"] = json!(result.statements);
    }
    if !result.expected.is_empty() {
        object["expected"] = json!(result.expected);
    }
    if !result.is_real() {
        object["simulated_requests_per_s_per_core"] =
            json!(facts.simulated_requests_per_s_per_core);
    }
    object
}

/// Groups of figures that are not even `null` where there are none.
const UNSAID: [&str; 3] = ["neighbours/", "client/amid/", "osd/"];

fn setup_json(figures: &[Figure], setup: &SetupResult) -> Value {
    let counted = figures.iter().filter(|figure| figure.is_of_runs());
    let ours = counted.clone().map(|figure| {
        let number = |value: f64| match figure.print {
            Print::Count => json!(value as u64),
            _ => json!(value),
        };
        (figure.key, setup.figure(figure.key).map(number))
    });
    // A setup without neighbours says nothing of them, and a world nothing of what another one tells.
    let is_of_few = |key: &str| UNSAID.iter().any(|group| key.starts_with(group));
    let ours = ours.filter(|(key, value)| value.is_some() || !is_of_few(key));
    let published = counted.filter_map(|figure| {
        Some((figure.key, Some(json!(setup.published.get(figure.key)?.value))))
    });
    let mut object = nested(ours);
    object.insert("name".to_owned(), json!(setup.setup.name));
    object.insert("preset".to_owned(), json!(setup.setup.preset));
    object.insert("published".to_owned(), Value::Object(nested(published)));
    if let Some(promise) = &setup.promise {
        object.insert("promise".to_owned(), json!(promise));
    }
    if !setup.images.is_empty() {
        object.insert("images".to_owned(), json!(setup.images));
    }
    if let Some(reservation) = &setup.reservation {
        object.insert("reservation".to_owned(), json!(reservation));
    }
    Value::Object(object)
}

/// Keys with slashes as objects in objects.
fn nested<'a>(values: impl Iterator<Item = (&'a str, Option<Value>)>) -> Map<String, Value> {
    let mut root = Map::new();
    values.for_each(|(key, value)| put_in(&mut root, key, value));
    root
}

/// A group of which nothing exists is `null`.
fn put_in(into: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match (key.split_once('/'), value) {
        (Some((group, inner)), value) => {
            let place = into.entry(group).or_insert(Value::Null);
            if place.is_null() && value.is_some() {
                *place = json!({});
            }
            if let Value::Object(group) = place {
                put_in(group, inner, value);
            }
        }
        (None, Some(value)) => drop(into.insert(key.to_owned(), value)),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::input::Source;
    use crate::kind::StudyKind;
    use crate::published::PublishedSet;
    use crate::result::Configuration;

    fn setup() -> SetupResult {
        let text = "source = ''\n[[study]]\nname = ''\nmeasured_on = ''\n[[study.setup]]\nname = 'a'\n\
                    client.iops = { value = 11209, mark = 'about' }\n";
        let source = Source { name: "p".into(), file: "p.toml".into(), text: text.into() };
        let set = PublishedSet::read(&source, StudyKind::Recovery).unwrap().remove(0);
        SetupResult {
            setup: Configuration {
                name: "high_client_ops".to_owned(),
                preset: "quincy".to_owned(),
                ..Default::default()
            },
            figures: Figures::default().with([
                ("client/iops", 11_326.5),
                ("client/clat_ms/mean", 5.5),
                ("client/clat_ms/p95", 9.0),
                ("client/clat_ms/p99", 12.0),
                ("client/clat_ms/p99.5", 14.0),
                ("share_of_baseline", 0.5),
            ]),
            published: set.setup("a").unwrap(),
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
        let figures = setup().figures.with([
            ("recovery/objects_per_s", 77.0),
            ("recovery/mib_per_s", 308.0),
            ("recovery/seconds", 0.0),
            ("recovery/objects", 0.0),
        ]);
        let recovering = SetupResult { figures, ..setup() };
        let bare = SetupResult { published: Default::default(), ..setup() };
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
        stored.setups[0].figures.put("client/iops", 0.1 + 0.2);
        let text = serde_json::to_string(&stored).unwrap();
        assert!(text.contains("\"client/clat_ms/p99.5\":14.0"));
        assert_eq!(serde_json::from_str::<StudyResult>(&text).unwrap(), stored);
    }
}
