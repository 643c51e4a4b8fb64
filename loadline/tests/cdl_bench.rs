//! `loadline cdl bench` and `loadline cdl plot` as people and scripts meet them.

use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

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

/// An empty HOME is none: results were written into the folder that the command was typed in.
#[test]
fn an_empty_home_is_no_place_for_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["cdl", "bench", "--dev", "sim:hdd-22tb-cdl", "--baseline", "--runtime", "1"]);
    let output = command.current_dir(folder.path()).env("HOME", "").output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--outdir: name a folder, since HOME is not set"), "{said}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
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
    let file = |ending| outdir.join(format!("plots/cdlsingle_lat_pdf_50ms.{ending}")).is_file();
    assert!(file("svg") && !file("png"));
    let png = ["plot", "hdd-22tb-cdl_cdl_bench", "--png", "--w", "400"];
    if cfg!(feature = "png") {
        check(folder, &png, 0, "Page: ");
        assert!(file("png"));
    } else {
        let says = "error: --png: this build draws no PNG files; build it with `cargo build --release --locked \
                    --package loadline --features png`\n";
        assert_eq!(check(folder, &png, 2, says), "", "refused before anything is plotted");
    }
}

/// Two seeds of a drive are one benchmark to chance; a drive that turns more slowly is another.
#[test]
fn two_benchmarks_are_held_against_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let built_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../drives/hdd-22tb-cdl.toml");
    let slower = fs::read_to_string(built_in).unwrap().replace("rpm = 7200", "rpm = 5400");
    fs::write(folder.join("slower.toml"), slower).unwrap();
    for (outdir, drive, seed) in [
        ("first", "hdd-22tb-cdl", "1"),
        ("second", "hdd-22tb-cdl", "2"),
        ("slower", "slower.toml", "1"),
    ] {
        let asked = format!(
            "bench --dev sim:{drive} --outdir {outdir} --seed {seed} --ramptime 1 --runtime 120 --baseline --cdl-single \
             --percentage 20 --dld 1 --qds"
        );
        check(folder, &[words(&asked), vec!["1 16"]].concat(), 0, "QD=16");
    }
    // Baseline, and with and without the limit, at two depths; five figures each.
    let text = check(folder, &words("compare first second"), 0, "cdlsingle");
    assert_eq!(text.lines().filter(|line| line.contains(" % ±")).count(), 30, "{text}");
    assert!(text.contains("limit 1"), "{text}");
    let json = check(
        folder,
        &words("compare first slower --json"),
        1,
        "figures lie farther apart than 5 %",
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let class = &json["classes"][0];
    assert_eq!((&class["workload"], &class["depth"]), (&Value::from("baseline"), &Value::from(1)));
    let mean = &class["figures"][1];
    assert_eq!((&mean["name"], &mean["verdict"]), (&Value::from("mean"), &Value::from("beyond")));
    // Half a turn more, of 8.3 and of 11.1 ms, is 1.4 ms of some 12.
    let apart = mean["difference"].as_f64().unwrap();
    assert!((0.08..0.16).contains(&apart), "{apart}");
    let missing = "cannot read nothing: there is no such file or folder";
    check(folder, &words("compare first nothing"), 2, missing);
    check(folder, &words("compare nothing nowhere"), 2, missing);
    fs::create_dir(folder.join("empty")).unwrap();
    check(folder, &words("compare first empty"), 2, "no depth of any workload in common");
    check(folder, &words("compare first second --within lots"), 2, "a number of percent");
}

/// The benchmark of the tour was refused for what it left out.
#[test]
fn the_tours_benchmark_can_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let tour = include_str!("../../docs/README.md");
    let line = tour.lines().find_map(|line| line.strip_prefix("loadline cdl "));
    let line = line.expect("the tour has a benchmark").split(" #").next().expect("a command");
    check(folder.path(), &[words(line), vec!["--dry-run"]].concat(), 0, "");
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
    refused("--dev sim:hdd-23tb --baseline", "there is no drive `hdd-23tb`");
    refused(
        "--dev sim:x.toml --baseline",
        "x.toml: cannot be read: there is no such file or folder",
    );
    refused("--dev sim:hdd-7200-4tb --cdl-single --percentage 5 --dld 1", "does not support CDL");
    refused("--dev none --baseline", "none: there is no such file");
    refused("--dev file --cdl-single --percentage 5 --dld 1", "does not support CDL: it is a file");
    refused("--dev file --ncq-prio --percentage 5", "does not support NCQ priority: it is a file");
    refused("--dev sim:hdd-22tb-cdl --baseline --t2a T2B.cdl", "T2B.cdl: line 2");
    refused("--dev sim:hdd-22tb-cdl --baseline --percentage -5", "--percentage -5: Invalid");
    check(folder, &["plot", "."], 2, "no results to plot");
}

