//! `loadline store format` and `loadline inspect` as people and scripts meet them.

mod program;

use program::{check, loadline};
use serde_json::Value;
use std::fs;

#[test]
fn a_fresh_store_can_be_looked_at_from_every_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "store format a --size 64MiB", 0, "a store of 12283 pages of 4 KiB");
    check(folder, "inspect a", 0, "protection         checkpoint");
    check(folder, "inspect a check", 0, "free pages");
    check(folder, "inspect a log", 0, "records                    0");
    check(folder, "inspect a page 4099", 0, "Leaf");
    check(folder, "inspect a recovery", 0, "there is no whole image set");
    check(folder, "inspect a free-map", 0, "12282");
    check(folder, "inspect a tree", 0, "empty");
    check(folder, "inspect a keys", 0, "key");
    check(folder, "inspect a objects", 0, "version");
    check(folder, "inspect a object 3/4", 0, "3/4/0");
    let json = loadline(folder, "inspect a check --json").stdout;
    let json: Value = serde_json::from_slice(&json).expect("one JSON object");
    assert_eq!((&json["clean"], &json["totals"]["free_pages"]), (&true.into(), &12282.into()));
}

#[test]
fn a_store_with_a_log_device_needs_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "store format a --size 64MiB --log-device l --log 4MiB --page 8KiB", 0, "8 KiB");
    check(folder, "store format b --size 64MiB --log-device m --log 4MiB", 0, "a store");
    check(folder, "inspect a", 2, "name it with --log-device");
    check(folder, "inspect a --log-device l check", 0, "free pages");
    check(folder, "inspect a --log-device m", 2, "m: the log device belongs to another store");
}

#[test]
fn what_is_no_store_or_a_damaged_one_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, "inspect a", 2, "a: cannot be read");
    check(folder, "inspect .", 2, "is a folder");
    fs::write(folder.join("a"), "something of somebody's").expect("it can be written");
    check(folder, "inspect a", 2, "a: there is no store");
    check(
        folder,
        "store format a --size 64MiB",
        2,
        "a: holds something that is no store; --force overwrites it",
    );
    check(folder, "store format a --size 64MiB --force", 0, "a store");
    check(folder, "store format a", 2, "a: holds a store; --force overwrites it");
    check(folder, "inspect a page 1", 2, "there is no page 1 in this store");
    check(folder, "inspect a object 3", 2, "expected an object such as `3/17`");
    check(folder, "store format b", 2, "b: how large? say --size SIZE");
    check(folder, "store format b --size 1MiB", 2, "leave no room for 64 pages");
    check(folder, "store format b --size 64MiB --page 3KiB", 2, "--page: takes a power of two");
    // The data's file was made before the log's was looked at, and stayed.
    let with_log = |log: &str, code: i32, says: &str| {
        let flags = format!("--size 64MiB --log-device {log} --log 16MiB");
        check(folder, &format!("store format b {flags}"), code, says);
    };
    with_log("none/l", 2, "cannot write none/l: there is no such file or folder");
    with_log(".", 2, "cannot write .: it is a folder");
    with_log("./b", 2, "--log-device ./b: store and log cannot be the same file");
    // A larger block than a page was made as small as that, without a word.
    let block = "--block: takes 512 B, 1 KiB, 2 KiB or 4 KiB, at most a page";
    for wrong in ["8KiB", "1MiB", "5GiB", "2KiB --page 1KiB"] {
        check(folder, &format!("store format b --size 64MiB --block {wrong}"), 2, block);
    }
    assert!(!folder.join("b").exists(), "nothing was made");
    check(folder, "store format b --size 64MiB --page 1KiB", 0, "pages of 1 KiB");

    let mut bytes = fs::read(folder.join("a")).expect("it can be read");
    bytes[4099 * 4096 + 50] ^= 1;
    fs::write(folder.join("a"), &bytes).expect("it can be written");
    check(folder, "inspect a check", 1, "page 4099 at byte 16789504: the checksum does not fit");
    check(folder, "inspect a tree", 1, "page 4099 of the tree is damaged");
    fs::write(folder.join("a"), &bytes[..bytes.len() / 2]).expect("it can be written");
    check(folder, "inspect a", 1, "the data device has 33554432 bytes");
}
