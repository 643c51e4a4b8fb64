//! Pools, images and snapshots: made, shown, refused, and still there after a restart.

use super::clients::Client;
use super::node::Node;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn pools_are_made_and_stay() {
    let node = Node::with_osds(3);
    node.done(&["pool", "create", "cold", "--pgs", "4", "--copies", "2"], "pool cold is made");
    let pools = node.json(&["pool", "list"]);
    let pool =
        |name, pgs, copies| json!({ "name": name, "pgs": pgs, "copies": copies, "images": 0 });
    assert_eq!(pools, json!({ "pools": [pool("data", 8, 3), pool("cold", 4, 2)] }));
    node.await_clean();
    node.refuses(&["pool", "create", "cold"], 2, "pool cold exists already");
    node.refuses(&["pool", "create", "a/b"], 2, "`a/b` is not a name");
    // `scrub start osd.1` compared the copies of an OSD, and could never mean the pool.
    for other in ["osd.1", "0.1", "0.1f"] {
        let says = format!("`{other}` is what an OSD or a PG is called");
        node.refuses(&["pool", "create", other], 2, &says);
    }
    node.refuses(&["pool", "create", "p", "--copies", "4"], 2, "4 copies have no place on 3 OSDs");
    node.refuses(&["pool", "create", "p", "--pgs", "0"], 2, "0 PGs cannot be made");
    node.refuses(&["pool", "create", "p", "--pgs", "9999"], 2, "expected 1 to 756");
    // With those that are there they are more than fit 32 bits.
    node.refuses(&["pool", "create", "p", "--pgs", "4294967295"], 2, "expected 1 to 756");
    let says = "pool cold would be removed for good, expected --yes if that is meant";
    node.refuses(&["pool", "remove", "cold"], 2, says);
    node.refuses(&remove("x"), 2, "there is no pool `x`, expected data or cold");
    let create = ["image", "create", "v", "--size", "8MiB"];
    node.refuses(&create, 2, "the image has no pool, expected data or cold");
    node.refuses(&[&create[..], &["--pool", "x"]].concat(), 2, "there is no pool `x`");
    node.says(&[&create[..], &["--pool", "cold"]].concat());
    assert_eq!(node.json(&["image", "info", "v"])["pool"], json!("cold"));
}

