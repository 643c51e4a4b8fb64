//! Scrubs of a node that runs: what somebody has done to an OSD's file is found, told, and replaced from the right copy.

use super::clients::Client;
use super::node::Node;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) const PAGE: usize = 4096;

/// What an image holds at its beginning: no page of it is like another.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / PAGE * 31 + at % 251) as u8).collect()
}

/// Flips a bit of every page of a disk that holds this.
pub(super) fn rot(disk: &Path, page: &[u8]) -> usize {
    let bytes = fs::read(disk).unwrap();
    let places = (0..bytes.len()).step_by(PAGE).filter(|at| &bytes[*at..*at + PAGE] == page);
    let disk = File::options().write(true).open(disk).unwrap();
    let flip = |at: usize| disk.write_all_at(&[bytes[at + 100] ^ 16], at as u64 + 100).unwrap();
    let places: Vec<usize> = places.collect();
    places.iter().for_each(|at| flip(*at));
    places.len()
}

/// A scrub of everything has begun, and ended.
pub(super) fn scrub(node: &Node, how: &[&str]) {
    node.says(&[how, &["data"]].concat());
    await_scrubs(node);
}

/// Every group was scrubbed, and none is any more.
pub(super) fn await_scrubs(node: &Node) {
    let ended = |row: &Value| row["last_ns"].as_u64().is_some() && row["under_way"].is_null();
    node.await_ok(&["scrub", "status", "--json"], |text| {
        let pgs: Value = serde_json::from_str(text).unwrap();
        pgs["pgs"].as_array().unwrap().iter().all(ended)
    });
}

pub(super) fn errors(node: &Node) -> Vec<(String, u64, u64)> {
    let pgs = node.json(&["scrub", "status"])["pgs"].take();
    let count = |row: &Value, of: &str| row[of].as_u64().unwrap();
    let row = |row: &Value| {
        let pg = row["pg"].as_str().unwrap().to_owned();
        (pg, count(row, "shallow_errors"), count(row, "deep_errors"))
    };
    let rows = pgs.as_array().unwrap().iter().map(row);
    rows.filter(|(_, shallow, deep)| shallow + deep > 0).collect()
}

#[test]
fn a_flipped_bit_is_found_told_and_replaced_from_a_right_copy() {
    let mut node = Node::with_osds(3);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    let pattern = pattern(2 << 20);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(0, &pattern);
    drop(client);
    node.await_clean();
    node.refuses(&["scrub", "deep", "nothing"], 2, "`nothing` is no PG, no OSD and no pool");
    scrub(&node, &["scrub", "deep"]);
    assert_eq!(errors(&node), [], "all is well");
    assert!(rot(&node.file("osd.1"), &pattern[9 * PAGE..10 * PAGE]) > 0, "the page is on the disk");
    // What is known of objects is as it was.
    scrub(&node, &["scrub", "start"]);
    assert_eq!(errors(&node), []);
    scrub(&node, &["scrub", "deep"]);
    let found = errors(&node);
    let [(pg, 0, 1)] = &found[..] else { panic!("one error of one PG: {found:?}") };
    let told = |node: &Node| node.json(&["inconsistent", "list", pg]);
    let state = told(&node)["states"][0].take();
    assert_eq!((&state["image"], &state["offset_bytes"]), (&json!("vol0"), &json!(0)));
    assert_eq!(state["bad"], json!([{ "osd": 1, "errors": ["read_error"] }]));
    assert_ne!(state["selected_osd"], json!(1));
    node.says(&["inconsistent", "list", pg]);
    let health = node.says(&["health"]);
    assert!(health.contains("OSD_SCRUB_ERRORS: 1 error was found"), "{health}");
    assert!(health.contains(&format!("PG_DAMAGED: {pg}")), "{health}");
    // What was found is known after a restart.
    node.stop();
    node.start(&[]);
    node.await_ok(&["status"], |text| text.contains("active+clean+inconsistent"));
    assert_eq!(errors(&node), found);
    node.says(&["repair", pg]);
    node.await_ok(&["health"], |text| !text.contains("OSD_SCRUB_ERRORS"));
    scrub(&node, &["scrub", "deep"]);
    assert_eq!(errors(&node), []);
    assert_eq!(told(&node)["states"], json!([]));
    // The replaced copy alone gives what was written.
    for away in ["0", "2"] {
        node.says(&["osd", "down", away]);
        let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
        assert!(client.read(0, pattern.len()) == pattern, "without osd.{away}");
        drop(client);
    }
}

/// A pause is kept, and says so with every OSD's settings.
#[test]
fn scrubs_of_the_clock_are_paused_and_resumed() {
    let mut node = Node::with_osds(3);
    node.await_clean();
    let flag = |node: &Node| node.json(&["config", "get", "osd.1", "nodeep-scrub"])["value"].take();
    assert_eq!(flag(&node), json!("false"));
    node.done(&["scrub", "pause"], "no scrub is begun by the clock until `loadline scrub resume`");
    node.stop();
    node.start(&[]);
    node.await_clean();
    assert_eq!(flag(&node), json!("true"));
    // What somebody asks for is carried out.
    scrub(&node, &["scrub", "start"]);
    node.done(&["scrub", "resume"], "scrubs are begun by the clock again");
    assert_eq!(flag(&node), json!("false"));
}

