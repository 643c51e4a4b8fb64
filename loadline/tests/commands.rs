//! The program as people and scripts meet it: what it prints, what it refuses, how it ends.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn loadline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(arguments).current_dir(folder).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// With `LOADLINE_GOLDEN=write` the golden texts are written anew, to be read before they are kept.
fn check_golden(name: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = loadline(folder.path(), arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LOADLINE_GOLDEN").is_some_and(|value| value == "write") {
        fs::write(&path, stdout(&output)).unwrap();
    }
    assert_eq!(stdout(&output), fs::read_to_string(path).unwrap(), "{name}");
}

#[test]
fn help_and_tables_read_as_they_should() {
    check_golden("help.txt", &["--help"]);
    check_golden("study-help.txt", &["study", "--help"]);
    check_golden("study-run-help.txt", &["study", "run", "--help"]);
    check_golden("profile-show-help.txt", &["profile", "show", "--help"]);
    check_golden("study-list.txt", &["study", "list"]);
    check_golden("profile-list.txt", &["profile", "list"]);
    let figures = ["profile", "show", "high_client_ops", "--iops", "21500"];
    check_golden("profile-show.txt", &[&figures[..], &["--preset", "quincy"]].concat());
    let reef = ["--bandwidth", "1200 MiB", "--preset", "reef"];
    check_golden("profile-show-reef.txt", &[&figures[..], &reef].concat());
}

#[test]
fn what_cannot_be_used_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], says: &str| {
        let output = loadline(folder.path(), arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "`{text}` should contain `{says}`");
        assert!(output.stdout.is_empty(), "{arguments:?} prints nothing else");
    };
    check(&["study", "run", "recovery-nvm"], "did you mean `recovery-nvme`?");
    check(&["study", "run", "recovery-nvme", "--setups", "balansed"], "did you mean `balanced`?");
    check(&["study", "run", "recovery-nvme", "--set", "scale"], "takes key=value");
    check(&["study", "run", "recovery-nvme", "--set", "depth=0"], "--set depth=0: `depth` must be");
    check(&["study", "run", "recovery-nvme", "--repeat", "0"], "--repeat: takes a number from 1");
    check(
        &["study", "run", "recovery-nvme", "--jobs", "0"],
        "--jobs: takes a number of at least 1",
    );
    check(&["study", "run", "none.toml"], "none.toml: cannot be read");
    check(&["study", "run", "recovery-nvme", "--on", "ram:"], "takes files:DIR or devices:");
    let nowhere = ["study", "run", "recovery-nvme", "--on", "files:none"];
    check(&nowhere, "--on files:none: none is not there; make the folder first");
    check(&[&nowhere[..], &["--jobs", "2"]].concat(), "real runs go one after the other");
    check(&[&nowhere[..], &["--trace"]].concat(), "traces are of the simulated world");
    check(&["study", "run", "recovery-nvme", "--client", "fio"], "--on <DISKS>");
    let store = ["study", "run", "checkpoint-extreme", "--on", "files:."];
    check(&store, "drive and its processor are modelled after the published node's");
    check(&["study", "report", "."], "holds no study");
    check(&["profile", "show", "balancd"], "did you mean `balanced`?");
    check(&["profile", "show", "balanced", "--preset", "reif"], "did you mean `reef`?");
    check(&["profile", "show", "balanced", "--dir", "."], "a node shows the profile in force");
    check(&["profile", "show", "--iops", "100"], "<PROFILE>");
    check(&["drive", "show", "nvme"], "there is no drive `nvme`");
    check(&["study", "frobnicate"], "unrecognized subcommand");
    let quincy = ["profile", "show", "balanced", "--preset", "quincy", "--bandwidth", "9 MiB"];
    check(&quincy, "preset quincy reckons with IOPS alone");
    check(&["study", "run", "recovery-nvme", "--repeat", "-3"], "`-3` is negative");
    check(&["image", "create", "vol", "--size", "-5GiB"], "`-5GiB` is negative");
    check(&[], "loadline study run recovery-nvme --quick");
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_study_file_of_ones_own_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let own =
        include_str!("../../studies/recovery-nvme.toml").replacen("copies = 3", "copys = 3", 1);
    fs::write(folder.path().join("own.toml"), &own).unwrap();
    let line = own[..own.find("copys").unwrap()].matches('\n').count() + 1;
    let output = loadline(folder.path(), &["study", "run", "own.toml"]);
    let wanted = format!("error: own.toml:{line}: unknown field `copys`");
    assert!(stderr(&output).starts_with(&wanted), "{}", stderr(&output));
    assert!(stderr(&output).contains("did you mean `copies`?"), "{}", stderr(&output));
}