/// A dry run of limits was refused where no drive had them: it is for who wants to see what a drive must support.
#[test]
fn a_dry_run_needs_no_drive() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("file"), vec![0; 1 << 20]).unwrap();
    let dry = |dev: &str, says: &str| {
        let asked = "--cdl-single --percentage 5 --dld 1 --qds 4 --dry-run";
        let asked = format!("bench --dev {dev} {asked}");
        check(folder, &words(&asked), 0, says);
        check(folder, &words(&asked), 0, "fio --name=rndrd_qd4 ");
    };
    dry("file", "  needs a drive with duration limits (CDL): missing, it is a file, no drive\n");
    dry("file", "\n  echo 1 > /sys/block/NAME/device/cdl_enable\n");
    dry("/dev/to-come", "\n  echo 1 > /sys/block/to-come/device/cdl_enable\n");
    dry(
        "/dev/to-come",
        "  needs a drive with duration limits (CDL): missing, there is no such file or folder",
    );
    dry("sim:hdd-7200-4tb", "(CDL): missing, the model has none; sim:hdd-22tb-cdl has\n");
    dry("sim:hdd-22tb-cdl", "  needs a drive with duration limits (CDL): found\n");
    dry("file --json", "\"found\": false");
    check(
        folder,
        &words("bench --dev to-come --baseline --dry-run"),
        0,
        "needs a block device or a file: missing",
    );
    let short =
        include_str!("../../drives/cdl/T2A.cdl").replace("t2cdlunits: 0xa", "t2cdlunits: 0x6");
    fs::write(folder.join("short.cdl"), short).unwrap();
    let asked = "bench --dev sim:hdd-22tb-cdl --cdl-single --percentage 5 --dld 1 --t2a short.cdl --dry-run";
    check(folder, &words(asked), 2, "--t2a: ");
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

/// In the place of fio: two processes of one group that hold what they were given, and do not end by themselves. A shell
/// gives its background commands no input, but all else that is open.
const ENDLESS_FIO: &str = "#!/bin/sh
[ \"$1\" = --version ] && { echo fio-3.36; exit; }
exec 3<&0
sleep 1200 &
echo $$ $! > pids.part
mv pids.part pids
wait
";

/// A folder with an endless fio, and a benchmark on a file.
struct Endless {
    folder: tempfile::TempDir,
}

impl Endless {
    fn new() -> Endless {
        let folder = tempfile::tempdir().expect("a folder");
        let fio = folder.path().join("fio");
        fs::write(&fio, ENDLESS_FIO).unwrap();
        fs::set_permissions(&fio, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("file"), vec![7; 1 << 20]).unwrap();
        Endless { folder }
    }

    /// The benchmark, under another program or not.
    fn command(&self, before: &[&str]) -> Command {
        let line: Vec<&str> = [before, &[env!("CARGO_BIN_EXE_loadline")]].concat();
        let mut path = OsString::from(self.folder.path());
        path.push(":");
        path.push(std::env::var_os("PATH").expect("a path"));
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(words("cdl bench --dev file --baseline --qds 1 --outdir out"));
        command.current_dir(self.folder.path()).env("PATH", path).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits until its fio is at work. The processes of fio come with it.
    fn begin(&self, before: &[&str]) -> (Child, Vec<u32>) {
        let pids = self.folder.path().join("out/baseline/1/pids");
        let _ = fs::remove_file(&pids);
        let child = self.command(before).spawn().expect("the program starts");
        wait_until("fio is at work", || pids.exists());
        let text = fs::read_to_string(pids).unwrap();
        (child, text.split_whitespace().map(|pid| pid.parse().unwrap()).collect())
    }

    /// Nobody else can begin in the folder.
    fn check_busy(&self) {
        let refused = self.command(&[]).output().expect("the program starts");
        let says = "error: --outdir: another benchmark, or a fio that one has left behind, is at work in out;";
        assert!(text(&refused.stderr).starts_with(says), "{}", text(&refused.stderr));
        assert_eq!(refused.status.code(), Some(1));
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes take their time")]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..15_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: not within 300 s");
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.expect("kill runs").success(), "{signal} to {pid}");
}

/// Whether a process runs; one that only waits to be counted out does not.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// SIGTERM once ended the benchmark at once and left fio reading; SIGINT ended the first of fio's processes only.
#[test]
fn whoever_ends_the_benchmark_ends_all_of_its_fio() {
    let bench = Endless::new();
    for signal in ["TERM", "INT"] {
        let (child, fio) = bench.begin(&[]);
        assert!(fio.iter().all(|pid| is_alive(*pid)));
        bench.check_busy();
        send(signal, child.id());
        let ended = child.wait_with_output().unwrap();
        let says = "interrupted; the same command continues with the steps that are not finished";
        assert!(text(&ended.stderr).contains(says), "{signal}: {}", text(&ended.stderr));
        assert_eq!(ended.status.code(), Some(130), "{signal}");
        wait_until("fio is gone", || fio.iter().all(|pid| !is_alive(*pid)));
    }
    let (child, _) = bench.begin(&["nohup"]);
    send("HUP", child.id());
    bench.check_busy();
    send("TERM", child.id());
    assert_eq!(
        child.wait_with_output().unwrap().status.code(),
        Some(130),
        "nohup outlives a terminal"
    );
}

/// Nobody can put fio in order for a benchmark that is killed; but two at once would spoil each other's figures.
#[test]
fn a_folder_stays_taken_while_anything_of_its_fio_lives() {
    let bench = Endless::new();
    let (mut child, fio) = bench.begin(&[]);
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in &fio {
        bench.check_busy();
        send("KILL", *pid);
        wait_until("it is gone", || !is_alive(*pid));
    }
    let (child, fio) = bench.begin(&[]);
    send("TERM", child.id());
    child.wait_with_output().unwrap();
    wait_until("fio is gone", || fio.iter().all(|pid| !is_alive(*pid)));
}
