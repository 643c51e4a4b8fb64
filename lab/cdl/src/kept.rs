//! Whether the run that a folder remembers is the one that is asked for now.

use serde_json::Value;
use std::collections::BTreeSet;

/// Everything that was asked for, so that only the same run goes on in a folder.
pub(crate) const MANIFEST: &str = "bench.json";

/// Whether what a folder remembers is this run. The error says what is in the folder instead.
pub(crate) fn check_same(found: &[u8], wanted: &str) -> Result<(), String> {
    let Ok(found) = serde_json::from_slice::<Value>(found) else {
        return Err(format!("its {MANIFEST} is damaged, so nobody can tell whose run it holds"));
    };
    let wanted = serde_json::from_str(wanted).expect("a manifest is JSON");
    let mut differ = BTreeSet::new();
    note_differences(&found, &wanted, "its form", &mut differ);
    if differ.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = differ.into_iter().collect();
    Err(format!("it holds a run with other options ({})", names.join(", ")))
}

/// The names of the fields whose values differ.
fn note_differences<'a>(
    found: &'a Value,
    wanted: &'a Value,
    name: &'a str,
    differ: &mut BTreeSet<&'a str>,
) {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            let names: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
            for name in names {
                let of = |fields: &'a serde_json::Map<String, Value>| {
                    fields.get(name).unwrap_or(&Value::Null)
                };
                note_differences(of(found), of(wanted), name, differ);
            }
        }
        (found, wanted) if found == wanted => {}
        _ => {
            differ.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let check = |found: &str, wanted: &str, says: Option<&str>| {
            let error = check_same(found.as_bytes(), wanted).err();
            assert!(
                error.as_deref().unwrap_or_default().contains(says.unwrap_or_default()),
                "{error:?}"
            );
            assert_eq!(error.is_some(), says.is_some());
        };
        let run = r#"{"bs": 4096, "drive": {"seed": 1, "t2a": "a"}}"#;
        check(run, run, None);
        check(r#"{"bs": 512, "drive": {"seed": 1, "t2a": "b"}}"#, run, Some("options (bs, t2a)"));
        check(r#"{"bs": 4096, "drive": null}"#, run, Some("options (drive)"));
        check("[]", run, Some("options (its form)"));
        check("", run, Some("its bench.json is damaged"));
        check(r#"{"bs": 40"#, run, Some("its bench.json is damaged"));
    }
}
