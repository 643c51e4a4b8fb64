//! What a study writes is what docs/results.schema.json says; and the Python package reads it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that a value has against its schema. The part of JSON schema that ours is written in: types, constants, objects whose
/// every field is named, lists, references.
fn against(schema: &Value, root: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').expect("references are within the schema");
        let meant = root.pointer(pointer).unwrap_or_else(|| panic!("nothing is at {reference}"));
        return against(meant, root, value, at, found);
    }
    let mut wrong = |why: &str| found.push(format!("{at}: {why}: {value}"));
    if schema.get("const").is_some_and(|only| only != value) {
        wrong("not the constant");
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        wrong("none of the words");
    }
    let is = |kind: &Value| match kind.as_str().expect("a type is a word") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("the test knows no type {other}"),
    };
    let fits = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is),
        Value::Null => true,
        kind => is(kind),
    };
    if !fits {
        return wrong("of another type");
    }
    for field in schema["required"].as_array().into_iter().flatten() {
        if value.get(field.as_str().expect("a name")).is_none() {
            wrong(&format!("lacks {field}"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let inside = format!("{at}/{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => found.push(format!("{inside}: not in the schema")),
            (Value::Null, Value::Null) => {}
            (Value::Null, any) => against(any, root, inner, &inside, found),
            (known, _) => against(known, root, inner, &inside, found),
        }
    }
    for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
        if !schema["items"].is_null() {
            against(&schema["items"], root, inner, &format!("{at}/{place}"), found);
        }
    }
}

/// Runs a study into a folder, and gives what it wrote.
fn results(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["study", "run"]).args(arguments).arg("--out").arg(folder.join("run"));
    let output = command.current_dir(folder).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    // 1: it does not come out as the study expects, which a small run need not.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {said}");
    let text = fs::read_to_string(folder.join("run/results.json")).expect("a result");
    serde_json::from_str(&text).expect("it is JSON")
}

fn root_of_the_tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the tree").to_owned()
}

#[test]
fn results_are_what_the_schema_says() {
    let schema = fs::read_to_string(root_of_the_tree().join("docs/results.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let studies: [&[&str]; 5] = [
        &["recovery-nvme", "--set", "scale=0.002", "--setups=baseline,WPQ(Def),balanced"],
        &["noisy-neighbour", "--set", "scale=0.002", "--set", "pgs=16", "--setups=alone,promised"],
        &["services-nvme", "--set", "scale=0.1", "--setups=WPQ,balanced (loadline)"],
        &["cdl-classes", "--set", "measured=2s", "--setups=neither,both"],
        &[
            "checkpoint-full-speed",
            "--set",
            "scale=0.002",
            "--set",
            "periods=2",
            "--setups=log,checkpoint",
        ],
    ];
    for study in studies {
        let folder = tempfile::tempdir().unwrap();
        let result = results(folder.path(), study);
        let mut found = Vec::new();
        against(&schema, &schema, &result, "", &mut found);
        assert!(found.is_empty(), "{study:?}: {found:#?}");
        let mut other = result;
        other["version"] = 99.into();
        other["setups"][0]["colour"] = "blue".into();
        against(&schema, &schema, &other, "", &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

#[test]
fn the_python_package_reads_a_folder() {
    let is_there = |of: &mut Command| of.output().is_ok_and(|output| output.status.success());
    if !is_there(Command::new("python3").arg("--version")) {
        println!("skipped: there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let small = ["recovery-nvme", "--set", "scale=0.0005", "--set", "spread_placements=0"];
    results(folder.path(), &[&small[..], &["--setups=baseline,balanced", "--repeat=2"]].concat());
    let tests = root_of_the_tree().join("contrib/python/tests");
    let mut python = Command::new("python3");
    python.args(["-B", "-m", "unittest", "discover", "-s"]).arg(tests);
    let output = python.env("LOADLINE_RUN", folder.path().join("run")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("skipped"), "{said}");
}
