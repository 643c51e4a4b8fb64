//! The program as people and scripts meet it: what it prints, what it refuses, how it ends.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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
    check(&["study", "run", "recovery-nvm"], "error: there is no study `recovery-nvm`: known are");
    check(&["study", "run", "recovery-nvm"], "did you mean `recovery-nvme`?");
    check(&["study", "run", "recovery-nvme", "--setups", "balansed"], "did you mean `balanced`?");
    check(&["study", "run", "recovery-nvme", "--set", "scale"], "takes key=value");
    check(&["study", "run", "recovery-nvme", "--set", "depth=0"], "--set depth=0: `depth` must be");
    for repeat in ["0", "99999999999"] {
        let says = "it takes a whole number from 1 to 1000";
        check(&["study", "run", "recovery-nvme", "--repeat", repeat], says);
    }
    for jobs in ["0", "4294967295"] {
        let says = "it takes a whole number from 1 to 1024";
        check(&["study", "run", "recovery-nvme", "--jobs", jobs], says);
    }
    check(&["study", "run", "none.toml"], "none.toml: cannot be read");
    check(&["study", "run", ""], "an empty name: there is no study");
    check(&["study", "run", "."], "it is a folder: give a file in it");
    check(
        &["study", "run", "recovery-nvme", "--on", "ram:"],
        "invalid value 'ram:' for '--on <PLACE>': takes files:DIR, devices:",
    );
    let nowhere = ["study", "run", "recovery-nvme", "--on", "files:none"];
    check(&nowhere, "--on files:none: none is not there; make the folder first");
    check(&[&nowhere[..], &["--jobs", "2"]].concat(), "real runs go one after the other");
    check(&["study", "run", "recovery-nvme", "--client", "fio"], "--on <PLACE>");
    // A twin's seeds, repeats and amount of work are those of the runs: they were left out without a word.
    for own in [&["--seed", "2"][..], &["--repeat", "3"], &["--quick"]] {
        let says = format!("'--twin <FOLDER>' cannot be used with '{}", own[0]);
        check(&[&["study", "run", "--twin", "runs"], own].concat(), &says);
    }
    let store = |more: &[&str], says: &str| {
        let on = ["study", "run", "checkpoint-extreme", "--on"];
        check(&[&on[..], more].concat(), says);
    };
    store(&["files:none"], "--on files:none: none is not there; make the folder first");
    store(&["devices:/dev/a,/dev/b"], "the study has one store and 2 devices are named; name one");
    store(&["files:.", "--client", "fio"], "--client fio: fio puts no keys");
    store(&["files:.", "--drive", "nvme"], "--set drive=nvme: it names a modelled drive");
    store(&["files:.", "--set", "profile=balanced"], "an embedded store has none before it");
    store(&["files:.", "--jobs", "2"], "real runs go one after the other");
    store(&["files:.", "--trace"], "leave --trace out");
    let limits = ["study", "run", "cdl-classes", "--on", "files:."];
    check(&limits, "leave --on out");
    check(&["study", "report", "."], "holds no study");
    check(&["study", "export", ".", "--parquet"], "holds no study");
    check(&["study", "export", "."], "--parquet");
    check(&["profile", "show", "balancd"], "did you mean `balanced`?");
    check(&["profile", "show", "balanced", "--preset", "reif"], "did you mean `reef`?");
    check(&["profile", "show", "balanced", "--dir", "."], "a node shows the profile in force");
    check(&["profile", "show", "--iops", "100"], "<PROFILE>");
    check(&["drive", "show", "nvme"], "there is no drive `nvme`");
    check(&["study", "frobnicate"], "unrecognized subcommand");
    let quincy = ["profile", "show", "balanced", "--preset", "quincy", "--bandwidth", "9 MiB"];
    check(&quincy, "preset quincy reckons with IOPS alone");
    check(&["study", "run", "recovery-nvme", "--repeat", "-3"], "--repeat: `-3` is negative");
    check(&["image", "create", "vol", "--size", "-5GiB"], "--size: `-5GiB` is negative");
    check(&[], "loadline study run recovery-nvme --quick");
    check(&["study", "run"], "error: name a study, or the path of a study file");
    check(&["study", "run"], "noisy-neighbour");
    check(&["study", "new", "recovery-nvme"], "a study of this name is there already");
    check(&["study", "new", "../mine"], "a study's name is made of letters, digits");
    check(&["completions", "cmd"], "possible values: bash");
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

