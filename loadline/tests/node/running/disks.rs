//! Disks that come and go: replaced, added, removed, missing at the start.

use super::clients::Client;
use super::node::Node;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

#[test]
fn a_disk_is_replaced_and_filled_again() {
    let node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let pattern: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 512) as u8).collect();
    client.write(2 << 20, &pattern);
    let replace = |path: &'static str| ["osd", "replace", "1", path];
    node.refuses(&replace("node/new"), 2, "osd.1 serves from its disk: take it down first");
    node.says(&["osd", "down", "1"]);
    let says = "there is no such file or device, expected a disk, or the size of a file";
    node.refuses(&replace("node/new"), 2, says);
    // The size was asked for that had been given.
    let nowhere = ["osd", "replace", "1", "node/none/new", "--size", "64MiB"];
    node.refuses(&nowhere, 2, "node/none, expected a path in a folder that is there");
    fs::write(node.file("letter"), vec![b'x'; 2 << 20]).unwrap();
    let says = "holds something that is no store, and is left alone";
    node.refuses(&replace("node/letter"), 2, says);
    node.refuses(&replace("node/osd.0"), 2, "node/osd.0 is osd.0's disk already");
    fs::remove_file(node.file("osd.1")).unwrap();
    let small = ["osd", "replace", "1", "node/osd.1", "--size", "4MiB"];
    node.refuses(
        &small,
        2,
        "4 MiB leave no room for a store; it takes some 16 MiB at least, and an OSD 64 MiB",
    );
    assert!(!node.file("osd.1").exists(), "half a disk is none");
    let new = ["osd", "replace", "1", "node/osd.1", "--size", "64MiB"];
    node.done(&new, "osd.1 begins anew on node/osd.1");
    node.await_clean();
    assert_eq!(node.osd(1)["pgs"], json!(8));
    // Only the replaced disk and one other are left, and the latter goes too: what is read was filled in.
    osd_1_has(&node, &mut client, &pattern);
}

/// What was written at 2 MiB is read while osd.0 is away, and while osd.1 is the only one left.
fn osd_1_has(node: &Node, client: &mut Client, pattern: &[u8]) {
    for away in ["0", "2"] {
        node.says(&["osd", "down", away]);
        assert_eq!(client.read(2 << 20, pattern.len()), pattern);
    }
}

/// The second was not refused, as nobody served while the map without the first was on its way. It took along the last
/// quorum that could have kept that map, and reads waited until one of the two came back.
#[test]
fn osds_that_are_taken_down_at_once_go_one_after_the_other() {
    let node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let pattern: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 515) as u8).collect();
    client.write(2 << 20, &pattern);
    node.await_clean();
    let mut admin = UnixStream::connect(node.file("admin.sock")).unwrap();
    let down = |osd| format!("PUT /osd/{osd}/down HTTP/1.1\r\nHost: node\r\n\r\n");
    admin.write_all([down(0), down(2), down(1)].concat().as_bytes()).unwrap();
    let mut answers = String::new();
    while answers.matches("HTTP/1.1 ").count() < 3 {
        let mut bytes = [0; 4096];
        let got = admin.read(&mut bytes).unwrap();
        answers.push_str(std::str::from_utf8(&bytes[..got]).unwrap());
    }
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    assert!(answers.contains("without osd.1 nobody would serve PGs"), "{answers}");
    assert_eq!(client.read(2 << 20, pattern.len()), pattern);
}

/// Flips a bit in the first record of the log that the next start needs.
fn spoil(disk: &Path) {
    let disk = File::options().read(true).write(true).open(disk).unwrap();
    let newest = [0, 4096].map(|offset| {
        let mut superblock = vec![0; 4096];
        disk.read_exact_at(&mut superblock, offset).unwrap();
        superblock
    });
    let word = |superblock: &[u8], at: usize| {
        u64::from_le_bytes(superblock[at..at + 8].try_into().expect("eight bytes"))
    };
    let newest = newest.iter().max_by_key(|superblock| word(superblock, 24)).unwrap();
    let (log, bytes, position) = (word(newest, 56), word(newest, 64), word(newest, 136));
    let place = log + (position + 8) % bytes;
    let mut byte = [0];
    disk.read_exact_at(&mut byte, place).unwrap();
    disk.write_all_at(&[byte[0] ^ 4], place).unwrap();
}