/// The map outgrew the largest value that a small disk takes: one image more took every OSD down, and the node with them. It goes in
/// pieces then, and is read back from them.
#[test]
fn a_map_may_be_larger_than_a_value() {
    let mut node = Node::without_disks();
    node.start(&["--osds", "3", "--size", "64MiB", "--pgs", "768"]);
    let name = |image: usize| format!("{image:0>64}");
    let images = 130;
    for image in 0..images {
        node.says(&["image", "create", &name(image), "--size", "1MiB"]);
    }
    let mut client = Client::connect(&node.file("nbd.sock"), &name(images - 1));
    client.write(0, &[7; 4096]);
    drop(client);
    node.stop();
    node.start(&[]);
    let listed = node.json(&["image", "list"])["images"].take();
    assert_eq!(listed.as_array().map(Vec::len), Some(images));
    let mut client = Client::connect(&node.file("nbd.sock"), &name(images - 1));
    assert_eq!(client.read(0, 4096), [7; 4096]);
    drop(client);
    // Small again: one value, and the pieces go.
    for image in 0..images - 1 {
        node.says(&["image", "remove", &name(image), "--yes"]);
    }
    node.kill();
    node.start(&[]);
    let listed = node.json(&["image", "list"])["images"].take();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

/// An OSD that was away when a pool went still had its copies, and would have kept them for ever.
#[test]
fn pools_go_and_leave_nothing() {
    let mut node = Node::with_osds(3);
    let (create, image) = (["pool", "create", "cold", "--pgs", "4"], "vol0");
    node.says(&create);
    node.says(&["image", "create", image, "--size", "8MiB", "--pool", "cold"]);
    node.await_clean();
    let used = node.osd(2)["used_bytes"].as_u64().unwrap();
    Client::connect(&node.file("nbd.sock"), image).write(0, &vec![5; 6 << 20]);
    let says = "pool cold stays: it holds an image: remove that first";
    node.refuses(&remove("cold"), 2, says);
    node.says(&["osd", "down", "2"]);
    node.says(&["image", "remove", image, "--yes"]);
    node.done(&remove("cold"), "pool cold is removed");
    node.refuses(&remove("cold"), 2, "there is no pool `cold`, expected data");
    node.refuses(&remove("data"), 2, "pool data stays: it is the only one");
    node.says(&["osd", "up", "2"]);
    node.await_clean();
    node.await_ok(&["osd", "list", "--json"], |text| {
        let listed: Value = serde_json::from_str(text).unwrap();
        listed["osds"][2]["used_bytes"].as_u64().unwrap() <= used + (1 << 20)
    });
    // Numbers are not used again: what is stored under them is nobody else's.
    node.says(&create);
    node.says(&["image", "create", image, "--size", "8MiB", "--pool", "cold"]);
    node.stop();
    node.start(&[]);
    node.await_clean();
    let mut client = Client::connect(&node.file("nbd.sock"), image);
    assert_eq!(client.read(0, 1 << 20), vec![0; 1 << 20]);
    client.write(0, &[6; 4096]);
    assert_eq!(client.read(0, 4096), [6; 4096]);
    let says =
        "image vol0 stays: 1 NBD client has it open, expected them to close it first, or --force";
    node.refuses(&["image", "remove", image, "--yes"], 2, says);
    assert_eq!(client.read(0, 4096), [6; 4096], "who has it open keeps it");
    drop(client);
    node.says(&["image", "remove", image, "--yes"]);
    node.done(&remove("cold"), "pool cold is removed");
    node.says(&["image", "create", image, "--size", "8MiB"]);
}

/// The removal of an image waited for a PG that nobody served, and the others of its pool for that.
#[test]
fn an_image_whose_objects_can_go_waits_for_no_other() {
    let node = Node::with_osds(2);
    node.says(&["pool", "create", "single", "--pgs", "8", "--copies", "1"]);
    node.await_clean();
    let used = |node: &Node| node.osd(0)["used_bytes"].as_u64().unwrap();
    let before = used(&node);
    let images: Vec<String> = (0..16).map(|image| format!("vol{image}")).collect();
    for image in &images {
        node.says(&["image", "create", image, "--size", "1MiB", "--pool", "single"]);
        Client::connect(&node.file("nbd.sock"), image).write(0, &vec![5; 1 << 20]);
    }
    let own = used(&node) - before;
    assert!((3 << 20..13 << 20).contains(&own), "each disk has some: {own} bytes");
    node.says(&["osd", "down", "1", "--force"]);
    for image in &images {
        node.says(&["image", "remove", image, "--yes"]);
    }
    node.await_ok(&["osd", "list", "--json"], |text| {
        let listed: Value = serde_json::from_str(text).unwrap();
        listed["osds"][0]["used_bytes"].as_u64().unwrap() < before + (1 << 20)
    });
}

fn remove(pool: &str) -> [&str; 4] {
    ["pool", "remove", pool, "--yes"]
}

#[test]
fn images_and_snapshots_are_made_changed_and_removed() {
    let mut node = Node::with_osds(3);
    node.done(&["image", "create", "vol0", "--size", "8MiB"], "image vol0 of 8 MiB is made");
    node.done(&["image", "resize", "vol0", "12MiB"], "image vol0 has 12 MiB");
    node.done(&["image", "rename", "vol0", "vol1"], "image vol0 is now vol1");
    let snapshot = ["image", "snapshot", "create", "vol1@monday"];
    node.done(&snapshot, "snapshot vol1@monday is made");
    let clone = ["image", "clone", "vol1@monday", "vol2"];
    node.done(&clone, "image vol2 begins as vol1@monday");
    let taken = json!([{ "name": "monday", "id": 1, "size_bytes": 12 << 20, "clones": ["vol2"] }]);
    let told = node.json(&["image", "snapshot", "list", "vol1"]);
    assert_eq!((&told["image_id"], &told["snapshots"]), (&json!("1.0"), &taken));
    node.refuses(&["image", "info", "vol0"], 2, "there is no image `vol0`; did you mean `vol1`?");
    node.refuses(&["image", "info", "other"], 2, "there is no image `other`\n");
    node.refuses(&["image", "create", "vol1", "--size", "1MiB"], 2, "image vol1 exists already");
    node.refuses(&["image", "create", "v@x", "--size", "1MiB"], 2, "`v@x` is not a name");
    node.refuses(&["image", "create", "v", "--size", "0"], 2, "cannot have 0 bytes");
    let odd = ["image", "create", "v", "--size", "1MiB", "--object-size", "100KiB"];
    node.refuses(&odd, 2, "it takes a power of two from 64 KiB to 32 MiB");
    node.refuses(&["image", "rename", "vol1", "vol2"], 2, "image vol2 exists already");
    node.refuses(&snapshot, 2, "snapshot vol1@monday exists already");
    node.refuses(&["image", "clone", "vol1@x", "v"], 2, "image vol1 has no snapshot `x`");
    node.refuses(&["image", "remove", "vol1"], 2, "has clones: remove vol2 first");
    let remove = ["image", "snapshot", "remove", "vol1@monday", "--yes"];
    node.refuses(&remove, 2, "has clones: remove vol2 first");
    node.stop();
    node.start(&[]);
    assert_eq!(node.json(&["image", "info", "vol2"])["parent"], json!("vol1@monday"));
    node.done(&["image", "remove", "vol2", "--yes"], "image vol2 is removed");
    node.done(&remove, "snapshot vol1@monday is removed");
    node.done(&["image", "remove", "vol1", "--yes"], "image vol1 is removed");
    assert_eq!(node.json(&["image", "list"]), json!({ "images": [] }));
}

/// A removed snapshot is gone at once. What was kept for it is told of until it is given back, also by a node that was killed meanwhile.
#[test]
fn what_was_kept_for_a_removed_snapshot_is_given_back() {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "8MiB", "--object-size", "64KiB"]);
    let write = |node: &Node, fill: u8| {
        Client::connect(&node.file("nbd.sock"), "vol0").write(0, &vec![fill; 4 << 20]);
    };
    write(&node, 3);
    node.says(&["image", "snapshot", "create", "vol0@monday"]);
    write(&node, 4);
    let trim = |node: &Node| node.json(&["status"])["trim"].clone();
    assert_eq!(trim(&node)["objects_left"], json!(0), "the snapshot lives");
    node.says(&["config", "set", "osd", "nosnaptrim", "true"]);
    let remove = ["image", "snapshot", "remove", "vol0@monday", "--yes"];
    node.done(&remove, "snapshot vol0@monday is removed");
    assert_eq!(trim(&node)["objects_left"], json!(64));
    node.kill();
    node.start(&[]);
    node.await_clean();
    assert_eq!(trim(&node)["objects_left"], json!(64), "nobody may trim");
    assert!(node.says(&["status"]).contains("64 objects kept for removed snapshots"));
    node.says(&["config", "set", "osd", "nosnaptrim", "false"]);
    node.await_ok(&["status", "--json"], |text| {
        let status: Value = serde_json::from_str(text).unwrap();
        status["trim"]["objects_left"] == json!(0)
    });
    assert!(node.says(&["status"]).contains("nothing is kept for removed snapshots"));
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert_eq!(client.read(0, 4 << 20), vec![4; 4 << 20]);
}

