//! A node whose OSDs are on several loops.

use super::clients::Client;
use super::node::Node;

const SERVED: [&str; 12] = [
    "--loops",
    "3",
    "--osds",
    "4",
    "--size",
    "64MiB",
    "--pgs",
    "8",
    "--image",
    "vol0=8MiB",
    "--copies",
    "3",
];

/// Blocks of this image; each is written with a byte of its own.
const BLOCKS: u64 = 64;

fn block(round: u8, at: u64) -> Vec<u8> {
    vec![round.wrapping_mul(37) ^ at as u8; 4096]
}

fn write_all(node: &Node, round: u8) {
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    (0..BLOCKS).for_each(|at| client.write(at * 4096, &block(round, at)));
}

fn check_all(node: &Node, round: u8) {
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    (0..BLOCKS).for_each(|at| assert_eq!(client.read(at * 4096, 4096), block(round, at), "{at}"));
}

/// OSDs of each loop go down and come back, one comes that was not there, and the process is killed, with clients' writes between.
#[test]
fn a_node_on_three_loops_serves_what_it_was_given() {
    let mut node = Node::without_disks();
    node.start(&SERVED);
    assert!(node.log().contains("loops=3"), "{}", node.log());
    node.await_clean();
    for round in 0..4_u8 {
        write_all(&node, round);
        let osd = round.to_string();
        node.done(&["osd", "down", &osd], &format!("osd.{osd} is down"));
        write_all(&node, round + 100);
        node.done(&["osd", "up", &osd], &format!("osd.{osd} is up"));
        check_all(&node, round + 100);
        node.await_clean();
        node.kill();
        node.start(&SERVED);
        check_all(&node, round + 100);
    }
    node.await_clean();
    node.stop();
}

/// Another loop had not heard yet that the life of the OSD was over when its number was to be taken back: it was left behind, down and out.
#[test]
fn an_osd_of_another_loop_that_cannot_be_added_is_none() {
    let mut node = Node::without_disks();
    node.start(&["--loops", "2", "--osds", "3", "--size", "64MiB", "--pgs", "8"]);
    node.await_clean();
    node.says(&["osd", "down", "1"]);
    std::fs::copy(node.file("osd.1"), node.file("copy")).unwrap();
    node.says(&["osd", "up", "1"]);
    for _ in 0..4 {
        let says = "node/copy cannot be a new OSD's disk: the disk is osd.1's";
        node.refuses(&["osd", "add", "node/copy"], 2, says);
        assert_eq!(node.json(&["osd", "list"])["osds"].as_array().unwrap().len(), 3);
    }
}
