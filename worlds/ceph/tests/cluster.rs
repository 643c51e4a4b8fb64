//! A real cluster, as `scripts/ceph-here up` makes one: `make test-ceph`. Each test leaves it as it found it, and says so.

use loadline_ceph::answers::{OsdMapDump, StoredOption};
use loadline_ceph::guard::{ClusterGuard, GuardError, WantedRoom, plan, undo};
use loadline_ceph::{
    CephConnection, CephPlace, CommandTarget, ConnectBy, Librados, Severity, ask, check, describe,
    look, tell,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

const MON: CommandTarget = CommandTarget::Monitor;
const ROOM: Option<WantedRoom> = Some(WantedRoom { bytes: 256 << 20, copies: 3, victim: Some(3) });

/// The configuration of the cluster under test; without one there is nothing to test.
#[expect(clippy::disallowed_methods, reason = "a test that somebody switches on")]
fn conf() -> Option<PathBuf> {
    let found = std::env::var("CEPH_HERE").ok().map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: CEPH_HERE names no ceph.conf; `make test-ceph` makes a cluster");
    }
    found
}

fn place(by: ConnectBy) -> Option<CephPlace> {
    Some(CephPlace { conf: conf()?, user: "client.admin".to_owned(), by })
}

fn connect() -> Option<Arc<dyn CephConnection>> {
    Some(place(ConnectBy::Either)?.connect().expect("the cluster runs").into())
}

fn stored(on: &dyn CephConnection) -> Vec<StoredOption> {
    let mut all: Vec<StoredOption> = ask(on, &MON, &json!({"prefix": "config dump"})).unwrap();
    all.sort_by_key(|option| (option.who(), option.name.clone()));
    all
}

fn map(on: &dyn CephConnection) -> OsdMapDump {
    ask(on, &MON, &json!({"prefix": "osd dump"})).unwrap()
}

/// Options, flags, pools, and who is in.
fn state(
    on: &dyn CephConnection,
) -> (Vec<StoredOption>, Vec<String>, Vec<String>, Vec<bool>, Value) {
    let map = map(on);
    let balancer: Value =
        ask(on, &CommandTarget::Manager, &json!({"prefix": "balancer status"})).unwrap();
    (
        stored(on),
        map.flags_set,
        map.pools.into_iter().map(|pool| pool.pool_name).collect(),
        map.osds.iter().map(|osd| osd.is_in && osd.up).collect(),
        balancer["active"].clone(),
    )
}

fn codes(on: &dyn CephConnection) -> Vec<&'static str> {
    let found = check(&look(on, 3).unwrap());
    found
        .into_iter()
        .filter(|finding| finding.severity > Severity::Note)
        .map(|finding| finding.code)
        .collect()
}

#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn both_ways_lead_to_the_same_cluster() {
    let Some(on) = place(ConnectBy::Program) else { return };
    let asked = |by: ConnectBy| {
        let on = CephPlace { by, ..on.clone() }.connect().unwrap();
        let status: Value = ask(&*on, &MON, &json!({"prefix": "status"})).unwrap();
        let profile: Value = ask(
            &*on,
            &CommandTarget::Osd(0),
            &json!({"prefix": "config get", "var": "osd_mclock_profile"}),
        )
        .unwrap();
        let wrong =
            json!({"prefix": "config set", "who": "osd", "name": "no_such_option", "value": "1"});
        let refused = on.command(&MON, &wrong).unwrap();
        (status["fsid"].clone(), profile, refused.code)
    };
    assert!(Librados::is_installed(), "make test-ceph installs it");
    assert_eq!(asked(ConnectBy::Librados), asked(ConnectBy::Program));
}

#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn a_healthy_cluster_is_planned_on_and_described_and_has_no_finding() {
    let Some(on) = connect() else { return };
    let before = state(&*on);
    assert_eq!(codes(&*on), [""; 0]);
    let found = plan(&*on, ROOM).unwrap();
    assert_eq!(found.refusals, [""; 0]);
    assert_eq!(found.osds, [0, 1, 2, 3]);
    let look = look(&*on, 1).unwrap();
    assert_eq!(look.missing, [""; 0]);
    let described = describe(&*on, &look).unwrap();
    let text = serde_json::to_string(&described).unwrap();
    assert!(!text.contains(&look.status.fsid), "the description names the cluster");
    assert_eq!(
        (described.osds.len(), described.groups.len() as u64),
        (4, look.status.pgmap.num_pgs)
    );
    assert_eq!(state(&*on), before, "reading changes nothing");
}

