//! `loadline cdl show`, `encode` and `stats` as people and scripts meet them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{fs, io};

fn loadline(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.arg("cdl").args(arguments.split_whitespace()).current_dir(folder);
    command.output().expect("the program starts")
}

/// Runs a command, looks at its exit code, and returns both its outputs.
fn check(folder: &Path, arguments: &str, code: i32) -> (String, String) {
    let Output { status, stdout, stderr } = loadline(folder, arguments);
    let [out, error] =
        [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("the output is text"));
    assert_eq!(status.code(), Some(code), "{arguments}: {out}{error}");
    (out, error)
}

/// The benchmark's descriptors as text: 50, 100, 200, 300, 400 and 500 ms (cdl.md 3.5).
fn descriptors(page: &str) -> String {
    let mut text = format!("cdlp: {page}\n");
    if page == "T2A" {
        text += "perf-vs-duration-guideline: 0xc\n";
    }
    for (number, time) in [5, 10, 20, 30, 40, 50, 0].into_iter().enumerate() {
        text += &format!("== descriptor: {}\nt2cdlunits: 0xa\n", number + 1);
        text += "max-inactive-time: 0\nmax-inactive-time-policy: 0x0\n";
        text += "max-active-time: 0\nmax-active-time-policy: 0x0\n";
        text += &format!("duration-guideline: {time}\nduration-guideline-policy: 0x0\n");
    }
    text
}

#[test]
fn descriptors_are_the_same_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("T2A.cdl"), descriptors("T2A")).expect("a file");
    fs::write(folder.join("T2B.cdl"), descriptors("T2B")).expect("a file");
    let (text, _) = check(folder, "show T2A.cdl", 0);
    let head = "Page T2A: read descriptors\n  perf_vs_duration_guideline : 20%\n  Descriptor 1:\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("    duration guideline       : 50 ms\n"), "{text}");
    let (said, _) = check(folder, "encode T2A.cdl --as t2 -o page", 0);
    assert!(said.contains("cdladm upload --file T2A.cdl DEV"), "{said}");
    assert_eq!(check(folder, "show page", 0).0, text);
    // cdladm takes no binary page, so its text is to be made first.
    let (said, _) = check(folder, "encode page --as t2 -o same", 0);
    let first =
        "\n  loadline cdl encode page --as cdl -o page.cdl\n  cdladm upload --file page.cdl DEV\n";
    assert!(said.ends_with(first), "{said}");
    let (hex, _) = check(folder, "encode T2A.cdl --as t2", 0);
    assert!(hex.starts_with("0000  4a 07 00 e4 00 00 00 c0 0a 00 00 00 00 00 00 00\n"), "{hex}");
    let (said, _) = check(folder, "encode page --as cdl -o again.cdl", 0);
    assert!(said.ends_with("\n  cdladm upload --file again.cdl DEV\n"), "{said}");
    assert_eq!(check(folder, "show again.cdl", 0).0, text);
    check(folder, "encode T2B.cdl T2A.cdl --as ata -o log", 0);
    assert_eq!(fs::metadata(folder.join("log")).expect("written").len(), 512);
    let writes = check(folder, "show T2B.cdl", 0).0;
    assert_eq!(check(folder, "show log", 0).0, text + &writes);
    let json: Value = serde_json::from_str(&check(folder, "show log --json", 0).0).expect("JSON");
    let guideline = &json["pages"][1]["descriptors"][3]["duration_guideline"];
    assert_eq!(guideline["ns"], 300_000_000);
}

/// A disk that was full in the middle of it left neither the old descriptors nor the new ones. What is there is left as it is.
#[test]
fn descriptors_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("T2A.cdl"), descriptors("T2A")).expect("a file");
    check(folder, "encode T2A.cdl --as t2 -o page", 0);
    let page = fs::read(folder.join("page")).expect("written");
    let (_, error) = check(folder, "encode T2A.cdl --as t2 -o page", 2);
    assert!(error.contains("page: it is there already, and is left as it is"), "{error}");
    let mut command = Command::new("prlimit");
    command.args(["--fsize=100", env!("CARGO_BIN_EXE_loadline"), "cdl", "encode", "T2A.cdl"]);
    let ended = command.args(["--as", "t2", "-o", "full"]).current_dir(folder).output();
    assert!(!ended.expect("the program starts").status.success());
    assert!(!folder.join("full").exists());
    assert!(fs::read(folder.join("page")).expect("still there") == page);
}

