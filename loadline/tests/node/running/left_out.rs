//! Disks that are there and cannot be used, stand in each other's place, or come from the past: the node starts with the
//! others and names each one, as long as the others suffice.

use super::clients::Client;
use super::node::Node;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const SIZE: usize = 64 << 20;

/// A node of so many OSDs that has stopped, with two copies of an image full of `fill`.
fn stopped(osds: u32, fill: u8) -> Node {
    let mut node = Node::without_disks();
    let osds = osds.to_string();
    node.start(&["--osds", &osds, "--size", "64MiB", "--pgs", "8", "--copies", "2"]);
    node.says(&["image", "create", "vol0", "--size", "4MiB"]);
    write(&node, fill);
    node.await_clean();
    node.stop();
    node
}

fn write(node: &Node, fill: u8) {
    Client::connect(&node.file("nbd.sock"), "vol0").write(0, &vec![fill; 4 << 20]);
}

fn reads(node: &Node, fill: u8) {
    let found = Client::connect(&node.file("nbd.sock"), "vol0").read(0, 4 << 20);
    assert!(found.iter().all(|byte| *byte == fill), "not all of it is {fill}");
}

/// What a start says of an OSD.
fn is_left_out(node: &Node, osd: &str, why: &str) {
    let finding = format!("{osd} is down: {why}");
    let health = node.says(&["health"]);
    assert!(health.contains(&finding), "`{health}` has no `{finding}`");
    let line = node.log().lines().any(|line| line.contains(osd) && line.contains(why));
    assert!(line, "the log does not say so");
    let failed = format!("{osd} failed: {why}");
    assert!(node.says(&["osd", "list"]).contains(&failed), "`osd list` does not say so");
}

fn overwrite(path: &Path, places: &[u64]) {
    let file = fs::File::options().write(true).open(path).unwrap();
    for at in places {
        file.write_all_at(&[0x5a; 4096], *at).unwrap();
    }
}

/// Where files are counted, one that was missing at the end made the node another one than its map told of, and it did not start.
#[test]
fn the_last_disks_may_be_missing_like_others() {
    let mut node = stopped(4, 7);
    fs::remove_file(node.file("osd.3")).unwrap();
    node.start(&[]);
    is_left_out(&node, "osd.3", "its disk is not there");
    reads(&node, 7);
    node.stop();
    fs::remove_file(node.file("osd.2")).unwrap();
    node.start(&[]);
    for missing in ["osd.2", "osd.3"] {
        is_left_out(&node, missing, "its disk is not there");
    }
    // Of some groups both disks are away: nobody knows whether what was answered is durable there.
    node.stop_with(3);
}

/// A file that could not be opened stopped the whole node, while one that was not there did not.
#[test]
fn a_node_starts_without_a_disk_that_cannot_be_used() {
    type Ruin = fn(&Path);
    let ruins: [(Ruin, &str); 8] = [
        (|path| fs::create_dir(path).unwrap(), "its disk cannot be used: this is a folder"),
        (
            |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            "its disk cannot be used: this is a pipe",
        ),
        (|path| drop(fs::File::create(path)), "its disk cannot be used: it holds 0 B"),
        (
            |path| std::os::unix::fs::symlink(path, path).unwrap(),
            "its disk cannot be used: it cannot be opened: its links lead in a circle",
        ),
        (
            |path| fs::write(path, vec![b'x'; SIZE + 1]).unwrap(),
            "its disk cannot be used: its 67108865 bytes are not a",
        ),
        (|path| fs::write(path, vec![b'x'; SIZE]).unwrap(), "there is no store here"),
        (|path| fs::write(path, vec![0; 2 * SIZE]).unwrap(), "there is no store here"),
        (
            |path| std::os::unix::fs::symlink("/dev/null", path).unwrap(),
            "its disk cannot be used: this is a character device",
        ),
    ];
    let mut node = stopped(3, 7);
    for (ruin, why) in ruins {
        fs::rename(node.file("osd.1"), node.file("aside")).unwrap();
        ruin(&node.file("osd.1"));
        node.start(&[]);
        is_left_out(&node, "osd.1", why);
        reads(&node, 7);
        node.stop();
        let ruined = node.file("osd.1");
        fs::remove_file(&ruined).or_else(|_| fs::remove_dir(&ruined)).unwrap();
        fs::rename(node.file("aside"), node.file("osd.1")).unwrap();
    }
    // The store itself is damaged: every superblock, or the size that it was made with.
    fs::copy(node.file("osd.1"), node.file("aside")).unwrap();
    let end = SIZE as u64;
    overwrite(&node.file("osd.1"), &[0, 4096, end - 8192, end - 4096]);
    node.start(&[]);
    is_left_out(&node, "osd.1", "there is no store here");
    node.stop();
    fs::copy(node.file("aside"), node.file("osd.1")).unwrap();
    fs::File::options().write(true).open(node.file("osd.1")).unwrap().set_len(end / 2).unwrap();
    node.start(&[]);
    let cut = "the disk was cut: its store was made on 64 MiB, and 32 MiB are left";
    is_left_out(&node, "osd.1", cut);
    let again = node.file("osd.1").display().to_string();
    let remedy = "a disk as large as its store; --overwrite if what it holds may be lost";
    for says in [cut, remedy] {
        node.refuses(&["osd", "replace", "1", &again], 2, says);
    }
    node.stop();
    fs::copy(node.file("aside"), node.file("osd.1")).unwrap();
    node.start(&[]);
    node.await_clean();
    reads(&node, 7);
}

