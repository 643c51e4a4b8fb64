//! A client of NBD in a few lines, and what the node tells of its ops.

#![expect(
    clippy::disallowed_methods,
    reason = "a client that waits must not keep the test from asking the node"
)]

use super::node::Node;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection to one export, asked one thing at a time.
pub(super) struct Client {
    stream: UnixStream,
}

impl Client {
    pub(super) fn connect(socket: &Path, export: &str) -> Client {
        let mut stream = UnixStream::connect(socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        // Fixed newstyle without the padding of zeros; then the option that names the export.
        let length = (export.len() as u32).to_be_bytes();
        let option = [&b"IHAVEOPT"[..], &1_u32.to_be_bytes(), &length, export.as_bytes()].concat();
        stream.write_all(&3_u32.to_be_bytes()).unwrap();
        stream.write_all(&option).unwrap();
        let mut size_and_flags = [0; 10];
        stream.read_exact(&mut size_and_flags).unwrap();
        Client { stream }
    }

    fn ask(&mut self, kind: u16, offset: u64, length: usize, payload: &[u8]) {
        let request = [
            &0x2560_9513_u32.to_be_bytes()[..],
            &0_u16.to_be_bytes(),
            &kind.to_be_bytes(),
            &7_u64.to_be_bytes(),
            &offset.to_be_bytes(),
            &(length as u32).to_be_bytes(),
            payload,
        ];
        self.stream.write_all(&request.concat()).unwrap();
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply).unwrap();
        let fine = [&0x6744_6698_u32.to_be_bytes()[..], &[0; 4], &7_u64.to_be_bytes()].concat();
        assert_eq!(reply[..], fine, "command {kind} at {offset}");
    }

    pub(super) fn read(&mut self, offset: u64, length: usize) -> Vec<u8> {
        self.ask(0, offset, length, &[]);
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.ask(1, offset, bytes.len(), bytes);
    }

    pub(super) fn trim(&mut self, offset: u64, length: usize) {
        self.ask(4, offset, length, &[]);
    }
}

#[test]
fn what_ops_went_through_is_told() {
    let node = Node::with_osds(2);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(5 << 20, &[7; 8192]);
    assert_eq!(client.read((5 << 20) + 4096, 4096), [7; 4096]);
    let history = node.json(&["dump", "history"])["ops"].take();
    let of_kind = |kind| history.as_array().unwrap().iter().find(|op| op["kind"] == kind).unwrap();
    let (write, read) = (of_kind("write"), of_kind("read"));
    assert_eq!((&write["image"], &write["length_bytes"]), (&json!("vol0"), &json!(8192)));
    assert_eq!(write["offset_bytes"], json!(5 << 20));
    assert_eq!(read["offset_bytes"], json!((5 << 20) + 4096));
    let names: Vec<&Value> =
        write["stages"].as_array().unwrap().iter().map(|stage| &stage["stage"]).collect();
    assert_eq!(names, ["admitted", "dequeued", "executed", "committed", "replied", "answered"]);
    let after = |stage: &Value| stage["after_ns"].as_u64().unwrap();
    assert!(write["stages"].as_array().unwrap().is_sorted_by_key(after), "{write}");
    let wait = &write["wait"];
    assert!(wait["span_ns"].as_u64() <= write["age_ns"].as_u64(), "{write}");
    let reason = wait["reason"].as_str().unwrap();
    assert!(reason.contains("osd."), "{write}");
    assert!(node.says(&["dump", "history"]).contains(reason), "{reason}");
    node.done(&["dump", "ops"], "none");
    let rates = node.json(&["status"])["client"].take();
    assert!(rates["window_ns"].as_u64().unwrap() <= 5_000_000_000, "{rates}");
    let queues = node.says(&["dump", "queues", "0"]);
    assert!(queues.starts_with("osd.0, mclock_scheduler: 0 waiting in"), "{queues}");
    node.refuses(&["dump", "queues", "7"], 2, "there is no osd.7");
}

