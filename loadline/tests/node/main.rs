//! The commands about a running node: what they ask of one that answers from a script, and what one that runs does.

mod pages;
mod refusals;
mod running;
mod script;

use script::{Scripted, loadline};

/// One command, the one request that it makes, the node's answer, and the text that is printed.
fn check(arguments: &[&str], request: &str, answer: &str, text: &str) {
    let node = Scripted::new(&[(request, 200, answer)]);
    let output = loadline(node.folder(), arguments);
    assert!(output.status.success(), "{arguments:?}: {}", output.stderr);
    assert_eq!(output.stdout, text, "{arguments:?}");
    node.was_asked_everything();
}

#[test]
fn what_is_done_is_said_in_one_line() {
    let done = |arguments: &[&str], request: &str, says: &str| {
        check(arguments, request, "{}", &format!("{says}\n"));
    };
    done(&["osd", "down", "2"], "PUT /osd/2/down", "osd.2 is down");
    done(&["osd", "out", "osd.2"], "PUT /osd/2/out", "osd.2 is out");
    done(&["osd", "up", "2"], "PUT /osd/2/up", "osd.2 is up");
    done(&["osd", "in", "2"], "PUT /osd/2/in", "osd.2 is in");
    done(&["osd", "remove", "2"], "DELETE /osd/2", "osd.2 is removed");
    let replace = r#"POST /osd/2/replace {"path":"/dev/sdz"}"#;
    done(&["osd", "replace", "2", "/dev/sdz"], replace, "osd.2 begins anew on /dev/sdz");
    let create = r#"POST /pool {"name":"cold","pgs":64}"#;
    done(&["pool", "create", "cold", "--pgs", "64"], create, "pool cold is made");
    let force = ["osd", "down", "2", "--force"];
    done(&force, "PUT /osd/2/down?yes=true", "osd.2 is down");
    let force = ["osd", "remove", "2", "--force"];
    done(&force, "DELETE /osd/2?yes=true", "osd.2 is removed");
    let yes = ["pool", "remove", "cold", "--yes"];
    done(&yes, "DELETE /pool/cold?yes=true", "pool cold is removed");
    let resize = r#"PUT /image/vol0/size {"size_bytes":3221225472}"#;
    done(&["image", "resize", "vol0", "3GiB"], resize, "image vol0 has 3 GiB");
    let rename = r#"PUT /image/vol0/name {"name":"vol1"}"#;
    done(&["image", "rename", "vol0", "vol1"], rename, "image vol0 is now vol1");
    let cut = ["image", "resize", "vol0", "3GiB", "--yes"];
    let size = r#"PUT /image/vol0/size?yes=true {"size_bytes":3221225472}"#;
    done(&cut, size, "image vol0 has 3 GiB");
    let yes = ["image", "remove", "vol 0", "--yes"];
    done(&yes, "DELETE /image/vol%200?yes=true", "image vol 0 is removed");
    let force = ["image", "remove", "vol0", "--yes", "--force"];
    done(&force, "DELETE /image/vol0/open?yes=true", "image vol0 is removed");
    let clone = r#"POST /image/vol0/snapshot/monday/clone {"name":"vol1"}"#;
    done(&["image", "clone", "vol0@monday", "vol1"], clone, "image vol1 begins as vol0@monday");
    let snapshot = "/image/vol0/snapshot/monday";
    let make = ["image", "snapshot", "create", "vol0@monday"];
    done(&make, &format!("PUT {snapshot}"), "snapshot vol0@monday is made");
    let remove = ["image", "snapshot", "remove", "vol0@monday", "--yes"];
    done(&remove, &format!("DELETE {snapshot}?yes=true"), "snapshot vol0@monday is removed");
    done(&["stop"], "POST /shutdown", "the node stops");
}

#[test]
fn an_image_is_made_with_what_was_said() {
    let plain = r#"POST /image {"name":"vol0","size_bytes":2147483648}"#;
    let says = "image vol0 of 2 GiB is made\n";
    check(&["image", "create", "vol0", "--size", "2GiB"], plain, "{}", says);
    let full =
        r#"POST /image {"name":"vol0","pool":"cold","size_bytes":2147483648,"object_bytes":65536}"#;
    let arguments =
        ["image", "create", "vol0", "--size=2 GiB", "--pool=cold", "--object-size=64 KiB"];
    check(&arguments, full, "{}", says);
}

#[test]
fn an_osd_is_made_on_a_path_of_the_caller() {
    let node = Scripted::new(&[]);
    let path = node.folder().canonicalize().unwrap().join("osd.4");
    let request = format!(r#"POST /osd {{"path":"{}","size_bytes":10737418240}}"#, path.display());
    let node = node.expects(&request, 200, r#"{"osd":4}"#);
    let output = loadline(node.folder(), &["osd", "add", "osd.4", "--size", "10GiB"]);
    let says = "osd.4 is made on osd.4\n".to_owned();
    assert_eq!((output.stdout, output.stderr), (says, String::new()));
    node.was_asked_everything();
}

#[test]
fn every_answer_can_be_had_as_it_came() {
    let node = Scripted::new(&[("GET /pool", 200, r#"{"pools":[],"new":1}"#)]);
    let output = loadline(node.folder(), &["pool", "list", "--json"]);
    assert_eq!(output.stdout, "{\n  \"new\": 1,\n  \"pools\": []\n}\n");
}
