//! `loadline cdl bench` and `loadline cdl plot` as people and scripts meet them.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn loadline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.arg("cdl").args(arguments).current_dir(folder).env("HOME", folder);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// Runs a command, looks at its exit code and at what it says, and returns its standard output.
fn check(folder: &Path, arguments: &[&str], code: i32, says: &str) -> String {
    let output = loadline(folder, arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(says), "{arguments:?}: `{said}` should contain `{says}`");
    text(&output.stdout)
}

/// The words of an option list.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn a_modelled_drive_is_benchmarked_in_the_words_of_the_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let asked = "bench --dev sim:hdd-22tb-cdl --baseline --cdl-single --percentage 20 --dld 1 --ramptime 1 --runtime 5";
    let said = check(folder, &words(asked), 0, "Output directory");
    let outdir = folder.join("hdd-22tb-cdl_cdl_bench");
    let head = format!(
        "Run on sim:hdd-22tb-cdl, ramp time: 1s, run time: 5s\n  Output directory: {}\n\n",
        outdir.display()
    );
    assert!(said.starts_with(&head), "{said}");
    let depths: String =
        [1, 2, 4, 8, 16, 24, 32].map(|depth| format!("  QD={depth}...\n")).concat();
    let course = format!(
        "Uploading T2A CDL page\nUploading T2B CDL page\n\nRunning baseline workload\n{depths}\
         Running CDL workload, single limit\n{depths}"
    );
    assert!(said.contains(&course), "{said}");
    let descriptors = fs::read_to_string(outdir.join("cdlsingle/cdl_descriptors")).unwrap();
    assert!(descriptors.contains("    duration guideline       : 50 ms\n"), "{descriptors}");
    check(folder, &words(asked), 0, "  QD=32... kept from an earlier run");
    let again = [words(asked), vec!["--json"]].concat();
    let json: Value = serde_json::from_str(&check(folder, &again, 0, "steps")).unwrap();
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(14));
    assert_eq!(json["steps"][13]["classes"][1]["priority"], "0x4008");
    let other = asked.replace("--dld 1", "--dld 2");
    check(folder, &words(&other), 2, "Move it out of the way: it holds a run with other options");
    let plots =
        check(folder, &["plot", "hdd-22tb-cdl_cdl_bench", "--save", "--w", "400"], 0, "Page: ");
    assert!(
        plots.contains("Processing CDL results, single limit...\n  QD=1, QD=2, QD=4"),
        "{plots}"
    );
    assert!(outdir.join("plots/cdlsingle_lat_pdf_50ms.png").is_file());
}

#[test]
fn what_cannot_be_run_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("T2B.cdl"), "cdlp: T2B\n").unwrap();
    fs::write(folder.join("file"), vec![0; 1 << 20]).unwrap();
    let refused = |asked: &str, says: &str| {
        let asked = [vec!["bench"], words(asked)].concat();
        check(folder, &asked, 2, says);
    };
    refused("--baseline", "--dev: No device specified");
    refused("--dev sim:hdd-22tb-cdl", "Nothing to run; add --baseline");
    refused("--dev sim:hdd-23tb --baseline", "no modelled drive has this name");
    refused("--dev sim:x.toml --baseline", "--dev sim:x.toml: ");
    refused("--dev sim:hdd-7200-4tb --cdl-single --percentage 5 --dld 1", "does not support CDL");
    refused("--dev none --baseline", "none: No such file");
    refused("--dev file --cdl-single --percentage 5 --dld 1", "does not support CDL: it is a file");
    refused("--dev file --ncq-prio --percentage 5", "does not support NCQ priority: it is a file");
    refused("--dev sim:hdd-22tb-cdl --baseline --t2a T2B.cdl", "T2B.cdl: line 2");
    refused("--dev sim:hdd-22tb-cdl --baseline --percentage -5", "--percentage -5: Invalid");
    check(folder, &["plot", "."], 2, "no results to plot");
}

/// A file through fio: the same tree, and our plots of what fio wrote.
#[test]
fn a_file_is_benchmarked_through_fio() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("file"), vec![7; 16 << 20]).unwrap();
    let asked = [
        "--dev",
        "file",
        "--baseline",
        "--qds",
        "1 4",
        "--ramptime",
        "0",
        "--runtime",
        "2",
        "--outdir",
        "out",
    ];
    let dry = [&["bench", "--dry-run"][..], &asked].concat();
    let job = format!("  fio --name=rndrd_qd4 --filename={}/file --random", folder.display());
    check(folder, &dry, 0, &job);
    assert!(!folder.join("out").exists());
    let run = [&["bench"][..], &asked].concat();
    check(folder, &run, 0, "Running baseline workload\n  QD=1...\n  QD=4...\n");
    let log = fs::read_to_string(folder.join("out/baseline/4/fio.log")).unwrap();
    assert!(log.starts_with("fio --name=rndrd_qd4 ") && log.contains("\n  read: IOPS="), "{log}");
    check(folder, &["plot", "out"], 0, "Page: ");
    // 16 MiB are 128 blocks, each read once.
    let csv = fs::read_to_string(folder.join("out/baseline/lat_pdf.csv")).unwrap();
    assert_eq!(csv.lines().count(), 128);
}