/// Somebody begins with the file that the program writes, and it is run as it stands.
#[test]
fn a_study_of_ones_own_begins_with_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let new = loadline(folder.path(), &["study", "new", "mine"]);
    assert!(stdout(&new).contains("loadline study run mine.toml --quick"), "{}", stderr(&new));
    let again = loadline(folder.path(), &["study", "new", "mine"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("mine.toml: it is there already"), "{}", stderr(&again));
    let run = ["study", "run", "mine.toml", "--set", "scale=0.02", "--setups=baseline,balanced"];
    let ran = loadline(folder.path(), &run);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(folder.path().join("runs/mine-1/report.html").is_file());
    for kind in ["checkpoint", "limits"] {
        let name = format!("my-{kind}");
        let new = loadline(folder.path(), &["study", "new", &name, "--kind", kind, "--json"]);
        assert!(stdout(&new).contains(&format!("{name}.toml")), "{}", stderr(&new));
        let show = loadline(folder.path(), &["study", "show", &format!("{name}.toml")]);
        assert!(show.status.success(), "{}", stderr(&show));
    }
}

/// A test of the Ceph Benchmarking Tool is a study with one command, and what did not become part of it is said.
#[test]
fn a_test_of_cbt_becomes_a_study_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let test = include_str!("../../lab/cbt/tests/data/background.yaml");
    fs::write(folder.path().join("moved.yaml"), test).unwrap();
    fs::write(folder.path().join("ceph.conf.wpq"), "[osd]\nosd_op_queue = wpq\nosd_frob = 1\n")
        .unwrap();
    let import = loadline(folder.path(), &["study", "import", "moved.yaml"]);
    let text = stdout(&import);
    assert!(text.contains("loadline study run moved.toml --quick"), "{}", stderr(&import));
    for says in [
        "  moved.yaml:17: `cluster.shuffle_osds`\n",
        "moved.yaml:54: `benchmarks.librbdfio.random_distribution`: addresses are drawn evenly",
        "11 keys are of CBT's own hosts",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    let again = loadline(folder.path(), &["study", "import", "moved.yaml"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("moved.toml: it is there already"), "{}", stderr(&again));
    let run = [
        "study",
        "run",
        "moved.toml",
        "--quick",
        "--set",
        "scale=0.02",
        "--setups=baseline,balanced",
    ];
    let ran = loadline(folder.path(), &run);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(folder.path().join("runs/moved-1/report.html").is_file());
    let other =
        ["study", "import", "moved.yaml", "--conf", "ceph.conf.wpq", "--out", "wpq.toml", "--json"];
    let object: Value = serde_json::from_str(&stdout(&loadline(folder.path(), &other))).unwrap();
    assert_eq!(object["file"], "wpq.toml");
    let unknown = object["unknown"].as_array().unwrap();
    assert_eq!((&unknown[1]["file"], &unknown[1]["line"]), (&"ceph.conf.wpq".into(), &3.into()));
    let bad = |arguments: &[&str], says: &str| {
        let output = loadline(folder.path(), &[&["study", "import"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).starts_with(&format!("error: {says}")), "{}", stderr(&output));
    };
    fs::write(folder.path().join("bad.yaml"), test.replace("osds: [2]", "osds: [9]")).unwrap();
    bad(&["bad.yaml"], "bad.yaml:35: no study can be made of it: `returning` must be the number");
    bad(&["none.yaml"], "none.yaml: cannot be read");
    bad(&["moved.yaml", "--preset", "squid"], "--preset: there is no preset of Ceph's `squid`");
    bad(&["moved.yaml", "--drive", "none"], "there is no drive `none`");
}

/// Published figures stood beside clients that did something else.
#[test]
fn published_figures_stand_beside_the_published_load_alone() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["study", "run", "recovery-nvme", "--set", "scale=0.0005", "--setups=baseline"];
    let run = |more: &[&str]| {
        let output = loadline(folder.path(), &[&small[..], more, &["--json"]].concat());
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        let published = object["setups"][0]["published"]["client"]["iops"].is_f64();
        (published, object["statements"].is_array())
    };
    assert_eq!(run(&[]), (true, true));
    assert_eq!(run(&["--set", "depth=16"]), (false, false));
    fs::write(
        folder.path().join("job.fio"),
        "[job]\nrw=randwrite\nbs=8k\nioengine=libaio\niodepth=16\n",
    )
    .unwrap();
    assert_eq!(run(&["--load", "job.fio"]), (false, false));
}

/// What a package is made of comes from the program itself.
#[test]
fn a_package_finds_what_it_needs_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let version = stdout(&loadline(folder.path(), &["--version"]));
    let wanted = concat!("loadline ", env!("CARGO_PKG_VERSION"), " (commit ");
    assert!(version.starts_with(wanted) && version.contains(", features: "), "{version}");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&loadline(folder.path(), &["completions", shell]));
        assert!(script.contains("study"), "{shell}");
    }
    assert!(loadline(folder.path(), &["man", "man"]).status.success());
    for page in ["loadline.1", "loadline-serve.1", "loadline-study-run.1"] {
        let page = fs::read_to_string(folder.path().join("man").join(page)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    // Options stood there without their values: `[--reservation]`.
    let page = |name: &str| {
        let text = fs::read_to_string(folder.path().join("man").join(name)).unwrap();
        let synopsis = text.split(".SH").find(|section| section.starts_with(" SYNOPSIS"));
        synopsis.expect("a synopsis").replace('\\', "")
    };
    let qos = page("loadline-image-qos.1");
    assert!(qos.contains("[--reservation <IOPS>]") && qos.contains("[--json]"), "{qos}");
    assert!(qos.contains("<NAME>") && !qos.contains("OPTIONS"), "{qos}");
    assert!(page("loadline-image.1").contains("<COMMAND>"), "{}", page("loadline-image.1"));
}

/// A node that somebody has typed, which ends with this.
struct Typed(std::process::Child);

impl Drop for Typed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The README's lines one after the other, as who follows it types them: smaller, at another port, and the study but planned.
#[cfg(feature = "top")]
#[expect(clippy::disallowed_methods, reason = "a node takes its time to begin")]
#[test]
fn the_readmes_lines_work_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let readme = include_str!("../../README.md");
    let smaller = [("1GiB", "128MiB"), ("512MiB", "64MiB"), (":7480", ":0"), ("5s", "1s")];
    let mut node = None;
    let mut typed = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("loadline ")) {
        let line = line.split(" #").next().unwrap_or(line).to_owned();
        let line = smaller.iter().fold(line, |line, (from, to)| line.replace(from, to));
        let mut words: Vec<&str> = line.split_whitespace().collect();
        typed += 1;
        if words[0] == "serve" {
            let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
            command.args(&words).args(["--log", "error"]).current_dir(folder.path());
            node = Some(Typed(command.spawn().unwrap()));
            let asks = ["status", "--dir", "runs/node"];
            let answers = |_: &u32| {
                std::thread::sleep(Duration::from_millis(100));
                loadline(folder.path(), &asks).status.success()
            };
            assert!((0..3_000).any(|turn| answers(&turn)), "no node in five minutes");
            continue;
        }
        if words.starts_with(&["study", "run"]) {
            words.push("--dry-run");
        }
        // What a machine lacks is no fault of the line.
        let output = loadline(folder.path(), &words);
        let is_well = output.status.success() || words[0] == "doctor";
        assert!(is_well, "{line}: {}", stderr(&output));
    }
    assert_eq!(typed, 8, "two of the ten lines install the program");
    let mut node = node.expect("the README serves a node");
    assert!(node.0.wait().unwrap().success());
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
    assert_eq!(balanced["published"]["client"]["iops"], 11_017.017);
    assert!(object["recommended"].is_null(), "there is one setup beside the baseline");
    assert!(object["answer"].is_array());
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

