//! Studies on a real Ceph cluster, as `scripts/ceph-here up` makes one: `make test-ceph`. Each test leaves it as it found it, and says so.
//! What is planned alone is planned on recorded answers too, without a cluster.

use loadline_ceph::answers::{ConfigVersion, OsdMapDump, StoredOption};
use loadline_ceph::{CephConnection, CephPlace, CommandTarget, ask, tell};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const MON: CommandTarget = CommandTarget::Monitor;

struct Cluster {
    on: Box<dyn CephConnection>,
    conf: PathBuf,
    fsid: String,
}

/// The cluster under test; without one there is nothing to test.
#[expect(clippy::disallowed_methods, reason = "a test that somebody switches on")]
fn cluster() -> Option<Cluster> {
    let Ok(conf) = std::env::var("CEPH_HERE") else {
        eprintln!("skipped: CEPH_HERE names no ceph.conf; `make test-ceph` makes a cluster");
        return None;
    };
    let place: CephPlace = format!("ceph:{conf}").parse().unwrap();
    let on = place.connect().expect("the cluster runs");
    let status: Value = ask(&*on, &MON, &json!({"prefix": "status"})).unwrap();
    let fsid = status["fsid"].as_str().unwrap().to_owned();
    Some(Cluster { on, conf: conf.into(), fsid })
}

impl Cluster {
    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        self.command_of("recovery-nvme", folder, arguments)
    }

    fn command_of(&self, study: &str, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        let on = format!("ceph:{}", self.conf.display());
        command.args(["study", "run", study, "--on", &on, "--out", "run"]);
        command.args(arguments).current_dir(folder);
        command
    }

    fn study(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command(folder, arguments).output().expect("the program starts")
    }

    /// Waits until something is so.
    fn wait(&self, what: &dyn Fn() -> bool) {
        let came = (0..300).any(|_| {
            self.on.pause(Duration::from_secs(1));
            what()
        });
        assert!(came, "it did not come that far");
    }

    /// Puts back what a run left that died, in the folder `run`; what it told.
    fn undo(&self, folder: &Path) -> String {
        let undo = Command::new(env!("CARGO_BIN_EXE_loadline"))
            .args(["ceph", "undo", "run", "--on", &format!("ceph:{}", self.conf.display())])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(undo.status.success(), "{}{}", stdout(&undo), stderr(&undo));
        stdout(&undo)
    }

    fn word(&self) -> String {
        format!("--yes-i-may-hurt-this-cluster={}", self.fsid)
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, command: &Value) -> T {
        ask(&*self.on, &MON, command).unwrap()
    }

    fn tell(&self, command: &Value) {
        tell(&*self.on, &MON, command).unwrap();
    }

    /// Options, flags, pools, who is up and in, the balancer.
    fn state(&self) -> Value {
        let stored: Vec<StoredOption> = self.ask(&json!({"prefix": "config dump"}));
        let options = stored.iter().map(|it| format!("{} {} {}", it.who(), it.name, it.value));
        let options: BTreeSet<String> = options.collect();
        let map: OsdMapDump = self.ask(&json!({"prefix": "osd dump"}));
        let balancer: Value =
            ask(&*self.on, &CommandTarget::Manager, &json!({"prefix": "balancer status"})).unwrap();
        let pools: Vec<String> = map.pools.into_iter().map(|pool| pool.pool_name).collect();
        let osds: Vec<(bool, bool)> = map.osds.iter().map(|osd| (osd.up, osd.is_in)).collect();
        json!([options, map.flags_set, pools, osds, balancer["active"]])
    }

    fn version(&self) -> u64 {
        let log: Vec<ConfigVersion> = self.ask(&json!({"prefix": "config log", "num": 1}));
        log[0].version
    }

    /// Until a study would begin.
    fn rest(&self, folder: &Path) {
        for _ in 0..90 {
            if !stdout(&self.study(folder, &["--dry-run", "--set", "scale=0.001"]))
                .contains("in the way")
            {
                return;
            }
            self.on.pause(Duration::from_secs(1));
        }
        panic!("it did not come to rest");
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn a_plan_names_every_condition_and_changes_nothing() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    cluster.rest(folder.path());
    let (before, version) = (cluster.state(), cluster.version());
    let plan = cluster.study(folder.path(), &["--dry-run", "--set", "scale=0.001"]);
    let text = stdout(&plan);
    assert!(text.contains(&cluster.fsid) && text.contains("background_best_effort"), "{text}");
    assert!(!text.contains("in the way"), "{text}");
    assert!(stderr(&plan).contains(&cluster.word()), "{}", stderr(&plan));
    let check = |what: &Value, back: &Value, says: &str| {
        cluster.tell(what);
        let plan = cluster.study(folder.path(), &["--dry-run", "--set", "scale=0.001"]);
        let run = cluster.study(folder.path(), &["--set", "scale=0.001", &cluster.word()]);
        cluster.tell(back);
        assert!(stdout(&plan).contains(says), "{says}: {}", stdout(&plan));
        assert_eq!(run.status.code(), Some(2), "{says}");
        assert!(stderr(&run).contains(says), "{says}: {}", stderr(&run));
        cluster.rest(folder.path());
    };
    let flag = |prefix: &str| json!({"prefix": prefix, "key": "noout"});
    check(&flag("osd set"), &flag("osd unset"), "somebody has set noout");
    let away = |prefix: &str| json!({"prefix": prefix, "ids": ["2"]});
    check(&away("osd out"), &away("osd in"), "3 in: start the others");
    let lock = json!({"prefix": "config-key set", "key": "loadline/run", "val": "somebody"});
    let free = json!({"prefix": "config-key rm", "key": "loadline/run"});
    check(&lock, &free, "a run holds it: somebody");
    let large = cluster.study(folder.path(), &["--dry-run", "--set", "scale=1"]);
    assert!(stdout(&large).contains("take a smaller --set scale"), "{}", stdout(&large));
    let silent = cluster.study(folder.path(), &["--set", "scale=0.001"]);
    assert!(stderr(&silent).contains("nothing is changed without a word"), "{}", stderr(&silent));
    assert_eq!((cluster.state(), cluster.version()), (before, version));
    assert!(!folder.path().join("run").exists(), "what is refused leaves no folder");
}

