//! Folders and files that a node cannot use: refused in one sentence with an exit code, or, where the other copies suffice,
//! served without the bad one and with a sentence about it. In no case is a file overwritten that holds something else.

use crate::node::{Node, PROGRAM, SMALL};
use crate::tools::{Output, output, succeed, text};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with a node that was stopped, its image full of one pattern.
struct Stopped {
    folder: tempfile::TempDir,
}

impl Stopped {
    fn new() -> Stopped {
        Stopped::with("write -P 77 0 32M")
    }

    fn with(write: &str) -> Stopped {
        let stopped = Stopped { folder: tempfile::tempdir().unwrap() };
        let node = Node::start(&stopped.dir(), &SMALL);
        succeed("qemu-io", &["-f", "raw", "-c", write, &node.uri("vol0")]);
        node.stop();
        stopped
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("node")
    }

    fn disk(&self, osd: u32) -> PathBuf {
        self.dir().join(format!("osd.{osd}"))
    }
}

fn serve(dir: &Path, flags: &[&str]) -> Output {
    output(PROGRAM, &[&["serve", "--log", "error", "--dir", text(dir)], flags].concat())
}

/// Refused with this code, in one sentence that names all of `names`.
fn check_refused(dir: &Path, flags: &[&str], code: i32, names: &[&str]) {
    let done = serve(dir, flags);
    assert_eq!(done.status.code(), Some(code), "{flags:?}: {}", done.stderr);
    let sentences: Vec<_> = done.stderr.lines().collect();
    assert_eq!(sentences.len(), 1, "one sentence is enough:\n{}", done.stderr);
    for name in names {
        assert!(sentences[0].contains(name), "`{}` should name `{name}`", sentences[0]);
    }
}

/// Its disks had been made when it was found that another process listened where it was to.
#[test]
fn a_new_node_that_cannot_listen_makes_no_disks() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = port.local_addr().unwrap().to_string();
    let path = folder.path().join("taken");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let face = format!("vol0={}", path.display());
    for taken in [["--nbd-tcp", &at], ["--page", &at], ["--vhost", &face]] {
        let flags = [&SMALL[..], &taken].concat();
        check_refused(&dir, &flags, 1, &["another process listens there"]);
        assert!(!dir.exists(), "{taken:?}");
    }
}

/// Served without osd.1: the log says so and why, and the image is whole.
fn check_served_without(stopped: &Stopped, names: &[&str]) {
    let node = Node::start(&stopped.dir(), &SMALL);
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 77 0 32M", &node.uri("vol0")]);
    let log = node.log();
    let warned = |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ");
    let about = log.lines().filter(warned).find(|line| line.contains("osd.1"));
    let about = about.unwrap_or_else(|| panic!("no warning about osd.1 in:\n{log}"));
    for name in names {
        assert!(about.contains(name), "`{about}` should name `{name}`");
    }
    node.stop();
}

#[test]
fn a_disk_has_one_owner() {
    let stopped = Stopped::new();
    let node = Node::start(&stopped.dir(), &SMALL);
    check_refused(&stopped.dir(), &SMALL, 1, &["a node runs in", "already"]);
    let one = ["--config", "second.toml"];
    let file = stopped.folder.path().join(one[1]);
    let disk =
        format!("dir = \"elsewhere\"\nosds = [{{ path = \"{}\" }}]\n", text(&stopped.disk(2)));
    fs::write(&file, disk).unwrap();
    let done = output(PROGRAM, &["serve", "--log", "error", "--config", text(&file)]);
    assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("another process uses it"), "{}", done.stderr);
    let done = output(PROGRAM, &["store", "format", text(&stopped.disk(2)), "--force"]);
    assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("osd.2: another process uses it"), "{}", done.stderr);
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 77 0 32M", &node.uri("vol0")]);
    node.stop();
    let node = Node::start(&stopped.dir(), &SMALL);
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 77 0 32M", &node.uri("vol0")]);
    node.stop();
}

/// The first disks of a new node were made and stayed, with all the room that they take, where one of the others could not be.
#[test]
fn a_new_nodes_disks_are_all_made_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("node"), folder.path().join("node.toml"));
    let disks = "osds = [{ path = \"osd.0\", size = \"64 MiB\" }, { path = \"gone/osd.1\", size = \"64 MiB\" }]";
    fs::write(&file, format!("dir = \"node\"\n{disks}\n")).unwrap();
    let done = output(PROGRAM, &["serve", "--log", "error", "--config", text(&file)]);
    assert_eq!(done.status.code(), Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("gone/osd.1"), "{}", done.stderr);
    assert!(!dir.exists());
}

