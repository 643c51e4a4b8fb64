//! File systems that fill up beside the OSDs' files. Nobody goes down: where files keep their blocks nothing happens, and where
//! they do not, writes wait and go on by themselves. What was answered is kept, whatever the node was doing.

use crate::client::{Connection, Request};
use crate::fio::verified;
use crate::node::{Node, PROGRAM};
use crate::tools::{output, succeed, text};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FLAGS: [&str; 8] =
    ["--osds", "2", "--size", "64MiB", "--image", "vol0=32MiB", "--cache", "8MiB"];
const GIVE_BACK: [&str; 2] = ["--discards", "give-back"];
const BLOCK: u64 = 4096;

/// A file system in memory of its own, so that nobody else's fills up.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    /// `None`, with the reason printed, where this process may not mount.
    fn new(size: &str) -> Option<Mounted> {
        let mounted = Mounted { folder: tempfile::tempdir().unwrap() };
        let options = format!("size={size}");
        let done = output("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", text(mounted.at())]);
        if !done.status.success() {
            eprintln!("skipped: no file system can be mounted here: {}", done.stderr.trim());
            return None;
        }
        Some(mounted)
    }

    fn at(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.at().join("filler")
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut filler = File::options().create(true).append(true).open(self.filler()).unwrap();
        let mut piece = 1 << 20;
        while piece >= 512 {
            if filler.write_all(&vec![1; piece]).is_err() {
                piece /= 2;
            }
        }
    }

    fn make_room(&self) {
        let _ = fs::remove_file(self.filler());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A node that a failed test has left may still be ending.
        output("umount", &["-l", text(self.at())]);
    }
}

/// A node that was stopped, moved onto the file system with holes wherever its files are zeros.
fn moved_with_holes(mounted: &Mounted) -> PathBuf {
    let made = tempfile::tempdir().unwrap();
    let dir = made.path().join("node");
    Node::start(&dir, &FLAGS).stop();
    succeed("cp", &["-r", "--sparse=always", text(&dir), text(mounted.at())]);
    mounted.at().join("node")
}

fn allocated(file: &Path) -> u64 {
    file.metadata().unwrap().blocks() * 512
}

fn pattern(block: u64) -> u8 {
    1 + (block % 251) as u8
}

fn write(block: u64) -> Request {
    Request::Write { offset: block * BLOCK, data: vec![pattern(block); BLOCK as usize] }
}

/// Writes that need more room than a node's own discards may give back meanwhile, behind the blocks.
const LARGE: u64 = 200;
const LARGE_BYTES: u64 = 64 << 10;

fn large_at(number: u64) -> u64 {
    (8 << 20) + number * LARGE_BYTES
}

fn send_large(writer: &mut Connection) {
    for number in 0..LARGE {
        let data = vec![pattern(number); LARGE_BYTES as usize];
        writer.send(&Request::Write { offset: large_at(number), data }).unwrap();
    }
}

fn check_block(reader: &mut Connection, block: u64) {
    let read = Request::Read { offset: block * BLOCK, length: BLOCK as u32 };
    let found = reader.ask(&read).unwrap();
    assert!(found.iter().all(|byte| *byte == pattern(block)), "block {block} is not as written");
}

fn findings(node: &Node) -> String {
    node.status()["health"]["findings"].to_string()
}

/// Every write that met a full file system was taken for the death of its disk: all OSDs went down, clients hung, and room alone
/// brought nothing back.
fn writes_wait_for_room(log_mode: &str, backend: &str) {
    let Some(mounted) = Mounted::new("96m") else { return };
    let dir = moved_with_holes(&mounted);
    let flags = [&FLAGS[..], &GIVE_BACK, &["--log-mode", log_mode, "--backend", backend]].concat();
    let node = Node::start(&dir, &flags);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let (mut writer, mut reader) = (open(), open());
    for block in 0..50 {
        writer.ask(&write(block)).unwrap();
    }
    mounted.fill();
    send_large(&mut writer);
    node.wait_until("nobody tells of the full file system", |node| {
        findings(node)
            .contains(&format!("the file system at {} has no room", mounted.at().display()))
    });
    for block in 0..50 {
        check_block(&mut reader, block);
    }
    assert_eq!(node.status()["osd_counts"]["up"], 2, "no OSD goes down");
    mounted.make_room();
    while writer.in_flight() > 0 {
        writer.receive().unwrap();
    }
    node.wait_until("nobody tells of the room", |node| node.status()["health"]["level"] != "error");
    writer.ask(&Request::Flush).unwrap();
    node.kill();
    let node = Node::start(&dir, &flags);
    let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
    (0..50).for_each(|block| check_block(&mut reader, block));
    for number in 0..LARGE {
        let read = Request::Read { offset: large_at(number), length: LARGE_BYTES as u32 };
        let found = reader.ask(&read).unwrap();
        assert!(found.iter().all(|byte| *byte == pattern(number)), "large write {number} is lost");
    }
    node.stop();
}

#[test]
fn writes_wait_for_room_and_go_on_by_themselves() {
    writes_wait_for_room("log-only", "io_uring");
}

#[test]
fn writes_that_are_to_be_durable_wait_for_room_too() {
    writes_wait_for_room("fsync", "threads");
}