/// The run dies by `kill -9` in the midst of a recovery, somebody sets an option meanwhile, and `ceph undo` leaves all else as it was.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn what_dies_in_the_middle_is_put_back_and_what_others_did_stays() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    cluster.rest(folder.path());
    let before = cluster.state();
    let word = cluster.word();
    let mut run = cluster
        .command(folder.path(), &["--set", "scale=0.001", "--setups", "balanced", &word])
        .spawn()
        .expect("the program starts");
    let has_left = || {
        let map: OsdMapDump = cluster.ask(&json!({"prefix": "osd dump"}));
        map.osds.iter().any(|osd| !osd.is_in)
    };
    cluster.wait(&has_left);
    cluster.wait(&|| !has_left());
    cluster.on.pause(Duration::from_secs(2));
    run.kill().unwrap();
    run.wait().unwrap();
    let pids = Command::new("pgrep").args(["-f", "rbdname|clients.fio"]).output().unwrap();
    assert_eq!(stdout(&pids), "", "the clients died with it");
    let foreign =
        json!({"prefix": "config set", "who": "osd", "name": "osd_max_scrubs", "value": "2"});
    cluster.tell(&foreign);
    let told = cluster.undo(folder.path());
    assert!(told.contains("osd/osd_max_scrubs"), "{told}");
    let kept: Vec<StoredOption> = cluster.ask(&json!({"prefix": "config dump"}));
    assert!(kept.iter().any(|option| option.name == "osd_max_scrubs" && option.value == "2"));
    cluster.tell(&json!({"prefix": "config rm", "who": "osd", "name": "osd_max_scrubs"}));
    assert_eq!(cluster.state(), before);
    cluster.rest(folder.path());
}