/// A warning ended the program where its reader had gone, with nothing written.
#[test]
fn a_warning_that_nobody_reads_ends_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let idle = descriptors("T2A").replacen("0xc", "0x0", 1);
    fs::write(folder.join("idle.cdl"), idle).expect("a file");
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["cdl", "encode", "idle.cdl", "--as", "t2", "-o", "page"]).current_dir(folder);
    let ended = command.stdout(Stdio::null()).stderr(writer).status();
    assert_eq!(ended.expect("the program starts").code(), Some(0));
    assert_eq!(fs::metadata(folder.join("page")).expect("written").len(), 232);
}

#[test]
fn what_cannot_be_encoded_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = descriptors("T2A");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let refused = |arguments: &str, code, says: &str| {
        let (_, error) = check(folder, arguments, code);
        assert!(error.contains(says), "{arguments}: `{error}` should contain `{says}`");
    };
    write("T2A.cdl", &text);
    write("wrong.cdl", &text.replacen("t2cdlunits: 0xa", "t2cdlunits: 0xb", 1));
    refused("show wrong.cdl", 2, "wrong.cdl: line 4: the unit must be 0x0, 0x6 (500 ns)");
    refused("show missing.cdl", 2, "cannot read missing.cdl");
    refused("encode T2A.cdl --as ab", 2, "T2A.cdl: page T2A, which is encoded with --as t2");
    refused("encode T2A.cdl --as ata", 2, "give both files");
    refused("encode T2A.cdl T2A.cdl --as ata", 2, "no FILE holds page T2B");
    let short = "T2A.cdl: descriptor 1: the duration guideline is shorter than the shortest";
    refused("encode T2A.cdl --as t2 --minimum 60ms", 2, short);
    let waits =
        "warning: T2A.cdl: descriptor 6: the duration guideline is longer than the host waits";
    refused("encode T2A.cdl --as t2 --timeout 400ms", 0, waits);
    write("idle.cdl", &text.replacen("0xc", "0x0", 1));
    refused("encode idle.cdl --as t2", 0, "the drive may ignore the guidelines");
}

const LOG: &str = "\
17, 15051627, 0, 131072, 0x4008
30, 28000000, 0, 131072, 0x0000
52, 40999999, 0, 131072, 0x0000
70, 60000000, 0, 131072, 0x4008
";

/// The terse line worked by hand: two of four I/Os in 70 ms are 28.5/s, and 262144 bytes 3.7 MB/s; p1 to p40 fall on
/// place 0 of two latencies, the others on the first.
#[test]
fn statistics_come_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("a.log"), LOG).expect("a file");
    let (text, _) = check(folder, "stats a.log", 0);
    assert!(text.contains("Priority 0x4008, class BE, level 0, hint 1 (50.00 %):\n"), "{text}");
    let (terse, _) = check(folder, "stats --terse --head 4 --save-priolat a.log", 0);
    let percentiles = "0,0,0,0,0,0,15,15,15,15,15,15,15,15,15,15,15";
    let line = format!("4,BE,0,1,28.5,3.7,15,60,37.50,{percentiles}");
    assert_eq!(terse.lines().nth(1), Some(line.as_str()));
    assert_eq!(check(folder, "stats --head 4 a.log", 0).0, text, "as the script has it");
    let saved = fs::read_to_string(folder.join("priolat.BE.0.1.log")).expect("saved");
    assert_eq!(saved, "15\n60\n");
    let (csv, _) = check(folder, "stats --csv a.log", 0);
    assert!(csv.starts_with("priority,class,level,hint,ios,share_percent,iops,"), "{csv}");
    assert!(csv.contains("\n0x4008,BE,0,1,2,50.0,28.5,262144,3.7,15,60,37.5,22.5,"), "{csv}");
    fs::copy(folder.join("a.log"), folder.join("b.log")).expect("a file");
    let (json, _) = check(folder, "stats --json --percentiles 50 a.log b.log", 0);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let limited = &json["priorities"][1];
    assert_eq!((&json["ios"], &limited["ios"]), (&8.into(), &4.into()), "two jobs side by side");
    let fine = limited["fine_percentiles"][0]["ns"].as_f64().expect("a number");
    // Three digits are kept.
    assert!((fine / 15_051_627.0 - 1.0).abs() <= 1e-3, "{fine}");
    let (late, _) = check(folder, "stats --terse --from 40ms a.log", 0);
    assert!(late.starts_with("NONE,0,0,33.3,"), "one I/O in 30 ms: {late}");
}