/// An OSD whose log had one flipped bit stayed down until somebody gave it another disk.
#[test]
fn a_damaged_disk_is_filled_again_by_itself() {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let switch = |value| ["config", "set", "osd.1", "osd_heal_damaged_store", value];
    node.says(&switch("false"));
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let pattern: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 513) as u8).collect();
    client.write(2 << 20, &pattern);
    drop(client);
    node.await_clean();
    node.stop();
    spoil(&node.file("osd.1"));
    node.start(&[]);
    let left = "osd_heal_damaged_store is off, so it is left as it is";
    node.await_ok(&["health"], |text| {
        text.contains("osd.1 is down: the log is damaged at") && text.contains(left)
    });
    node.says(&switch("true"));
    node.await_clean();
    // What is read was filled in: the OSD that is left was empty.
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    osd_1_has(&node, &mut client, &pattern);
}

/// The disk that was filled again was opened as one whose discards make holes: other files took the room that its writes need.
#[test]
fn a_file_that_is_filled_again_by_itself_keeps_its_blocks() {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    node.await_clean();
    node.stop();
    spoil(&node.file("osd.1"));
    node.start(&[]);
    node.await_ok(&["status"], |_| {
        node.log().contains("so its disk is made empty and filled again")
    });
    node.await_clean();
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    for turn in 0..4 {
        client.write(0, &vec![turn; 16 << 20]);
        client.trim(0, 16 << 20);
    }
    node.stop();
    let allocated = |osd| node.file(osd).metadata().unwrap().blocks() * 512;
    // What the file system needs for itself may be among it.
    let all = ["osd.0", "osd.1", "osd.2"].map(allocated);
    assert!(all.iter().all(|bytes| *bytes >= 64 << 20), "{all:?}");
}

/// A node that makes the disk of osd.3 empty, which takes long enough for an operator to say something about it meanwhile.
fn healing_a_large_disk() -> Node {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    node.says(&["osd", "add", "node/osd.3", "--size", "8GiB"]);
    node.await_clean();
    Client::connect(&node.file("nbd.sock"), "vol0").write(2 << 20, &[7; 1 << 20]);
    node.stop();
    spoil(&node.file("osd.3"));
    node.start(&[]);
    node.await_ok(&["status"], |_| {
        node.log().contains("so its disk is made empty and filled again")
    });
    node
}

/// The new disk came up, and when the old one was empty it was pulled from under it.
#[test]
fn an_osd_whose_disk_is_made_empty_gets_no_other_meanwhile() {
    let node = healing_a_large_disk();
    let replace = ["osd", "replace", "3", "node/new", "--size", "64MiB"];
    node.refuses(&replace, 2, "osd.3 serves from its disk: take it down first");
    node.await_clean();
    assert!(node.osd(3)["path"].as_str().unwrap().ends_with("node/osd.3"));
    node.says(&["osd", "down", "3"]);
    node.says(&["osd", "up", "3"]);
    node.await_clean();
    assert!(node.osd(3)["path"].as_str().unwrap().ends_with("node/osd.3"));
}

/// Its disk came back to a number that was none any more.
#[test]
fn an_osd_whose_disk_is_made_empty_is_neither_removed_nor_opened_meanwhile() {
    let node = healing_a_large_disk();
    node.says(&["osd", "out", "3"]);
    std::thread::scope(|scope| {
        let up = scope.spawn(|| node.says(&["osd", "up", "3"]));
        let says = "osd.3 serves: take it down first";
        node.refuses(&["osd", "remove", "3", "--force"], 2, says);
        assert_eq!(up.join().unwrap(), "osd.3 is up\n");
    });
    node.await_clean();
    node.says(&["osd", "down", "3"]);
    node.done(&["osd", "remove", "3"], "osd.3 is removed");
}