/// 100 objects and two setups; the same record, result and page as elsewhere, and a comparison with the simulated world.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn a_recovery_is_studied_and_compared() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    cluster.rest(folder.path());
    let before = cluster.state();
    let word = cluster.word();
    let run = cluster.study(
        folder.path(),
        &["--set", "scale=0.001", "--setups", "baseline,balanced", "--json", &word],
    );
    assert!(run.status.success(), "{}", stderr(&run));
    assert_eq!(cluster.state(), before);
    let found: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("run/results.json")).unwrap())
            .unwrap();
    assert_eq!(found["world"], "ceph");
    let figure = |key: &str| found["setups"][1]["figures"][key].as_f64();
    let moved = figure("recovery/objects").unwrap();
    // Three quarters of 100 objects and of the 64 of the image.
    assert!((80.0..=165.0).contains(&moved), "{moved} copies");
    assert!(figure("client/iops").unwrap() > 0.0 && figure("client/clat_ms/p99").unwrap() > 0.0);
    assert!(figure("osd/queue_ms").is_some() && figure("recovery/told_after_s").is_some());
    let facts = found["drive"]["facts"].to_string();
    assert!(facts.contains("restored: options, flags, pools"), "{facts}");
    assert!(folder.path().join("run/report.html").is_file());
    let loadline = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_loadline"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let simulated = [
        "study",
        "run",
        "recovery-nvme",
        "--set",
        "scale=0.001",
        "--setups",
        "baseline,balanced",
        "--out",
        "sim",
    ];
    assert!(loadline(&simulated).status.success());
    let compared = loadline(&["study", "compare", "sim", "run"]);
    assert!(compared.status.success(), "{}", stderr(&compared));
    assert!(stdout(&compared).contains("balanced"), "{}", stdout(&compared));
}

/// A scrub, a trim and a removal, each small: the figures agree with each other, and the cluster is as it was.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn services_are_studied() {
    let Some(cluster) = cluster() else { return };
    let check = |study: &str, scale: &str, service: &str, objects: f64| {
        let folder = tempfile::tempdir().unwrap();
        cluster.rest(folder.path());
        let before = cluster.state();
        let set = ["--set", scale, "--set", "clients=30 s", "--setups", "baseline,high_client_ops"];
        let mut run = cluster.command_of(study, folder.path(), &set);
        let run = run.args(["--json", &cluster.word()]).output().unwrap();
        assert!(run.status.success(), "{study}: {}", stderr(&run));
        assert_eq!(cluster.state(), before, "{study}");
        let found = std::fs::read(folder.path().join("run/results.json")).unwrap();
        let found: Value = serde_json::from_slice(&found).unwrap();
        let figures = &found["setups"][1]["figures"];
        let figure = |key: &str| {
            let value = figures[format!("{service}/{key}")].as_f64();
            value.unwrap_or_else(|| panic!("{study} has no {service}/{key}: {figures}"))
        };
        assert_eq!((figure("objects"), figure("objects_left")), (objects, 0.0), "{study}");
        let reckoned = objects / figure("seconds");
        assert!((figure("objects_per_s") / reckoned - 1.0).abs() < 0.01, "{study}: {figures}");
        assert!(figures["client/iops"].as_f64().unwrap() > 0.0, "{study}: {figures}");
        let facts = found["drive"]["facts"].to_string();
        assert!(facts.contains("restored: options, flags, pools"), "{study}: {facts}");
        (figures.clone(), found["warnings"].to_string())
    };
    let (scrub, warnings) = check("scrub-nvme", "scale=0.0002", "scrub", 2000.0);
    // A group tells of its end when the manager has taken its report in, and never before it.
    assert!((0.0..10.0).contains(&scrub["scrub/told_after_s"].as_f64().unwrap()), "{scrub}");
    assert!((0.0..=1.0).contains(&scrub["scrub/slots_used"].as_f64().unwrap()), "{scrub}");
    assert!(warnings.contains("no Ceph has this scheduler"), "{warnings}");
    let (trim, _) = check("snaptrim-nvme", "scale=0.001", "trim", 80.0);
    assert!(trim["trim/clat_ms/p99"].as_f64().unwrap() > 0.0, "{trim}");
    assert!(trim["alone/client_ops"].as_f64().unwrap() > 0.0, "{trim}");
    // Three copies of each.
    check("delete-nvme", "scale=0.001", "removal", 300.0);
}

