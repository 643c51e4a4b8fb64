//! What a run changes on a cluster, and how it goes back: on a cluster in memory, which keeps changes in its own spelling as a monitor does.

use loadline_ceph::guard::{ClusterGuard, RunJournal, queue_of, undo};
use loadline_ceph::{CephConnection, CommandTarget, FakeCluster, tell};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cluster of four OSDs, a folder, and the journal in it.
fn cluster() -> (Arc<FakeCluster>, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("ceph-journal.jsonl");
    (Arc::new(FakeCluster::of(4)), folder, journal)
}

fn begin(on: &Arc<FakeCluster>, journal: &Path) -> ClusterGuard {
    let on: Arc<dyn CephConnection> = Arc::<FakeCluster>::clone(on);
    ClusterGuard::begin(on, journal, "r1").unwrap()
}

/// A journal of a run that died, with its lock and one change after it.
fn died(on: &FakeCluster, journal: &Path, state: &str, change: &Value) {
    let line = |seq: u64, state: &str, change: &Value| {
        json!({
            "seq": seq, "time_s": 0.0, "fsid": "f", "do": [], "before": null, "state": state, "change": change,
        })
    };
    let lock = json!({"kind": "lock", "run": "r1", "version": 0});
    let text = format!("{}\n{}\n", line(1, "done", &lock), line(2, state, change));
    std::fs::write(journal, text).unwrap();
    let held = json!({"prefix": "config-key set", "key": "loadline/run", "val": "r1"});
    tell(on, &CommandTarget::Monitor, &held).unwrap();
}

/// `1` was stored as `true` and `3G` as 3221225472: the read back failed, and the undo took both for somebody else's and let them stay.
#[test]
fn a_value_goes_back_however_the_cluster_spells_it() {
    let (on, _folder, journal) = cluster();
    let mut guard = begin(&on, &journal);
    let typed = [("osd_mclock_override_recovery_settings", "1"), ("osd_memory_target", "3G")];
    for (name, value) in typed {
        guard.set_option("osd", name, value).unwrap();
        guard.in_force(&[0, 1, 2, 3], name, value).unwrap();
        assert_ne!(on.stored("osd", name).unwrap(), value);
    }
    drop(guard);
    let report = undo(&*on, &journal).unwrap();
    assert_eq!((report.undone.len(), report.foreign, report.left), (3, vec![], vec![]));
    assert!(typed.iter().all(|(name, _)| on.stored("osd", name).is_none()));
    // A run that died before it could ask what its value became.
    for (name, value) in typed {
        died(
            &on,
            &journal,
            "intent",
            &json!({"kind": "setting", "who": "osd", "name": name, "value": value}),
        );
        let set = json!({"prefix": "config set", "who": "osd", "name": name, "value": value});
        tell(&*on, &CommandTarget::Monitor, &set).unwrap();
        let report = undo(&*on, &journal).unwrap();
        assert_eq!((on.stored("osd", name), report.foreign), (None, vec![]));
    }
    // Another value is somebody else's all the same.
    let (name, value) = typed[1];
    died(
        &on,
        &journal,
        "intent",
        &json!({"kind": "setting", "who": "osd", "name": name, "value": value}),
    );
    let other = json!({"prefix": "config set", "who": "osd", "name": name, "value": "3100000000"});
    tell(&*on, &CommandTarget::Monitor, &other).unwrap();
    let report = undo(&*on, &journal).unwrap();
    assert_eq!(report.foreign, ["osd_memory_target at osd was set to 3100000000 by somebody else"]);
    assert!(on.stored("osd", name).is_some());
}

