//! Backups by snapshots: what has changed since one, as QEMU's and libnbd's tools read it, and a copy that is brought on by that alone.

use crate::client::{Connection, Request, receive, request_head};
use crate::node::{IMAGE_BYTES, Node, PATIENCE, PROGRAM, SMALL};
use crate::tools::{fail, succeed, text};
use loadline_base::Rng;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

fn io(node: &Node, export: &str, commands: &[String]) {
    let each = commands.iter().flat_map(|command| ["-c", command.as_str()]);
    let arguments: Vec<&str> = ["-f", "raw"].into_iter().chain(each).collect();
    succeed("qemu-io", &[&arguments[..], &[&node.uri(export)]].concat());
}

/// Where an export is told to be other than at a snapshot: first byte and length.
fn changed(node: &Node, export: &str, since: &str) -> Vec<(u64, u64)> {
    let map = format!("--map=qemu:dirty-bitmap:{since}");
    let map = succeed("nbdinfo", &[&map, "--json", &node.uri(export)]);
    let map: serde_json::Value = serde_json::from_str(&map).expect("it is JSON");
    let number = |extent: &serde_json::Value, key: &str| extent[key].as_u64().expect("a number");
    let extents = map.as_array().expect("a list of extents");
    let total: u64 = extents.iter().map(|extent| number(extent, "length")).sum();
    assert_eq!(total.to_string(), succeed("nbdinfo", &["--size", &node.uri(export)]).trim());
    let dirty = extents.iter().filter(|extent| number(extent, "type") == 1);
    dirty.map(|extent| (number(extent, "offset"), number(extent, "length"))).collect()
}

/// Brings a copy of one snapshot on to another by what has changed, read from a whole copy of that one.
fn bring_on(copy: &Path, whole: &Path, changes: &[(u64, u64)]) {
    let copy = File::options().write(true).open(copy).unwrap();
    let whole = File::open(whole).unwrap();
    for (offset, length) in changes {
        let mut bytes = vec![0; *length as usize];
        whole.read_exact_at(&mut bytes, *offset).unwrap();
        copy.write_all_at(&bytes, *offset).unwrap();
    }
}

#[test]
fn what_has_changed_is_told_to_the_page_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let write = |line: &str| io(&node, "vol0", &[line.to_owned()]);
    write("write -P 1 0 12M");
    node.tell(&["image", "snapshot", "create", "vol0@a"]);
    write("write -P 2 1M 8k");
    // Zeros where there was data, in the midst of an object and over a whole one; data where there was none.
    write("discard 5M 64k");
    write("discard 8M 4M");
    write("write -P 3 32M 4k");
    node.tell(&["image", "snapshot", "create", "vol0@b"]);
    const MIB: u64 = 1 << 20;
    let between = [(MIB, 8192), (5 * MIB, 65_536), (8 * MIB, 4 * MIB), (32 * MIB, 4096)];
    assert_eq!(changed(&node, "vol0@b", "a"), between);
    // What comes after it is no change of the snapshot.
    write("write -P 4 2M 4k");
    assert_eq!(changed(&node, "vol0@b", "a"), between);
    node.tell(&["image", "snapshot", "create", "vol0@c"]);
    assert_eq!(changed(&node, "vol0@c", "b"), [(2 * MIB, 4096)]);
    assert_eq!(changed(&node, "vol0@c", "a").len(), 5);
    // One that has gone is nothing to compare with, and the rest goes on.
    node.tell(&["image", "snapshot", "remove", "vol0@a", "--yes"]);
    assert_eq!(changed(&node, "vol0@c", "b"), [(2 * MIB, 4096)]);
    let listed = succeed("nbdinfo", &["--json", &node.uri("vol0@c")]);
    assert!(listed.contains("qemu:dirty-bitmap:b") && !listed.contains("bitmap:a\""), "{listed}");
    node.stop();
}