/// The sentence was said twice, and nothing of what is left to do.
#[test]
fn a_node_whose_only_disk_is_damaged_says_so_once_and_what_is_left() {
    let mut node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    Client::connect(&node.file("nbd.sock"), "vol0").write(2 << 20, &[7; 1 << 20]);
    node.await_clean();
    node.stop();
    spoil(&node.file("osd.0"));
    node.does_not_start(1, &[
        "osd.0: the log is damaged at",
        "and no other disk is here (osd.0 is node/osd.0): if the node has had other OSDs, bring back their disks",
        "else restore the images from a backup into a new node",
    ]);
    let ran = node.run(&["serve", "--dir", "node"]);
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
    let said = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert_eq!(said.matches("the log is damaged at").count(), 1, "{said}");
}

/// Whatever lay in an OSD's place and was damaged was made empty: another node's disk as well.
#[test]
#[expect(clippy::disallowed_methods, reason = "a node that would do harm does so by its own clock")]
fn a_damaged_disk_of_another_node_is_left_as_it_is() {
    let mut other = Node::with_osds(3);
    other.says(&["image", "create", "theirs", "--size", "16MiB"]);
    other.await_clean();
    let (stranger, own) = (other.file("osd.1"), |node: &Node| node.file("osd.1"));
    other.stop();
    spoil(&stranger);
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let pattern: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 514) as u8).collect();
    client.write(2 << 20, &pattern);
    drop(client);
    node.await_clean();
    node.stop();
    fs::copy(&stranger, own(&node)).unwrap();
    node.start(&[]);
    let why = "which is none of this cluster's, so it is left as it is";
    node.await_ok(&["health"], |text| text.contains("osd.1 is down: ") && text.contains(why));
    let contents = |path: &Path| fs::read(path).unwrap()[8192..60 << 20].to_vec();
    // The node looks every second what it may mend.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(contents(&own(&node)) == contents(&stranger), "nothing of it is written");
    // Neither is one of which nothing says whose it is, until somebody says that it may be lost.
    node.stop();
    let disk = File::options().write(true).open(own(&node)).unwrap();
    let size = disk.metadata().unwrap().len();
    for superblock in [0, 4096, size - 8192, size - 4096] {
        disk.write_all_at(&[0x5a; 4096], superblock).unwrap();
    }
    let before = fs::read(own(&node)).unwrap();
    node.start(&[]);
    let why = "nothing on it says whose it is, so it is left as it is";
    node.await_ok(&["health"], |text| text.contains("osd.1 is down: ") && text.contains(why));
    assert!(fs::read(own(&node)).unwrap() == before, "nothing of it is written");
    // Where nothing is, nothing is to be overwritten.
    assert!(node.says(&["health"]).contains("--overwrite"));
    fs::rename(own(&node), node.file("away")).unwrap();
    let health = node.says(&["health"]);
    assert!(
        health.contains("it is not there any more: `loadline osd replace osd.1 PATH`"),
        "{health}"
    );
    assert!(!health.contains("--overwrite"), "{health}");
    fs::rename(node.file("away"), own(&node)).unwrap();
    let replace = ["osd", "replace", "1", "node/osd.1"];
    node.refuses(&replace, 2, "--overwrite if what it holds may be lost");
    let overwrite = [&replace[..], &["--overwrite"]].concat();
    node.done(&overwrite, "osd.1 begins anew on node/osd.1");
    node.await_clean();
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    osd_1_has(&node, &mut client, &pattern);
}

