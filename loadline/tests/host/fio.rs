//! fio's nbd engine: what it wrote is what it reads, in mixed sizes, beside trims, and after the node was stopped or killed.

use crate::node::{Node, SMALL};
use crate::tools::{fail, output, succeed};

/// Sizes as a file system sends them, from one page to the largest readahead.
const MIXED: &str = "--bssplit=4k/60:16k/20:64k/10:256k/5:1m/5";

/// Bytes of the part that is verified; the rest of the image is for trims.
pub(crate) const VERIFIED: &str = "48m";

/// A job that writes every block of its part once, in random order, with checksums.
pub(crate) fn verified<'a>(uri: &'a str, extra: &[&'a str]) -> Vec<&'a str> {
    let fixed =
        ["--name=verified", "--ioengine=nbd", "--uri", uri, "--rw=randwrite", "--randseed=7"];
    let checks = [
        "--iodepth=16",
        "--verify=crc32c",
        "--verify_state_save=0",
        "--verify_fatal=1",
        "--offset=0",
    ];
    [&fixed[..], &checks, extra].concat()
}

#[test]
fn what_was_written_beside_trims_is_there_after_stops_and_kills() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node = Node::start(&dir, &SMALL);
    let uri = node.uri("vol0");
    let size = format!("--size={VERIFIED}");
    let write = [&verified(&uri, &[MIXED, &size, "--do_verify=0"])[..], &trims(&uri)].concat();
    succeed("fio", &write);
    let check = verified(&uri, &[MIXED, &size, "--verify_only"]);
    succeed("fio", &check);
    node.stop();
    let node = Node::start(&dir, &SMALL);
    succeed("fio", &check);
    node.kill();
    let node = Node::start(&dir, &SMALL);
    succeed("fio", &check);
    // A verification that cannot fail would prove nothing.
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 1 8192 512", &uri]);
    assert!(fail("fio", &check).contains("verify: bad"));
    node.terminate();
}

/// Trims and writes in turn behind the verified part, on a connection of their own. fio 3.33 aborts when a verified job
/// itself is to trim (`trim_percentage`), so that trims need their own.
fn trims(uri: &str) -> Vec<&str> {
    let job = ["--name=trims", "--ioengine=nbd", "--uri", uri, "--rw=randtrimwrite", "--bs=64k"];
    [&job[..], &["--verify=0", "--iodepth=8", "--offset=48m", "--size=16m", "--loops=2"]].concat()
}

#[test]
fn sizes_and_places_that_fit_no_page_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    let sizes = ["--bsrange=512-70000", "--bs_unaligned", "--size=12m", "--norandommap=0"];
    let done = output("fio", &verified(&uri, &sizes));
    assert!(done.status.success(), "{}{}\n{}", done.stdout, done.stderr, node.log());
    node.stop();
}

#[test]
fn three_clients_at_once_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    let apart = [MIXED, "--numjobs=3", "--size=12m", "--offset_increment=16m"];
    succeed("fio", &verified(&uri, &apart));
    node.stop();
}
