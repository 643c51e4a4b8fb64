//! A checkpoint study on a real file, small: what it leaves, and what it cleans up.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const TINY: [&str; 10] = [
    "study",
    "run",
    "checkpoint-full-speed",
    "--set",
    "scale=0.02",
    "--set",
    "warm_up=1",
    "--set",
    "depth=8",
    "--on",
];

fn command(folder: &Path, periods: u32, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(TINY).arg("files:disk").args(["--set", &format!("periods={periods}")]);
    command.args(more).current_dir(folder);
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    fs::create_dir(folder.path().join("disk")).expect("a folder");
    folder
}

fn run(folder: &Path, more: &[&str]) -> Output {
    let output = command(folder, 3, more).output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    output
}

fn files_in(folder: &Path) -> usize {
    fs::read_dir(folder).expect("it is there").count()
}

#[test]
fn a_study_of_checkpoints_runs_on_a_file_and_leaves_its_figures_alone() {
    let folder = folder();
    let setups = "--setups=log,checkpoint,checkpoint tx fsync";
    run(folder.path(), &[setups, "--out", "out"]);
    assert_eq!(files_in(&folder.path().join("disk")), 0, "the store's file is gone");
    let out = folder.path().join("out");
    let text = fs::read_to_string(out.join("results.json")).expect("there are results");
    let result: Value = serde_json::from_str(&text).expect("they are JSON");
    assert_eq!(result["world"], "host");
    let setups = result["setups"].as_array().expect("a list");
    assert_eq!(setups.len(), 3);
    for setup in setups {
        let figure = |key: &str| setup["figures"][key].as_f64().unwrap_or(0.0);
        for key in [
            "client/puts_per_s",
            "client/clat_ms/mean",
            "client/clat_ms/p99.9",
            "checkpoint/log_bytes_per_put",
            "checkpoint/checkpoints",
            "checkpoint/pages_written",
            "checkpoint/checkpoint_ms",
        ] {
            assert!(figure(key) > 0.0, "{key} of {}", setup["setup"]["name"]);
        }
        assert_eq!(figure("client/failed"), 0.0);
        let columns = setup["series"]["columns"].as_object().expect("columns");
        for column in [
            "puts_per_s",
            "clat_mean_ms",
            "clat_p99_ms",
            "dirty_pages",
            "buffer_share",
            "throttle_us_per_put",
            "log_mib_per_s",
            "recovery_mib_per_s",
            "home_mib_per_s",
        ] {
            let values = columns[column].as_array().expect("a column");
            assert_eq!(values.len(), 2, "{column}: three periods of 0.6 s are two seconds");
        }
        let named = |points: &Value| points.as_array().map_or(0, Vec::len);
        assert!(named(&setup["series"]["checkpoints"]) > 0);
    }
    let of = |at: usize, key: &str| setups[at]["figures"][key].as_f64().unwrap_or(0.0);
    assert!(of(0, "checkpoint/log_physical_bytes") > 0.0, "images go to the log");
    assert_eq!(of(1, "checkpoint/log_physical_bytes"), 0.0);
    assert!(of(1, "checkpoint/recovery_data_bytes") > 0.0, "images go to their own area");
    let three_records = of(2, "checkpoint/log_bytes_per_put");
    assert!(three_records > 1.5 * of(1, "checkpoint/log_bytes_per_put"), "{three_records}");
    let page = fs::read_to_string(out.join("report.html")).expect("there is a page");
    for part in ["Dirty pages", "Log over time", "The shipped default is", "a real file"] {
        assert!(page.contains(part), "{part}");
    }
    // What is recorded is not run again.
    let again = run(folder.path(), &["--setups=log", "--out", "out"]);
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(told.contains("every run is recorded"), "{told}");
}

/// A study that is killed leaves its store's file, and the next one removes it; one that is interrupted removes it itself.
#[test]
#[expect(clippy::disallowed_methods, reason = "another process takes its own time")]
fn what_a_killed_study_leaves_is_removed() {
    let folder = folder();
    let own = folder.path().join("disk/loadline-study");
    let begin = |out: &str| {
        let mut long = command(folder.path(), 500, &["--setups=log"]);
        let mut child = long
            .args(["--out", out])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while !own.join("store").is_file() {
            assert!(child.try_wait().expect("it is a child").is_none(), "it has ended early");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    };
    let mut killed = begin("killed");
    killed.kill().expect("it is killed");
    killed.wait().expect("it has ended");
    assert!(own.join("store").is_file());
    run(folder.path(), &["--setups=log", "--out", "next"]);
    assert!(!own.exists());
    let mut interrupted = begin("interrupted");
    let pid = rustix::process::Pid::from_child(&interrupted);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is told");
    assert!(!interrupted.wait().expect("it has ended").success());
    assert!(!own.exists());
}
