//! Requests of few bytes that name many objects: zeros and trims in steps, which hold little of the node's memory, and end as one request does.

use crate::client::{Connection, Request, request_head};
use crate::crowds::resident;
use crate::guest::{Guest, words};
use crate::node::Node;
use crate::tools::succeed;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Bytes of the image `many`, and of each of its objects.
const BYTES: u64 = 128 * MIB;
const OBJECT: u64 = 64 << 10;

const FLAGS: [&str; 8] = ["--osds", "1", "--copies", "1", "--size", "512MiB", "--cache", "16MiB"];

/// A node with an image of 2,048 objects, all of which hold data.
fn start(dir: &Path, flags: &[&str]) -> Node {
    let node = Node::start(dir, &[&FLAGS[..], flags].concat());
    node.tell(&["image", "create", "many", "--size", "128MiB", "--object-size", "64KiB"]);
    fill(&node);
    node
}

fn fill(node: &Node) {
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 7 0 128M", "-c", "flush", &node.uri("many")]);
}

fn limit(node: &Node, iops: &str) {
    node.tell(&["image", "qos", "many", "--limit", iops]);
}

fn open(node: &Node) -> Connection {
    Connection::open(&node.socket(), "many").unwrap()
}

/// What the image holds.
fn contents(node: &Node) -> Vec<u8> {
    let mut reader = open(node);
    let read = |at| Request::Read { offset: at * 16 * MIB, length: 16 << 20 };
    (0..BYTES / (16 * MIB)).flat_map(|at| reader.ask(&read(at)).unwrap()).collect()
}

/// Each trim of 4 GiB was up to 65,536 ops at once, and charged for none of them.
#[test]
fn many_long_trims_hold_what_they_are_charged_for() {
    const CLIENTS: u64 = 16;
    const TRIMS: u64 = 16;
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    let quiet = resident(&node);
    limit(&node, "1");
    let trims: Vec<u8> =
        (0..TRIMS).flat_map(|cookie| request_head(4, cookie, 0, BYTES as u32)).collect();
    let hello = Connection::hello("many");
    let crowd: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut stream = std::os::unix::net::UnixStream::connect(node.socket()).unwrap();
            stream.write_all(&[&hello[..], &trims].concat()).unwrap();
            stream
        })
        .collect();
    let held = |node: &Node| node.status()["memory"]["connections_held_bytes"].as_u64().unwrap();
    node.wait_until("they are charged for their ops", |node| {
        held(node) >= CLIENTS * TRIMS * (64 << 10)
    });
    let grown = resident(&node).saturating_sub(quiet);
    assert!(grown <= 64 * MIB, "{grown} bytes more are resident");
    drop(crowd);
    node.status();
    limit(&node, "0");
    node.wait_until("all have ended", |node| held(node) == 0);
    let after = contents(&node);
    assert!(after[..64 * OBJECT as usize].iter().all(|byte| *byte == 0), "a step has ended");
    assert_eq!(*after.last().unwrap(), 7, "no step follows whose client has gone");
    node.stop();
}

/// One that had closed its end alone was told that its image is gone by all that is done in steps, where its writes were carried out.
#[test]
fn a_client_that_has_closed_its_end_has_all_steps_of_its_zeros_and_trims() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    limit(&node, "1");
    let mut half = open(&node);
    half.send(&Request::Zero { offset: 0, length: (BYTES / 2) as u32 }).unwrap();
    half.send(&Request::Trim { offset: BYTES / 2, length: (BYTES / 2) as u32 }).unwrap();
    half.say_no_more().unwrap();
    // Its close is heard in the midst of their steps.
    std::thread::sleep(Duration::from_millis(500));
    limit(&node, "0");
    (0..2).for_each(|_| drop(half.receive().unwrap()));
    half.receive_any().expect_err("it has all its answers, and its connection ends");
    assert!(contents(&node).iter().all(|byte| *byte == 0));
    node.stop();
}

/// One of whose writes no answer came for 30 s was ended where others waited, though its OSDs had them all and were slow: its answers were lost, and
/// the others waited on.
#[test]
fn a_client_that_has_closed_its_end_is_not_ended_for_what_osds_have() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    limit(&node, "1");
    let (mut half, mut other) = (open(&node), open(&node));
    // One command of 64 ops, a second each.
    half.send(&Request::Write { offset: 0, data: vec![8; 64 * OBJECT as usize] }).unwrap();
    half.say_no_more().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    other.send(&Request::Read { offset: 0, length: 512 }).unwrap();
    std::thread::sleep(Duration::from_secs(35));
    limit(&node, "0");
    half.receive().expect("it has its answer");
    assert_eq!(other.receive().unwrap().data, [8; 512]);
    node.stop();
}

/// Whoever comes after a client that has gone may write where that one had asked for zeros; the steps of its trim would have zeroed it.
/// A flush that it left behind ended the node.
#[test]
fn what_a_client_asked_for_that_has_gone_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    let hello = Connection::hello("many");
    let write = |cookie| [request_head(1, cookie, 0, 4096), vec![9; 4096]].concat();
    // The last one breaks the protocol, so that its connection is closed while the flush is under way.
    for end in [vec![], vec![0; 28]] {
        for cookie in 0..20 {
            let mut stream = std::os::unix::net::UnixStream::connect(node.socket()).unwrap();
            let asked = [write(cookie), request_head(3, cookie + 100, 0, 0)].concat();
            let trim = request_head(4, cookie + 200, 0, BYTES as u32);
            stream.write_all(&[&hello[..], &asked, &trim, &end].concat()).unwrap();
        }
    }
    let write = Request::Write { offset: BYTES - 4096, data: vec![5; 4096] };
    open(&node).ask(&write).unwrap();
    let is_quiet = |node: &Node| node.status()["memory"]["connections_held_bytes"] == 0;
    node.wait_until("all have ended", is_quiet);
    assert_eq!(*contents(&node).last().unwrap(), 5);
    node.stop();
}