/// Who left a disk out was told how many there were, and not which it was.
#[test]
fn a_disk_that_is_left_out_is_named_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("node"), folder.path().join("node.toml"));
    let write = |disks: &[&str]| {
        let disk = |name: &&str| format!("{{ path = \"../{name}\", size = \"64 MiB\" }}");
        let disks: Vec<String> = disks.iter().map(disk).collect();
        fs::write(&file, format!("dir = \"node\"\nosds = [{}]\n", disks.join(", "))).unwrap();
    };
    write(&["first", "second"]);
    Node::start_by(&file, &dir).stop();
    let refused = |copies: &str, says: &str| {
        fs::write(&file, format!("{copies}{}", fs::read_to_string(&file).unwrap())).unwrap();
        let done = output(PROGRAM, &["serve", "--log", "error", "--config", text(&file)]);
        assert!(done.stderr.contains(says), "{}", done.stderr);
        let was = format!("osd.1 was on {}", dir.join("../second").display());
        assert!(done.stderr.contains(&was) && !done.stderr.contains("osd.0"), "{}", done.stderr);
    };
    write(&["first"]);
    refused("", "the cluster has 2 OSDs, and the disk of 1 was given");
    refused("copies = 2\n", "osds: 1 is named, and the node had 2 when it ran last");
}

#[test]
fn a_foreign_file_is_left_alone() {
    let stopped = Stopped::new();
    let foreign = vec![b'x'; 128 << 20];
    fs::write(stopped.disk(1), &foreign).unwrap();
    check_served_without(&stopped, &[]);
    assert!(fs::read(stopped.disk(1)).unwrap() == foreign, "it was written to");
}

#[test]
fn a_short_file_costs_its_osd_alone() {
    let stopped = Stopped::new();
    fs::File::options().write(true).open(stopped.disk(1)).unwrap().set_len(64 << 20).unwrap();
    check_served_without(&stopped, &["64 MiB", "128 MiB"]);
}

#[test]
fn another_size_than_the_disks_have_is_refused() {
    let stopped = Stopped::new();
    check_refused(&stopped.dir(), &["--osds", "4", "--size", "256MiB"], 2, &["128 MiB", "256 MiB"]);
}

#[test]
fn without_a_majority_of_the_disks_the_node_does_not_start() {
    let stopped = Stopped::new();
    for osd in [1, 2, 3] {
        fs::write(stopped.disk(osd), vec![b'x'; 1 << 20]).unwrap();
    }
    check_refused(&stopped.dir(), &["--osds", "4"], 1, &["osd.1", "osd.2", "osd.3"]);
}

/// A node whose disks were on what was not mounted began anew beside its former images, and so did one that was told of a disk less and whose first one was gone.
#[test]
fn a_node_whose_disks_have_gone_is_not_begun_anew() {
    let stopped = Stopped::new();
    let names = ["disks.json says that a node was here", "osd.0 was on", "osd.3 was on"];
    fs::remove_file(stopped.disk(0)).unwrap();
    check_refused(&stopped.dir(), &["--osds", "1", "--size", "128MiB"], 2, &names);
    (1..4).for_each(|osd| fs::remove_file(stopped.disk(osd)).unwrap());
    check_refused(&stopped.dir(), &["--osds", "4", "--size", "128MiB"], 2, &names);
    assert!(!stopped.disk(0).exists() && !stopped.disk(3).exists());
}

#[test]
fn another_cluster_s_disk_is_not_taken() {
    let (ours, theirs) = (Stopped::new(), Stopped::with("write -P 78 0 32M"));
    fs::copy(theirs.disk(1), ours.disk(1)).unwrap();
    check_served_without(&ours, &[]);
}

#[test]
fn what_cannot_be_a_node_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let check = |flags: &[&str], names: &[&str]| {
        check_refused(&dir, flags, 2, names);
        assert!(!dir.join("osd.0").exists(), "{flags:?} made a disk");
    };
    check(&["--osds", "0"], &["--osds"]);
    check(&["--osds", "65"], &["64"]);
    check(&["--osds", "2", "--copies", "3"], &["copies"]);
    check(&["--osds", "2", "--size", "1KiB"], &["size"]);
    check(&[], &["--osds"]);
    fs::write(folder.path().join("file"), "").unwrap();
    let file = folder.path().join("file");
    check_refused(&file, &["--osds", "1", "--size", "64MiB"], 2, &["file"]);
}
