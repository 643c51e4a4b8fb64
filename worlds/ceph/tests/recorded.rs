//! What is made of answers that a 18.2.7 cluster gave (`tests/samples`), and of such answers with a trap in them.

use loadline_ceph::answers::{
    ClusterLogLine, ClusterStatus, OpHistory, OsdMapDump, PerfDump, Reservations, ScheduledScrub,
    StoredOption, read_pgs,
};
use loadline_ceph::guard::{RunJournal, WantedRoom, plan, stored_beside, undo};
use loadline_ceph::{
    Backlog, BacklogKind, CephConnection, ClusterLook, CommandTarget, DeepStamp, MovingGroup,
    OsdLook, RecordedCluster, Severity, ask, backlogs, check, look, seconds_of,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(samples().join(name)).expect("it was recorded")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&sample(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// 1.1 s after `osd in` the map knew of 40 groups that were to move, while all groups still said that they were clean.
#[test]
fn the_map_tells_of_recovery_before_the_groups_do() {
    let early: ClusterStatus = read("recovery-early-status.json");
    assert!(early.pgmap.pgs_by_state.iter().all(|state| state.state_name == "active+clean"));
    assert_eq!(early.osdmap.num_remapped_pgs, 40);
    assert!(early.has_recovery() && !early.is_clean());
    let idle: ClusterStatus = read("idle-status.json");
    assert!(idle.is_clean() && !idle.has_recovery());
    let busy: ClusterStatus = read("recovery-status.json");
    assert_eq!((busy.pgmap.misplaced_objects, busy.pgmap.degraded_objects), (96, 22));
    assert!(busy.has_recovery() && busy.reasons().any(|(code, _)| code == "PG_DEGRADED"));
}

/// A client's write of 3.24 s beside recovery: it waited for peering, hardly in the queue.
#[test]
fn the_longest_waits_of_an_op_are_told_in_words() {
    let history: OpHistory = read("recovery-osd0-dump_historic_ops.json");
    let slowest = history.ops.iter().max_by(|a, b| a.duration.total_cmp(&b.duration)).unwrap();
    assert!(slowest.is_of_client());
    assert_eq!(
        slowest.in_words(),
        "3.05 s waiting for peered, 0.08 s for the other copies and the disk, 0.08 s in the queue"
    );
    let all: f64 = slowest.waits().iter().map(|(_, seconds)| seconds).sum();
    assert!((all - slowest.duration).abs() < 0.01, "{all} of {}", slowest.duration);
}

#[test]
fn counters_are_read_and_nonsense_is_dropped() {
    let dump: PerfDump = read("recovery-osd0-perf_dump.json");
    assert_eq!((dump.osd.push, dump.osd.op, dump.osd.op_w), (254.0, 49_301.0, 14_780.0));
    assert!(dump.waiting.contains_key("best_effort") && !dump.waiting.contains_key("all_type"));
    let all: Value = read("recovery-osd0-perf_dump.json");
    let defect = serde_json::from_value::<loadline_ceph::answers::LatencyCounter>(
        all["osd"]["l_osd_recovery_queue_latency"].clone(),
    );
    assert_eq!(defect.unwrap().mean_since(&Default::default()), None, "tracker 70811");
    let mean = dump.osd.op_latency.mean_since(&Default::default()).unwrap();
    assert!((mean - 0.021_233_474).abs() < 1e-6);
}

#[test]
fn slots_and_scrubs_are_read() {
    let slots: Reservations = read("recovery-osd0-recovery_reservations.json");
    let local = &slots.local_reservations;
    assert_eq!((local.max_allowed, local.waiting(), local.in_progress.len()), (1, 26, 1));
    let scrubs: Vec<ScheduledScrub> = read("idle-osd0-scrubs.json");
    assert!(seconds_of(&scrubs[0].sched_time).unwrap() > 1.79e9);
    // One that somebody has asked for has a number in the place of a date.
    let asked: ScheduledScrub = serde_json::from_value(json!({
        "pgid": "2.1", "sched_time": "1.000000", "deadline": "1.000000", "forced": true,
    }))
    .unwrap();
    assert_eq!((seconds_of(&asked.sched_time), asked.forced), (Some(1.0), true));
}

/// The groups of a large cluster, one after the other: 10,000 here, of which none is kept.
#[test]
fn groups_are_told_one_by_one() {
    let few: Value = read("recovery-pg_dump_pgs.json");
    let some = few["pg_stats"].as_array().unwrap().clone();
    let many: Vec<&Value> = some.iter().cycle().take(10_000).collect();
    let text =
        serde_json::to_vec(&json!({"pg_ready": true, "pg_map": {"pg_stats": many}})).unwrap();
    let (mut told, mut misplaced) = (0, 0.0);
    read_pgs(&text, |group| {
        told += 1;
        misplaced += group.stat_sum.num_objects_misplaced;
    })
    .unwrap();
    let each: f64 =
        some.iter().map(|group| group["stat_sum"]["num_objects_misplaced"].as_f64().unwrap()).sum();
    assert_eq!((told, misplaced), (10_000, each * 10_000.0 / some.len() as f64));
    assert!(read_pgs(b"{\"pg_stats\": [{}, 3]}", |_| {}).is_err());
    read_pgs(
        b"{\"pg_stats\": [{\"stat_sum\": {\"num_bytes\": \"77\"}, \"more\": []}], \"new\": {}}",
        |group| {
            assert_eq!(group.stat_sum.num_bytes, 77.0);
        },
    )
    .unwrap();
}

/// Four OSDs as the recorded one, with the stored capacities of the recorded cluster.
fn healthy() -> ClusterLook {
    let stored: Vec<StoredOption> = read("idle-config_dump.json");
    let counters: PerfDump = read("idle-osd0-perf_dump.json");
    let osd = |id: u32| {
        let capacity = stored.iter().find(|option| option.section == format!("osd.{id}")).unwrap();
        let options = [
            ("osd_op_queue", "mclock_scheduler"),
            ("osd_mclock_profile", "balanced"),
            ("osd_max_backfills", "1"),
            ("osd_mclock_override_recovery_settings", "false"),
            ("osd_deep_scrub_interval", "604800.000000"),
            ("osd_mclock_max_capacity_iops_ssd", &capacity.value),
        ];
        OsdLook {
            id,
            up: true,
            is_in: true,
            metadata: Some(read("idle-osd_metadata_0.json")),
            usage: loadline_ceph::answers::OsdUsage {
                device_class: "ssd".to_owned(),
                ..Default::default()
            },
            options: options.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            counters: vec![counters.clone(), counters.clone()],
            ..OsdLook::default()
        }
    };
    ClusterLook {
        status: read("idle-status.json"),
        map: read("idle-osd_dump.json"),
        releases: read("idle-versions.json"),
        osds: (0..4).map(osd).collect(),
        stored,
        config_log: read("idle-config_log.json"),
        window_s: 1.0,
        time_of_day_s: seconds_of("2026-11-22T09:00:00Z").unwrap(),
        ..ClusterLook::default()
    }
}

fn codes(look: &ClusterLook) -> Vec<&'static str> {
    check(look)
        .into_iter()
        .filter(|finding| finding.severity > Severity::Note)
        .map(|finding| finding.code)
        .collect()
}

/// The boot benchmarks of four equal OSDs gave 3.7k to 8.1k: that is no finding.
#[test]
fn a_healthy_cluster_has_no_finding() {
    assert_eq!(check(&healthy()), []);
}

#[test]
fn every_trap_is_named() {
    let check = |code: &str, plant: &dyn Fn(&mut ClusterLook)| {
        let mut look = healthy();
        plant(&mut look);
        assert_eq!(codes(&look), [code]);
    };
    let set = |look: &mut ClusterLook, osd: usize, option: &str, value: &str| {
        look.osds[osd].options.insert(option.to_owned(), value.to_owned());
    };
    let store = |look: &mut ClusterLook, section: &str, name: &str, value: &str| {
        let (section, name, value) = (section.to_owned(), name.to_owned(), value.to_owned());
        look.stored.push(StoredOption { section, name, value, mask: String::new() });
    };
    // 5 times what it measured: its equals, at 3.7k to 8.1k, do not show it, its own measurement does.
    check("capacity-not-this-disks", &|look| {
        set(look, 1, "osd_mclock_max_capacity_iops_ssd", "18428.469125");
        look.stored[1].value = "18428.469125".to_owned();
    });
    check("slow-osd", &|look| {
        for osd in &mut look.osds {
            let slow = if osd.id == 2 { 5.0 } else { 0.2 };
            osd.counters[1].bluestore.txc_commit_lat.avgcount += 100.0;
            osd.counters[1].bluestore.txc_commit_lat.sum += slow;
        }
    });
    check("limit-refused", &|look| {
        let message = "Change to osd_max_backfills on osd.2 did not take effect. Enable \
                       osd_mclock_override_recovery_settings before setting this option.";
        look.warnings.push(ClusterLogLine { message: message.to_owned(), ..Default::default() });
    });
    check("custom-keys-left", &|look| {
        store(look, "osd", "osd_mclock_scheduler_client_res", "0.7");
    });
    check("stored-not-in-force", &|look| {
        store(look, "osd", "osd_max_backfills", "7");
    });
    check("sleeps-ignored", &|look| store(look, "osd", "osd_recovery_sleep_hdd", "0.1"));
    check("medium-mistaken", &|look| {
        look.osds[3].metadata.as_mut().unwrap().rotational = true;
        set(look, 3, "osd_mclock_max_capacity_iops_hdd", "315.000000");
        let capacity = |option: &StoredOption| option.section != "osd.3";
        look.stored.retain(capacity);
    });
    check("queues-mixed", &|look| set(look, 0, "osd_op_queue", "wpq"));
    check("flags-set", &|look| look.map.flags_set.push("noscrub".to_owned()));
    check("flags-set", &|look| look.map.flags_set.push("pauserd".to_owned()));
    check("osd-down", &|look| look.osds[1].up = false);
    check("health-error", &|look| look.status.health.status = "HEALTH_ERR".to_owned());
    check("trim-queue-grows", &|look| {
        look.groups[0].groups = 65;
        look.groups[1].trim_queue = 12;
    });
    // Two of 70 groups a day, and 40 of them older than a week: a round takes 35 days.
    check("scrub-deadlines-missed", &|look| {
        let day = 86_400.0;
        let ages = (0..70).map(|group| match group {
            0..2 => 0.5,
            2..30 => 3.0,
            _ => 20.0,
        });
        let now = look.time_of_day_s;
        look.groups[1].deep_stamps =
            ages.map(|days| DeepStamp { seconds: now - days * day, ever: true }).collect();
    });
}

/// An erasure-coded pool is worth a note, no more.
#[test]
fn chunks_read_for_recovery_are_noted() {
    let mut look = healthy();
    look.map.pools[1].kind = 3;
    let findings = check(&look);
    assert_eq!((findings[0].code, findings[0].severity), ("ec-reads-unscheduled", Severity::Note));
}

fn recovery(look: &ClusterLook) -> Backlog {
    let mut found = backlogs(look).into_iter().filter(|of| of.kind == BacklogKind::Recovery);
    found.next().expect("there is recovery")
}

/// 118 copies are left, and 11 moved in a second: 10.7 s, and 3 more until the cluster says so.
#[test]
fn remaining_time_follows_from_what_the_osds_count() {
    let mut look = healthy();
    look.status = read("recovery-status.json");
    for osd in &mut look.osds {
        osd.counters[1].osd.push += 2.75;
        osd.slots = read("recovery-osd0-recovery_reservations.json");
    }
    let found = recovery(&look);
    assert_eq!((found.left, found.rate_per_s), (118.0, 11.0));
    assert!((found.remaining_s.unwrap() - (118.0 / 11.0 + 3.0)).abs() < 1e-9);
    assert!(
        found.why[0].starts_with("96 copies are misplaced and move as background best effort"),
        "{:?}",
        found.why
    );
    assert!(
        found.why[1].contains("104 groups wait for one and 4 have one (osd_max_backfills is 1)"),
        "{:?}",
        found.why
    );
    look.map.flags_set.push("nobackfill".to_owned());
    for osd in &mut look.osds {
        osd.counters[1] = osd.counters[0].clone();
    }
    let still = recovery(&look);
    assert_eq!(still.remaining_s, None);
    assert!(still.why.iter().any(|why| why.contains("nobackfill is set")), "{:?}", still.why);
}

/// What a look finds of a group: its name, who sends its copies, how many are left before and now.
fn moving(look: &mut ClusterLook, groups: &[(&str, i64, f64, f64)], waits: bool) {
    for (at, totals) in look.groups.iter_mut().enumerate() {
        let group = |(pgid, primary, before, now): &(&str, i64, f64, f64)| MovingGroup {
            pgid: (*pgid).to_owned(),
            primary: *primary,
            left: [*before, *now][at],
            waits,
            ..MovingGroup::default()
        };
        totals.groups = groups.len() as u64;
        totals.moving = groups.iter().map(group).filter(|group| group.left > 0.0).collect();
        totals.misplaced = totals.moving.iter().map(|group| group.left).sum();
    }
    look.window_s = 10.0;
}

/// Each queue of an OSD keeps its pace while others run out of work: by totals 380 copies at 5.5 a second were told as 69 s, and the last
/// queue takes 190.
#[test]
fn the_queue_of_an_osd_that_takes_longest_tells_how_long_recovery_takes() {
    let mut look = healthy();
    look.status = read("recovery-status.json");
    for osd in &mut look.osds {
        osd.options.insert("osd_op_num_shards".to_owned(), "0".to_owned());
        osd.options.insert("osd_op_num_shards_ssd".to_owned(), "8".to_owned());
    }
    // Two groups of osd.0 share its second queue: their numbers are 1 and 9 (in hexadecimal).
    let groups = [
        ("2.1", 0, 110.0, 100.0),
        ("2.9", 0, 100.0, 90.0),
        ("2.2", 0, 25.0, 0.0),
        ("2.11", 1, 200.0, 190.0),
    ];
    moving(&mut look, &groups, false);
    let found = recovery(&look);
    assert_eq!((found.left, found.rate_per_s), (380.0, 5.5));
    // Both queues that are left have moved 20 and 10 in 10 s: their like 1.5 a second, and the second one less.
    let second = 190.0 / ((10.0 + 32.0) / (10.0 + 32.0 / 1.5));
    assert!((found.remaining_s.unwrap() - (second + 3.0)).abs() < 1e-9, "{found:?}");
    assert!(found.least_s.unwrap() < 380.0 / 5.5);
    // Who waits for a slot gets the pace of who has one.
    moving(&mut look, &groups, true);
    let found = recovery(&look);
    assert!(found.remaining_s.unwrap() < second, "{found:?}");
    // So few copies tell no pace.
    moving(&mut look, &[("2.1", 0, 102.0, 100.0), ("2.2", 1, 50.0, 49.0)], false);
    let found = recovery(&look);
    assert_eq!((found.remaining_s, found.least_s.is_some()), (None, true));
    assert!(found.why.iter().any(|why| why.contains("watch longer")), "{:?}", found.why);
}

/// A whole look at recorded answers: what was not recorded is named, and the rest is used. The scene goes from idle to recovery.
#[test]
fn a_look_uses_what_answers() {
    let mut cluster = RecordedCluster::read(&samples(), "idle").unwrap();
    cluster.begin_at(seconds_of("2026-11-22T08:50:00Z").unwrap());
    let status = json!({"prefix": "status"});
    cluster.put(2, CommandTarget::Monitor, &status, sample("recovery-early-status.json"));
    let perf = json!({"prefix": "perf dump"});
    cluster.put(2, CommandTarget::Osd(0), &perf, sample("recovery-osd0-perf_dump.json"));
    let found = look(&cluster, 3).unwrap();
    assert_eq!(found.osds[0].counters.len(), 4);
    assert_eq!(found.osds[0].counters[3].osd.push, 254.0);
    assert_eq!(found.status.osdmap.num_remapped_pgs, 40);
    assert!(
        found.missing.iter().any(|what| what.contains("osd.1 did not answer `perf dump`")),
        "{:?}",
        found.missing
    );
    assert!(recovery(&found).remaining_s.is_some() || recovery(&found).left == 0.0);
}

/// What each pool holds, and which is nobody's.
#[test]
fn pools_are_described_with_what_they_hold() {
    let mut cluster = RecordedCluster::read(&samples(), "idle").unwrap();
    let mut look = healthy();
    look.map = read("idle-osd_dump.json");
    let groups = json!({"pg_stats": [
        {"pgid": "1.0", "stat_sum": {"num_objects": 2, "num_bytes": 100}},
        {"pgid": "2.0", "stat_sum": {"num_objects": 3, "num_bytes": 12_582_912}},
        {"pgid": "2.1f", "stat_sum": {"num_objects": 1, "num_bytes": 4_194_304}},
    ]});
    let asked = json!({"prefix": "pg dump", "dumpcontents": ["pgs"]});
    cluster.put(0, CommandTarget::Manager, &asked, groups.to_string().into_bytes());
    let pools = loadline_ceph::describe(&cluster, &look).unwrap().pools;
    let held: Vec<_> =
        pools.iter().map(|pool| (pool.id, pool.is_of_manager, pool.objects, pool.bytes)).collect();
    assert_eq!(held, [(1, true, 2, 100), (2, false, 4, 16_777_216)]);
}

const ROOM: Option<WantedRoom> = Some(WantedRoom { bytes: 1 << 30, copies: 3, victim: Some(3) });

/// The recorded map names two of the four OSDs; the plan reads the rest from the tallies.
fn plannable() -> RecordedCluster {
    let mut cluster = RecordedCluster::read(&samples(), "idle").unwrap();
    let mut map: Value = read("idle-osd_dump.json");
    let two = map["osds"].as_array().unwrap().clone();
    map["osds"] = (0..4)
        .map(|id| {
            let mut osd = two[0].clone();
            osd["osd"] = json!(id);
            osd
        })
        .collect();
    cluster.put(
        0,
        CommandTarget::Monitor,
        &json!({"prefix": "osd dump"}),
        map.to_string().into_bytes(),
    );
    let lock = json!({"prefix": "config-key get", "key": "loadline/run"});
    cluster.put(0, CommandTarget::Monitor, &lock, Vec::new());
    let none = json!({"pools": []}).to_string().into_bytes();
    cluster.put(0, CommandTarget::Monitor, &json!({"prefix": "df"}), none);
    cluster
}

#[test]
fn a_plan_reads_only_and_refuses_each_unmet_condition() {
    let cluster = plannable();
    let found = plan(&cluster, ROOM).unwrap();
    assert_eq!((found.refusals.as_slice(), found.others.as_slice()), (&[][..], &[][..]));
    let reads =
        ["status", "osd dump", "versions", "osd df", "osd pool stats", "df", "config-key get"];
    assert!(
        cluster
            .asked()
            .iter()
            .all(|(_, command)| reads.contains(&command["prefix"].as_str().unwrap()))
    );
    let refuses = |change: &dyn Fn(&mut RecordedCluster), says: &str| {
        let mut cluster = plannable();
        change(&mut cluster);
        let found = plan(&cluster, ROOM).unwrap();
        let all = [found.refusals, found.others].concat();
        assert!(all.iter().any(|sentence| sentence.contains(says)), "{says}: {all:?}");
    };
    let mon = CommandTarget::Monitor;
    let put = |prefix: &str, target: &CommandTarget, name: &str, change: &dyn Fn(&mut Value)| {
        let (prefix, target) = (json!({"prefix": prefix}), target.clone());
        let mut value: Value = read(name);
        change(&mut value);
        move |cluster: &mut RecordedCluster| {
            cluster.put(0, target.clone(), &prefix, value.to_string().into_bytes());
        }
    };
    refuses(&put("status", &mon, "recovery-status.json", &|_| {}), "active+clean");
    refuses(
        &put("status", &mon, "idle-status.json", &|it| it["osdmap"]["num_up_osds"] = json!(3)),
        "3 are up",
    );
    refuses(
        &put("osd dump", &mon, "idle-osd_dump.json", &|it| it["flags_set"] = json!(["noout"])),
        "has set noout",
    );
    refuses(
        &put("osd dump", &mon, "idle-osd_dump.json", &|it| {
            it["flags_set"] = json!(["pauserd", "pausewr"]);
        }),
        "has set pauserd, pausewr",
    );
    refuses(
        &put("df", &mon, "idle-df.json", &|it| {
            it["pools"] = json!([{"name": "client", "stats": {"objects": 7}}]);
        }),
        "holds 7 objects",
    );
    refuses(
        &put("osd df", &CommandTarget::Manager, "idle-osd_df.json", &|it| {
            it["nodes"][1]["kb_used"] = json!(5_300_000);
        }),
        "nearly full",
    );
    refuses(
        &put("osd pool stats", &CommandTarget::Manager, "idle-osd_pool_stats.json", &|it| {
            it[1]["client_io_rate"] = json!({"write_op_per_sec": 653});
        }),
        "clients use the pool client",
    );
    refuses(
        &|cluster| {
            let lock = json!({"prefix": "config-key get", "key": "loadline/run"});
            cluster.put(0, CommandTarget::Monitor, &lock, b"r1".to_vec());
        },
        "a run holds it: r1",
    );
}

/// What `check` names as left of a custom profile would rule every setup under a built-in one.
#[test]
fn what_is_stored_beside_a_setup_is_named_with_its_remedy() {
    let mut cluster = plannable();
    let own = |name: &str| vec![(name.to_owned(), "0.5".to_owned())];
    let dump = json!({"prefix": "config dump"});
    assert_eq!(stored_beside(&cluster, &[]).unwrap(), [""; 0], "capacities as the OSDs store them");
    let name = "osd_mclock_scheduler_client_res";
    let mut stored: Value = read("idle-config_dump.json");
    let key = json!({"section": "osd", "name": name, "value": "0.7", "mask": ""});
    stored.as_array_mut().unwrap().push(key);
    cluster.put(0, CommandTarget::Monitor, &dump, stored.to_string().into_bytes());
    let found = stored_beside(&cluster, &[]).unwrap();
    assert!(
        found.len() == 1 && found[0].contains(&format!("`ceph config rm osd {name}`")),
        "{found:?}"
    );
    assert_eq!(stored_beside(&cluster, &own(name)).unwrap(), [""; 0]);
    assert_eq!(stored_beside(&cluster, &own("osd_max_backfills")).unwrap().len(), 1);
}

/// A run died after it had stored three options: one is as it left it, one was removed by the cluster itself, and one was changed by
/// somebody else meanwhile.
#[test]
fn an_undo_asks_the_cluster_what_is_still_different() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ceph-journal.jsonl");
    let fsid = "00000000-1111-2222-3333-444444444444";
    let line = |seq: u64, change: Value, before: Value| {
        json!({
            "seq": seq, "time_s": 0.0, "fsid": fsid, "do": [], "before": before, "state": "done", "change": change,
        })
        .to_string()
    };
    let setting = |name: &str, value: &str| json!({"kind": "setting", "who": "osd", "name": name, "value": value});
    let lines = [
        line(1, json!({"kind": "lock", "run": "r1", "version": 5}), Value::Null),
        line(2, setting("osd_mclock_profile", "balanced"), json!("high_client_ops")),
        line(3, setting("osd_max_backfills", "7"), Value::Null),
        line(4, setting("osd_recovery_max_active", "9"), Value::Null),
    ];
    // The machine lost power in the middle of a line.
    std::fs::write(&path, lines.join("\n") + "\n{\"seq\": 5, \"time_").unwrap();
    let mut cluster = RecordedCluster::read(&samples(), "idle").unwrap();
    let mon = CommandTarget::Monitor;
    let stored = json!([
        {"section": "osd", "name": "osd_mclock_profile", "value": "balanced", "mask": ""},
        {"section": "osd", "name": "osd_recovery_max_active", "value": "3", "mask": ""},
    ]);
    cluster.put(0, mon.clone(), &json!({"prefix": "config dump"}), stored.to_string().into_bytes());
    let log =
        json!([{"version": 9, "changes": [{"name": "osd/osd_max_scrubs", "new_value": "2"}]}]);
    cluster.put(
        0,
        mon.clone(),
        &json!({"prefix": "config log", "num": 500}),
        log.to_string().into_bytes(),
    );
    let back = json!({"prefix": "config set", "who": "osd", "name": "osd_mclock_profile", "value": "high_client_ops"});
    cluster.put(0, mon.clone(), &back, Vec::new());
    cluster.put(
        0,
        mon.clone(),
        &json!({"prefix": "config-key get", "key": "loadline/run"}),
        b"r1".to_vec(),
    );
    let unlock = json!({"prefix": "config-key rm", "key": "loadline/run"});
    cluster.put(0, mon, &unlock, Vec::new());
    let report = undo(&cluster, &path).unwrap();
    assert_eq!(report.undone, ["osd_mclock_profile = balanced at osd", "the lock in the cluster"]);
    assert_eq!(report.left, [""; 0]);
    assert_eq!(
        report.foreign,
        [
            "osd/osd_max_scrubs went from nothing to 2 by somebody else's hand, and stays",
            "osd_recovery_max_active at osd was set to 3 by somebody else",
        ]
    );
    let sent: Vec<String> =
        cluster.asked().iter().map(|(_, command)| command["prefix"].to_string()).collect();
    assert_eq!(
        sent.iter().filter(|prefix| prefix.contains("set") || prefix.contains("rm")).count(),
        2
    );
    // Once more: nothing is open.
    let again = undo(&cluster, &path).unwrap();
    assert!(again.undone.is_empty() && again.left.is_empty());
    assert_eq!(RunJournal::open(&path).unwrap().lines().len(), 4);
}

/// Every reader takes every prefix of every sample, and every sample that belongs to another reader, without a panic.
#[test]
fn no_answer_makes_a_reader_fall() {
    for entry in std::fs::read_dir(samples()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(1499).chain([bytes.len()]) {
            loadline_ceph::answers::read_anything(&bytes[..cut]);
        }
    }
}

/// A cluster that does not answer at all is an error with its reason, and not a wait.
#[test]
fn nobody_answers() {
    let nobody = RecordedCluster::default();
    let error = look(&nobody, 1).unwrap_err().to_string();
    assert_eq!(error, "mon did not answer `osd dump`: it was not recorded");
    let asked = ask::<OsdMapDump>(&nobody, &CommandTarget::Osd(3), &json!({"prefix": "osd dump"}));
    assert!(asked.unwrap_err().to_string().contains("osd.3"));
    assert_eq!(nobody.describe(), "recorded answers");
}