/// It is killed while it waits, and starts where there is still no room.
#[test]
fn a_start_waits_for_room() {
    let Some(mounted) = Mounted::new("96m") else { return };
    let dir = moved_with_holes(&mounted);
    let flags = [&FLAGS[..], &GIVE_BACK].concat();
    let node = Node::start(&dir, &flags);
    let mut writer = Connection::open(&node.socket(), "vol0").unwrap();
    for block in 0..300 {
        writer.ask(&write(block)).unwrap();
    }
    mounted.fill();
    send_large(&mut writer);
    node.wait_until("nobody tells", |node| findings(node).contains("has no room"));
    node.kill();
    mounted.fill();
    let node = Node::start_watched(&dir, &flags, |line| {
        if line.contains("has no room") {
            mounted.make_room();
        }
    });
    mounted.make_room();
    let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
    (0..300).for_each(|block| check_block(&mut reader, block));
    node.stop();
}

/// Without a log a checkpoint makes everything durable, and for that there was no room. The node said that ops had been open, and ended
/// as if nothing was the matter.
#[test]
fn a_stop_that_leaves_something_that_is_not_durable_says_so_and_fails() {
    let Some(mounted) = Mounted::new("96m") else { return };
    let dir = moved_with_holes(&mounted);
    let flags = [&FLAGS[..], &GIVE_BACK, &["--log-mode", "none"]].concat();
    let node = Node::start(&dir, &flags);
    let mut writer = Connection::open(&node.socket(), "vol0").unwrap();
    for block in 0..300 {
        writer.ask(&write(block)).unwrap();
    }
    mounted.fill();
    let (status, log) = node.terminated();
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("ended before everything that was answered was durable"), "{log}");
    assert!(!log.contains("some ops did not end in time"), "none was open: {log}");
    mounted.make_room();
    let node = Node::start(&dir, &flags);
    let mut writer = Connection::open(&node.socket(), "vol0").unwrap();
    writer.ask(&write(7)).unwrap();
    node.stop();
}

/// Discards made holes in the OSDs' files: the blocks that were set aside at the first start were gone.
#[test]
fn files_keep_their_blocks_unless_somebody_says_otherwise() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let dir = folder.path().join("node");
    let size = 64 << 20;
    let after_work = |flags: &[&str]| {
        let node = Node::start(&dir, &[&FLAGS[..], flags].concat());
        for _ in 0..3 {
            succeed("fio", &verified(&node.uri("vol0"), &["--bsrange=4k-64k", "--size=24m"]));
            succeed(
                "qemu-io",
                &["-f", "raw", "-c", "discard 0 32M", "-c", "flush", &node.uri("vol0")],
            );
        }
        node.stop();
        ["0", "1"].map(|osd| allocated(&dir.join(format!("osd.{osd}"))))
    };
    assert_eq!(after_work(&[]), [size; 2], "all blocks are still there");
    let left = after_work(&GIVE_BACK);
    assert!(left.iter().all(|left| *left < size), "some were given back: {left:?}");
    let filled = Node::start(&dir, &FLAGS);
    let again = ["0", "1"].map(|osd| allocated(&filled.disk(osd)));
    assert_eq!(again, [size; 2], "a start sets them aside again");
    filled.stop();
}

/// With its blocks set aside a node does not notice what happens beside it.
#[test]
fn a_node_with_its_blocks_set_aside_does_not_notice_a_full_file_system() {
    let Some(mounted) = Mounted::new("160m") else { return };
    let dir = mounted.at().join("node");
    let node = Node::start(&dir, &FLAGS);
    mounted.fill();
    succeed("fio", &verified(&node.uri("vol0"), &["--bsrange=4k-64k", "--size=24m"]));
    succeed("qemu-io", &["-f", "raw", "-c", "discard 0 32M", "-c", "flush", &node.uri("vol0")]);
    succeed("fio", &verified(&node.uri("vol0"), &["--bsrange=4k-64k", "--size=24m"]));
    assert!(!node.log().contains("has no room"), "{}", node.log());
    node.stop();
}

/// A file that is to keep its blocks and cannot get those that it lacks says so, and is served. When there is room it gets them: of
/// these two there is room for one's.
#[test]
fn blocks_that_cannot_be_set_aside_are_told_of() {
    let Some(mounted) = Mounted::new("96m") else { return };
    let dir = moved_with_holes(&mounted);
    mounted.fill();
    let node = Node::start_watched(&dir, &FLAGS, |line| {
        if line.contains("has no room") {
            mounted.make_room();
        }
    });
    mounted.make_room();
    node.wait_until("one has its blocks", |node| {
        let lack = |osd: &&str| findings(node).contains(&format!("osd.{osd}'s file lacks"));
        let (has, lacks) = if lack(&"0") { ("1", "0") } else { ("0", "1") };
        lack(&lacks) && !lack(&has) && allocated(&node.disk(has)) == 64 << 20
    });
    assert!(node.log().contains("are set aside"), "{}", node.log());
    node.stop();
}

/// The first two disks stayed and filled the file system, and the sentence told of the third alone.
#[test]
fn disks_that_have_no_room_together_take_none() {
    let Some(mounted) = Mounted::new("160M") else { return };
    let dir = mounted.at().join("node");
    let flags = ["--osds", "3", "--size", "64MiB"];
    let serve = ["serve", "--log", "error", "--dir", text(&dir)];
    let done = output(PROGRAM, &[&serve[..], &flags].concat());
    assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
    let says = "osd.2: its file system has no room for 64 MiB; the node's 3 new disks take 192 MiB together";
    assert!(done.stderr.contains(says), "{}", done.stderr);
    assert!(!dir.exists());
}
