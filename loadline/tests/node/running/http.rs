//! A client of the page's port in a few lines.

use super::node::Node;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A node with a page, on a port that was free a moment ago.
pub(super) fn node_with_page(flags: &[&str]) -> (Node, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let mut node = Node::without_disks();
    let page = format!("--page={free}");
    node.start(&[&["--size", "64MiB", "--pgs", "8", &page][..], flags].concat());
    (node, free)
}

/// The page's address and token, as the node has written them.
pub(super) fn token(node: &Node) -> String {
    node.json(&["page"])["token"].as_str().unwrap().to_owned()
}

/// Sends a request, and takes all until the node hangs up: status code and the rest.
pub(super) fn ask(at: SocketAddr, request: &str, more: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer[9..12].parse().unwrap(), answer)
}

/// The body of a good answer.
pub(super) fn get(at: SocketAddr, path: &str) -> String {
    let (code, answer) = ask(at, &format!("GET {path}"), "", "");
    assert_eq!(code, 200, "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The next event of a stream.
pub(super) fn next_event(stream: &mut impl Read) -> Value {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\n\n") {
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    let data = text.rsplit_once("data: ").expect("an event has data").1;
    serde_json::from_str(data.trim()).unwrap()
}
