//! The page of a node that runs: what it shows, whom it lets do what, and what bad clients do to it.

#![expect(
    clippy::disallowed_methods,
    reason = "clients that wait must not keep the test from asking the node"
)]

use super::clients::Client;
use super::http::{ask, get, next_event, node_with_page, token};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_live_view_tells_what_clients_had() {
    let (node, at) = node_with_page(&["--osds", "2", "--image", "vol0=16MiB"]);
    node.says(&["image", "qos", "vol0", "--reservation", "10iops"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let mut stream = TcpStream::connect(at).unwrap();
    let head = format!("GET /live/events HTTP/1.1\r\nHost: {at}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let step = loop {
        client.write(0, &[7; 4096]);
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut first = [0];
        if stream.peek(&mut first).is_err() {
            continue;
        }
        stream.set_read_timeout(None).unwrap();
        let step = next_event(&mut stream);
        if step["second"]["writes"].as_u64() > Some(0) {
            break step;
        }
    };
    let second = &step["second"];
    assert!(second["p99_ns"].as_u64() >= second["p50_ns"].as_u64(), "{second}");
    let image = &second["images"][0];
    assert_eq!((&image["image"], &image["promised"]), (&json!("vol0"), &json!(10)));
    assert!(image["given"].as_u64() <= image["asked"].as_u64(), "{image}");
    let classes: Vec<&str> = second["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["class"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["client", "background_recovery", "background_best_effort"]);
    assert!(second["classes"][0]["promised"].as_f64() > Some(0.0), "{second}");
    assert_eq!(step["now"]["osds"].as_array().unwrap().len(), 2);
    let view: serde_json::Value = serde_json::from_str(&get(at, "/live")).unwrap();
    assert!(view["seconds"].as_array().unwrap().iter().any(|it| it == second), "{view}");
    assert!(get(at, "/").contains("<script src=\"/live.js\">"));
    assert!(node.says(&["status"]).contains("1 HTTP"), "{}", node.says(&["status"]));
}

/// Where the output is no terminal, a look is text.
#[test]
fn the_same_is_shown_in_a_terminal() {
    let node = super::node::Node::with_osds(2);
    node.says(&["image", "create", "vol0", "--size", "16MiB"]);
    node.says(&["image", "qos", "vol0", "--reservation", "10iops"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    client.write(0, &[7; 4096]);
    node.await_ok(&["top"], |text| text.contains("vol0") && text.contains("background_recovery"));
    let text = node.says(&["top"]);
    for title in [
        "Loadline  ",
        "Clients: ",
        "Classes, in writes",
        "Images, in ops",
        "Background work",
        "Who waits for what",
        "OSDs",
    ] {
        assert!(text.contains(title), "{title} is not in\n{text}");
    }
    assert!(
        text.contains("osd.1") && text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    assert!(node.json(&["top"])["now"]["osds"].is_array());
}

/// SIGTERM left the terminal raw and on its other screen.
#[test]
fn a_terminal_is_as_it_was_when_top_is_told_to_end() {
    let node = super::node::Node::with_osds(1);
    let folder = node.folder();
    let top = format!("echo $$ > pid; exec {} top --dir node", env!("CARGO_BIN_EXE_loadline"));
    let mut terminal = Command::new("script");
    terminal.args(["-qefc", &top, "screen"]).current_dir(folder).env("SHELL", "/bin/sh");
    let mut terminal = terminal.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let shown = |screen: &str| {
        let bytes = std::fs::read(folder.join("screen")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(screen)
    };
    while !shown("\x1b[?1049h") {
        assert!(terminal.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
    assert_eq!(terminal.wait().unwrap().code(), Some(130));
    assert!(shown("\x1b[?1049l"));
}

/// The token is for whoever may read the node's folder, and lets do what ends nothing.
#[test]
fn the_token_lets_a_little_be_done() {
    let (node, at) = node_with_page(&["--osds", "1"]);
    let mode = std::fs::metadata(node.file("page.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = token(&node);
    assert_eq!(node.says(&["page"]), format!("http://{at}/#token={token}\n"));
    let put = "PUT /config/osd/osd_mclock_profile";
    let body = r#"{"value":"high_client_ops"}"#;
    assert_eq!(ask(at, put, "", body).0, 403);
    assert_eq!(ask(at, put, "Authorization: Bearer 00\r\n", body).0, 403);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(ask(at, put, &bearer, body).0, 200);
    let get = ["config", "get", "osd.0", "osd_mclock_profile"];
    assert_eq!(node.json(&get)["value"], json!("high_client_ops"));
    assert!(node.log().contains("PUT /config/osd/osd_mclock_profile"), "a change is logged");
    assert_eq!(ask(at, "POST /scrub/scrub/osd.0", &bearer, "").0, 200);
    assert_eq!(ask(at, "POST /shutdown", &bearer, "").0, 403);
}

#[test]
fn a_node_without_a_page_says_how_to_have_one() {
    let node = super::node::Node::with_osds(1);
    node.refuses(&["page"], 1, "a node has a page if it is started with `--page 127.0.0.1:7480`");
    let ran = node.run(&["serve", "--dir", "other", "--osds", "1", "--page", "0.0.0.0:7480"]);
    assert_eq!(ran.status.code(), Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--page: 0.0.0.0:7480 can be reached from outside"),
        "{}",
        ran.stderr
    );
}

/// Clients that talk nonsense, stop half-way, send heads without end, or ask and never read harm themselves alone: a client's data goes on,
/// and who comes next gets an answer.
#[test]
fn bad_clients_of_the_page_harm_nobody_else() {
    let (node, at) = node_with_page(&["--osds", "1", "--image", "vol0=16MiB"]);
    let mut client = Client::connect(&node.file("nbd.sock"), "vol0");
    let resident = |node: &super::node::Node| {
        node.json(&["status"])["memory"]["resident_bytes"].as_u64().unwrap()
    };
    let mut checked = |round: u64| {
        client.write(round * 4096, &[round as u8; 4096]);
        assert_eq!(client.read(round * 4096, 4096), [round as u8; 4096]);
    };
    // What the client's own data takes of caches is there before.
    (0..400).for_each(&mut checked);
    let before = resident(&node);
    let mut kept = Vec::new();
    for round in 0..200_u64 {
        let Ok(mut stream) = TcpStream::connect(at) else { continue };
        stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let bytes = match round % 5 {
            0 => vec![round as u8; 5_000],
            1 => b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec(),
            2 => [&b"GET / HTTP/1.1\r\nHost: "[..], &vec![b'a'; 60_000]].concat(),
            3 => b"GET /live.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2_000),
            _ => b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        };
        let _ = stream.write_all(&bytes);
        kept.push(stream);
        checked(round);
    }
    let most = node.json(&["status"])["connections"]["page"].as_u64().unwrap();
    assert!(most <= 32, "{most}");
    let grown = resident(&node).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for connections that may hold 32 times 200 KiB");
    drop(kept);
    let mut answer = String::new();
    for _ in 0..1_000 {
        let Ok(mut stream) = TcpStream::connect(at) else { continue };
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        if stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains("200 OK")
        {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(answer.contains("loadline_connections_refused_total"), "{answer}");
}