/// `pause` is two flags in the map, and none of its name: the undo found nothing to unset, and all clients stood still.
#[test]
fn a_flag_goes_back_under_the_name_that_it_has() {
    let (on, _folder, journal) = cluster();
    let mut guard = begin(&on, &journal);
    let refused = guard.set_flag("pause").unwrap_err().to_string();
    assert!(refused.contains("pauserd, pausewr"), "{refused}");
    assert_eq!(on.flags(), [""; 0]);
    // The cluster took a word that it does not show: nothing of it stays.
    let refused = guard.set_flag("no-such-name").unwrap_err().to_string();
    assert!(refused.contains("noout"), "{refused}");
    assert_eq!(on.flags(), [""; 0]);
    guard.set_flag("noscrub").unwrap();
    let report = guard.end().unwrap();
    assert_eq!((report.undone.len(), report.left), (2, vec![]));
    assert_eq!(on.flags(), [""; 0]);
    // Releases before set it, and their journals are still to be put back.
    for state in ["intent", "done"] {
        died(&on, &journal, state, &json!({"kind": "flag", "flag": "pause"}));
        tell(&*on, &CommandTarget::Monitor, &json!({"prefix": "osd set", "key": "pause"})).unwrap();
        let report = undo(&*on, &journal).unwrap();
        assert_eq!(report.undone, ["the flag pause", "the lock in the cluster"]);
        assert_eq!(on.flags(), [""; 0]);
    }
    assert!(!RunJournal::open(&journal).unwrap().is_open());
}

/// The name by which this program calls itself for a disk that fills up.
const ON_A_FULL_DISK: &str = "LOADLINE_TEST_JOURNAL";

/// The disk of the journal is full: the first note that failed ended an undo, with every other change still there; and what had been
/// written of that note stood before the next one, so that nobody could read the journal.
#[test]
fn a_full_disk_under_the_journal_keeps_no_change_in_the_cluster() {
    if let Some(journal) = std::env::var_os(ON_A_FULL_DISK) {
        return on_a_full_disk(Path::new(&journal));
    }
    let (_on, _folder, journal) = cluster();
    // Files of 8 blocks of 512 bytes; what goes beyond is written as far as there is room.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact \
                   a_full_disk_under_the_journal_keeps_no_change_in_the_cluster";
    let test = std::env::current_exe().unwrap();
    let ended = std::process::Command::new("sh")
        .arg("-c")
        .arg(limited)
        .arg(test)
        .env(ON_A_FULL_DISK, &journal)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    let found = RunJournal::open(&journal).unwrap();
    assert!(found.is_open() && found.lines().len() > 3, "{found:?}");
}

fn on_a_full_disk(journal: &Path) {
    let on = Arc::new(FakeCluster::of(4));
    let mut guard = begin(&on, journal);
    let names: Vec<String> = (0..100).map(|number| format!("option_{number}")).collect();
    let full = names.iter().find_map(|name| guard.set_option("osd", name, "7").err());
    assert!(full.is_some(), "the disk is full");
    assert!(on.stored("osd", &names[2]).is_some());
    let report = guard.end().unwrap();
    assert!(names.iter().all(|name| on.stored("osd", name).is_none()), "{report:?}");
    assert!(report.undone.len() > 3 && report.left.len() > 3, "{report:?}");
    assert!(report.left[0].contains("ceph-journal.jsonl"), "{report:?}");
    // The lock stays with what the journal still has open, for the undo that comes when there is room.
    assert_eq!(on.keys().len(), 1);
}

/// What an earlier release left on a full disk: pieces of lines before a whole one. Anything else there is damage.
#[test]
fn a_journal_with_a_torn_line_is_read() {
    let (on, _folder, journal) = cluster();
    let whole = |seq: u64, state: &str| {
        format!(
            "{{\"seq\":{seq},\"time_s\":0.0,\"fsid\":\"f\",\"change\":{{\"kind\":\"out\",\"osd\":{seq}}},\"do\":[],\"before\":\"in\",\"state\":\"{state}\"}}"
        )
    };
    let read = |text: String| {
        std::fs::write(&journal, text).unwrap();
        let found = RunJournal::open(&journal).map_err(|error| error.to_string())?;
        Ok::<usize, String>(found.lines().len())
    };
    let (one, two) = (whole(1, "done"), whole(2, "intent"));
    for cut in 1..two.len() {
        let torn = &two[..cut];
        assert_eq!(read(format!("{one}\n{torn}{torn}{two}\n")), Ok(2), "{torn}");
        assert_eq!(read(format!("{one}\n{torn}")), Ok(1), "{torn}");
    }
    assert!(read(format!("{one}\n{}\n{two}\n", &two[..40])).unwrap_err().contains("line 2"));
    assert!(read(format!("{one}\nwhatever{two}\n")).unwrap_err().contains("line 2"));
    assert!(read(format!("{one}\n{two}{}\n", &two[1..])).unwrap_err().contains("line 2"));
    drop(on);
}