/// Random writes, zeros and discards between snapshots, a restart, a clone, sizes that change: a copy brought on by what has changed is
/// the snapshot, byte by byte.
#[test]
fn a_copy_that_is_brought_on_by_what_has_changed_is_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let mut node = Node::start(&dir, &SMALL);
    let [copy, whole] = ["copy", "whole"].map(|name| folder.path().join(name));
    let mut random = Rng::new(11);
    let mut moved = 0;
    for (image, rounds) in [("vol0", 6), ("child", 5)] {
        if image == "child" {
            node.tell(&["image", "clone", "vol0@5", "child"]);
        }
        for round in 0..rounds {
            let mut commands = Vec::new();
            for _ in 0..20 {
                let offset = random.next_u64() % (IMAGE_BYTES / 4096) * 4096;
                let length = (1 + random.next_u64() % 64) * 4096;
                let length = length.min(IMAGE_BYTES - offset);
                commands.push(match random.next_u64() % 5 {
                    0 => format!("write -z {offset} {length}"),
                    1 => format!("discard {offset} {}", (4 << 20).min(IMAGE_BYTES - offset)),
                    _ => format!("write -P {} {offset} {length}", 1 + random.next_u64() % 250),
                });
            }
            io(&node, image, &commands);
            if round == 3 {
                let (less, all) = ((IMAGE_BYTES / 2 + 70_000).to_string(), IMAGE_BYTES.to_string());
                node.tell(&["image", "resize", image, &format!("{less}B"), "--yes"]);
                node.tell(&["image", "resize", image, &format!("{all}B")]);
            }
            let now = format!("{image}@{round}");
            node.tell(&["image", "snapshot", "create", &now]);
            if round % 2 == 1 {
                node.stop();
                node = Node::start(&dir, &SMALL);
            }
            succeed("nbdcopy", &[&node.uri(&now), text(&whole)]);
            if round == 0 {
                std::fs::copy(&whole, &copy).unwrap();
                continue;
            }
            let since = (round - 1).to_string();
            let changes = changed(&node, &now, &since);
            moved += changes.iter().map(|(_, length)| length).sum::<u64>();
            bring_on(&copy, &whole, &changes);
            succeed("cmp", &[text(&copy), text(&whole)]);
            // The node's own commands see and do the same.
            let older = format!("{image}@{since}");
            let diff = node.tell(&["image", "diff", &older, &now, "--json"]);
            let diff: serde_json::Value = serde_json::from_str(&diff).expect("it is JSON");
            let extents = diff["extents"].as_array().expect("the extents").iter();
            let extent =
                |extent: &serde_json::Value| (extent["offset"].as_u64(), extent["length"].as_u64());
            let known = changes.iter().map(|(offset, length)| (Some(*offset), Some(*length)));
            assert!(extents.map(extent).eq(known), "{diff}");
            let own = folder.path().join(format!("{image}.raw"));
            if round == 1 {
                node.tell(&["image", "backup", &older, text(&own)]);
            }
            node.tell(&["image", "backup", &now, text(&own), "--since", &since]);
            succeed("cmp", &[text(&own), text(&whole)]);
        }
    }
    assert!(moved < 9 * IMAGE_BYTES, "as much as whole copies");
    node.stop();
}

#[test]
fn what_cannot_be_compared_or_copied_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let node =
        Node::start(&folder.path().join("node"), &[&SMALL[..], &["--image", "vol1=1MiB"]].concat());
    for snapshot in ["vol0@a", "vol0@b", "vol1@c"] {
        node.tell(&["image", "snapshot", "create", snapshot]);
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "short").unwrap();
    let file = text(&file);
    let check = |command: &[&str], says: &str| {
        let refused = node.try_tell(command).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    };
    check(&["image", "diff", "vol0@a", "vol1@c"], "of different images, which are not compared");
    check(
        &["image", "diff", "vol0@b", "vol0@a"],
        "can be compared with older snapshots of its image alone",
    );
    check(&["image", "diff", "vol0@none", "vol0@a"], "can be compared with older snapshots");
    check(&["image", "diff", "vol0@a", "vol0@none"], "there is no vol0@none");
    check(&["image", "backup", "vol0@b", file, "--since", "a"], "file.is; make a whole copy");
    // What is a copy of one snapshot is none of another, whatever its size, and a name that was given anew is another one.
    let copy = folder.path().join("copy");
    let copy = text(&copy);
    node.tell(&["image", "backup", "vol0@a", copy]);
    node.tell(&["image", "snapshot", "create", "vol0@d"]);
    let brings_on = |to, since| ["image", "backup", to, copy, "--since", since];
    check(&brings_on("vol0@d", "b"), "copy is a copy of vol0@a (image ");
    node.tell(&brings_on("vol0@b", "a"));
    check(&brings_on("vol0@d", "a"), "copy is a copy of vol0@b (image ");
    node.tell(&["image", "snapshot", "remove", "vol0@b", "--yes"]);
    node.tell(&["image", "snapshot", "create", "vol0@b"]);
    node.tell(&["image", "snapshot", "create", "vol0@e"]);
    check(&brings_on("vol0@e", "b"), "and not of vol0@b (image ");
    check(&["image", "backup", "vol0@b", file], "cannot write");
    // What a full disk had left of a copy was in the next one's way.
    let stopped = folder.path().join("stopped");
    let line = format!(
        "ulimit -f 1; exec {PROGRAM} image backup vol0@a {} --dir {}",
        text(&stopped),
        text(&folder.path().join("node")),
    );
    let refused = fail("bash", &["-c", &line]);
    assert!(refused.contains("cannot write"), "{refused}");
    for left in [&stopped, &folder.path().join("stopped.is")] {
        assert!(!left.exists(), "{}", left.display());
    }
    // Somebody has ended the command meanwhile.
    std::fs::write(&stopped, "").unwrap();
    std::fs::write(folder.path().join("stopped.is"), "unfinished: vol0@a (image 1)\n").unwrap();
    let again = ["image", "backup", "vol0@a", text(&stopped)];
    check(&again, "stopped.is says: remove both, or name another file");
    // A copy that was cut was brought on: what it had lost was zeros, and its label said that it was whole.
    let cut = folder.path().join("cut");
    node.tell(&["image", "backup", "vol0@a", text(&cut)]);
    std::fs::File::options().write(true).open(&cut).unwrap().set_len(1 << 16).unwrap();
    let brings_on_cut = ["image", "backup", "vol0@d", text(&cut), "--since", "a"];
    check(&brings_on_cut, "cut has 64 KiB, and a copy of vol0@a (image ");
    // Another image may have the name by now, and snapshots of the same names and numbers.
    let other = folder.path().join("other");
    let other = text(&other);
    node.tell(&["image", "snapshot", "create", "vol1@d"]);
    node.tell(&["image", "backup", "vol1@c", other]);
    node.tell(&["image", "rename", "vol1", "old"]);
    node.tell(&["image", "create", "vol1", "--size", "1MiB"]);
    for snapshot in ["vol1@c", "vol1@d"] {
        node.tell(&["image", "snapshot", "create", snapshot]);
    }
    let brings_on = ["image", "backup", "vol1@d", other, "--since", "c"];
    check(&brings_on, "other is a copy of vol1@c (image ");
    node.stop();
}

