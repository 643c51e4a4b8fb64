//! A node whose sockets are not in its folder, as `node.toml` lets them be.

use super::node::Node;
use std::fs;
use std::net::TcpListener;

/// `image backup`, `image diff` and `page` looked beside the admin socket for what was elsewhere.
#[test]
fn a_node_says_where_it_is_met() {
    let mut node = Node::without_disks();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let place = |name: &str| node.folder().join(name).display().to_string();
    for folder in ["node", "doors"] {
        fs::create_dir(place(folder)).unwrap();
    }
    // The commands go by the folder `node`, where only the admin socket is.
    let file = format!(
        "dir = \"data\"\nadmin = \"{}\"\nnbd.unix = \"{}\"\npage = \"{free}\"\n\
         osds = [{{ path = \"osd.0\", size = \"64 MiB\" }}]\nimages = [{{ name = \"vol0\", size = \"8 MiB\" }}]\n",
        place("node/admin.sock"),
        place("doors/nbd.sock"),
    );
    let (copy, page) = (place("copy"), node.folder().join("data/page.json"));
    node.start_from(&file);
    for snapshot in ["vol0@a", "vol0@b"] {
        node.says(&["image", "snapshot", "create", snapshot]);
    }
    node.says(&["image", "backup", "vol0@a", &copy]);
    node.says(&["image", "diff", "vol0@a", "vol0@b"]);
    assert!(node.says(&["page"]).starts_with(&format!("http://{free}/#token=")));
    assert!(page.exists());
    node.stop();
    assert!(!page.exists(), "it leads to nobody");
    node.refuses(&["page"], 1, "no node answers at node/admin.sock");
}

/// Somebody starts it who does not know that it runs: each of its disks was told to be another process's.
#[test]
fn a_node_that_runs_is_not_started_again() {
    let mut node = Node::with_osds(2);
    node.does_not_start(1, &["a node runs in node already", "`loadline stop --dir node` ends it"]);
    node.refuses(&["image", "info", ""], 2, "an empty name names nothing");
    node.stop();
}
