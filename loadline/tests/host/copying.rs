//! libnbd's tools and qemu-img: what an export says about itself, and whole images in and out.

use crate::node::{IMAGE_BYTES, Node, SMALL};
use crate::tools::{fail, noise_file, succeed, text};

#[test]
fn an_export_tells_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&SMALL[..], &["--image", "odd=1000001B"]].concat();
    let node = Node::start(&folder.path().join("node"), &flags);
    let listed = succeed("nbdinfo", &["--list", "--json", &node.uri("")]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("it is JSON");
    let exports = listed["exports"].as_array().expect("the exports");
    let sizes: Vec<_> = exports
        .iter()
        .map(|one| (one["export-name"].as_str(), one["export-size"].as_u64()))
        .collect();
    assert_eq!(sizes, [(Some("odd"), Some(1_000_001)), (Some("vol0"), Some(IMAGE_BYTES))]);
    assert_eq!(listed["protocol"], "newstyle-fixed");
    assert_eq!(listed["structured"], true);
    for can in ["can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero", "can_df"] {
        assert_eq!(exports[1][can], true, "{can}");
    }
    assert_eq!(exports[1]["is_read_only"], false);
    assert_eq!(exports[1]["block_size_minimum"], 1);
    assert_eq!(exports[1]["block_size_maximum"], 32 << 20);
    assert_eq!(succeed("nbdinfo", &["--size", &node.uri("vol0")]).trim(), IMAGE_BYTES.to_string());
    let nowhere = fail("nbdinfo", &[&node.uri("nowhere")]);
    assert!(nowhere.contains("No such file or directory"), "{nowhere}");
    node.stop();
}

#[test]
fn nbdcopy_brings_back_what_it_took_in() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let [source, copy] = ["source", "copy"].map(|name| folder.path().join(name));
    noise_file(&source, IMAGE_BYTES as usize, 1);
    let uri = node.uri("vol0");
    let many = ["--connections=4", "--requests=32", "--request-size=1048576"];
    succeed("nbdcopy", &[&many[..], &[text(&source), &uri]].concat());
    succeed("nbdcopy", &[&uri, text(&copy)]);
    succeed("cmp", &[text(&source), text(&copy)]);
    succeed("qemu-img", &["compare", "-f", "raw", "-F", "raw", text(&source), &uri]);
    // From one server to another, in requests of 32 MiB; nbdkit makes the same noise again for the comparison.
    let noise = ["[", "nbdkit", "random", "64M", "seed=5", "]"];
    let largest = ["--request-size=33554432", "--requests=2", "--"];
    succeed("nbdcopy", &[&largest[..], &noise, &[&uri]].concat());
    succeed("nbdcopy", &[&["--"][..], &noise, &[text(&source)]].concat());
    succeed("qemu-img", &["compare", "-f", "raw", "-F", "raw", text(&source), &uri]);
    node.stop();
}

#[test]
fn qemu_img_converts_compares_and_maps() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    let info = succeed("qemu-img", &["info", &uri]);
    assert!(info.contains("virtual size: 64 MiB (67108864 bytes)"), "{info}");
    assert_eq!(allocated(&node), 0, "nothing was written yet");
    let [source, qcow] = ["source", "copy.qcow2"].map(|name| folder.path().join(name));
    noise_file(&source, IMAGE_BYTES as usize / 4, 2);
    succeed("truncate", &["--size", &IMAGE_BYTES.to_string(), text(&source)]);
    succeed("qemu-img", &["convert", "-n", "-W", "-m", "8", "-O", "raw", text(&source), &uri]);
    succeed("qemu-img", &["convert", "-O", "qcow2", &uri, text(&qcow)]);
    succeed("qemu-img", &["compare", "-f", "qcow2", "-F", "raw", text(&qcow), text(&source)]);
    assert!(allocated(&node) >= IMAGE_BYTES / 4, "what was written is allocated");
    let other = folder.path().join("other");
    noise_file(&other, IMAGE_BYTES as usize, 3);
    fail("qemu-img", &["compare", "-f", "raw", "-F", "raw", text(&other), &uri]);
    node.stop();
}

/// Block status knew whole objects only: a page in each made a copy of an image as large as the image.
#[test]
fn holes_inside_objects_are_holes_for_every_tool() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let uri = node.uri("vol0");
    let mut written = Vec::new();
    for at in (0..IMAGE_BYTES).step_by(1 << 20) {
        // Two pages that touch, and one apart from them; the page in the middle of three is discarded again.
        let write = |from: u64, bytes: u64| format!("write -P 0x5a {from} {bytes}");
        let commands = [write(at, 8192), write(at + 65_536, 12_288)];
        let discard = format!("discard {} 4096", at + 69_632);
        let all = [&commands[0], &commands[1], &discard].map(|line| ["-c", line]).concat();
        succeed("qemu-io", &[&["-f", "raw"][..], &all, &[&uri]].concat());
        written.extend([(at, 8192), (at + 65_536, 4096), (at + 73_728, 4096)]);
    }
    let bytes: u64 = written.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(extents(&node), written);
    let map = succeed("qemu-img", &["map", "--output=json", "-f", "raw", &uri]);
    let map: serde_json::Value = serde_json::from_str(&map).expect("it is JSON");
    let of = |key: &str| -> Vec<(u64, u64)> {
        let extents = map.as_array().expect("a list of extents").iter();
        let place = |one: &serde_json::Value| (one["start"].as_u64(), one["length"].as_u64());
        let meant = extents.filter(|one| one[key] == true).map(place);
        meant.map(|(start, length)| (start.expect("a start"), length.expect("a length"))).collect()
    };
    assert_eq!(of("data"), written, "{map}");
    assert_eq!(of("zero").iter().map(|(_, bytes)| bytes).sum::<u64>(), IMAGE_BYTES - bytes);
    // A copy takes no more room than what was written, and is the same.
    let copy = folder.path().join("copy");
    succeed("nbdcopy", &[&uri, text(&copy)]);
    let blocks = std::fs::metadata(&copy).map(|copy| std::os::unix::fs::MetadataExt::blocks(&copy));
    let used = blocks.expect("the copy is there") * 512;
    assert!(used < 4 * bytes, "{used} bytes for {bytes}");
    succeed("qemu-img", &["compare", "-f", "raw", "-F", "raw", text(&copy), &uri]);
    node.stop();
}

/// Bytes that block status does not call a hole.
fn allocated(node: &Node) -> u64 {
    extents(node).iter().map(|(_, length)| length).sum()
}

/// Where block status finds no hole: first byte and length.
fn extents(node: &Node) -> Vec<(u64, u64)> {
    let map = succeed("nbdinfo", &["--map", "--json", &node.uri("vol0")]);
    let map: serde_json::Value = serde_json::from_str(&map).expect("it is JSON");
    let extents = map.as_array().expect("a list of extents");
    let number = |extent: &serde_json::Value, key: &str| extent[key].as_u64().expect("a number");
    let total: u64 = extents.iter().map(|extent| number(extent, "length")).sum();
    assert_eq!(total, IMAGE_BYTES, "the map covers the image");
    let is_data = |extent: &&serde_json::Value| match number(extent, "type") {
        0 => true,
        3 => false,
        other => panic!("neither data nor a hole of zeros: {other}"),
    };
    let place = |extent| (number(extent, "offset"), number(extent, "length"));
    extents.iter().filter(is_data).map(place).collect()
}
