//! A testbed over a cluster in memory, as far as that needs no clients.

use super::*;
use loadline_ceph::CommandAnswer;
use loadline_ceph::FakeCluster;
use serde_json::Value;
use std::path::Path;

fn spec(on: &FakeCluster, folder: &Path, settings: &[(&str, &str)]) -> CephSpec {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    CephSpec {
        place: CephTestPlace {
            cluster: "ceph:ceph.conf".parse().expect("it is a place"),
            restart: None,
            found: CephFound::ask(on).expect("it answers"),
            allowed: None,
            folder: folder.to_owned(),
        },
        copies: 3,
        pgs: 8,
        object_size: Bytes::from_mib(4),
        beside: Bytes::ZERO,
        images: Vec::new(),
        settings: settings.iter().map(own).collect(),
        victim: None,
        limit: Span::from_secs(60),
    }
}

/// A cluster before anything is done to it.
fn testbed(spec: CephSpec, on: Arc<dyn CephConnection>) -> CephCluster {
    let before = ClusterState::ask(&*on).expect("it answers");
    let facts = MachineFacts::default();
    CephCluster::new(spec, on, before, facts)
}

/// A cluster on a machine whose clock is set back by a minute and a half after some seconds.
struct SetBack(Arc<FakeCluster>);

impl CephConnection for SetBack {
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError> {
        self.0.command(target, command)
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn pause(&self, span: Duration) {
        self.0.pause(span);
    }

    fn passed(&self) -> Duration {
        self.0.passed()
    }

    fn time_of_day_s(&self) -> f64 {
        let day_s = 1_795_878_000.0 + self.0.time_of_day_s();
        if self.0.passed() < Duration::from_secs(5) { day_s } else { day_s - 90.0 }
    }
}

/// Spans were differences of the time of day: a clock that was set back made one of 584 years, or a wait without an end.
#[test]
fn a_clock_that_is_set_back_holds_up_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let on = Arc::new(FakeCluster::of(4));
    let bed = testbed(spec(&on, folder.path(), &[]), Arc::new(SetBack(Arc::clone(&on))));
    on.pause(Duration::from_secs(3));
    assert_eq!(bed.now(), Time::from_secs(3));
    on.pause(Duration::from_secs(7));
    assert_eq!(bed.now(), Time::from_secs(10));
}

/// An OSD that did not answer the look from which all counts brought what it had done in its whole life into the figures.
#[test]
fn what_counts_from_a_look_counts_from_one_at_every_osd() {
    let folder = tempfile::tempdir().expect("a folder");
    let on = Arc::new(FakeCluster::of(4));
    let mut bed = testbed(spec(&on, folder.path(), &[]), on.clone());
    on.deafen("perf dump", 2);
    bed.watch_anew().expect("it answers when it is asked again");
    assert_eq!(bed.course.counted.counters.len(), 4);
    (1..=1_000).for_each(|nth| on.deafen("perf dump", nth));
    let why = match bed.watch_anew() {
        Err(Stop::Failed(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.contains("osd.0, osd.1, osd.2, osd.3 did not tell its counters"), "{why}");
}

/// A built-in profile sets defaults, which every stored key outranks: a setup called `balanced` ran with whatever somebody had left.
#[test]
fn what_is_stored_beside_a_setup_is_in_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let on = Arc::new(FakeCluster::of(4));
    let store = |who: &str, name: &str, value: &str| {
        let command = json!({"prefix": "config set", "who": who, "name": name, "value": value});
        tell(&*on, &CommandTarget::Monitor, &command).expect("it is stored");
    };
    let in_the_way = |settings: &[(&str, &str)]| {
        let found = plan::refusals(&spec(&on, folder.path(), settings), &*on).expect("it answers");
        found.into_iter().filter(|why| why.contains("config rm")).collect::<Vec<String>>()
    };
    store("osd.1", "osd_mclock_max_capacity_iops_ssd", "3700");
    store("osd", "osd_op_queue", "mclock_scheduler");
    store("mgr", "osd_max_backfills", "3");
    assert_eq!(in_the_way(&[]), [""; 0], "what an OSD has measured, and what is no OSD's");
    store("osd", "osd_mclock_scheduler_client_res", "0.7");
    let [key] = &in_the_way(&[])[..] else { panic!("it is one key") };
    assert!(key.contains("`ceph config rm osd osd_mclock_scheduler_client_res`"), "{key}");
    assert_eq!(
        in_the_way(&[("osd_mclock_scheduler_client_res", "0.5")]),
        [""; 0],
        "it is set anew"
    );
    // A narrower section outranks what a setup sets for all OSDs.
    store("osd.3", "osd_max_backfills", "9");
    store("osd/class:hdd", "osd_recovery_sleep_hdd", "0.1");
    store("global", "osd_mclock_profile", "high_recovery_ops");
    let own = [
        ("osd_mclock_scheduler_client_res", "0.5"),
        ("osd_max_backfills", "3"),
        ("osd_mclock_profile", "balanced"),
    ];
    let found = in_the_way(&own);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|why| why.contains("config rm osd.3 osd_max_backfills")), "{found:?}");
    assert!(found.iter().any(|why| why.contains("config rm osd/class:hdd osd_recovery_sleep_hdd")));
    assert_eq!(in_the_way(&[]).len(), 4);
}

/// An OSD that tells of no queue was taken for one with WPQ, and a setup of WPQ was measured under mClock.
#[test]
fn a_queue_that_is_not_told_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let on = Arc::new(FakeCluster::of(4));
    on.without_counters();
    assert_eq!(CephFound::ask(&*on).expect("it answers").queue, "mclock_scheduler");
    (1..=100).for_each(|nth| on.deafen("dump_op_pq_state", nth));
    let spec = spec(&on, folder.path(), &[("osd_op_queue", "wpq")]);
    assert_eq!(spec.place.found.queue, "unknown");
    let mut bed = testbed(spec, on.clone());
    let why = match bed.set_up(&mut Heed::until(&mut |_| true, 1.0)) {
        Err(Stop::Failed(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.contains("osd.0 does not tell which queue it runs with"), "{why}");
}
