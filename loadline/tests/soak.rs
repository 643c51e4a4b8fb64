//! `loadline soak` as people and scripts meet it: what it takes, what it refuses, what it keeps.

#[path = "program/interrupt.rs"]
mod interrupt;
mod program;

use interrupt::interrupt;
use program::{loadline, text};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// A store of the tool's own, which holds keys and objects.
const OWN: &str = "fsync/log/0";

/// As [`program::check`], of `loadline soak`.
fn check(folder: &Path, arguments: &str, code: i32, says: &str) {
    program::check(folder, &format!("soak {arguments}"), code, says);
}

fn json(folder: &Path, arguments: &str) -> Value {
    let output = loadline(folder, &format!("soak {arguments} --json"));
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Copies by what came of them.
fn verdicts(report: &Value, wanted: &str) -> u64 {
    let rows = report["counts"].as_array().expect("a list");
    rows.iter().filter_map(|row| row["verdicts"][wanted].as_u64()).sum()
}

/// Makes `kept/data.img`, a store with contents in which nothing is wrong: damage met what nobody needs.
fn keep_a_sound_store(folder: &Path) {
    let healed = |number: &u64| {
        // What was kept is left as it is.
        let _ = fs::remove_dir_all(folder.join("kept"));
        let case = format!("--rot-self --case {OWN}/flip:{number} --keep kept");
        let report = json(folder, &case);
        let sound = verdicts(&report, "healed") == 1 && report["counts"][0]["in"] == "free pages";
        assert_eq!(report["cases"], 1);
        sound
    };
    assert!((0..200).any(|number| healed(&number)), "a tenth of all flips meets free pages");
}

#[test]
fn what_was_typed_wrong_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("empty"), b"").expect("a file");
    fs::write(folder.join("foreign"), vec![7; 1 << 20]).expect("a file");
    fs::create_dir(folder.join("folder")).expect("a folder");
    for (arguments, says) in [
        ("--rot none", "none: cannot be read"),
        ("--rot empty", "empty: there is no store"),
        ("--rot foreign", "foreign: there is no store"),
        ("--rot folder", "folder: holds no osd.0, osd.1 ..."),
        ("--rot foreign --rot-self", "cannot be used with"),
        ("--rot-self --replay 3", "cannot be used with"),
        ("--rot-self --log-mode fsync", "cannot be used with"),
        ("--replay 3 --log-mode fsync", "cannot be used with"),
        ("--log-mode fast", "`fsync`, `log-only`, `background` or `none`"),
        ("--rot-self --log-device empty", "cannot be used with"),
        ("--log-device empty", "--rot <FILE>"),
        ("--rot-self --jobs 0", "a whole number from 1 to 1024"),
        ("--rot-self --flips many", "it takes a whole number"),
        ("--rot-self --flips 100000000000000000", "must be below"),
        ("--rot-self --seed 18446744073709551615", "must be below"),
        (
            "--rot-self --flips 0 --drops 0 --strays 0 --swaps 0 --truncations 0",
            "nothing would be damaged; give one of at least 1",
        ),
        ("--flips 3", "<--rot <FILE>|--rot-self>"),
        ("--case flip:3", "<--rot <FILE>|--rot-self>"),
        ("--rot-self --case flip:3", "--case flip:3: of the tool's own stores it names one, too"),
        ("--rot-self --case fsync/log/3/flip:x", "--case: expected a case"),
        ("--rot foreign --case fsync/log/3/flip:1", "--case: expected a case"),
        ("--replay 3:colour=red", "--replay"),
    ] {
        check(folder, arguments, 2, says);
    }
}