/// The run dies by `kill -9` in the midst of a scrub that it asked for: its pools, flags and options go, and no other pool was scrubbed.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn a_scrub_that_dies_in_the_middle_is_put_back() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    cluster.rest(folder.path());
    let before = cluster.state();
    let word = cluster.word();
    let set = ["--set", "scale=0.001", "--setups", "balanced", &word];
    let mut run = cluster.command_of("scrub-nvme", folder.path(), &set).spawn().unwrap();
    let scrubs = || {
        let dump = json!({"prefix": "pg dump", "dumpcontents": ["pgs"]});
        let output = tell(&*cluster.on, &CommandTarget::Manager, &dump).unwrap();
        String::from_utf8_lossy(&output).contains("scrubbing+deep")
    };
    cluster.wait(&scrubs);
    let flags = cluster.ask::<OsdMapDump>(&json!({"prefix": "osd dump"})).flags_set;
    assert!(flags.iter().any(|flag| flag == "nodeep-scrub"), "nobody else's pool is scrubbed");
    run.kill().unwrap();
    run.wait().unwrap();
    cluster.undo(folder.path());
    assert_eq!(cluster.state(), before);
    cluster.rest(folder.path());
}

/// A `ceph` program that gives the answers of an idle cluster of four OSDs, and knows no other question.
struct RecordedProgram {
    folder: tempfile::TempDir,
}

