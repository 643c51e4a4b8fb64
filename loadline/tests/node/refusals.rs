//! What cannot be asked, what a node refuses, and nodes that are not there.

use crate::script::{Scripted, loadline};
use std::fs;

const EMPTY: &str = r#"{"pools":[]}"#;

/// A command that fails with this code and says this.
fn check(node: &Scripted, arguments: &[&str], code: i32, says: &str) {
    let output = loadline(node.folder(), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", output.stderr);
    assert!(output.stderr.contains(says), "`{}` should contain `{says}`", output.stderr);
    assert!(output.stdout.is_empty(), "{arguments:?} prints nothing else");
}

#[test]
fn a_refusal_is_one_sentence_and_its_code_says_whose_fault() {
    let refusal = r#"{"error":"there is no image `x`","wanted":"one of vol0, vol1"}"#;
    let node = Scripted::new(&[("GET /image/x", 404, refusal)]);
    let says = "error: there is no image `x`, expected one of vol0, vol1\n";
    check(&node, &["image", "info", "x"], 2, says);
    let node = Scripted::new(&[("POST /shutdown", 503, r#"{"error":"the node starts"}"#)]);
    check(&node, &["stop"], 1, "error: the node starts\n");
}

#[test]
fn a_node_is_found_by_folder_or_socket() {
    let node = Scripted::new(&[("GET /pool", 200, EMPTY), ("GET /pool", 200, EMPTY)]);
    let socket = node.socket();
    for place in [["--dir", "node"], ["--socket", socket.to_str().unwrap()]] {
        let output = loadline(node.folder(), &[&["pool", "list"][..], &place].concat());
        assert!(output.status.success(), "{}", output.stderr);
    }
    node.was_asked_everything();
    let nowhere =
        "no node answers at nowhere/admin.sock: start one with `loadline serve --dir nowhere`";
    check(&node, &["status", "--dir", "nowhere"], 1, nowhere);
    check(&node, &["image", "diff", "v@a", "v@b", "--dir", "nowhere"], 1, nowhere);
    check(&node, &["status", "--dir", "a", "--socket", "b"], 2, "cannot be used with");
}

#[test]
fn a_node_that_ended_is_told_from_one_that_breaks_off() {
    let node = Scripted::new(&[]);
    fs::remove_file(node.socket()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(node.socket()).unwrap());
    check(&node, &["health"], 1, "no node answers at node/admin.sock");
}

#[test]
fn what_cannot_be_meant_is_refused_before_anybody_is_asked() {
    let node = Scripted::new(&[]);
    check(&node, &["osd", "down", "two"], 2, "expected an OSD such as `2` or `osd.2`");
    check(
        &node,
        &["osd", "down", "77"],
        2,
        "there is no such OSD: a node has at most osd.0 to osd.63",
    );
    check(&node, &["osd", "down", "-1"], 2, "error:");
    // A number too large was told what a number looks like.
    for osd in ["99999999999", "osd.99999999999"] {
        check(&node, &["osd", "out", osd], 2, "there is no such OSD: a node has at most osd.0");
    }
    let limit = ["image", "qos", "v", "--limit", "99999999999"];
    check(&node, &limit, 2, "expected 4294967295iops at most");
    check(&node, &["image", "create", "v"], 2, "--size");
    check(&node, &["image", "create", "v", "--size", "2 GB5"], 2, "a size such as");
    check(&node, &["image", "snapshot", "create", "v"], 2, "a snapshot such as `vol0@monday`");
    check(&node, &["config", "set", "osd.x", "a", "b"], 2, "expected `global`, `osd` or one OSD");
    check(&node, &["config", "show", "osd.99999999999"], 2, "a node has at most osd.0 to osd.63");
    check(&node, &["config", "show", "osd.77"], 2, "there is no such OSD: a node has at most");
    check(&node, &["tell", "osd.0", "dance"], 2, "unexpected argument 'dance'");
    check(&node, &["osd", "ok-to-stop", "0", "osd.0"], 2, "osd.0 stands there twice");
    check(&node, &["why", "v", "--for", "500ms"], 2, "a time from one second to an hour");
    // The image was watched first, for up to an hour.
    let says = "cannot write none/trace.json: there is no such file or folder";
    check(&node, &["why", "v", "--trace", "none/trace.json"], 2, says);
    let says =
        "--since monday: there is no copy: it takes the copy of that older snapshot at that file";
    check(&node, &["image", "backup", "v@tuesday", "copy", "--since", "monday"], 2, says);
    let disk = node.folder().join("disk");
    fs::write(&disk, "a store").unwrap();
    std::os::unix::fs::symlink("disk", node.folder().join("link")).unwrap();
    for name in ["disk", "link"] {
        let says = format!("{name}: it is there already, and is left as it is");
        check(&node, &["why", "v", "--trace", name], 2, &says);
    }
    assert_eq!(fs::read(&disk).unwrap(), b"a store");
}
