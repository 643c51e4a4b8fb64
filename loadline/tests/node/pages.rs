//! The pages that commands print, as golden texts. With `LOADLINE_GOLDEN=write` they are written anew, to be read
//! before they are kept.

use crate::script::{Scripted, loadline};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn check(name: &str, arguments: &[&str], request: &str, answer: &str) {
    let node = Scripted::new(&[(request, 200, answer)]);
    let output = loadline(node.folder(), arguments);
    assert!(output.status.success(), "{arguments:?}: {}", output.stderr);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LOADLINE_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, &output.stdout).unwrap();
    }
    assert_eq!(output.stdout, std::fs::read_to_string(path).unwrap(), "{name}");
}

const STATUS: &str = r#"{
    "health": { "level": "warn", "findings": ["osd.3 is down", "64 PGs have less than 3 copies"] },
    "uptime_ns": 5430000000000, "map_epoch": 17, "io_mode": "io_uring",
    "osd_counts": { "total": 2, "up": 1, "in": 2 },
    "osds": [
        { "osd": 0, "up": true, "in": true, "path": "/srv/loadline/osd.0", "size_bytes": 10737418240,
          "used_bytes": 1288490188, "pgs": 64, "log_mode": "fsync", "disk_mode": "direct",
          "uptime_ns": 5430000000000 },
        { "osd": 1, "up": false, "in": true, "path": "/srv/loadline/osd.1", "size_bytes": 10737418240,
          "used_bytes": 0, "pgs": 64, "log_mode": "fsync", "disk_mode": "buffered (tmpfs)",
          "failure": "a write failed: EIO" }
    ],
    "pgs": [ { "state": "active+clean", "pgs": 64 }, { "state": "active+undersized", "pgs": 64 } ],
    "objects": { "copies": 3072, "misplaced": 12, "degraded": 768, "recovering": 8 },
    "recovery": { "objects_per_s": 17.25, "bytes_per_s": 72351744.0, "ends_in_ns": 50000000000, "least_ns": 45000000000 },
    "scrub": { "pgs": 64, "pgs_left": 3, "states_left": 1500, "states_per_s": 5.0, "ends_in_ns": 300000000000,
      "takes_ns": 9000000000000, "late_in_ns": 446400000000000, "interval_ns": 604800000000000 },
    "deletion": { "copies_left": 3, "objects_left": 900, "objects_per_s": 30.0, "ends_in_ns": 30000000000 },
    "trim": { "snapshots_left": 12, "objects_left": 30500, "objects_per_s": 125.5, "ends_in_ns": 243000000000 },
    "client": { "window_ns": 5000000000, "reads_per_s": 1200.4, "writes_per_s": 800.0,
                "read_bytes_per_s": 4916838.4, "written_bytes_per_s": 3276800.0 },
    "images": [
        { "name": "vol0", "qos": { "reservation_iops": 2000, "limit_iops": 5000, "burst_ns": 2000000000, "weight": 1.0 },
          "ops_per_s": 1950.2, "mean_ns": 812000, "longest_ns": 4210000, "seconds": 5, "seconds_short": 1 },
        { "name": "vol1", "qos": { "reservation_iops": 0, "limit_iops": 0, "burst_ns": 0, "weight": 0.5 },
          "ops_per_s": 0.0, "mean_ns": 0, "longest_ns": 0 }
    ],
    "gates": [
        { "osd": 0, "capacity_iops": 612.4, "found_iops": 612.4, "latency_goal_ns": 1000000, "part_bytes": 524288,
          "is_closed": false, "client_window_ops": 9,
          "background": { "may_begin_bytes_per_s": 33554432.0, "ops": 2, "bytes": 1048576, "kept_out": 31,
            "client_share": 0.5, "clients_alone": { "accesses_per_s": 5100.0, "mean_ns": 1200000.0 },
            "clients_lately": { "accesses_per_s": 3120.0, "mean_ns": 1900000.0 } } },
        { "osd": 1, "capacity_iops": 21500.0, "is_closed": true }
    ],
    "memory": { "budget_bytes": 4294967296, "resident_bytes": 805306368, "caches_bytes": 536870912,
                "old_versions_bytes": 536870912, "osd_work_bytes": 100663296, "node_bytes": 100663296,
                "connections_bytes": 3019898880, "connections_held_bytes": 1572864,
                "connections_peak_bytes": 67108864, "connections_waiting": 2 },
    "connections": { "nbd": 7, "admin": 1, "refused": 312 }
}"#;

#[test]
fn a_status_and_its_health() {
    check("node-status.txt", &["status"], "GET /status", STATUS);
    check("node-health.txt", &["health"], "GET /status", STATUS);
    check("node-health-json.txt", &["health", "--json"], "GET /status", STATUS);
}