/// What a snapshot had alone is given back once it is removed: a read that was under way was answered as good, by what there was by then.
#[test]
fn what_was_asked_of_a_snapshot_that_goes_meanwhile_is_no_answer() {
    const READS: u64 = 32;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let write = |byte: u8| {
        let write = format!("write -P {byte} 0 1M");
        succeed("qemu-io", &["-f", "raw", "-c", &write, "-c", "flush", &node.uri("vol0")]);
    };
    write(1);
    node.tell(&["image", "snapshot", "create", "vol0@a"]);
    write(2);
    let limit = |limit| node.tell(&["image", "qos", "vol0", "--limit", limit]);
    limit("1");
    let mut reader = Connection::open(&node.socket(), "vol0@a").unwrap();
    for read in 0..READS {
        reader.send(&Request::Read { offset: read * 4096, length: 4096 }).unwrap();
    }
    node.tell(&["image", "snapshot", "remove", "vol0@a", "--yes"]);
    limit("0");
    let replies: Vec<_> = (0..READS).map(|_| reader.receive_any().unwrap()).collect();
    assert!(replies.iter().all(|reply| reply.error == 108 || reply.data == [1; 4096]));
    assert!(replies.iter().any(|reply| reply.error == 108), "none was under way");
    node.stop();
}

/// A connection that was told how to ask where an export is other than at a snapshot.
struct Asking(UnixStream);

impl Asking {
    fn open(node: &Node, export: &str, since: &str) -> Asking {
        let stream = UnixStream::connect(node.socket()).expect("the node takes clients");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket may have one");
        let mut asking = Asking(stream);
        let _greeting: [u8; 18] = receive(&mut asking.0).expect("it greets");
        asking.0.write_all(&3u32.to_be_bytes()).expect("it listens");
        let text = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
        let context = text(&format!("qemu:dirty-bitmap:{since}"));
        asking.option(8, &[]);
        asking.option(10, &[text(export), 1u32.to_be_bytes().to_vec(), context].concat());
        asking.option(7, &[text(export), vec![0, 0]].concat());
        asking
    }

    fn option(&mut self, option: u32, data: &[u8]) {
        let head = [b"IHAVEOPT", &option.to_be_bytes()[..], &(data.len() as u32).to_be_bytes()];
        self.0.write_all(&[&head.concat(), data].concat()).expect("it listens");
        loop {
            let head: [u8; 20] = receive(&mut self.0).expect("it answers");
            let kind = number(&head[12..16]);
            self.take(number(&head[16..]));
            assert!(kind >> 31 == 0, "option {option} is refused with {kind:#x}");
            if kind == 1 {
                return;
            }
        }
    }

    fn take(&mut self, length: u32) -> Vec<u8> {
        let mut data = vec![0; length as usize];
        self.0.read_exact(&mut data).expect("it answers");
        data
    }

    /// What is told of the first bytes of the export: the state of the first extent, or the protocol's number of an error.
    fn state(&mut self, bytes: u32) -> Result<u32, u32> {
        self.0.write_all(&request_head(7, 1, 0, bytes)).expect("it listens");
        let head: [u8; 20] = receive(&mut self.0).expect("it answers");
        let data = self.take(number(&head[16..]));
        match head[6] >> 7 {
            0 => Ok(number(&data[8..12])),
            _ => Err(number(&data[..4])),
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

/// What tells two states of an object apart goes with the older one: that nothing had changed was the answer then, and a copy that was brought on by that was none.
#[test]
fn nothing_is_told_of_changes_since_a_snapshot_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    for (byte, snapshot) in [(1, "vol0@a"), (2, "vol0@b")] {
        io(&node, "vol0", &[format!("write -P {byte} 0 1M")]);
        node.tell(&["image", "snapshot", "create", snapshot]);
    }
    let mut asking = Asking::open(&node, "vol0@b", "a");
    assert_eq!(asking.state(1 << 20), Ok(1), "it is other");
    node.tell(&["image", "snapshot", "remove", "vol0@a", "--yes"]);
    node.wait_until_clean();
    assert_eq!(asking.state(1 << 20), Err(108));
    node.stop();
}
