//! Health, and OSDs that go down and out and come back.

use super::node::Node;
use serde_json::json;

#[test]
fn a_node_tells_how_it_is() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    let status = node.json(&["status"]);
    assert_eq!(status["osd_counts"], json!({ "total": 3, "up": 3, "in": 3 }));
    assert_eq!(status["pgs"], json!([{ "state": "active+clean", "pgs": 8 }]));
    let disk_mode = status["osds"][0]["disk_mode"].as_str().unwrap().to_owned();
    match disk_mode.as_str() {
        "direct" => node.done(&["health"], "health: ok"),
        _ => assert!(node.says(&["health"]).contains("no direct I/O"), "{disk_mode}"),
    }
    assert_eq!(node.json(&["health"])["level"], status["health"]["level"]);
    let osd = node.osd(1);
    assert_eq!((&osd["pgs"], &osd["up"], &osd["in"]), (&json!(8), &json!(true), &json!(true)));
    assert!(osd["path"].as_str().unwrap().ends_with("node/osd.1"), "{osd}");
    assert_eq!((&osd["log_mode"], &osd["failure"]), (&json!("log-only"), &json!(null)));
    node.stop();
    node.refuses(&["status"], 1, "no node answers at node/admin.sock");
}

/// What a service manager waits for: the word comes when the node answers, and not before.
#[test]
fn a_node_says_to_its_service_manager_that_it_serves() {
    let mut node = Node::without_disks();
    let socket = node.folder().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    manager.set_nonblocking(true).unwrap();
    node.start_under(&socket, &["--osds", "1", "--size", "64MiB", "--pgs", "8"]);
    let mut word = [0; 64];
    // It is said when the node listens, which is before anybody could be answered.
    let length = manager.recv(&mut word).expect("the node has said it");
    assert_eq!(&word[..length], b"READY=1");
    node.stop();
}

/// The log's disk is full: a node that could not write a line there was ended by that, at its start or in the middle of its life.
#[test]
fn a_log_that_cannot_be_written_ends_no_node() {
    let mut node = Node::without_disks();
    std::os::unix::fs::symlink("/dev/full", node.folder().join("log")).unwrap();
    node.start(&["--osds", "1", "--size", "64MiB", "--pgs", "8"]);
    node.done(&["pool", "create", "cold", "--pgs", "4"], "pool cold is made");
    node.done(&["osd", "down", "0", "--force"], "osd.0 is down");
    node.done(&["osd", "up", "0"], "osd.0 is up");
    node.await_clean();
    node.stop();
}

#[test]
fn an_osd_goes_down_and_comes_up_again() {
    let node = Node::with_osds(3);
    node.await_clean();
    node.done(&["osd", "down", "2"], "osd.2 is down");
    node.done(&["osd", "down", "2"], "osd.2 is down");
    let health = node.json(&["health"]);
    assert_eq!(health["level"], json!("warn"));
    let findings = health["findings"].to_string();
    for finding in ["8 PGs have fewer copies than wanted", "\"osd.2 is down\""] {
        assert!(findings.contains(finding), "{findings}");
    }
    node.await_ok(&["status"], |text| text.contains("8 active+undersized+degraded"));
    node.done(&["osd", "up", "2"], "osd.2 is up");
    node.await_clean();
    node.done(&["osd", "up", "2"], "osd.2 is up");
    node.refuses(&["osd", "down", "9"], 2, "there is no osd.9, expected one of osd.0 to osd.2");
}

/// With copies to spare, the PGs of an OSD that is out find another place.
#[test]
fn an_osd_goes_out_and_comes_in_again() {
    let node = Node::with_osds(4);
    node.await_clean();
    let before = node.osd(3)["pgs"].as_u64().unwrap();
    assert!(before > 0, "placement uses every OSD");
    node.done(&["osd", "out", "3"], "osd.3 is out");
    node.await_clean();
    node.await_ok(&["osd", "list"], |text| {
        let line = text.lines().find(|line| line.contains("osd.3")).unwrap();
        line.contains("up, out") && line.split_whitespace().any(|word| word == "0")
    });
    node.done(&["osd", "in", "3"], "osd.3 is in");
    node.await_clean();
    assert_eq!(node.osd(3)["pgs"].as_u64(), Some(before));
}

/// Without a quorum of the OSDs that hold the map nothing can be kept, and a command must say so instead of waiting.
#[test]
fn without_a_quorum_changes_are_refused() {
    let node = Node::with_osds(3);
    node.await_clean();
    for osd in ["0", "1", "2"] {
        node.says(&["osd", "down", osd, "--force"]);
    }
    let says = "no change of the map can be kept";
    node.refuses(&["image", "create", "v", "--size", "1MiB"], 1, says);
    node.refuses(&["osd", "out", "0"], 1, says);
    let health = node.json(&["health"]);
    assert_eq!(health["level"], json!("error"));
    let findings = health["findings"].to_string();
    for finding in [says, "8 PGs are down: no OSD that is up has all of its data"] {
        assert!(findings.contains(finding), "{findings}");
    }
    for osd in ["2", "1", "0"] {
        node.run(&["osd", "up", osd]);
    }
    node.await_clean();
    node.says(&["image", "create", "v", "--size", "1MiB"]);
}

#[test]
fn an_osd_that_is_down_for_long_is_taken_out_until_it_is_back() {
    let mut node = Node::with_osds(4);
    node.await_clean();
    node.says(&["config", "set", "osd.3", "mon_osd_down_out_interval", "1s"]);
    for restarts in [false, true] {
        node.says(&["osd", "down", "3"]);
        node.await_ok(&["osd", "list"], |text| text.contains("down, out"));
        node.await_clean();
        if restarts {
            // Who had taken it out was forgotten with the process, so it stayed out for ever.
            node.stop();
            node.start(&[]);
        }
        node.run(&["osd", "up", "3"]);
        node.await_ok(&["osd", "list"], |text| !text.contains("out"));
        node.await_clean();
    }
}

/// What an operator takes out stays out, whatever happened to it before, and is told of while it is up.
#[test]
fn an_osd_that_an_operator_takes_out_stays_out() {
    let mut node = Node::with_osds(4);
    node.await_clean();
    node.says(&["config", "set", "osd.3", "mon_osd_down_out_interval", "1s"]);
    node.says(&["osd", "down", "3"]);
    node.await_ok(&["osd", "list"], |text| text.contains("down, out"));
    node.done(&["osd", "out", "3"], "osd.3 is out");
    node.stop();
    node.start(&[]);
    node.await_ok(&["osd", "list"], |text| text.contains("up, out"));
    let says = "osd.3 is up and out: placement does not use it until `loadline osd in 3`";
    assert!(node.says(&["health"]).contains(says), "{}", node.says(&["health"]));
    node.says(&["osd", "in", "3"]);
    assert!(!node.says(&["health"]).contains("is up and out"));
    node.await_clean();
}