/// What others have changed is told if the cluster tells it; what is ours goes back all the same.
#[test]
fn an_undo_needs_no_log_of_the_configuration() {
    let (on, _folder, journal) = cluster();
    let mut guard = begin(&on, &journal);
    guard.set_option("osd", "osd_max_scrubs", "2").unwrap();
    on.deafen("config log", 1);
    let report = guard.end().unwrap();
    assert_eq!((report.undone.len(), report.left), (2, vec![]));
    assert!(report.foreign[0].starts_with("`config log` was not answered"), "{:?}", report.foreign);
    assert_eq!((on.stored("osd", "osd_max_scrubs"), on.keys().len()), (None, 0));
}

/// An option could not be put back, the lock went all the same, and the next run took what it found for the cluster's own.
#[test]
fn the_lock_stays_as_long_as_anything_is_left() {
    let (on, _folder, journal) = cluster();
    let mut guard = begin(&on, &journal);
    guard.set_option("osd", "osd_max_scrubs", "2").unwrap();
    on.deafen("config rm", 1);
    let report = guard.end().unwrap();
    assert_eq!((report.left.len(), on.keys().len()), (2, 1), "{report:?}");
    assert!(report.left[1].contains("the lock in the cluster: it stays"), "{report:?}");
    let report = undo(&*on, &journal).unwrap();
    assert_eq!((report.undone.len(), report.left, on.keys().len()), (2, vec![], 0));
    assert_eq!(on.stored("osd", "osd_max_scrubs"), None);
}

/// Beside another run an undo would take away what that one has set since.
#[test]
fn an_undo_does_nothing_while_another_run_holds_the_cluster() {
    let (on, _folder, journal) = cluster();
    let mut guard = begin(&on, &journal);
    guard.set_option("osd", "osd_max_scrubs", "2").unwrap();
    drop(guard);
    let other = json!({"prefix": "config-key set", "key": "loadline/run", "val": "r2"});
    tell(&*on, &CommandTarget::Monitor, &other).unwrap();
    let report = undo(&*on, &journal).unwrap();
    assert!(report.undone.is_empty() && report.left[0].contains("r2"), "{report:?}");
    assert!(on.stored("osd", "osd_max_scrubs").is_some());
    assert!(RunJournal::open(&journal).unwrap().is_open());
    // It may go on in the journal of a run before it, and is not another one there.
    tell(&*on, &CommandTarget::Monitor, &json!({"prefix": "config-key rm", "key": "loadline/run"}))
        .unwrap();
    let guard = ClusterGuard::begin(on.clone(), &journal, "r3").unwrap();
    assert_eq!((guard.end().unwrap().left, on.keys().len()), (vec![], 0));
    assert_eq!(on.stored("osd", "osd_max_scrubs"), None);
}

/// The hook only asks the host for it, and one question about the map had no answer: the run went back at once, the map still said "up",
/// the stop was struck from the journal, and seconds later the OSD was down for good.
#[test]
fn an_osd_on_its_way_down_comes_up_again() {
    for deaf in [None, Some(2)] {
        let (on, folder, journal) = cluster();
        let hook = on.hook(folder.path(), 5);
        let mut guard = begin(&on, &journal);
        deaf.into_iter().for_each(|nth| on.deafen("osd dump", nth));
        guard.stop_osd(3, &hook).unwrap();
        assert!(!on.osd(3).0, "a question without an answer is no end of the wait");
        let report = guard.end().unwrap();
        assert_eq!((report.undone.len(), report.left), (2, vec![]));
        on.pause(std::time::Duration::from_secs(60));
        assert!(on.osd(3).0);
    }
    // The run was killed while it waited; the map says that the OSD is up.
    let (on, folder, journal) = cluster();
    let hook = on.hook(folder.path(), 5);
    let stopped = json!({"kind": "stopped", "osd": 3, "hook": hook, "up_from": 1});
    died(&on, &journal, "done", &stopped);
    std::fs::write(folder.path().join("hook"), "stop 3\n").unwrap();
    assert!(on.osd(3).0);
    let report = undo(&*on, &journal).unwrap();
    assert_eq!(report.undone, ["osd.3 stopped", "the lock in the cluster"]);
    on.pause(std::time::Duration::from_secs(60));
    assert!(on.osd(3).0);
    // The same before the host has heard of it: it has stayed up for as long as a silent one is given.
    let stopped = json!({"kind": "stopped", "osd": 2, "hook": hook});
    died(&on, &journal, "intent", &stopped);
    let report = undo(&*on, &journal).unwrap();
    assert_eq!((report.undone.len(), report.left), (2, vec![]));
    assert!(on.osd(2).0);
}