#[test]
fn a_disk_with_data_of_another_osd_is_refused() {
    let node = Node::with_osds(3);
    node.await_clean();
    node.says(&["osd", "down", "1"]);
    fs::copy(node.file("osd.1"), node.file("copy")).unwrap();
    node.says(&["osd", "up", "1"]);
    let says = "the disk is osd.1's: swap them, or correct their paths";
    let may = "--overwrite if what it holds may be lost, as osd.1 serves from another one";
    node.refuses(&["osd", "add", "node/copy"], 2, says);
    node.refuses(&["osd", "add", "node/copy"], 2, may);
    assert_eq!(node.json(&["osd", "list"])["osds"].as_array().unwrap().len(), 3);
    node.says(&["osd", "down", "0"]);
    let replace = ["osd", "replace", "0", "node/copy"];
    node.refuses(&replace, 2, says);
    node.await_ok(&["health"], |text| text.contains(&format!("osd.0 is down: {says}")));
    // The remedy was not named.
    node.refuses(&replace, 2, may);
    let overwrite = [&replace[..], &["--overwrite"]].concat();
    node.done(&overwrite, "osd.0 begins anew on node/copy");
    node.await_clean();
    // A disk that is the only one of an OSD that is down is none to be overwritten.
    node.says(&["osd", "down", "1"]);
    fs::copy(node.file("osd.1"), node.file("last")).unwrap();
    let ran = node.run(&["osd", "add", "node/last"]);
    assert!(ran.stderr.contains(says) && !ran.stderr.contains("--overwrite"), "{}", ran.stderr);
}

#[test]
fn an_osd_is_added_used_and_removed() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    node.refuses(&["osd", "add", "node/osd.3", "--size", "1000"], 2, "expected a multiple of 4096");
    let add = ["osd", "add", "node/osd.3", "--size", "64MiB"];
    node.done(&add, "osd.3 is made on node/osd.3");
    node.await_clean();
    node.await_ok(&["osd", "list"], |text| text.contains("osd.3"));
    assert!(node.osd(3)["pgs"].as_u64().unwrap() > 0, "placement uses it");
    node.refuses(&add, 2, "node/osd.3 is osd.3's disk already");
    node.stop();
    node.start(&[]);
    node.await_clean();
    let remove = ["osd", "remove", "3"];
    node.refuses(&remove, 2, "osd.3 serves: take it down first");
    node.says(&["osd", "out", "3"]);
    node.await_clean();
    node.says(&["osd", "down", "3"]);
    node.says(&["osd", "out", "0"]);
    node.says(&["osd", "down", "0"]);
    node.refuses(&["osd", "remove", "0"], 2, "wait until all PGs are active+clean");
    node.refuses(&remove, 2, "wait until all PGs are active+clean");
    node.says(&["osd", "in", "0"]);
    node.says(&["osd", "up", "0"]);
    node.await_clean();
    node.done(&remove, "osd.3 is removed");
    assert_eq!(node.json(&["osd", "list"])["osds"].as_array().unwrap().len(), 3);
    node.stop();
    fs::remove_file(node.file("osd.3")).unwrap();
    node.start(&[]);
    node.await_clean();
}

