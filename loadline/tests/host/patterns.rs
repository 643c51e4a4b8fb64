//! qemu-io: patterns written and read at every awkward place, against a file that takes the same commands.

use crate::node::{IMAGE_BYTES, Node, SMALL};
use crate::tools::{fail, succeed, text};

/// Carries the commands out on the node's image and on a plain file, and compares all bytes.
fn check(commands: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node = Node::start(&dir, &SMALL);
    let file = folder.path().join("reference");
    std::fs::File::create(&file).and_then(|file| file.set_len(IMAGE_BYTES)).unwrap();
    let each = commands.iter().flat_map(|command| ["-c", command]);
    let arguments: Vec<&str> = ["-f", "raw"].into_iter().chain(each).collect();
    for target in [text(&file), &node.uri("vol0")] {
        let said = succeed("qemu-io", &[&arguments[..], &[target]].concat());
        assert!(!said.contains("failed"), "{target}: {said}");
    }
    let compare = ["compare", "-f", "raw", "-F", "raw", text(&file)];
    succeed("qemu-img", &[&compare[..], &[&node.uri("vol0")]].concat());
    node.kill();
    let node = Node::start(&dir, &SMALL);
    succeed("qemu-img", &[&compare[..], &[&node.uri("vol0")]].concat());
    node.stop();
}

#[test]
fn bytes_anywhere() {
    check(&[
        "write -P 1 1 1",
        "write -P 2 4095 2",
        "write -P 3 65535 65539",
        "write -P 4 4194303 2",
        "write -P 5 67108863 1",
        "read -P 0 0 1",
        "read -P 1 1 1",
        "read -P 2 4095 2",
        "read -P 0 4097 1000",
        "read -P 4 4194303 2",
        "read -P 5 67108863 1",
        "write -f -P 6 12345 54321",
        "read -P 6 12345 54321",
    ]);
}

#[test]
fn requests_of_32_mib() {
    check(&[
        "write -P 17 0 33554432",
        "write -f -P 18 33554432 33554432",
        "read -P 17 0 33554432",
        "read -P 18 33554432 33554432",
        "write -P 19 16777217 33554431",
        "read -P 17 0 16777217",
        "read -P 19 16777217 33554431",
    ]);
}

#[test]
fn zeroes_and_discards_read_as_zeros() {
    check(&[
        "write -P 33 0 16M",
        "write -z 4097 4095",
        "read -P 0 4097 4095",
        "read -P 33 0 4097",
        "write -z -u 1M 4M",
        "read -P 0 1M 4M",
        "write -P 34 3000000 100",
        "write -z 2999999 102",
        "discard 8M 4M",
        "read -P 0 8M 4M",
        "discard 12585985 5000",
        "read -P 0 12585985 5000",
        "read -P 33 12582912 3073",
        "write -z 0 64M",
        "read -P 0 0 64M",
        "write -P 35 60M 1M",
    ]);
}

#[test]
fn what_lies_past_the_end_is_refused_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    for command in ["read 64M 512", "write 67108352 1024", "write 65M 1"] {
        // qemu-io knows the size and refuses some of it by itself; either way it must not succeed.
        fail("qemu-io", &["-f", "raw", "-c", command, &uri]);
    }
    succeed("qemu-io", &["-f", "raw", "-c", "read -P 0 0 64M", &uri]);
    node.stop();
}
