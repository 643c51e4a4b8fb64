//! What is on one disk alone and cannot be read there: `loadline pg mark-unfound-lost`.

use crate::client::{Connection, Request};
use crate::node::Node;
use crate::tools::output;
use std::path::Path;
use std::time::Duration;

const FLAGS: [&str; 8] =
    ["--osds", "3", "--size", "128MiB", "--image", "vol0=16MiB", "--cache", "8MiB"];
/// A write that goes beside the log.
const BYTES: u32 = 64 << 10;
/// Longer than a log is without its proof.
const PROVEN: Duration = Duration::from_secs(2);

fn write(node: &Node, byte: u8) {
    let mut client = Connection::open(&node.socket(), "vol0").expect("the node takes clients");
    let data = vec![byte; BYTES as usize];
    client.ask(&Request::Write { offset: 0, data }).expect("it is written");
    if byte == 1 {
        client.ask(&Request::Flush).expect("it is flushed");
    }
    std::thread::sleep(PROVEN);
}

/// Whether the write of this byte is read.
fn reads(node: &Node, byte: u8) -> bool {
    let read = format!("read -P {byte:#x} 0 {BYTES}");
    let done = output("qemu-io", &["-r", "-f", "raw", "-c", &read, &node.uri("vol0")]);
    done.status.success() && !done.stdout.contains("Pattern verification failed")
}

/// Flips a bit in each page of the file that holds this byte alone.
fn spoil(disk: &Path, byte: u8) -> usize {
    let mut bytes = std::fs::read(disk).expect("the disk is a file");
    let pages = bytes.chunks_mut(4096).filter(|page| page.iter().all(|it| *it == byte));
    let spoilt = pages.map(|page| page[0] ^= 1).count();
    std::fs::write(disk, bytes).expect("the disk is a file");
    spoilt
}

/// A node of which two of three disks lost what no flush had covered, and the third cannot read it; and the group that it is in.
fn with_unfound(folder: &Path) -> (Node, String) {
    let dir = folder.join("node");
    // The first life measures its disks, which changes the map for a while.
    Node::start(&dir, &FLAGS).stop();
    let node = Node::start(&dir, &FLAGS);
    node.wait_until_clean();
    write(&node, 1);
    let others = ["1", "2"].map(|osd| node.disk(osd));
    let kept = ["1", "2"].map(|osd| folder.join(osd));
    for (disk, kept) in others.iter().zip(&kept) {
        std::fs::copy(disk, kept).expect("there is room");
    }
    write(&node, 2);
    let alone = node.disk("0");
    node.kill();
    for (disk, kept) in others.iter().zip(&kept) {
        std::fs::rename(kept, disk).expect("they are on one file system");
    }
    assert_eq!(spoil(&alone, 2), BYTES as usize / 4096, "it has the write");

    let node = Node::start(&dir, &FLAGS);
    let health = node.wait_for(|| {
        let health = node.tell(&["health"]);
        if health.contains("unfound") { Ok(health) } else { Err(health) }
    });
    let says = "1 object is unfound, no copy can be read whole: image vol0 at 0 B (PG ";
    let at = health.find(says).unwrap_or_else(|| panic!("{health}")) + says.len();
    let pg = health[at..].split(')').next().expect("a name");
    (node, pg.to_owned())
}

#[test]
fn the_last_write_of_an_object_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (node, pg) = with_unfound(folder.path());
    let (dir, pg) = (folder.path().join("node"), pg.as_str());
    assert!(!reads(&node, 1) && !reads(&node, 2), "nobody says that it is lost");
    assert!(node.tell(&["pg", "list-unfound", pg]).contains("vol0"));

    let refused = node.try_tell(&["pg", "mark-unfound-lost", pg, "revert"]).expect_err("it asks");
    for part in ["would lose the last write of", "image vol0 at 0 B", "--yes if that is meant"] {
        assert!(refused.contains(part), "{refused}");
    }
    node.tell(&["osd", "down", "2"]);
    let refused = node.try_tell(&["pg", "mark-unfound-lost", pg, "revert", "--yes"]);
    assert!(refused.expect_err("it may have it").contains("osd.2 may have what is unfound"));
    node.tell(&["osd", "up", "2"]);
    let refused = node.try_tell(&["pg", "mark-unfound-lost", "7.7", "revert", "--yes"]);
    assert!(refused.expect_err("there is none").contains("there is no PG 7.7"));

    // The OSD must be up, and the primary must have looked for the object once more.
    node.wait_for(|| node.try_tell(&["pg", "mark-unfound-lost", pg, "revert", "--yes"]));
    node.wait_until_clean();
    assert!(reads(&node, 1), "it is what it was before:\n{}", node.log());
    let line = format!("POST /pg/{pg}/revert-unfound");
    let log = node.log();
    let line = log.lines().find(|it| it.contains(&line)).expect("a change leaves a line");
    assert!(line.contains("image vol0 at 0 B"), "{line}");
    assert!(!node.tell(&["health"]).contains("unfound"));
    node.stop();
    let node = Node::start(&dir, &FLAGS);
    node.wait_until_clean();
    assert!(reads(&node, 1), "and stays so");
    node.stop();
}

/// The disk that alone had the write was given up for another one, as the refusal to give the write up advises. Nobody served the group any more: by default the
/// others are recovered beside the writes, and what is left of such copies led nobody. Commands about it said nothing for a minute.
#[test]
fn a_group_goes_on_without_the_disk_that_alone_had_its_last_write() {
    let folder = tempfile::tempdir().unwrap();
    let (node, pg) = with_unfound(folder.path());
    let (pg, new) = (pg.as_str(), folder.path().join("new"));
    node.tell(&["osd", "down", "0", "--force"]);
    let refused = node.try_tell(&["pg", "mark-unfound-lost", pg, "revert", "--yes"]);
    assert!(refused.expect_err("it may come back").contains("osd.0 may have what is unfound"));
    let new = new.to_str().expect("a temporary folder has a plain name");
    node.tell(&["osd", "replace", "0", new, "--size", "128MiB", "--force"]);
    node.wait_for(|| node.try_tell(&["pg", "mark-unfound-lost", pg, "revert", "--yes"]));
    node.wait_until_clean();
    assert!(reads(&node, 1), "it is what it was before:\n{}", node.log());
    node.stop();
}

/// The removal of one image had the whole node's only turn, and waited for a group that nobody served: of no other image anything was removed.
#[test]
fn a_removal_that_waits_for_a_group_holds_up_no_other_pool() {
    let folder = tempfile::tempdir().unwrap();
    let (node, _) = with_unfound(folder.path());
    node.tell(&["osd", "down", "0", "--force"]);
    node.tell(&["pool", "create", "other", "--pgs", "4"]);
    node.tell(&["image", "create", "vol1", "--size", "16MiB", "--pool", "other"]);
    node.tell(&["image", "remove", "vol0", "--yes"]);
    // An image that is being cut cannot grow.
    node.tell(&["image", "resize", "vol1", "1MiB", "--yes"]);
    node.wait_for(|| node.try_tell(&["image", "resize", "vol1", "16MiB"]));
    node.tell(&["osd", "up", "0"]);
    node.wait_for(|| node.try_tell(&["pool", "remove", "data", "--yes"]));
    node.stop();
}