/// Numbers had no gaps, so that nobody could get rid of a broken OSD but the last.
#[test]
fn an_osd_in_the_middle_is_removed_and_its_number_given_again() {
    let mut node = Node::with_osds(4);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let pattern: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 511) as u8).collect();
    client.write(1 << 20, &pattern);
    let starts = "osd_recovery_max_single_start";
    node.says(&["config", "set", "osd.1", starts, "3"]);
    node.says(&["osd", "out", "1"]);
    node.await_clean();
    let held = |node: &Node| node.json(&["status"])["memory"]["osd_work_bytes"].as_u64().unwrap();
    let before = held(&node);
    node.says(&["osd", "down", "1"]);
    node.done(&["osd", "remove", "1"], "osd.1 is removed");
    // Its disk is still where the next start looks for it, and is not taken for an OSD's.
    for _ in 0..2 {
        assert_eq!(numbers(&node), [0, 2, 3]);
        assert!(!node.says(&["health"]).contains("osd.1"), "nobody misses it");
        assert_eq!(node.json(&["status"])["osd_counts"], json!({ "total": 3, "up": 3, "in": 3 }));
        assert_eq!(held(&node), before / 4 * 3, "it takes no memory");
        let mut changed = node.json(&["config", "set", "osd", starts, "2", "--runtime"]);
        assert_eq!(numbers_in(changed["altered"].take()), [0, 2, 3]);
        node.refuses(&["osd", "up", "1"], 2, "osd.1 was removed");
        node.refuses(&["config", "set", "osd.1", starts, "2"], 2, "osd.1 was removed");
        assert!(!node.says(&["config", "show"]).contains("osd.1"), "nothing is stored for it");
        node.refuses(&["pool", "create", "p", "--copies", "4"], 2, "no place on 3 OSDs");
        node.stop();
        node.start(&[]);
        node.await_clean();
    }
    // It was down when it was removed, and no disk was lost.
    assert!(!node.log().contains("its disk is not there"), "{}", node.log());
    fs::remove_file(node.file("osd.1")).unwrap();
    let replace = ["osd", "replace", "1", "node/osd.1", "--size", "64MiB"];
    node.done(&replace, "osd.1 begins anew on node/osd.1");
    node.done(&["osd", "in", "1"], "osd.1 is in");
    node.await_clean();
    assert_eq!(numbers(&node), [0, 1, 2, 3]);
    assert!(node.osd(1)["pgs"].as_u64().unwrap() > 0, "placement uses it");
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert_eq!(client.read(1 << 20, pattern.len()), pattern);
}

/// An empty number before the last one goes with it.
#[test]
fn numbers_at_the_end_are_given_anew() {
    let node = Node::with_osds(3);
    node.says(&["pool", "create", "one", "--pgs", "1", "--copies", "1"]);
    node.says(&["osd", "add", "node/osd.3", "--size", "64MiB"]);
    node.says(&["osd", "add", "node/osd.4", "--size", "64MiB"]);
    for osd in ["3", "4"] {
        node.await_clean();
        node.says(&["osd", "out", osd]);
        node.await_clean();
        node.says(&["osd", "down", osd]);
        node.says(&["osd", "remove", osd]);
    }
    assert_eq!(numbers(&node), [0, 1, 2]);
    fs::remove_file(node.file("osd.3")).unwrap();
    let add = ["osd", "add", "node/osd.3", "--size", "64MiB"];
    node.done(&add, "osd.3 is made on node/osd.3");
}

/// A new disk is measured before its OSD comes up. An `osd up` meanwhile opened the disk anew under the benchmark, and the node was no more.
#[test]
fn an_osd_whose_disk_is_measured_may_be_told_to_come_up() {
    let mut node = Node::without_disks();
    node.start_with(&["--dir", "node", "--osds", "1", "--size", "64MiB", "--pgs", "8"]);
    std::thread::scope(|scope| {
        let add = || node.says(&["osd", "add", "node/osd.1", "--size", "64MiB"]);
        let add = scope.spawn(add);
        while !add.is_finished() {
            // Refused while there is no such OSD, and answered when it is up once there is.
            node.run(&["osd", "up", "1"]);
        }
        assert_eq!(add.join().unwrap(), "osd.1 is made on node/osd.1\n");
    });
    node.await_clean();
}

fn numbers(node: &Node) -> Vec<u64> {
    numbers_in(node.json(&["osd", "list"])["osds"].take())
}

/// The numbers in a list of what has to do with an OSD each.
fn numbers_in(osds: Value) -> Vec<u64> {
    osds.as_array().unwrap().iter().map(|osd| osd["osd"].as_u64().unwrap()).collect()
}