/// The look that comes once a second was never on time by a real clock, and only one that is was heeded: no scrub ever began by the clock.
#[test]
fn scrubs_begin_by_the_clock() {
    let node = Node::with_osds(3);
    node.await_clean();
    assert!(node.json(&["scrub", "status"])["pgs"][0]["last_ns"].is_null());
    let soon = [
        ("osd_scrub_load_threshold", "1000"),
        ("osd_scrub_backoff_ratio", "0"),
        // Behind a deep one the pace has its OSD rest for hours.
        ("osd_deep_scrub_randomize_ratio", "0"),
        ("osd_scrub_min_interval", "1 s"),
    ];
    for (option, value) in soon {
        node.says(&["config", "set", "osd", option, value]);
    }
    await_scrubs(&node);
}

/// Each copy is bad in another place of the object: none is good, and one is put together. What is bad in the same place of all is said.
#[test]
fn what_no_copy_has_is_said_and_what_one_has_is_put_together() {
    let node = Node::with_osds(3);
    let pattern = pattern(2 << 20);
    let (apart, alike) = pattern.split_at(1 << 20);
    for (image, bytes) in [("vol0", apart), ("vol1", alike)] {
        node.says(&["image", "create", image, "--size", "16MiB"]);
        let mut client = Client::connect(&node.file("nbd.sock"), image);
        client.write(0, bytes);
    }
    node.await_clean();
    let rot_page = |osd: usize, bytes: &[u8], page: usize| {
        let page = &bytes[page * PAGE..(page + 1) * PAGE];
        assert!(rot(&node.file(&format!("osd.{osd}")), page) > 0);
    };
    [3, 5, 7].into_iter().enumerate().for_each(|(osd, page)| rot_page(osd, apart, page));
    scrub(&node, &["repair"]);
    assert_eq!(errors(&node), []);
    for away in ["0", "1", "2"] {
        node.says(&["osd", "down", away]);
        let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
        assert!(client.read(0, apart.len()) == apart, "without osd.{away}");
        drop(client);
        node.says(&["osd", "up", away]);
        node.await_clean();
    }
    (0..3).for_each(|osd| rot_page(osd, alike, 4));
    scrub(&node, &["repair"]);
    let found = errors(&node);
    let [(pg, 0, 3)] = &found[..] else { panic!("three errors of one PG: {found:?}") };
    let states = node.json(&["inconsistent", "list", pg])["states"].take();
    assert_eq!(
        (states[0]["selected_osd"].clone(), states[0]["bad"].as_array().unwrap().len()),
        (Value::Null, 3)
    );
    let health = node.says(&["health"]);
    assert!(health.contains("repair has failed for want of a good copy"), "{health}");
}

/// Where `nodeep-scrub` alone was set, `scrub resume` ended at `noscrub`, which was not; and where a flag was set for one OSD or for
/// everything, it said that scrubs are begun again.
#[test]
fn resume_takes_each_flag_away_and_tells_which_are_left() {
    let node = Node::with_osds(2);
    node.says(&["config", "set", "osd", "nodeep-scrub", "true"]);
    node.says(&["scrub", "resume"]);
    let flag = |osd| node.json(&["config", "get", osd, "nodeep-scrub"])["value"].take();
    assert_eq!(flag("osd.0"), json!("false"));
    node.says(&["scrub", "resume"]);
    node.says(&["config", "set", "osd.1", "nodeep-scrub", "true"]);
    node.says(&["config", "set", "global", "noscrub", "true"]);
    node.says(&["scrub", "pause"]);
    let left = "noscrub is true for global (stored for global), nodeep-scrub is true for osd.1 (stored for osd.1)";
    node.refuses(&["scrub", "resume"], 1, left);
    assert_eq!((flag("osd.0"), flag("osd.1")), (json!("false"), json!("true")));
}

/// `scrub pause` said that no scrub is begun, and an OSD with a value of its own went on beginning them.
#[test]
fn pause_tells_where_the_clock_goes_on() {
    let node = Node::with_osds(2);
    let flag = |osd| node.json(&["config", "get", osd, "noscrub"])["value"].take();
    node.says(&["config", "set", "osd.1", "noscrub", "false"]);
    node.refuses(&["scrub", "pause"], 1, "noscrub is false for osd.1 (stored for osd.1): there");
    assert_eq!((flag("osd.0"), flag("osd.1")), (json!("true"), json!("false")));
    node.says(&["config", "rm", "osd.1", "noscrub"]);
    // What holds for everything gives way.
    node.says(&["config", "set", "global", "noscrub", "false"]);
    node.says(&["scrub", "pause"]);
    assert_eq!((flag("osd.0"), flag("osd.1")), (json!("true"), json!("true")));
    // One that begins them stands against no resume.
    node.says(&["config", "set", "osd.1", "nodeep-scrub", "false"]);
    node.says(&["scrub", "resume"]);
}