const SMALL: [&str; 6] =
    ["study", "run", "recovery-nvme", "--set", "scale=0.0005", "--setups=baseline,balanced"];

#[test]
fn a_study_prints_one_object_and_leaves_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        loadline(folder.path(), &[&SMALL[..], &["--json", "--trace", "--trace-op", "9"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&object["study"], &object["world"]), (&"recovery-nvme".into(), &"sim".into()));
    assert_eq!((&object["scale"], &object["seed"]), (&0.0005.into(), &1.into()));
    let names: Vec<&Value> =
        object["setups"].as_array().unwrap().iter().map(|setup| &setup["name"]).collect();
    assert_eq!(names, ["baseline", "balanced"]);
    let balanced = &object["setups"][1];
    assert!(balanced["client"]["clat_ms"]["p99.5"].is_f64(), "{balanced}");
    assert!(balanced["recovery"]["objects_per_s"].is_f64(), "{balanced}");
    assert_eq!(balanced["published"]["client"]["iops"], 11_017.0);
    assert!(object["simulated_requests_per_s_per_core"].as_f64().unwrap() > 0.0);
    let out = folder.path().join("runs/recovery-nvme-1");
    for file in ["manifest.json", "runs.jsonl", "results.json", "report.html", "trace.json"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let trace: Value = serde_json::from_slice(&fs::read(out.join("trace.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(|event| event["ph"] == "X"));

    let report = out.join("report.html");
    fs::remove_file(&report).unwrap();
    let again = loadline(folder.path(), &["study", "report", out.to_str().unwrap()]);
    assert!(again.status.success() && report.is_file(), "{}", stderr(&again));
    let out = out.to_str().unwrap();
    let compared = loadline(folder.path(), &["study", "compare", out, out, "--json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!(
        compared["figures"].as_array().unwrap().len(),
        13,
        "five of one, eight of the other"
    );
}

#[test]
fn other_inputs_get_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = ["study", "run", "recovery-nvme", "--setups=baseline", "--set", "scale=0.0005"];
    for more in [&[][..], &["--set", "depth=8"], &["--set", "depth=8"]] {
        let output = loadline(folder.path(), &[&baseline[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let folders = fs::read_dir(folder.path().join("runs")).unwrap().count();
    assert_eq!(folders, 2, "equal inputs share a folder");
    let refused = loadline(
        folder.path(),
        &[&baseline[..], &["--set", "depth=8", "--out", "runs/recovery-nvme-1"]].concat(),
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("choose another folder with --out"), "{}", stderr(&refused));
}

/// Ctrl-C in the middle: the program says how to continue, and the same command does.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "another process takes its own time")]
#[test]
fn an_interrupted_study_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "study",
        "run",
        "recovery-nvme",
        "--setups=baseline,WPQ(Def)",
        "--set",
        "scale=0.05",
        "--set",
        "spread_placements=0",
    ];
    let runs = folder.path().join("runs");
    let interrupt = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        let command = command.args(arguments).current_dir(folder.path()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        while !runs.join("recovery-nvme-1/manifest.json").is_file() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.expect("kill is there").success());
        child.wait_with_output().unwrap()
    };
    // The signal may come after the last run: then the study is done, and another one is to be interrupted.
    let mut output = interrupt();
    for _ in 0..50 {
        if output.status.success() {
            fs::remove_dir_all(&runs).unwrap();
            output = interrupt();
        }
    }
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let says = "the same command continues in runs/recovery-nvme-1";
    assert!(stderr(&output).contains(says), "{}", stderr(&output));
    let continued = loadline(folder.path(), &arguments);
    assert!(continued.status.success(), "{}", stderr(&continued));
}

#[test]
fn every_command_has_a_form_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], key: &str| {
        let output = loadline(folder.path(), &[arguments, &["--json"]].concat());
        let object: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stderr(&output)));
        assert!(!object[key].is_null(), "{arguments:?} gives {object}");
    };
    check(&["study", "list"], "studies");
    check(&["study", "show", "recovery-hdd"], "setups");
    check(&["profile", "list"], "presets");
    check(&["profile", "show", "balanced", "--drive", "hdd-constellation"], "classes");
    check(&["drive", "list"], "drives");
    check(&["drive", "show", "hdd-constellation"], "fitted");
    check(&["drive", "show", "hdd-22tb-cdl"], "seek_random_mean_ns");
    check(&["doctor"], "findings");
}

/// An error is for a program what an answer is: one object, and the code.
#[test]
fn errors_have_a_form_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let output = loadline(folder.path(), arguments);
        let object: Value = serde_json::from_slice(&output.stderr)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stderr(&output)));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(object["exit_code"], code, "{arguments:?}");
        let error = object["error"].as_str().unwrap();
        assert!(error.contains(says), "{arguments:?}: `{error}` has no `{says}`");
    };
    check(&["study", "run", "recovery-nvm", "--json"], 2, "did you mean `recovery-nvme`?");
    check(&["status", "--dir", "none", "--json"], 1, "no node answers at none/admin.sock");
    check(&["study", "run", "recovery-nvme", "--repeat", "-3", "--json"], 2, "`-3` is negative");
    check(&["stduy", "--json"], 2, "unrecognized subcommand 'stduy'");
    check(&["study", "run", "--json"], 2, "required arguments were not provided");
}

