//! `loadline drive measure` from the outside: it measures a small file, and studies take the drive file that it writes.
//! No test looks at a speed.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn loadline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(arguments).current_dir(folder).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_measured_drive_goes_into_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let measure = [
        "drive",
        "measure",
        "disk",
        "--size",
        "64 MiB",
        "--seconds",
        "0.2",
        "--repeat",
        "2",
        "--out",
        "drives/mine.toml",
        "--json",
    ];
    let output = loadline(folder.path(), &measure);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = found["measured"]["points"].as_array().unwrap();
    // Nine depths and two large sizes at two depths each, both ways.
    assert_eq!(points.len(), 2 * (9 + 4));
    assert!(points.iter().all(|point| point["iops"]["half_width"].as_f64().unwrap() >= 0.0));
    assert!(!folder.path().join("disk").exists(), "what was made is gone");

    let shown = loadline(folder.path(), &["drive", "show", "drives/mine.toml", "--json"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let drive: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(drive["name"], "mine");
    assert!(drive["per_request_ns"].as_u64().unwrap() > 0);

    let run = [
        "study",
        "run",
        "recovery-nvme",
        "--drive",
        "drives/mine.toml",
        "--setups",
        "baseline",
        "--set",
        "scale=0.0001",
        "--out",
        "run",
    ];
    let output = loadline(folder.path(), &run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(folder.path().join("run/report.html").is_file());

    let again = loadline(folder.path(), &measure);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("it is there already"), "{}", text(&again.stderr));
}

#[test]
fn what_must_not_be_measured_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), vec![1; 16 << 20]).unwrap();
    let check = |arguments: &[&str], says: &str| {
        let output = loadline(folder.path(), &[&["drive", "measure"], arguments].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(says), "`{error}` should contain `{says}`");
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    check(&["mine", "--write"], "say --yes if that may be lost");
    check(&["mine", "--size", "1 GiB"], "it has 16 MiB, and 1 GiB are to be measured");
    check(&["mine", "--repeat", "1"], "takes a number from 2 to 100");
    check(&["mine", "--seconds=0"], "--seconds: takes a number from 0.05 to 600");
    check(&["mine", "--out", "mine.toml"], "writes are not measured");
    check(&["mine", "--out", "mine"], "a drive file's name ends in .toml");
    assert_eq!(fs::read(folder.path().join("mine")).unwrap(), vec![1; 16 << 20]);
}
