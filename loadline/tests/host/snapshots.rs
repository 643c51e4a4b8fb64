//! Snapshots from a client's side: exports that cannot be written and do not change, clones that begin as they are.

use crate::node::{Node, SMALL};
use crate::tools::{fail, succeed};

fn io(node: &Node, export: &str, commands: &[&str]) {
    let each = commands.iter().flat_map(|command| ["-c", command]);
    let arguments: Vec<&str> = ["-f", "raw"].into_iter().chain(each).collect();
    succeed("qemu-io", &[&arguments[..], &[&node.uri(export)]].concat());
}

fn read_only(node: &Node, export: &str, command: &str) {
    succeed("qemu-io", &["-r", "-f", "raw", "-c", command, &node.uri(export)]);
}

#[test]
fn a_snapshot_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node = Node::start(&dir, &SMALL);
    io(&node, "vol0", &["write -P 1 0 8M", "flush"]);
    node.tell(&["image", "snapshot", "create", "vol0@one"]);
    io(
        &node,
        "vol0",
        &["write -P 2 1M 2M", "write -z 4M 1M", "discard 6M 1M", "write -P 3 20M 70000"],
    );
    let see = |node: &Node| {
        read_only(node, "vol0@one", "read -P 1 0 8M");
        read_only(node, "vol0@one", "read -P 0 8M 56M");
        io(
            node,
            "vol0",
            &["read -P 2 1M 2M", "read -P 0 4M 1M", "read -P 0 6M 1M", "read -P 1 3M 1M"],
        );
        io(node, "vol0", &["read -P 3 20M 70000"]);
    };
    see(&node);
    let refused = fail("qemu-io", &["-f", "raw", "-c", "write -P 9 0 512", &node.uri("vol0@one")]);
    assert!(!refused.is_empty(), "a snapshot was written");
    node.kill();
    let node = Node::start(&dir, &SMALL);
    see(&node);
    node.tell(&["image", "clone", "vol0@one", "child"]);
    io(
        &node,
        "child",
        &["read -P 1 0 8M", "write -P 4 2M 3M", "read -P 4 2M 3M", "read -P 1 5M 3M"],
    );
    see(&node);
    node.kill();
    let node = Node::start(&dir, &SMALL);
    io(&node, "child", &["read -P 1 0 2M", "read -P 4 2M 3M", "read -P 1 5M 3M"]);
    see(&node);
    node.stop();
}

#[test]
fn a_removed_snapshot_is_gone_and_the_image_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    for (pattern, name) in [("1", "vol0@one"), ("2", "vol0@two"), ("3", "vol0@three")] {
        io(&node, "vol0", &[&format!("write -P {pattern} 0 4M")]);
        node.tell(&["image", "snapshot", "create", name]);
    }
    io(&node, "vol0", &["write -P 4 0 4M"]);
    node.tell(&["image", "snapshot", "remove", "vol0@two", "--yes"]);
    read_only(&node, "vol0@one", "read -P 1 0 4M");
    read_only(&node, "vol0@three", "read -P 3 0 4M");
    io(&node, "vol0", &["read -P 4 0 4M"]);
    fail("nbdinfo", &[&node.uri("vol0@two")]);
    let refused = node.try_tell(&["image", "remove", "vol0"]).unwrap_err();
    assert!(refused.contains("snapshot"), "{refused}");
    node.stop();
}