/// Capacity five times too high, a limit that is refused, a custom key left behind: each is named, and gone with the undo.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn planted_faults_are_named() {
    let Some(on) = connect() else { return };
    let before = state(&*on);
    let folder = tempfile::tempdir().unwrap();
    let mut guard =
        ClusterGuard::begin(Arc::clone(&on), &folder.path().join("journal"), "planted").unwrap();
    let measured: f64 = stored(&*on)
        .iter()
        .find(|option| {
            option.section == "osd.1" && option.name == "osd_mclock_max_capacity_iops_ssd"
        })
        .expect("it measured itself at its start")
        .value
        .parse()
        .unwrap();
    guard
        .set_option("osd.1", "osd_mclock_max_capacity_iops_ssd", &format!("{:.0}", measured * 5.0))
        .unwrap();
    guard.set_option("osd", "osd_mclock_profile", "custom").unwrap();
    guard.set_option("osd", "osd_mclock_scheduler_client_res", "0.7").unwrap();
    guard.in_force(&[0, 1, 2, 3], "osd_mclock_scheduler_client_res", "0.7").unwrap();
    guard.set_option("osd", "osd_mclock_profile", "balanced").unwrap();
    guard.in_force(&[0, 1, 2, 3], "osd_mclock_profile", "balanced").unwrap();
    guard.set_option("osd", "osd_max_backfills", "7").unwrap();
    let refused = guard.in_force(&[0, 1, 2, 3], "osd_max_backfills", "7").unwrap_err();
    assert!(matches!(&refused, GuardError::NotInForce { found, .. } if found == "1"), "{refused}");
    on.pause(Duration::from_secs(2));
    let mut found = codes(&*on);
    found.sort_unstable();
    let report = guard.end().unwrap();
    assert_eq!(found, ["capacity-not-this-disks", "custom-keys-left", "limit-refused"]);
    assert_eq!((report.foreign, report.left), (vec![], vec![]));
    assert_eq!(state(&*on), before);
}

/// A process that is stopped most of the time, as one on a sick host.
struct Sick(Child);

impl Drop for Sick {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn a_slow_osd_is_named() {
    let (Some(on), Some(conf)) = (connect(), conf()) else { return };
    let before = state(&*on);
    let folder = tempfile::tempdir().unwrap();
    let mut guard =
        ClusterGuard::begin(Arc::clone(&on), &folder.path().join("journal"), "slow").unwrap();
    guard.make_pool("loadline-slow", 16, None).unwrap();
    let pid = std::fs::read_to_string(conf.with_file_name("osd.2.pid")).unwrap();
    let pid = pid.split_whitespace().next().unwrap().to_owned();
    let script = format!(
        "trap 'kill -CONT {pid}' EXIT; for i in $(seq 20); do kill -STOP {pid}; sleep 0.8; kill -CONT {pid}; sleep 0.05; done"
    );
    let sick = Sick(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let (on, stop) = (&*on, &stop);
        for thread in 0..16 {
            scope.spawn(move || {
                for object in 0..400 {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    // A write that the sick one holds up for long is what is wanted.
                    let _ = on.write_object("loadline-slow", &format!("{thread}-{object}"), 4096);
                }
            });
        }
        let found = look(on, 10);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        found
    });
    drop(sick);
    Command::new("kill").args(["-CONT", &pid]).status().unwrap();
    // Its mean since its start would be a finding of every later look.
    let forget = json!({"prefix": "perf reset", "var": "all"});
    tell(&*on, &CommandTarget::Osd(2), &forget).unwrap();
    let report = guard.end().unwrap();
    let found = check(&found.unwrap());
    let slow = found.iter().filter(|finding| finding.code == "slow-osd");
    let slow: Vec<&str> = slow.map(|finding| finding.what.as_str()).collect();
    assert!(matches!(slow.as_slice(), [what] if what.starts_with("osd.2 ")), "{found:?}");
    assert_eq!((report.foreign, report.left), (vec![], vec![]));
    assert_eq!(state(&*on), before);
}

