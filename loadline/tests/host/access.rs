//! Who may do what with which image: exports that nobody writes, and addresses that others reach.

use crate::node::{Node, SMALL};
use crate::tools::{fail, succeed};

#[test]
fn an_image_that_is_read_only_is_so_for_every_client() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let more = ["--image", "gold=8MiB", "--image", "vm-1=8MiB", "--nbd-tcp", "127.0.0.1:0"];
    let node = Node::start(&dir, &[&SMALL[..], &more].concat());
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 7 0 1M", &node.uri("gold")]);
    node.stop();
    let read_only = ["--read-only", "gold", "--read-only", "vm-*"];
    let node = Node::start(&dir, &[&SMALL[..], &more, &read_only].concat());
    for (image, is_read_only) in [("gold", true), ("vm-1", true), ("vol0", false)] {
        for uri in [node.uri(image), node.tcp_uri("nbd", image)] {
            let info = succeed("nbdinfo", &["--json", &uri]);
            let info: serde_json::Value = serde_json::from_str(&info).expect("it is JSON");
            assert_eq!(info["exports"][0]["is_read_only"], is_read_only, "{image}");
        }
    }
    succeed("qemu-io", &["-r", "-f", "raw", "-c", "read -P 7 0 1M", &node.uri("gold")]);
    fail("qemu-io", &["-f", "raw", "-c", "write -P 8 0 512", &node.uri("gold")]);
    succeed("qemu-io", &["-f", "raw", "-c", "write -P 8 0 512", &node.uri("vol0")]);
    assert!(!node.log().contains("whoever reaches this address"), "it is loopback");
    node.stop();
}

/// An address that others reach is refused, unless somebody says that it is meant; then the log warns.
#[test]
fn an_address_that_others_reach_is_served_to_who_takes_the_risk() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node =
        Node::start(&dir, &[&SMALL[..], &["--nbd-tcp", "0.0.0.0:0", "--nbd-insecure"]].concat());
    let log = node.log();
    assert!(log.contains("WARN") && log.contains("whoever reaches this address"), "{log}");
    node.stop();
}