/// A study that was run by another build had its result taken away, and the runs of both in one folder.
#[test]
fn another_build_gets_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let of_another_build = |folder: &Path| {
        let path = folder.join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["engine"] = "another".into();
        manifest.as_object_mut().unwrap().remove("crc32c");
        fs::write(&path, manifest.to_string()).unwrap();
    };
    for made in 1..=3 {
        let study = ["study", "run", "recovery-nvme", "--setups=baseline", "--set", "scale=0.0005"];
        let output = loadline(folder.path(), &study);
        assert!(output.status.success(), "{}", stderr(&output));
        let folders: Vec<_> = fs::read_dir(&runs).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(folders.len(), made);
        assert!(folders.iter().all(|of| of.join("results.json").is_file()));
        folders.iter().for_each(|of| of_another_build(of));
    }
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
        "--jobs=1",
    ];
    let runs = folder.path().join("runs");
    let interrupt = |first: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        let command = command.args(arguments).current_dir(folder.path()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        let begun = || fs::metadata(runs.join("recovery-nvme-1").join(first));
        while !begun().is_ok_and(|file| file.len() > 0) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.expect("kill is there").success());
        child.wait_with_output().unwrap()
    };
    // It was said to continue in a folder that was gone again.
    let early = stderr(&interrupt("manifest.json"));
    let is_kept = runs.join("recovery-nvme-1").exists();
    assert_eq!(early.contains("nothing is kept, and the same command begins anew"), !is_kept);
    let again = || {
        drop(fs::remove_dir_all(&runs));
        interrupt("runs.jsonl")
    };
    // The signal may come after the last run: then the study is done, and another one is to be interrupted.
    let mut output = again();
    for _ in 0..50 {
        if output.status.success() {
            output = again();
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
    check(&["drive", "show", "hdd-constellation"], "calibration");
    check(&["drive", "show", "hdd-22tb-cdl"], "seek_random_mean_ns");
    check(&["doctor"], "findings");
    let study = ["study", "run", "cdl-classes", "--dry-run"];
    check(&study, "runs");
    let small = ["--on", "files:.", "--set", "scale=0.001", "--set", "image=64 MiB"];
    check(&[&["study", "run", "recovery-nvme", "--dry-run"], &small[..]].concat(), "plan");
    check(&["cdl", "bench", "--dev", "sim:hdd-22tb-cdl", "--baseline", "--dry-run"], "workloads");
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
    std::fs::write(folder.path().join("file"), "").unwrap();
    check(
        &["status", "--dir", "file", "--json"],
        2,
        "file is no folder; --dir takes a node's folder",
    );
    check(&["study", "run", "recovery-nvme", "--repeat", "-3", "--json"], 2, "`-3` is negative");
    check(&["stduy", "--json"], 2, "unrecognized subcommand 'stduy'");
    check(&["study", "show", "--json"], 2, "required arguments were not provided");
    check(&["study", "run", "--json"], 2, "name a study");
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
        let says = match path {
            "missing.toml" => {
                "cannot read missing.toml: there is no such file or folder".to_owned()
            }
            _ => format!("{path} holds no study"),
        };
        check(&["study", "report", path], 2, &says);
        check(&["study", "compare", path, path], 2, &says);
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

/// The words of a line as a shell has them, up to the gap before what is said of it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for (at, letter) in line.char_indices() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted && line[at..].starts_with("  ") => break,
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

/// `--set osd_max_backfills=4` of the help was refused: mClock sets that itself.
#[test]
fn every_example_of_the_help_would_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::create_dir(place.join("drives")).unwrap();
    fs::create_dir(place.join("disk")).unwrap();
    fs::copy(root.join("drives/nvme-p3700.toml"), place.join("drives/mine.toml")).unwrap();
    fs::copy(root.join("worlds/ceph/tests/samples/facts.json"), place.join("facts.json")).unwrap();
    let job = "[global]\nioengine=libaio\nbs=4k\nrw=randrw\niodepth=16\n[oltp]\n";
    fs::write(place.join("oltp.fio"), job).unwrap();
    let done = |arguments: &[&str]| {
        let output = loadline(place, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        output
    };
    done(&["study", "new", "mine"]);
    let small = ["scale=1", "objects=8", "object_size=256 KiB", "image=2 MiB", "baseline=1 s"];
    let small = small.into_iter().chain(["pgs=8", "osd_mclock_max_capacity_iops_ssd=20000"]);
    let set = small.flat_map(|set| ["--set", set]);
    let real = ["study", "run", "recovery-nvme", "--on", "files:disk", "--setups", "baseline"];
    done(&real.into_iter().chain(["--out", "runs/real"]).chain(set).collect::<Vec<_>>());
    let help = stdout(&done(&["study", "run", "--help"]));
    let (_, examples) = help.split_once("Examples:\n").expect("there are examples");
    let examples = examples.lines().filter_map(|line| line.strip_prefix("  loadline "));
    let examples: Vec<Vec<String>> = examples.map(words).collect();
    assert!(examples.len() >= 10, "{examples:?}");
    for example in examples {
        let arguments: Vec<&str> = example.iter().map(String::as_str).collect();
        done(&[&arguments[..], &["--dry-run"]].concat());
    }
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

/// A folder's name that is no text ended the program: before a study's first run, and instead of the sentence about what was typed.
#[test]
fn names_need_not_be_text() {
    let folder = tempfile::tempdir().unwrap();
    let name = OsStr::from_bytes(b"o\xff");
    let run = |before: &[&str], behind: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        command.args(before).arg(name).args(behind).current_dir(folder.path());
        command.output().expect("the program starts")
    };
    let study = ["study", "run", "cdl-classes", "--quick", "--setups", "neither", "--out"];
    let output = run(&study, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let manifest = fs::read_to_string(folder.path().join(name).join("manifest.json")).unwrap();
    assert!(manifest.contains("--setups neither --out o\u{fffd}"), "{manifest}");
    let output = run(&["image", "create", "--dir"], &["vol", "--size", "-5GiB"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`-5GiB` is negative"), "{}", stderr(&output));
    let output = run(&["image", "--dir"], &["frobnicate"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