/// Times are told to the second, so "at least 0 s" would say nothing.
#[test]
fn the_least_that_a_recovery_takes_is_told_from_a_second_on() {
    let check = |least: &str, says: &str| {
        let ends = "\"ends_in_ns\": 50000000000, \"least_ns\": 45000000000";
        assert!(STATUS.contains(ends));
        let node = Scripted::new(&[("GET /status", 200, &STATUS.replace(ends, least))]);
        let output = loadline(node.folder(), &["status"]);
        let says = format!("69 MiB/s{says}");
        assert!(output.stdout.contains(&says), "{says}: {}", output.stdout);
    };
    check("\"least_ns\": 999999999", ", how long is not known yet\n");
    check("\"least_ns\": 1000000000", ", done in at least 1 s\n");
    check("\"ends_in_ns\": 2000000000, \"least_ns\": 500000000", ", done in about 2 s\n");
}

/// The second page shows that it is asked again over the same connection; the script's end is the node's.
#[test]
fn a_watched_status_is_shown_again() {
    let node = Scripted::new(&[("GET /status", 200, STATUS), ("GET /status", 200, STATUS)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(["status", "--watch", "--dir", "node"]).current_dir(node.folder());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let pages = lines.map(Result::unwrap).filter(|line| line == "health: warn").take(2).count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(pages, 2);
}

#[test]
fn tables_of_pools_images_and_snapshots() {
    let pools = r#"{"pools":[{"name":"rbd","pgs":128,"copies":3,"images":2}]}"#;
    check("node-pools.txt", &["pool", "list"], "GET /pool", pools);
    let snapshots = r#"[{"name":"monday","id":4,"size_bytes":2147483648,"clones":["vol1","vol2"]},
                        {"name":"tuesday","id":7,"size_bytes":3221225472,"clones":[]}]"#;
    let image = format!(
        r#"{{"name":"vol0","pool":"rbd","size_bytes":3221225472,"object_bytes":4194304,
            "parent":"base@gold","snapshots":{snapshots}}}"#
    );
    let images = format!(r#"{{"images":[{image}]}}"#);
    check("node-images.txt", &["image", "list"], "GET /image", &images);
    check("node-image.txt", &["image", "info", "vol0"], "GET /image/vol0", &image);
    let snapshots = format!(r#"{{"image_id":"1.0","cluster_id":"5f0c","snapshots":{snapshots}}}"#);
    let list = ["image", "snapshot", "list", "vol0"];
    check("node-snapshots.txt", &list, "GET /image/vol0/snapshot", &snapshots);
}

#[test]
fn settings_and_what_a_change_altered() {
    let rows = r#"{"rows":[
        {"who":"osd","option":"osd_max_backfills","value":"4","origin":"stored for osd"},
        {"who":"osd.1","option":"osd_op_queue","value":"mclock","origin":"built-in","after_restart":"wpq"}]}"#;
    check("node-config.txt", &["config", "show"], "GET /config", rows);
    check("node-config.txt", &["config", "show", "osd.1"], "GET /config/osd.1", rows);
    let explained = r#"{"who":"osd.1","option":"osd_max_backfills","value":"4",
        "origin":"stored for osd", "after_restart":"2",
        "levels":[{"level":"built-in","value":"1"},{"level":"run-time","value":null}]}"#;
    let get = ["config", "get", "osd.1", "osd_max_backfills"];
    check("node-config-get.txt", &get, "GET /config/osd.1/osd_max_backfills", explained);
    let changed = r#"{"level":"stored","altered":[
        {"osd":0,"option":"osd_mclock_profile","before":"balanced","after":"high_client_ops"}]}"#;
    let request =
        r#"PUT /config/osd/osd_mclock_profile {"value":"high_client_ops","level":"stored"}"#;
    let switch = ["profile", "switch", "high_client_ops"];
    check("node-profile-switch.txt", &switch, request, changed);
    let nothing = r#"{"level":"runtime","altered":[]}"#;
    let set = ["config", "set", "osd.1", "x", "2", "--runtime"];
    let request = r#"PUT /config/osd.1/x {"value":"2","level":"runtime"}"#;
    check("node-config-unaltered.txt", &set, request, nothing);
    let remove = ["config", "rm", "osd.1", "x", "--runtime"];
    let request = "DELETE /config/osd.1/x?level=runtime";
    check("node-config-unaltered.txt", &remove, request, nothing);
}