/// An op that nobody can serve waits, and is shown.
#[test]
fn an_op_without_an_osd_waits_and_is_shown() {
    let node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let socket = node.file("nbd.sock");
    let mut client = Client::connect(&socket, "vol0");
    node.says(&["osd", "down", "0", "--force"]);
    let writer = std::thread::spawn(move || client.write(0, &[9; 4096]));
    node.await_ok(&["dump", "ops", "--json"], |text| text.contains("\"length_bytes\": 4096"));
    let op = node.json(&["dump", "ops"])["ops"][0].take();
    assert_eq!((&op["osd"], &op["stages"]), (&json!(null), &json!([])));
    assert_eq!((&op["kind"], &op["image"]), (&json!("write"), &json!("vol0")));
    assert_eq!(op["wait"]["reason"], json!("an OSD that serves its PG"));
    let why = node.json(&["why", "vol0", "--for", "1s"]);
    assert_eq!((&why["ops"], &why["open"]), (&json!(0), &json!(1)));
    assert_eq!(why["reasons"][0]["reason"], json!("an OSD that serves its PG"));
    let slow = "SLOW_OPS: 1 op waits for more than 5 s, the oldest for";
    node.await_ok(&["health"], |health| {
        health.contains(slow) && health.contains(": an OSD that serves its PG; `loadline dump ops`")
    });
    node.says(&["osd", "up", "0"]);
    writer.join().unwrap();
    assert_eq!(Client::connect(&socket, "vol0").read(0, 4096), [9; 4096]);
}

/// Ops are summed up while somebody watches, each by its longest wait.
#[test]
fn why_an_image_waits_is_told_in_a_sentence() {
    let node = Node::with_osds(2);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let socket = node.file("nbd.sock");
    let idle = node.says(&["why", "vol0", "--for", "1s"]);
    assert_eq!(idle, "Nobody asked anything of vol0 in 1 s.\n");
    let watched = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::connect(&socket, "vol0");
            while !watched.load(std::sync::atomic::Ordering::Relaxed) {
                client.write(1 << 20, &[7; 4096]);
            }
        });
        let why = node.json(&["why", "vol0", "--for", "1s"]);
        let trace = node.file("trace.json");
        let trace_to = ["--trace", trace.to_str().unwrap(), "--trace-ops", "5"];
        let text = node.says(&[&["why", "vol0", "--for", "1s"][..], &trace_to].concat());
        watched.store(true, std::sync::atomic::Ordering::Relaxed);
        let ops = why["ops"].as_u64().unwrap();
        let open = why["open"].as_u64().unwrap();
        assert!(ops > 0 && why["watched_ns"].as_u64() >= Some(1_000_000_000), "{why}");
        let reasons = why["reasons"].as_array().unwrap();
        let counted: u64 = reasons.iter().map(|reason| reason["ops"].as_u64().unwrap()).sum();
        assert_eq!(counted, ops + open, "{why}");
        let shares = why["stages"].as_array().unwrap().iter();
        let all: f64 = shares.map(|stage| stage["share"].as_f64().unwrap()).sum();
        assert!((all - 1.0).abs() < 1e-6, "{why}");
        assert!(text.contains(" ops of vol0 ended in 1 s"), "{text}");
        assert!(text.contains("waited longest in"), "{text}");
        let trace: Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.iter().filter(|event| event["cat"] == "op").count(), 5, "{trace}");
        let stages = events.iter().filter(|event| event["name"] == "device").count();
        assert_eq!(stages, 10, "each of five writes is on two copies");
    });
    node.refuses(&["why", "none"], 2, "there is no image `none`");
    let ran = node.run(&["why", "vol0", "--for", "2h"]);
    assert_eq!(ran.status.code(), Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("expected a time from one second to an hour"), "{}", ran.stderr);
}

