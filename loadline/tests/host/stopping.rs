//! A node that is told to stop while clients are at work: whatever was carried out has its answer, also for clients that read
//! late, and what was answered is there after the next start.

use crate::client::{Connection, Request};
use crate::node::{IMAGE_BYTES, Node, SMALL};
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

const BLOCK: u64 = 4096;
const CLIENTS: u64 = 3;
/// Requests in flight on each connection.
const DEPTH: usize = 64;
/// Stops under load; each meets the clients elsewhere.
const ROUNDS: u64 = 4;

/// A port that is free, as long as nobody else takes it meanwhile.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap()
}

/// Writes each block of its part once, until the node ends the connection. Answers the blocks whose writes were answered.
fn write_until_the_end(mut connection: Connection, part: u64, heard: &AtomicU64) -> BTreeSet<u64> {
    let each = IMAGE_BYTES / BLOCK / CLIENTS;
    let mut next = part * each;
    let mut written = BTreeSet::new();
    let mut answered = BTreeSet::new();
    let mut go_on = || -> io::Result<()> {
        while connection.in_flight() < DEPTH && next < (part + 1) * each {
            written.insert((connection.cookie(), next));
            let data = vec![1 + (next % 255) as u8; BLOCK as usize];
            connection.send(&Request::Write { offset: next * BLOCK, data })?;
            next += 1;
        }
        let cookie = connection.receive()?.cookie;
        let block = written.iter().find(|(sent, _)| *sent == cookie).expect("it was sent").1;
        answered.insert(block);
        heard.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    while go_on().is_ok() {}
    answered
}

/// Stops nodes under writes; then every block that is there was answered, and every block that was answered is there.
fn check(tcp: bool) {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let (dir, address) = (folder.path().join(round.to_string()), free_address());
        let at = address.to_string();
        let listen: &[&str] = if tcp { &["--nbd-tcp", &at] } else { &[] };
        let flags = [&SMALL[..], listen].concat();
        let node = Node::start(&dir, &flags);
        let open = || match tcp {
            true => Connection::open_tcp(address, "vol0").unwrap(),
            false => Connection::open(&node.socket(), "vol0").unwrap(),
        };
        let connections: Vec<Connection> = (0..CLIENTS).map(|_| open()).collect();
        let heard = AtomicU64::new(0);
        let answered: BTreeSet<u64> = std::thread::scope(|scope| {
            let heard = &heard;
            let run = |(part, connection): (usize, Connection)| {
                scope.spawn(move || write_until_the_end(connection, part as u64, heard))
            };
            let clients: Vec<ScopedJoinHandle<'_, _>> =
                connections.into_iter().enumerate().map(run).collect();
            // Each round meets the clients elsewhere, and never before their first answers or after their last ones.
            while heard.load(Ordering::Relaxed) < 200 + 300 * round {
                let ended = clients.iter().any(ScopedJoinHandle::is_finished);
                assert!(!ended, "round {round}: a client ended by itself");
                std::thread::sleep(Duration::from_millis(1));
            }
            node.terminate();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        let node = Node::start(&dir, &SMALL);
        let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
        for block in 0..IMAGE_BYTES / BLOCK {
            let read = Request::Read { offset: block * BLOCK, length: BLOCK as u32 };
            let found = reader.ask(&read).unwrap();
            let is_there = found.iter().all(|byte| *byte == 1 + (block % 255) as u8);
            assert!(is_there || found.iter().all(|byte| *byte == 0), "block {block} is torn");
            assert_eq!(is_there, answered.contains(&block), "round {round}, block {block}");
        }
        node.kill();
    }
}

/// Requests that the kernel had already taken in when the node was told to stop were carried out after it had looked for open
/// ones, and nobody sent their answers.
#[test]
fn every_write_that_was_carried_out_is_answered() {
    check(false);
}

#[test]
fn every_write_that_was_carried_out_is_answered_over_tcp() {
    check(true);
}

/// The answers are longer than what the kernel holds for a socket: the node ended with the rest of them in its own memory.
#[test]
fn a_client_that_reads_late_gets_its_answers() {
    const READS: u64 = 12;
    const LENGTH: u32 = 2 << 20;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let mut client = Connection::open(&node.socket(), "vol0").unwrap();
    client.ask(&Request::Write { offset: 0, data: vec![7; LENGTH as usize] }).unwrap();
    for _ in 0..READS {
        client.send(&Request::Read { offset: 0, length: LENGTH }).unwrap();
    }
    node.wait_until("reads take a moment", |node| node.tell(&["dump", "ops"]) == "none\n");
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let replies: Vec<_> = (0..READS).map_while(|_| client.receive().ok()).collect();
            (replies.len() as u64, replies.iter().all(|reply| reply.data.iter().all(|b| *b == 7)))
        });
        node.terminate();
        assert_eq!(reader.join().unwrap(), (READS, true));
    });
}