#[test]
fn what_a_node_promises() {
    let profile = r#"{"osds":[
        {"osd":0,"preset":"loadline","scheduler":"mclock","profile":"balanced","capacity_iops":21500.0,"classes":[
            {"class":"client","reservation_iops":10750.0,"weight":1.0},
            {"class":"background_recovery","reservation_iops":10750.0,"weight":1.0},
            {"class":"background_best_effort","weight":1.0,"limit_iops":19350.0}]},
        {"osd":1,"preset":"quincy","scheduler":"wpq","profile":"balanced","capacity_iops":315.0,"classes":[]}],
        "images":[{"name":"vol0","qos":{"reservation_iops":2000,"limit_iops":0,"burst_ns":0,"weight":1.0},
            "ops_per_s":1000.0,"mean_ns":800000,"longest_ns":2100000,"seconds":5,"seconds_short":0}],
        "promised_writes_per_s":6000.0,"reserved_writes_per_s":43000.0}"#;
    check("node-profile.txt", &["profile", "show"], "GET /profile", profile);
}

#[test]
fn what_waits_and_what_was_slow() {
    let queues = r#"{"osd":0,"scheduler":"mclock","shards":[
        {"shard":0,"waiting":[
            {"class":"client","client":7,"place":0,"age_ns":1500000,"cost":4096,"priority":63,
             "tags":{"reservation_in_ns":-250000,"proportion":17.5},
             "reason":{"text":"a due reservation of background_recovery is ahead"}},
            {"class":"background_recovery","client":0,"place":1,"age_ns":82000000,"cost":4194304,
             "priority":5,"reason":{"text":"1 of its own flow before it","at_least_ns":40000000}}]},
        {"shard":1,"waiting":[]}],
        "kept_out":[
        {"shard":1,"class":"background_recovery","work":"push","age_ns":9000000,
         "reason":{"text":"background work begins at the rate that leaves clients their share","at_least_ns":3000000}},
        {"shard":1,"class":"background_best_effort","work":"recovery item","age_ns":82000000,
         "reason":{"text":"1 of background work before it"}}]}"#;
    check("node-queues.txt", &["dump", "queues", "0"], "GET /osd/0/queues", queues);
    let idle = r#"{"osd":0,"scheduler":"wpq","shards":[{"shard":0,"waiting":[]}]}"#;
    check("node-queues-idle.txt", &["dump", "queues", "osd.0"], "GET /osd/0/queues", idle);
    let ops = r#"{"ops":[{"op":812,"kind":"write","image":"vol0","offset_bytes":4096,"length_bytes":65536,
        "pg":17,"osd":2,"age_ns":23456789,"stages":[{"stage":"admitted","after_ns":12000},
        {"stage":"dequeued","after_ns":21000000}],
        "wait":{"stage":"queue","span_ns":20988000,"reason":"store window of osd.2: full for 93 % of it, behind 4 recovery pushes"}},
        {"op":813,"kind":"read","image":"vol0@monday","offset_bytes":0,"length_bytes":4096,"pg":3,
        "osd":null,"age_ns":1000,"stages":[]}]}"#;
    check("node-ops.txt", &["dump", "ops"], "GET /ops", ops);
    check("node-ops.txt", &["dump", "history"], "GET /ops/history", ops);
    let why = r#"{"image":"vol0","watched_ns":10000000000,"ops":1200,"open":1,
        "took":{"mean_ns":8000000,"p50_ns":6000000,"p99_ns":42000000,"max_ns":61000000},"sentence":"1200 ops of vol0 ended in 10 s.",
        "stages":[{"stage":"queue","mean_ns":6400000,"share":0.8},{"stage":"replicas","mean_ns":1600000,"share":0.2}],
        "reasons":[{"stage":"queue","osd":2,"reason":"behind recovery pushes","ops":1000,"share":0.7,"mean_ns":6720000,"max_ns":60000000},
        {"stage":"before","reason":"an OSD that serves its PG","ops":1,"share":0.1,"mean_ns":9000000,"max_ns":9000000}]}"#;
    check("node-why.txt", &["why", "vol0"], "GET /image/vol0/why/10", why);
    check("node-ops-none.txt", &["dump", "ops"], "GET /ops", r#"{"ops":[]}"#);
    let bench = r#"{"osd":1,"total_bytes":12288000,"block_bytes":4096,"elapsed_ns":150000000,
        "iops":20000.0,"bytes_per_s":81920000.0,
        "verdict":"kept as the capacity: it lies between 1000 and 80000 IOPS"}"#;
    let request = r#"POST /osd/1/bench {"block_bytes":4096,"store":true}"#;
    let tell = ["tell", "osd.1", "bench", "--block", "4KiB", "--store"];
    check("node-bench.txt", &tell, request, bench);
}