#[test]
fn a_disk_that_can_be_opened_again_comes_up() {
    let mut node = stopped(3, 7);
    fs::rename(node.file("osd.1"), node.file("aside")).unwrap();
    fs::create_dir(node.file("osd.1")).unwrap();
    node.start(&[]);
    node.refuses(&["osd", "up", "1"], 2, "this is a folder");
    fs::remove_dir(node.file("osd.1")).unwrap();
    fs::rename(node.file("aside"), node.file("osd.1")).unwrap();
    node.done(&["osd", "up", "1"], "osd.1 is up");
    node.await_clean();
    reads(&node, 7);
}

#[test]
fn a_node_that_cannot_serve_says_so_in_one_sentence() {
    let node = stopped(3, 7);
    for osd in ["osd.1", "osd.2"] {
        fs::remove_file(node.file(osd)).unwrap();
        fs::create_dir(node.file(osd)).unwrap();
    }
    let folder = "its disk cannot be used: this is a folder";
    let named = |osd: &str| format!("{osd} on node/{osd}: {folder}");
    node.does_not_start(1, &["too few disks", &named("osd.1"), &named("osd.2")]);
    fs::remove_file(node.file("osd.0")).unwrap();
    fs::create_dir(node.file("osd.0")).unwrap();
    node.does_not_start(2, &["none of the node's disks can be used", &named("osd.0")]);
    // Nothing is made where there may have been something.
    for osd in ["osd.0", "osd.2"] {
        fs::remove_dir(node.file(osd)).unwrap();
    }
    let ran = node.run(&["serve", "--dir", "node", "--osds", "3", "--size", "64MiB"]);
    assert_eq!(ran.status.code(), Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("none of the node's disks can be used"), "{}", ran.stderr);
    assert!(!node.file("osd.0").exists(), "nothing was made");
}

/// Two files changed places in a copy of the folder, and both OSDs were lost.
#[test]
fn swapped_disks_are_put_right() {
    let mut node = stopped(3, 7);
    let swap = |node: &Node, one: &str, other: &str| {
        fs::rename(node.file(one), node.file("aside")).unwrap();
        fs::rename(node.file(other), node.file(one)).unwrap();
        fs::rename(node.file("aside"), node.file(other)).unwrap();
    };
    swap(&node, "osd.0", "osd.1");
    node.start(&[]);
    let says = "the disk in the place of osd.1 is osd.0's, which takes it: put it in its place, or correct its path";
    assert!(node.log().contains(says), "{}", node.log());
    node.await_clean();
    assert!(node.osd(0)["path"].as_str().unwrap().ends_with("node/osd.1"));
    reads(&node, 7);
    write(&node, 8);
    node.stop();
    // All three in a circle now, and one of the places is a folder.
    swap(&node, "osd.1", "osd.2");
    node.start(&[]);
    node.await_clean();
    reads(&node, 8);
    node.stop();
    fs::rename(node.file("osd.0"), node.file("osd.2.aside")).unwrap();
    fs::create_dir(node.file("osd.0")).unwrap();
    node.start(&[]);
    assert!(node.says(&["health"]).contains("this is a folder"));
    reads(&node, 8);
}

/// A disk and its copy: both are the same to the last byte, and the one in its own place serves. Both were left out once, and a node
/// of three stood still.
#[test]
fn a_copied_disk_is_never_taken_twice() {
    let mut node = stopped(3, 7);
    fs::copy(node.file("osd.2"), node.file("osd.1")).unwrap();
    node.start(&[]);
    is_left_out(&node, "osd.1", "the disk is a copy of osd.2's, which serves from another one");
    // Whoever is to take one of two away must know both.
    let health = node.says(&["health"]);
    assert!(health.contains("; the other disk is node/osd.2\n"), "{health}");
    assert!(node.osd(2)["up"].as_bool().unwrap(), "osd.2 has its own disk");
    node.refuses(&["osd", "up", "1"], 2, "the disk is osd.2's");
    reads(&node, 7);
    node.stop();
    // From now on the copy is the older one, also where the other stands elsewhere.
    node.start(&[]);
    is_left_out(&node, "osd.1", "the disk is an old copy of osd.2's");
    node.stop();
    fs::rename(node.file("osd.1"), node.file("aside")).unwrap();
    fs::rename(node.file("osd.2"), node.file("osd.1")).unwrap();
    fs::rename(node.file("aside"), node.file("osd.2")).unwrap();
    node.start(&[]);
    is_left_out(&node, "osd.1", "the disk is an old copy of osd.2's");
    assert!(node.osd(2)["up"].as_bool().unwrap(), "osd.2 has its own disk");
    reads(&node, 7);
}