/// What an image is promised and allowed is shown, kept, refused where it cannot be kept, and holds.
#[test]
#[expect(clippy::disallowed_methods, reason = "a limit is of real time")]
fn images_are_promised_and_allowed_what_can_be_kept() {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "8MiB"]);
    let qos = |more: &[&'static str]| [&["image", "qos", "vol0"], more].concat();
    node.done(&qos(&[]), "vol0: no reservation, no limit, weight 1");
    let done = "image vol0 is promised and allowed that";
    node.done(&qos(&["--reservation", "20iops", "--limit", "40", "--burst", "2s"]), done);
    node.done(&qos(&["--weight", "2.5"]), done);
    node.refuses(
        &qos(&["--reservation", "50"]),
        2,
        "a limit of 40 IOPS is below the reservation of 50",
    );
    node.refuses(&qos(&["--weight", "0"]), 2, "a weight must be 0.01 to 1000");
    node.refuses(&qos(&["--burst", "2h"]), 2, "a burst lasts an hour at most");
    let most = ["--limit", "0", "--burst", "0s", "--reservation", "4000000000"];
    node.refuses(&qos(&most), 2, "each takes 3 writes of what is reserved for clients");
    node.refuses(&["image", "qos", "vol1", "--limit", "9"], 2, "there is no image `vol1`");
    let kept = json!({ "reservation_iops": 20, "limit_iops": 40, "burst_ns": 2_000_000_000u64, "weight": 2.5 });
    assert_eq!(node.json(&["image", "info", "vol0"])["qos"], kept);
    node.stop();
    node.start(&[]);
    node.await_clean();
    assert_eq!(node.json(&["status"])["images"][0]["qos"], kept);
    let profile = node.json(&["profile", "show"]);
    assert_eq!(
        (profile["images"][0]["qos"].clone(), &profile["promised_writes_per_s"]),
        (kept, &json!(60.0))
    );
    assert_eq!(profile["osds"][2]["classes"][0]["class"], json!("client"));
    node.done(&qos(&["--reservation", "0", "--limit", "20", "--burst", "0s"]), done);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let begin = Instant::now();
    (0..25).for_each(|_| client.write(0, &[6; 4096]));
    // The first goes at once, and at most four more of the past.
    assert!(begin.elapsed() >= Duration::from_millis(950), "{:?}", begin.elapsed());
    node.done(&qos(&["--limit", "0", "--weight", "1"]), done);
    assert_eq!(node.json(&["status"])["images"], json!([]));
}