#[test]
fn copies_of_own_stores_are_counted_and_the_count_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let some = "--rot-self --flips 12 --drops 3 --strays 3 --swaps 2 --truncations 1";
    let report = json(folder, &format!("{some} --jobs 1"));
    assert_eq!(report["cases"], 8 * 21, "{report:#}");
    let of = |name| verdicts(&report, name);
    // Two blocks that hold the same can be swapped.
    let judged = ["healed", "named", "refused", "no change"].map(of);
    assert_eq!(judged.iter().sum::<u64>(), 8 * 21, "{report:#}");
    let reasons = report["refused"].as_object().expect("reasons").values();
    assert_eq!(reasons.filter_map(Value::as_u64).sum::<u64>(), of("refused"), "{report:#}");
    assert_eq!(json(folder, &format!("{some} --jobs 3")), report);
    let other = json(folder, &format!("{some} --jobs 3 --seed 900"));
    assert_ne!(other["counts"], report["counts"], "another seed is other damage");
    check(folder, some, 0, "168 damaged copies\n");
}

#[test]
fn a_given_store_is_damaged_in_copies_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    keep_a_sound_store(folder);
    let store = folder.join("kept/data.img");
    let before = fs::read(&store).expect("it was kept");
    let few = "--flips 20 --drops 4 --strays 4 --swaps 4 --truncations 2";
    let report = json(folder, &format!("--rot kept/data.img {few}"));
    assert_eq!(report["cases"], 34, "{report:#}");
    assert!(verdicts(&report, "named") > 0 && verdicts(&report, "refused") > 0, "{report:#}");
    assert_eq!(fs::read(&store).expect("it is there"), before, "a given store is only read");

    // A node's folder: every store has all cases.
    fs::create_dir(folder.join("node")).expect("a folder");
    ["osd.0", "osd.1", "osd.x"].iter().for_each(|name| {
        fs::copy(&store, folder.join("node").join(name)).expect("a copy");
    });
    assert_eq!(json(folder, &format!("--rot node {few}"))["cases"], 2 * 34);

    let again = json(folder, "--rot kept/data.img --case truncation:1 --keep short");
    assert_eq!(verdicts(&again, "refused"), 1);
    let short = fs::metadata(folder.join("short/data.img")).expect("it was kept").len();
    assert!(short < before.len() as u64, "{short} bytes are left");
    check(folder, "--rot short/data.img", 2, "the store was made for");
}

#[test]
fn a_store_that_is_in_use_or_damaged_is_not_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    keep_a_sound_store(folder);
    let path = folder.join("kept/data.img");
    let node = File::open(&path).expect("it was kept");
    node.lock().expect("nobody else has it");
    check(folder, "--rot kept/data.img --flips 1", 2, "data.img: another program has it, such as");
    node.unlock().expect("it was locked");
    check(folder, "--rot kept/data.img --case flip:1", 0, "1 damaged copies");
    // Every page of the second half holds something else, but its superblocks at the end.
    let mut bytes = fs::read(&path).expect("it was kept");
    let (half, end) = (bytes.len() / 2, bytes.len() - (64 << 10));
    bytes[half..end].fill(0xa5);
    fs::write(&path, bytes).expect("it is written");
    check(folder, "--rot kept/data.img --flips 1", 1, "data.img: not sound as it is");
}

#[test]
fn random_lives_and_their_replay_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let report = json(folder, "--replay 3:lives=2 --keep kept");
    assert_eq!(report["seeds"], 1, "{report:#}");
    assert!(report["cuts"].as_u64() > Some(0) && report["events"].as_u64() > Some(100));
    assert!(folder.join("kept/data.img").exists());
    let says = "kept/data.img: it is there already, and is left as it is";
    check(folder, "--replay 3:lives=2 --keep kept", 2, says);
    check(folder, "--seconds 1 --jobs 1 --seed 5", 0, "restarts judged");
}

/// Ctrl-C was told as if the whole time had been searched.
#[test]
fn a_search_that_is_interrupted_says_so() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["soak", "--seconds", "3600", "--jobs", "1"]).stdout(Stdio::piped());
    let search = command.stderr(Stdio::piped()).spawn().expect("the program starts");
    interrupt(&search);
    let output = search.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().last(), Some("interrupted"));
    assert!(text(&output.stdout).contains("restarts judged"), "what it did is told");
}