/// An OSD came up anew, with the queue that the run had stored: that was called put back.
#[test]
fn an_osd_is_put_back_only_with_the_queue_that_it_had() {
    let (on, folder, journal) = cluster();
    let hook = on.hook(folder.path(), 1);
    let mut guard = begin(&on, &journal);
    guard.set_option("osd", "osd_op_queue", "wpq").unwrap();
    guard.restart_osd(1, &hook).unwrap();
    assert_eq!(on.osd(1).1, "wpq");
    // The option cannot be taken away: with it a restart would lead into the same queue.
    on.deafen("config rm", 1);
    let calls = || std::fs::read_to_string(folder.path().join("hook")).unwrap().lines().count();
    let before = calls();
    let report = guard.end().unwrap();
    assert_eq!((report.left.len(), calls()), (3, before), "{report:?}");
    // Somebody else has stored it for all daemons meanwhile.
    let global =
        json!({"prefix": "config set", "who": "osd", "name": "osd_op_queue", "value": "wpq"});
    let remove = json!({"prefix": "config rm", "who": "osd", "name": "osd_op_queue"});
    tell(&*on, &CommandTarget::Monitor, &remove).unwrap();
    died(
        &on,
        &journal,
        "done",
        &json!({"kind": "restarted", "osd": 1, "hook": hook, "queue": "mclock_scheduler"}),
    );
    tell(&*on, &CommandTarget::Monitor, &global).unwrap();
    let report = undo(&*on, &journal).unwrap();
    assert!(report.left[0].contains("wpq") && report.left.len() == 2, "{report:?}");
    tell(&*on, &CommandTarget::Monitor, &remove).unwrap();
    let report = undo(&*on, &journal).unwrap();
    assert_eq!(
        (report.undone.len(), report.left, on.osd(1).1.as_str()),
        (2, vec![], "mclock_scheduler")
    );
}

/// Releases before 18.2.5 and 19.2.0 have no counters of mClock's queues, and were all said to run with WPQ.
#[test]
fn a_queue_is_told_without_its_counters() {
    let (on, folder, journal) = cluster();
    on.without_counters();
    let hook = on.hook(folder.path(), 1);
    assert_eq!(queue_of(&*on, 0), "mclock_scheduler");
    let mut guard = begin(&on, &journal);
    guard.set_option("osd", "osd_op_queue", "wpq").unwrap();
    guard.restart_osd(0, &hook).unwrap();
    assert_eq!(queue_of(&*on, 0), "wpq");
    on.deafen("dump_op_pq_state", 1);
    assert_eq!(queue_of(&*on, 0), "unknown");
    on.deafen("perf dump", 1);
    assert_eq!(queue_of(&*on, 0), "");
    guard.end().unwrap();
    assert_eq!(queue_of(&*on, 0), "mclock_scheduler");
}

/// A hook whose command leaves something that keeps its output open, as a daemon does, and one that does not end.
#[test]
#[expect(clippy::disallowed_methods, reason = "it measures how long a real process holds it up")]
fn nothing_that_a_hook_leaves_behind_is_waited_for() {
    let (on, folder, journal) = cluster();
    let calls = on.hook(folder.path(), 1);
    let text = format!("sleep 30 & {}", calls.command("{action}", 3).replace(" 3 ", " {id} "));
    let mut guard = begin(&on, &journal);
    let began = std::time::Instant::now();
    guard.stop_osd(3, &text.parse().unwrap()).unwrap();
    assert!(began.elapsed().as_secs() < 20);
    assert_eq!(guard.end().unwrap().left, [""; 0]);
}