/// Two copies of one disk, and neither in its own place: one is taken, and never both.
#[test]
fn of_copies_in_others_places_one_is_taken() {
    let mut node = stopped(4, 7);
    fs::copy(node.file("osd.2"), node.file("osd.3")).unwrap();
    fs::rename(node.file("osd.1"), node.file("aside")).unwrap();
    fs::rename(node.file("osd.2"), node.file("osd.1")).unwrap();
    fs::rename(node.file("aside"), node.file("osd.2")).unwrap();
    node.start(&[]);
    assert_eq!(
        [0, 1, 2, 3].map(|osd| node.osd(osd)["up"].as_bool().unwrap()),
        [true, true, true, false]
    );
    assert!(node.says(&["health"]).contains("copy of osd.2's"));
    reads(&node, 7);
}

/// A backup of one disk was put back after others had gone on. It had a vote on which map counts, and so did two of three:
/// a map from before the last writes could win.
#[test]
fn a_disk_from_the_past_is_lost() {
    let mut node = stopped(3, 7);
    let disks = ["osd.0", "osd.1", "osd.2"];
    for disk in disks {
        fs::copy(node.file(disk), node.file(&format!("{disk}.old"))).unwrap();
    }
    let old = |node: &Node, disk: &str| {
        fs::copy(node.file(&format!("{disk}.old")), node.file(disk)).unwrap();
    };
    node.start(&[]);
    node.await_clean();
    write(&node, 8);
    node.stop();
    old(&node, "osd.1");
    node.start(&[]);
    is_left_out(&node, "osd.1", "the disk is an old copy of osd.1's");
    reads(&node, 8);
    node.refuses(&["osd", "up", "1"], 2, "the disk is an old copy of osd.1's");
    // Said to be meant, it is brought up to date like any disk that was away.
    node.done(&["osd", "replace", "1", "node/osd.1"], "osd.1 begins anew on node/osd.1");
    node.await_clean();
    node.says(&["osd", "down", "0"]);
    reads(&node, 8);
    node.says(&["osd", "up", "0"]);
    node.await_clean();
    node.stop();
    old(&node, "osd.1");
    old(&node, "osd.2");
    let is_old = |osd: &str| format!("{osd} on node/{osd}: the disk is an old copy");
    node.does_not_start(1, &["too few disks", &is_old("osd.1"), &is_old("osd.2")]);
}

/// Of two OSDs the one that decides was lost, and no command reached the data of the other.
#[test]
fn a_node_goes_on_without_disks_that_are_given_up() {
    let mut node = stopped(2, 7);
    let fails = |node: &Node, flags: &[&str], code: i32, says: &str| {
        let ran = node.run(&[&["serve", "--dir", "node", "--log", "error"], flags].concat());
        assert_eq!(ran.status.code(), Some(code), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "`{}` has no `{says}`", ran.stderr);
    };
    fails(&node, &["--give-up", "0"], 2, "osd.0's disk is here and good");
    fs::rename(node.file("osd.0"), node.file("aside")).unwrap();
    fails(&node, &[], 1, "`loadline serve --give-up osd.0` goes on with what is left");
    fails(&node, &["--give-up", "osd.1"], 2, "osd.1's disk is here and good");
    fails(&node, &["--give-up", "osd.0,osd.2"], 2, "there is no osd.2");
    node.start(&["--give-up", "osd.0"]);
    let says = "osd.0 may have had a later map than epoch";
    assert!(node.log().contains(says) && node.says(&["health"]).contains(says), "{}", node.log());
    reads(&node, 7);
    write(&node, 8);
    node.stop();
    // What was given up comes back, and is not believed.
    fs::rename(node.file("aside"), node.file("osd.0")).unwrap();
    node.start(&[]);
    let says = "osd.0's disk was given up as lost";
    is_left_out(&node, "osd.0", says);
    reads(&node, 8);
    node.refuses(&["osd", "up", "0"], 2, says);
    node.refuses(&["osd", "replace", "0", "node/osd.0"], 2, says);
    node.stop();
    node.says(&["store", "format", "--force", "node/osd.0"]);
    node.start(&[]);
    node.done(&["osd", "replace", "0", "node/osd.0"], "osd.0 begins anew on node/osd.0");
    node.await_clean();
    node.stop();
    fs::remove_file(node.file("osd.1")).unwrap();
    node.start(&["--osds", "2"]);
    reads(&node, 8);
}