const ANSWERS: &str = "#!/bin/sh
[ \"$1\" = --version ] && exit 0
shift 8 # --conf CONF --name USER --connect-timeout 10 --format json
[ -e \"${0%/*}/answers/$*\" ] && exec cat \"${0%/*}/answers/$*\"
echo \"it was not recorded: $*\" >&2
exit 2
";

impl RecordedProgram {
    fn new() -> RecordedProgram {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("answers")).unwrap();
        std::fs::write(path("ceph"), ANSWERS).unwrap();
        std::fs::set_permissions(path("ceph"), Permissions::from_mode(0o755)).unwrap();
        std::fs::write(path("ceph.conf"), "").unwrap();
        // Where librados is installed, this takes its place: the program is asked.
        std::fs::write(path("librados.so.2"), "no library").unwrap();
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worlds/ceph/tests/samples");
        let sample = |name: &str| -> Value {
            let text = std::fs::read(samples.join(format!("idle-{name}.json"))).unwrap();
            serde_json::from_slice(&text).unwrap()
        };
        // Of the recorded map's OSDs two were kept.
        let mut map = sample("osd_dump");
        let osd = map["osds"][0].clone();
        let numbered = |id: u32| {
            let mut osd = osd.clone();
            osd["osd"] = json!(id);
            osd
        };
        map["osds"] = (0..4).map(numbered).collect();
        let answers = [
            ("status", sample("status")),
            ("versions", sample("versions")),
            ("osd dump", map),
            ("osd df", sample("osd_df")),
            ("osd pool stats", sample("osd_pool_stats")),
            ("df", json!({"pools": []})),
            ("config dump", sample("config_dump")),
            ("tell osd.0 perf dump", sample("osd0-perf_dump")),
        ];
        for (asked, answer) in answers {
            std::fs::write(path("answers").join(asked), answer.to_string()).unwrap();
        }
        RecordedProgram { folder }
    }

    #[expect(clippy::disallowed_methods, reason = "the program finds its tools as this test does")]
    fn loadline(&self, arguments: &[&str]) -> Output {
        let here = self.folder.path();
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new(env!("CARGO_BIN_EXE_loadline"))
            .args(arguments)
            .current_dir(here)
            .env("PATH", format!("{}:{path}", here.display()))
            .env("LD_LIBRARY_PATH", here)
            .output()
            .expect("the program starts")
    }
}

/// What CBT did on a cluster of its own can be done on one that is there.
#[test]
fn an_imported_test_is_planned_on_a_cluster() {
    let cluster = RecordedProgram::new();
    let write = |name: &str, text: &str| std::fs::write(cluster.folder.path().join(name), text);
    write("moved.yaml", include_str!("../../lab/cbt/tests/data/background.yaml")).unwrap();
    write("ceph.conf.wpq", "[osd]\nosd_op_queue = wpq\n").unwrap();
    let open = "[osd]\nosd_mclock_profile = high_recovery_ops\nosd_max_backfills = 10\n";
    write("ceph.conf.open", open).unwrap();
    let confs = ["--conf", "ceph.conf.wpq", "--conf", "ceph.conf.open"];
    let import = cluster.loadline(&[&["study", "import", "moved.yaml"][..], &confs].concat());
    assert_eq!(import.status.code(), Some(0), "{}", stderr(&import));
    let on =
        ["--on", "ceph:ceph.conf", "--dry-run", "--set", "scale=0.05", "--set", "image=64 MiB"];
    let plan = |more: &[&str]| {
        cluster.loadline(&[&["study", "run", "moved.toml"][..], &on, more].concat())
    };
    let said = |plan: &Output, line: &str| {
        assert!(stdout(plan).contains(line), "{line}: {}{}", stdout(plan), stderr(plan));
    };
    let without = plan(&[]);
    said(&without, "18.2.7");
    said(&without, "200 objects of 4 MiB written while osd.2 is out");
    said(&without, "70 % reads");
    said(
        &without,
        "osd_mclock_profile=high_recovery_ops osd_mclock_override_recovery_settings=true osd_max_backfills=10",
    );
    said(
        &without,
        "its OSDs run with mclock_scheduler, and another queue needs --restart-osd: ceph.conf.wpq.",
    );
    // This machine may lack what the clients need; of the study and the cluster nothing is in the way but the word.
    let in_the_way = stdout(&without);
    let in_the_way = in_the_way.lines().filter(|line| line.starts_with("in the way"));
    let of_study: Vec<&str> =
        in_the_way.filter(|line| !line.contains("librados") && !line.contains("fio")).collect();
    assert_eq!(of_study, [""; 0]);
    assert!(stderr(&without).contains("--yes-i-may-hurt-this-cluster="), "{}", stderr(&without));
    said(&plan(&["--restart-osd", "hook {id}"]), "osd_op_queue=wpq");
}

/// What each study of services would do on a cluster, with the setups that its release has.
#[test]
fn services_are_planned_on_a_cluster() {
    let cluster = RecordedProgram::new();
    let plan = |study: &str, set: &str, more: &[&str]| {
        let on = ["study", "run", study, "--on", "ceph:ceph.conf", "--dry-run", "--set", set];
        cluster.loadline(&[&on[..], more].concat())
    };
    let check = |plan: &Output, lines: &[&str]| {
        for line in lines {
            assert!(stdout(plan).contains(line), "{line}: {}{}", stdout(plan), stderr(plan));
        }
    };
    let scrub = plan("scrub-nvme", "scale=0.0002", &["--setups", "all"]);
    check(
        &scrub,
        &[
            "a deep scrub of 10000000 objects of 32 KiB; 0.0002 of it all",
            "nodeep-scrub (which stop no scrub that is asked for)",
            "high_client_ops, 10 slots: osd_op_queue=mclock_scheduler osd_mclock_profile=high_client_ops osd_requested_scrub_priority=5 osd_max_scrubs=10\n",
            "Left out, since release 18.2.7 has no profile scrub_first built in: scrub first.",
            "needs --restart-osd: WPQ, WPQ, 10 slots, WPQ, priority 120.",
        ],
    );
    assert!(!stdout(&scrub).contains("pg_log"), "no OSD goes: {}", stdout(&scrub));
    let trim = plan("snaptrim-nvme", "scale=0.001", &["--restart-osd", "hook {id}"]);
    check(&trim, &["which keeps 80000 clones; 0.001 of it all", "osd_op_queue=wpq"]);
    check(&plan("delete-nvme", "scale=0.001", &[]), &["a pool of 100000 objects of 4 MiB goes"]);
    // 10 GiB of free disks: objects and clones are 540 MiB of them, three times.
    let large = plan("snaptrim-nvme", "scale=1", &[]);
    check(&large, &["take a smaller --set scale"]);
    let refused = plan("scrub-recovery-nvme", "scale=0.001", &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("what an OSD has missed is studied alone"), "{refused:?}");
}