/// Files that are not there, folders in their place, and empty ones.
#[test]
fn what_is_no_such_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.toml"), "").unwrap();
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let output = loadline(folder.path(), arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: `{text}` should contain `{says}`");
        assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    };
    let places = [
        ("missing.toml", "missing.toml: cannot be read: there is no such file or folder"),
        ("folder.toml", "folder.toml: cannot be read: it is a folder, and a file is needed"),
        ("empty.toml", "empty.toml:1: missing field"),
    ];
    for (path, says) in places {
        check(&["study", "run", path], 2, says);
        check(&["study", "run", path, "--dry-run"], 2, says);
        check(&["study", "run", path, "--on", "files:.", "--dry-run"], 2, says);
        check(&["study", "show", path], 2, says);
        check(&["drive", "show", path], 2, says);
        check(&["profile", "show", "balanced", "--drive", path], 2, says);
        check(&["study", "report", path], 2, &format!("{path} holds no study"));
        check(&["study", "compare", path, path], 2, &format!("{path} holds no study"));
    }
    let on = |place: &'static str| ["study", "run", "recovery-nvme", "--on", place, "--dry-run"];
    check(&on("files:missing"), 2, "missing is not there; make the folder first");
    check(&on("files:empty.toml"), 2, "empty.toml is no folder; name one");
}

#[test]
fn a_dry_run_says_what_would_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["study", "run", "cdl-classes", "--repeat", "2", "--dry-run"];
    let output = loadline(folder.path(), &run);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("runs      8: "), "{text}");
    assert!(text.contains("simulated"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is run");
}

/// Nobody reads how far a command is, as with `2>&1 | head`: it was ended by that, in the middle of its work.
#[test]
fn a_command_goes_on_where_nobody_reads_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["study", "run", "cdl-classes", "--quick", "--setups", "neither", "--out", "o"]);
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("the program starts");
    drop(run.stderr.take());
    assert!(run.wait().unwrap().success());
    assert!(folder.path().join("o/report.html").is_file(), "it came to its end");
}