/// Owners of work are numbers that are given again after 4,096 connections: one of them that ended took the steps of a connection that
/// had come long before it, and had the same number, and that one was told that its image is gone.
#[test]
fn a_client_that_goes_ends_nothing_of_one_that_stays() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    limit(&node, "1");
    let mut stays = open(&node);
    stays.send(&Request::Zero { offset: 0, length: BYTES as u32 }).unwrap();
    for _ in 0..4096 {
        drop(open(&node));
    }
    limit(&node, "0");
    assert_eq!(stays.receive_any().unwrap().error, 0);
    assert!(contents(&node).iter().all(|byte| *byte == 0));
    node.stop();
}

#[test]
fn zeros_in_steps_are_these_bytes_and_no_others_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    let (mut zeroer, mut writer) = (open(&node), open(&node));
    let (from, to) = (3 * OBJECT + 1000, BYTES - 5 * OBJECT - 77);
    zeroer.send(&Request::Zero { offset: from, length: (to - from) as u32 }).unwrap();
    let mut expected = vec![7; BYTES as usize];
    expected[from as usize..to as usize].fill(0);
    for turn in 0..16u8 {
        let data = vec![turn + 50; 1000];
        for offset in [u64::from(turn) * 5000, BYTES - 4 * OBJECT + u64::from(turn) * 4000] {
            writer.ask(&Request::Write { offset, data: data.clone() }).unwrap();
            expected[offset as usize..][..1000].fill(turn + 50);
        }
    }
    assert!(zeroer.receive().unwrap().data.is_empty());
    assert!(contents(&node) == expected);
    // Whoever asks where data is gets some of the answer, and asks again from there.
    let map = succeed("nbdinfo", &["--map", "--json", &node.uri("many")]);
    let map: serde_json::Value = serde_json::from_str(&map).unwrap();
    let extents: Vec<_> = map.as_array().unwrap().iter().collect();
    let sum: u64 = extents.iter().map(|extent| extent["length"].as_u64().unwrap()).sum();
    let holes = extents.iter().filter(|extent| extent["type"] != 0);
    let hole = holes.map(|extent| extent["length"].as_u64().unwrap()).max();
    assert_eq!(sum, BYTES, "{map}");
    assert!(hole > Some(BYTES - 9 * OBJECT), "{map}");
    node.stop();
}

/// Writes are answered before they are in the log here, so nothing but the request itself makes its steps durable.
#[test]
fn zeros_that_are_to_be_durable_are_with_all_their_steps() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let flags = ["--log-mode", "background"];
    let node = start(&dir, &flags);
    succeed("qemu-io", &["-f", "raw", "-c", "write -z -f 0 128M", &node.uri("many")]);
    node.kill();
    let node = Node::start(&dir, &[&FLAGS[..], &flags].concat());
    assert!(contents(&node).iter().all(|byte| *byte == 0));
    node.stop();
}

/// An image that changes between two steps: the request fails, as a new one would.
#[test]
fn an_image_that_is_shorter_or_gone_by_the_next_step_ends_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(&folder.path().join("node"), &[]);
    let check = |requests: &[(Request, u32)], change: &[&str]| {
        limit(&node, "1");
        let mut client = open(&node);
        for (request, _) in requests {
            client.send(request).unwrap();
        }
        let held =
            |node: &Node| node.status()["memory"]["connections_held_bytes"].as_u64().unwrap();
        let charge = requests.len() as u64 * (64 << 10);
        node.wait_until("they have begun", |node| held(node) >= charge);
        node.tell(change);
        if change[1] == "resize" {
            limit(&node, "0");
        }
        for _ in requests {
            let reply = client.receive_any().unwrap();
            let (_, error) = requests[reply.cookie as usize - 1];
            assert_eq!(reply.error, error, "{change:?}: {:?}", requests[reply.cookie as usize - 1]);
        }
    };
    let (offset, length) = (0, BYTES as u32);
    let all = |zero, trim| {
        [(Request::Zero { offset, length }, zero), (Request::Trim { offset, length }, trim)]
    };
    check(&all(28, 22), &["image", "resize", "many", "64MiB", "--yes"]);
    node.tell(&["image", "resize", "many", "128MiB"]);
    fill(&node);
    check(&all(108, 108), &["image", "remove", "many", "--yes", "--force"]);
    node.stop();
}

/// The longest discard that a guest may make, over more objects than one step has.
#[test]
fn a_guests_discard_in_steps_is_these_bytes_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, socket) = (folder.path().join("node"), folder.path().join("many.sock"));
    start(&dir, &[]).stop();
    let face = format!("many={}", socket.display());
    let node = Node::start(&dir, &[&FLAGS[..], &["--vhost", &face]].concat());
    let mut guest = Guest::connect(&socket);
    let range = |sector: u64, sectors: u32| {
        [words(&[sector]), [sectors, 0].map(u32::to_le_bytes).concat()].concat()
    };
    let ranges = [range(8, 128 << 10), range(100, 50), range(140_000, 100_000)].concat();
    assert_eq!(guest.request((11, 0), &ranges, 0).status, 0);
    let mut expected = vec![7; BYTES as usize];
    for (from, to) in [(8, (128 << 10) + 8), (140_000, 240_000)] {
        expected[from * 512..to * 512].fill(0);
    }
    assert!(contents(&node) == expected);
    node.stop();
}
