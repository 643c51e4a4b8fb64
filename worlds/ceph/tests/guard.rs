//! What a run changes on a cluster, and how it goes back: on a cluster in memory, which keeps changes in its own spelling as a monitor does.

use loadline_ceph::guard::{ClusterGuard, RunJournal, undo};
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