/// An op that is answered in the turn of the loop in which it came has taken the processor's time: no op takes nothing.
#[test]
fn a_read_from_memory_takes_the_processors_time() {
    let node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(0, &[7; 4096]);
    let watched = std::sync::atomic::AtomicBool::new(false);
    let why = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !watched.load(std::sync::atomic::Ordering::Relaxed) {
                assert_eq!(client.read(0, 4096), [7; 4096]);
            }
        });
        let why = node.json(&["why", "vol0", "--for", "1s"]);
        watched.store(true, std::sync::atomic::Ordering::Relaxed);
        why
    });
    assert!(why["ops"].as_u64() > Some(0) && why["took"]["p50_ns"].as_u64() > Some(0), "{why}");
    let first = &why["reasons"][0];
    assert_eq!(
        (&first["stage"], &first["reason"]),
        (&json!("loop"), &json!("the node's processor"))
    );
    let history = node.json(&["dump", "history"]);
    let stages = |op: &serde_json::Value| {
        let stages = op["stages"].as_array().unwrap().iter();
        stages.map(|stage| stage["after_ns"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    for op in history["ops"].as_array().unwrap() {
        assert!(stages(op).is_sorted() && op["age_ns"].as_u64() > Some(0), "{op}");
    }
}

#[test]
fn a_disk_is_measured_when_told() {
    let node = Node::with_osds(1);
    let bench = ["tell", "osd.0", "bench", "--total", "1MiB"];
    let result = node.json(&bench);
    assert_eq!((&result["osd"], &result["block_bytes"]), (&json!(0), &json!(4096)));
    assert_eq!(result["total_bytes"], json!(1 << 20));
    assert!(result["iops"].as_f64().unwrap() > 0.0, "{result}");
    node.refuses(&["tell", "osd.3", "bench"], 2, "there is no osd.3");
    // It is a figure of the published benchmark: what 256 writes did was stored as the capacity, and of 64 KiB each as well.
    let says =
        "a capacity is what the published benchmark finds, 12288000 bytes in blocks of 4 KiB";
    node.refuses(&[&bench[..], &["--store"]].concat(), 2, says);
    node.refuses(&["tell", "osd.0", "bench", "--block", "64KiB", "--store"], 2, says);
    node.says(&["osd", "down", "0", "--force"]);
    node.refuses(&bench, 1, "osd.0 is down");
}

/// A new OSD had the default capacity, and one with another disk that of its former one, for ever.
#[test]
fn a_disk_that_comes_is_measured() {
    let mut node = Node::without_disks();
    node.start_from(
        "dir = \"node\"\ncopies = 1\nosds = [{ path = \"osd.0\", size = \"64 MiB\" }]\n",
    );
    // A figure that is not believed is stored, too, under another name.
    let is_measured = |osd: &str| {
        let rows = node.json(&["config", "show", osd])["rows"].take();
        let stored = |row: &Value| row["origin"] == json!(format!("stored for {osd}"));
        rows.as_array().unwrap().iter().any(stored)
    };
    assert!(is_measured("osd.0"), "the start measures");
    node.says(&["osd", "add", "node/osd.1", "--size", "64MiB"]);
    assert!(is_measured("osd.1"), "{}", node.says(&["config", "show"]));
    node.await_clean();
    node.says(&["osd", "out", "1"]);
    node.await_clean();
    node.says(&["osd", "down", "1"]);
    let capacity = "osd_mclock_max_capacity_iops_ssd";
    node.says(&["config", "set", "osd.1", capacity, "123"]);
    node.says(&["osd", "replace", "1", "node/new", "--size", "64MiB"]);
    assert!(is_measured("osd.1"), "{}", node.says(&["config", "show"]));
    assert_ne!(node.json(&["config", "get", "osd.1", capacity])["value"], json!("123"));
}

/// A capacity of one op per second, and a disk that serves more.
#[test]
fn a_capacity_that_was_far_exceeded_is_told() {
    let node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let capacity = "osd_mclock_max_capacity_iops_ssd";
    node.says(&["config", "set", "osd.0", capacity, "1"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    node.await_ok(&["health"], |health| {
        (0..20).for_each(|_| client.write(0, &[7; 4096]));
        health.contains("osd.0's capacity of 1 IOPS is too little: it serves")
    });
    let health = node.says(&["health"]);
    assert!(health.contains("promises go by that until it is told right"), "{health}");
    let status = node.json(&["status"]);
    let gate = &status["gates"][0];
    assert!(gate["found_iops"].as_f64() > Some(2.0), "{status}");
    assert_eq!(gate["capacity_iops"], gate["found_iops"]);
    assert!(node.says(&["status"]).contains("IOPS (found)"));
    assert!(health.contains("measure it by `loadline tell osd.0 bench --store`"), "{health}");
    node.says(&["config", "set", "osd.0", capacity, "20000"]);
    assert!(!node.says(&["health"]).contains("capacity"), "{}", node.says(&["health"]));
}
