//! A node that is started again with flags that say something else than is there.

use super::node::Node;
use std::fs;

/// They were taken without a word, and changed nothing.
#[test]
fn what_is_there_is_not_asked_to_be_otherwise() {
    let mut node = Node::without_disks();
    let same = ["--size", "64MiB", "--pgs", "8", "--image", "a=4MiB"];
    node.start(&[&same[..], &["--osds", "1"]].concat());
    node.stop();
    let has = ["pgs: 7 are asked for, and the pool `data` has 8", "leave `pgs` (--pgs) out"];
    node.does_not_start_with(&["--pgs", "7"], 2, &has);
    let has = ["image a: 2 MiB are asked for, and it has 4 MiB", "`loadline image resize`"];
    node.does_not_start_with(&["--image", "a=2MiB"], 2, &has);
    node.start(&same);
    node.stop();
}

/// Whole disks were told to have been cut.
#[test]
fn another_size_than_the_disks_have_was_typed_wrong() {
    let mut node = Node::with_osds(2);
    node.stop();
    let has = ["--size: 128 MiB are asked for, and the disks in node have 64 MiB: leave it out"];
    node.does_not_start_with(&["--size", "128MiB"], 2, &has);
    node.start(&["--size", "64MiB"]);
    node.stop();
}

/// Whoever started it as before was told to make its image, when what it had was on a disk that was not there.
#[test]
fn a_node_without_its_disks_is_told_of_them_first() {
    let mut node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "4MiB"]);
    node.stop();
    fs::rename(node.file("osd.0"), node.file("away")).unwrap();
    let had = ["disks.json says that a node was here", "osd.0 was on "];
    let flags = ["--osds", "1", "--size", "64MiB", "--vhost", "vol0=v.sock"];
    node.does_not_start_with(&flags, 2, &had);
    fs::rename(node.file("away"), node.file("osd.0")).unwrap();
    node.start(&[]);
    node.stop();
}