/// fio's JSON+ of 256 reads and writes was called a log whose first column is no number.
#[test]
fn statistics_of_a_report_come_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let report = include_str!("../../lab/fio/tests/data/fio-3.33.json");
    let log = include_str!("../../lab/fio/tests/data/fio-3.33_clat.log");
    fs::write(folder.join("run.json"), report).expect("a file");
    fs::write(folder.join("run.log"), log).expect("a file");
    let (text, _) = check(folder, "stats run.json", 0);
    assert!(text.contains("Priority 0x2000, class RT, level 0, hint 0 (17.96 %):\n"), "{text}");
    let line = |text: &str| text.lines().next().expect("a line").to_owned();
    assert_eq!(line(&text), line(&check(folder, "stats run.log", 0).0));
    let (both, _) = check(folder, "stats --json run.json run.log", 0);
    let both: Value = serde_json::from_str(&both).expect("JSON");
    assert_eq!(both["ios"], 512, "a report and a log, side by side");
    assert!(check(folder, "stats --csv run.json", 0).0.contains("\n0x2000,RT,0,0,46,17.96,"));
    assert!(check(folder, "stats --terse run.json", 0).0.contains("\nRT,0,0,"));
    let refused = |text: &str, asked: &str, says: &str| {
        fs::write(folder.join("other"), text).expect("a file");
        let (out, error) = check(folder, &format!("stats {asked} other"), 2);
        assert_eq!(
            (out.as_str(), error.as_str()),
            ("", format!("error: other: {says}\n").as_str())
        );
    };
    let none = "it is neither a latency log of fio nor its JSON+ report";
    refused("# Loadline\n", "", none);
    refused("[1]\n", "", none);
    refused("{ \"ios\": 5 }", "", "it lists no jobs of fio");
    let cut = "it ends within a text: the rest is missing, at line 30 column 11";
    refused(&report[..700], "", &format!("not a JSON report of fio: {cut}"));
    let only = "a report has neither times nor single latencies; name the latency log of that run";
    refused(report, "--from 1s", &format!("--from: {only}"));
    refused(report, "--percentiles 99.999", &format!("--percentiles: {only}"));
    refused(report, "--save-priolat", &format!("--save-priolat: {only}"));
}

#[test]
fn logs_without_figures_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("flags.log"), "5, 7000000, 0, 4096, 0\n").expect("a file");
    let says = "flags.log: Log file does not have any priority information; name one that fio has written with log_prio=1";
    for form in ["", "--terse", "--csv"] {
        let (out, error) = check(folder, &format!("stats {form} flags.log"), 2);
        assert_eq!((out.as_str(), error), ("", format!("error: {says}\n")), "{form}");
    }
    // There was an object of figures beside the one that says what is wrong.
    let (out, error) = check(folder, "stats --json flags.log", 2);
    let error: Value = serde_json::from_str(&error).expect("JSON");
    assert_eq!((out.as_str(), error["error"].as_str()), ("", Some(says)));
    let none = "/dev/null: Log file does not have any priority information";
    assert!(check(folder, "stats /dev/null", 2).1.contains(none));
    fs::write(folder.join("wrong.log"), format!("{LOG}80, x, 0, 1, 0x0000\n")).expect("a file");
    let (_, error) = check(folder, "stats wrong.log", 2);
    assert!(error.contains("wrong.log: line 5: column 2 is no whole number"), "{error}");
    // A line without an end took all of the machine's memory.
    let neither = "it is neither a latency log of fio nor its JSON+ report";
    assert!(check(folder, "stats /dev/zero", 2).1.contains(neither));
    // A log that was named twice was counted twice.
    fs::write(folder.join("a.log"), LOG).expect("a file");
    let (_, error) = check(folder, "stats a.log ./a.log", 2);
    assert!(error.contains("./a.log: it is named twice; name each log once"), "{error}");
    std::os::unix::fs::symlink("a.log", folder.join("priolat.BE.0.1.log")).expect("a link");
    let (_, error) = check(folder, "stats a.log --save-priolat", 2);
    assert!(error.contains("priolat.BE.0.1.log: a link, a pipe or a device"), "{error}");
    assert_eq!(fs::read_to_string(folder.join("a.log")).expect("it is there"), LOG);
    let (_, error) = check(folder, "stats missing.log", 2);
    assert!(error.contains("cannot read missing.log"), "{error}");
}