/// A disk that is missing among others is a failed one, not the end of the list; and it may be there again later.
#[test]
fn a_missing_disk_is_down_until_it_is_there() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    node.stop();
    fs::rename(node.file("osd.1"), node.file("away")).unwrap();
    node.start(&[]);
    node.await_ok(&["health"], |text| text.contains("osd.1 is down: its disk is not there"));
    assert_eq!(node.osd(1)["disk_mode"], json!("not there"));
    node.refuses(&["osd", "up", "1"], 2, "osd.1 stays down: its disk is not there");
    fs::rename(node.file("away"), node.file("osd.1")).unwrap();
    node.done(&["osd", "up", "1"], "osd.1 is up");
    node.await_clean();
}

/// An OSD that had been taken down came up on the file that it had had before, whatever was at its path by then: what it wrote from then on was in a
/// file without a name, and gone with the process.
#[test]
fn an_osd_comes_up_on_what_is_at_its_path() {
    let mut node = Node::with_osds(1);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(0, &[1; 8192]);
    node.says(&["osd", "down", "0", "--force"]);
    fs::copy(node.file("osd.0"), node.file("moved")).unwrap();
    fs::rename(node.file("moved"), node.file("osd.0")).unwrap();
    node.done(&["osd", "up", "0"], "osd.0 is up");
    client.write(4096, &[2; 4096]);
    node.stop();
    node.start(&[]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    assert_eq!(client.read(0, 4096), [1; 4096]);
    assert_eq!(client.read(4096, 4096), [2; 4096]);
}

/// A device that drops off and comes back is another one to the system, and its OSD stayed down whatever was said: the one that had gone was opened
/// each time.
#[test]
fn an_osd_whose_disk_went_away_comes_up_when_it_is_back() {
    let node = Node::with_osds(3);
    node.await_clean();
    for round in 0..2 {
        node.says(&["osd", "down", "1"]);
        fs::rename(node.file("osd.1"), node.file("away")).unwrap();
        node.refuses(&["osd", "up", "1"], 2, "osd.1 stays down: its disk is not there");
        assert!(node.says(&["health"]).contains("osd.1 is down: its disk is not there"), "{round}");
        fs::copy(node.file("away"), node.file("osd.1")).unwrap();
        node.done(&["osd", "up", "1"], "osd.1 is up");
        node.await_clean();
    }
    assert_eq!(node.says(&["health"]).matches("osd.1").count(), 0, "{}", node.says(&["health"]));
}

/// Nobody fills an empty disk by mistake: an operator has to say that it is meant.
#[test]
fn an_empty_disk_is_filled_only_when_told() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    node.stop();
    let empty = fs::File::create(node.file("osd.2")).unwrap();
    empty.set_len(64 << 20).unwrap();
    node.start(&[]);
    // That what it holds may be lost was asked for as well, where it holds nothing.
    let says = "there is no store here, nor anything else: `loadline osd replace osd.2 node/osd.2` lets the others fill it";
    let health = node.says(&["health"]);
    assert!(health.contains(&format!("osd.2 is down: {says}\n")), "{health}");
    node.refuses(&["osd", "up", "2"], 2, "osd.2 stays down: ");
    node.done(&["osd", "replace", "2", "node/osd.2"], "osd.2 begins anew on node/osd.2");
    node.await_clean();
}

/// The advice named the OSD in whose place the empty disk was given, which was another's: the disk that stood in its own place was that one's.
#[test]
fn an_empty_disk_is_advised_for_the_osd_that_lacks_one() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    node.stop();
    fs::rename(node.file("osd.1"), node.file("osd.0")).unwrap();
    fs::File::create(node.file("osd.1")).unwrap().set_len(64 << 20).unwrap();
    node.start(&["--format-empty"]);
    let log = node.log();
    assert!(log.contains("`loadline osd replace osd.0 node/osd.1` lets"), "{log}");
    assert!(!log.contains("osd replace osd.1"), "{log}");
    node.done(&["osd", "replace", "osd.0", "node/osd.1"], "osd.0 begins anew on node/osd.1");
    node.await_clean();
}
