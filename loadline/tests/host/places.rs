//! The same smoke test wherever a node can live: io_uring or threads, a disk's file system or memory, past the page cache
//! or through it.

use crate::fio::verified;
use crate::node::{Node, SMALL};
use crate::tools::{noise_file, succeed, text};
use std::path::Path;

/// A copy in, a verified load, a kill, a look, and an orderly end; the log has to say how it was done.
fn smoke(folder: &Path, flags: &[&str], says: &str) {
    let flags = [&SMALL[..], flags].concat();
    let dir = folder.join("node");
    let node = Node::start(&dir, &flags);
    assert!(node.log().contains(says), "`{says}` is missing in:\n{}", node.log());
    let uri = node.uri("vol0");
    let source = folder.join("source");
    noise_file(&source, 8 << 20, 4);
    let upper = format!("write -s {} 32M 8M", text(&source));
    succeed("qemu-io", &["-f", "raw", "-c", &upper, "-c", "flush", &uri]);
    let check = verified(&uri, &["--bsrange=4k-256k", "--size=16m"]);
    succeed("fio", &check);
    node.kill();
    let node = Node::start(&dir, &flags);
    succeed("fio", &[&check[..], &["--verify_only"]].concat());
    let copy = folder.join("copy");
    succeed("nbdcopy", &[&uri, text(&copy)]);
    let skipped = (32 << 20).to_string();
    succeed("cmp", &["-n", "8388608", "-i", &format!("0:{skipped}"), text(&source), text(&copy)]);
    node.terminate();
}

#[test]
fn threads_instead_of_io_uring() {
    let folder = tempfile::tempdir().unwrap();
    smoke(folder.path(), &["--backend", "threads"], "mode=threads");
}

#[test]
fn through_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    smoke(folder.path(), &["--direct", "no"], "mode=buffered");
}

/// A tmpfs of old kernels takes no direct I/O; then the node goes through the page cache and says so. Either mode is right.
#[test]
fn on_a_tmpfs() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    smoke(folder.path(), &[], "disk osd=osd.0");
}

#[test]
fn on_a_tmpfs_with_threads_and_a_synced_log() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    smoke(folder.path(), &["--backend", "threads", "--log-mode", "fsync"], "mode=threads");
}