/// A client may say that it sends nothing more and wait for what it asked; its connection was ended at that word.
#[test]
fn a_client_that_only_listens_gets_its_answers() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let mut client = Connection::open(&node.socket(), "vol0").unwrap();
    for block in 0..DEPTH as u64 {
        let data = vec![9; 16 * BLOCK as usize];
        client.send(&Request::Write { offset: 16 * block * BLOCK, data }).unwrap();
    }
    client.say_no_more().unwrap();
    for _ in 0..DEPTH {
        client.receive().unwrap();
    }
    assert!(client.receive().is_err(), "then the node hangs up");
    node.stop();
}

/// An op that could not end, as its group's only disk was away, kept the node from making durable what others had been answered: it
/// ended with all of that in its memory, and said that it had ended well.
#[test]
fn what_was_answered_is_durable_though_an_op_cannot_end() {
    const OBJECTS: u64 = 16;
    let flags = ["--osds", "3", "--copies", "1", "--size", "128MiB", "--image", "vol0=64MiB"];
    let flags = [&flags[..], &["--log-mode", "none"]].concat();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node = Node::start(&dir, &flags);
    node.tell(&["osd", "down", "2", "--force"]);
    // Maps are made durable in any mode, and what is written before them with them.
    std::thread::sleep(Duration::from_secs(5));
    let mut writer = Connection::open(&node.socket(), "vol0").unwrap();
    let offset = |object: u64| object * (IMAGE_BYTES / OBJECTS);
    for object in 0..OBJECTS {
        let data = vec![1 + object as u8; BLOCK as usize];
        writer.send(&Request::Write { offset: offset(object), data }).unwrap();
    }
    let answered: Vec<u64> = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let replies = std::iter::from_fn(|| writer.receive().ok());
            // Cookies count from one.
            replies.map(|reply| reply.cookie - 1).collect()
        });
        node.wait_until("ops that can end", |node| {
            let open = node.tell(&["dump", "ops", "--json"]);
            let open: serde_json::Value = serde_json::from_str(&open).unwrap();
            let open = open["ops"].as_array().unwrap();
            !open.is_empty() && open.iter().all(|op| op["osd"].is_null())
        });
        node.terminate();
        reader.join().unwrap()
    });
    assert!(!answered.is_empty() && answered.len() < OBJECTS as usize, "{answered:?}");
    let node = Node::start(&dir, &flags);
    let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
    for object in answered {
        let read = Request::Read { offset: offset(object), length: BLOCK as u32 };
        let found = reader.ask(&read).unwrap();
        assert!(found.iter().all(|byte| *byte == 1 + object as u8), "object {object} is lost");
    }
    node.stop();
}

/// A terminal that was closed killed the node in the middle of its work, where it ends every other command in order. Under `nohup` a
/// node outlives it.
#[test]
fn the_end_of_its_terminal_stops_a_node_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    // Whoever runs the tests may do so under `nohup`.
    let started = Node::start_under(&["env", "--default-signal=HUP"], &dir, &SMALL);
    let (status, log) = started.ended_by("HUP");
    assert!(status.success(), "{status}:\n{log}");
    let node = Node::start_under(&["nohup"], &dir, &SMALL);
    node.send("HUP");
    assert!(node.status()["health"].is_object(), "it serves");
    node.stop();
}

/// A disk that was away had answered writes alone, and nothing but a line of the log told a stopped node from one with everything durable. Then
/// its exit code was that of a node that dies, and the packaged unit started it again.
#[test]
fn a_node_that_knows_not_all_to_be_durable_does_not_end_well() {
    const OBJECTS: u64 = 16;
    let flags = ["--osds", "2", "--copies", "1", "--size", "128MiB", "--image", "vol0=64MiB"];
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let node = Node::start(&dir, &flags);
    let mut client = Connection::open(&node.socket(), "vol0").unwrap();
    let offset = |object: u64| object * (IMAGE_BYTES / OBJECTS);
    for object in 0..OBJECTS {
        let data = vec![1 + object as u8; BLOCK as usize];
        client.ask(&Request::Write { offset: offset(object), data }).unwrap();
    }
    node.tell(&["osd", "down", "1", "--force"]);
    let (status, log) = node.terminated();
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("what an OSD had alone that is down"), "{log}");
    let unit = include_str!("../../../contrib/debian/loadline.service");
    let mut lines = unit.lines();
    let codes = lines.find_map(|line| line.strip_prefix("RestartPreventExitStatus="));
    assert!(codes.is_some_and(|codes| codes.split(' ').any(|code| code == "3")), "{codes:?}");
    let node = Node::start(&dir, &flags);
    let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
    for object in 0..OBJECTS {
        let read = Request::Read { offset: offset(object), length: BLOCK as u32 };
        let found = reader.ask(&read).unwrap();
        assert!(found.iter().all(|byte| *byte == 1 + object as u8), "object {object} is lost");
    }
    node.stop();
}
