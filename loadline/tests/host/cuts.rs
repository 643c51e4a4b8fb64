//! What is cut off an image is gone, whatever was on its way there.

use crate::client::{Connection, Request};
use crate::node::{IMAGE_BYTES, Node, SMALL};

const OBJECT: u64 = 4 << 20;
const BYTES: u32 = 4096;

/// The work on what was cut off found no objects there, and was over. The writes made them later, and what they had written was there when the
/// image grew again.
#[test]
fn what_was_on_its_way_to_what_is_cut_off_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let limit = |limit| node.tell(&["image", "qos", "vol0", "--limit", limit]);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let places = || (IMAGE_BYTES / 2..IMAGE_BYTES).step_by(OBJECT as usize);
    limit("1");
    let mut client = open();
    for offset in places() {
        client.send(&Request::Write { offset, data: vec![7; BYTES as usize] }).unwrap();
    }
    node.tell(&["image", "resize", "vol0", "32MiB", "--yes"]);
    limit("0");
    let replies: Vec<_> = places().map(|_| client.receive_any().unwrap()).collect();
    assert!(replies.iter().any(|reply| reply.error == 0), "none was under way");
    node.wait_for(|| node.try_tell(&["image", "resize", "vol0", "64MiB"]));
    let mut client = open();
    for offset in places() {
        let read = client.ask(&Request::Read { offset, length: BYTES }).unwrap();
        assert!(read.iter().all(|byte| *byte == 0), "what was cut off at {offset} is back");
    }
    node.stop();
}