/// A restart's output came from a pipe whose other end the OSD held, too: who read to its end waited until the cluster was gone.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn an_osd_that_is_started_again_keeps_nothing_open_of_its_caller() {
    let (Some(on), Some(conf)) = (connect(), conf()) else { return };
    let pids = conf.with_file_name("osd.1.pid");
    if !pids.exists() {
        return eprintln!("skipped: scripts/ceph-here did not make this cluster");
    }
    let kept = tempfile::NamedTempFile::new().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/ceph-here");
    let folder = conf.parent().and_then(|cluster| cluster.parent()).unwrap();
    let restart = "exec 17> \"$1\"; exec \"$2\" restart 1 \"$3\"";
    let mut command = Command::new("bash");
    command.args(["-c", restart, "restart"]).args([kept.path(), script.as_ref(), folder]);
    assert!(command.status().unwrap().success());
    let pid = std::fs::read_to_string(pids).unwrap();
    let open = format!("/proc/{}/fd", pid.split_whitespace().next().unwrap());
    let open = std::fs::read_dir(open).unwrap();
    let mut open = open.filter_map(|it| std::fs::read_link(it.unwrap().path()).ok());
    assert!(!open.any(|path| path == kept.path()), "the OSD has its caller's file open");
    for _ in 0..60 {
        if plan(&*on, ROOM).unwrap().refusals.is_empty() {
            return;
        }
        on.pause(Duration::from_secs(1));
    }
    panic!("it did not come to rest: {:?}", plan(&*on, ROOM).unwrap().refusals);
}

/// A run dies in the middle, somebody changes something else meanwhile, and another process puts back what was the run's.
#[test]
#[ignore = "needs a cluster: make test-ceph"]
fn what_a_run_left_is_put_back_and_what_others_did_stays() {
    let Some(on) = connect() else { return };
    let before = state(&*on);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut guard = ClusterGuard::begin(Arc::clone(&on), &journal, "dies").unwrap();
    assert!(matches!(
        ClusterGuard::begin(Arc::clone(&on), &folder.path().join("second"), "second"),
        Err(GuardError::Held(holder)) if holder == "dies"
    ));
    guard.set_flag("noscrub").unwrap();
    guard.pause_balancer().unwrap();
    guard.set_option("osd", "osd_max_pg_log_entries", "10").unwrap();
    guard.set_option("osd", "osd_mclock_profile", "high_client_ops").unwrap();
    guard.set_option("osd", "osd_mclock_profile", "high_recovery_ops").unwrap();
    guard.make_pool("loadline-dies", 8, None).unwrap();
    on.write_object("loadline-dies", "one", 1 << 20).unwrap();
    guard.take_out(3).unwrap();
    // What a killed process does: nothing more.
    drop(guard);
    let foreign =
        json!({"prefix": "config set", "who": "osd", "name": "osd_max_scrubs", "value": "2"});
    tell(&*on, &MON, &foreign).unwrap();
    let refusals = plan(&*on, ROOM).unwrap().refusals;
    assert!(refusals.iter().any(|why| why.contains("a run holds it: dies")), "{refusals:?}");
    let report = undo(&*on, &journal).unwrap();
    assert_eq!(report.left, [""; 0]);
    assert!(report.foreign.iter().any(|what| what.starts_with("osd/osd_max_scrubs")), "{report:?}");
    let kept = stored(&*on);
    assert!(kept.iter().any(|option| option.name == "osd_max_scrubs" && option.value == "2"));
    tell(&*on, &MON, &json!({"prefix": "config rm", "who": "osd", "name": "osd_max_scrubs"}))
        .unwrap();
    assert_eq!(state(&*on), before);
    // It may be said again.
    assert_eq!(undo(&*on, &journal).unwrap(), Default::default());
    for _ in 0..60 {
        if plan(&*on, ROOM).unwrap().refusals.is_empty() {
            return;
        }
        on.pause(Duration::from_secs(1));
    }
    panic!("it did not come to rest: {:?}", plan(&*on, ROOM).unwrap().refusals);
}
