//! Several connections to one image, and the promise behind `CAN_MULTI_CONN`: what was answered on one connection before a
//! flush began on another is durable when that flush is answered.

use crate::busy;
use crate::client::{Connection, Request, request_head};
use crate::guest::Guest;
use crate::node::{IMAGE_BYTES, Node, PATIENCE, SMALL};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const PIECE: u64 = 40 << 10;

/// The ops under way: how many there are, and how many of them no OSD has.
fn under_way(node: &Node) -> (usize, usize) {
    let open = node.tell(&["dump", "ops", "--json"]);
    let open: serde_json::Value = serde_json::from_str(&open).unwrap();
    let open = open["ops"].as_array().unwrap();
    (open.len(), open.iter().filter(|op| op["osd"].is_null()).count())
}

fn is_idle(node: &Node) -> bool {
    under_way(node).0 == 0
}

/// Objects of an image of [`IMAGE_BYTES`].
const OBJECTS: u64 = 16;

fn offset(object: u64) -> u64 {
    object * (IMAGE_BYTES / OBJECTS)
}

/// A node of which some objects of its image are on an OSD that is down, and nowhere else.
fn start_without_an_osd(dir: &Path, flags: &[&str]) -> Node {
    let own = ["--osds", "3", "--copies", "1", "--size", "128MiB", "--image", "vol0=64MiB"];
    let node = Node::start(dir, &[&own[..], flags].concat());
    node.tell(&["osd", "down", "2", "--force"]);
    std::thread::sleep(Duration::from_secs(3));
    node
}

/// Writes on some connections, flushes on yet another, kills the node, and looks.
fn check(log_mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("node");
    let flags = [&SMALL[..], &["--log-mode", log_mode]].concat();
    for round in 0..3 {
        let node = Node::start(&dir, &flags);
        let open = || Connection::open(&node.socket(), "vol0").unwrap();
        let (mut writers, mut flusher) = ([open(), open(), open(), open()], open());
        for place in 0..64 {
            let data = vec![pattern(round, place); PIECE as usize];
            let write = Request::Write { offset: place * PIECE, data };
            writers[place as usize % 4].ask(&write).unwrap();
        }
        flusher.ask(&Request::Flush).unwrap();
        node.kill();
        let node = Node::start(&dir, &flags);
        let mut reader = Connection::open(&node.socket(), "vol0").unwrap();
        for place in 0..64 {
            let read = Request::Read { offset: place * PIECE, length: PIECE as u32 };
            let found = reader.ask(&read).unwrap();
            let kept = found.iter().all(|byte| *byte == pattern(round, place));
            assert!(kept, "{log_mode}, round {round}: piece {place} was flushed and is lost");
        }
        node.kill();
    }
}

fn pattern(round: u64, place: u64) -> u8 {
    (1 + round * 64 + place) as u8
}

#[test]
fn a_flush_covers_all_connections() {
    check("log-only");
}

/// Here a write is answered before it is in the log, so that nothing but the flush makes it durable. Kills also met disks of which one
/// had a map with intervals that the copies on the others had forgotten: their placement groups waited for ever.
#[test]
fn a_flush_covers_all_connections_even_where_writes_are_answered_early() {
    check("background");
}

/// Nor is there a log.
#[test]
fn a_flush_covers_all_connections_even_without_a_log() {
    check("none");
}

#[test]
fn each_connection_reads_what_another_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let mut all: Vec<_> =
        (0..8).map(|_| Connection::open(&node.socket(), "vol0").unwrap()).collect();
    for turn in 0..200 {
        let (writer, reader) = (turn % 8, (turn + 1 + turn / 8) % 8);
        let data = vec![turn as u8; 5000];
        all[writer].ask(&Request::Write { offset: 3333, data: data.clone() }).unwrap();
        let found = all[reader].ask(&Request::Read { offset: 3333, length: 5000 }).unwrap();
        assert!(found == data, "turn {turn}");
    }
    all[0].ask(&Request::Zero { offset: 3333, length: 5000 }).unwrap();
    let found = all[7].ask(&Request::Read { offset: 3333, length: 5000 }).unwrap();
    assert!(found.iter().all(|byte| *byte == 0));
    node.stop();
}

/// A client is ended with writes under way, as a host is by its cluster's manager, or one of a kernel's connections by its timeout. What comes
/// after it, on a connection that was there or on a new one, writes the same bytes, is answered, and writes them once more: the writes of the one
/// that had gone were carried out behind those.
#[test]
fn nothing_of_a_connection_that_has_gone_comes_behind_what_others_write_after_it() {
    const WRITES: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let write = |offset, byte| Request::Write { offset, data: vec![byte; 4096] };
    let mut sibling = open();
    for is_new in [true, false] {
        node.tell(&["image", "qos", "vol0", "--limit", "4"]);
        let mut gone = open();
        for at in (0..WRITES).rev() {
            gone.send(&write(at * 4096, 1)).unwrap();
        }
        node.wait_until("they are under way", |node| !is_idle(node));
        drop(gone);
        let mut later = if is_new { open() } else { std::mem::replace(&mut sibling, open()) };
        later.ask(&write(0, 1)).unwrap();
        later.ask(&write(0, 2)).unwrap();
        node.tell(&["image", "qos", "vol0", "--limit", "0"]);
        node.wait_until("all have ended", is_idle);
        let found = later.ask(&Request::Read { offset: 0, length: 4096 }).unwrap();
        assert!(found.iter().all(|byte| *byte == 2), "{} on a new one: {is_new}", found[0]);
    }
    node.stop();
}

/// The word that a client sends nothing more stood behind all that it had sent, so the node learnt of it when it had read that: what was still in
/// the socket then was carried out behind what others had written and been answered since.
#[test]
fn nothing_that_was_not_read_of_a_connection_that_has_gone_comes_behind_what_others_write_after_it()
{
    const TURNS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let flags = [&SMALL[..], &["--nbd-tcp", "127.0.0.1:0"]].concat();
    let node = Node::start(&folder.path().join("node"), &flags);
    let address = node.tcp().parse().unwrap();
    let open = |is_tcp| match is_tcp {
        true => Connection::open_tcp(address, "vol0").unwrap(),
        false => Connection::open(&node.socket(), "vol0").unwrap(),
    };
    let write = |byte| Request::Write { offset: 0, data: vec![byte; 4096] };
    busy::beside(4, || {
        for turn in 0..TURNS {
            let is_tcp = turn % 2 == 1;
            let (mut gone, mut later) = (open(is_tcp), open(turn % 4 < 2));
            for _ in 0..[20, 50, 200][turn % 3] {
                gone.send(&write(1)).unwrap();
            }
            drop(gone);
            later.ask(&write(2)).unwrap();
            let answered = Instant::now();
            while answered.elapsed() < Duration::from_millis(100) {
                let found = later.ask(&Request::Read { offset: 0, length: 4096 }).unwrap();
                let is_kept = found.iter().all(|byte| *byte == 2);
                assert!(is_kept, "try {turn}, gone by TCP: {is_tcp}: {}", found[0]);
            }
        }
    });
    node.stop();
}

/// One that has closed its end alone, as `shutdown` does, still reads: it has all its answers, and others come behind all that it asked for.
#[test]
fn a_client_that_has_closed_its_end_is_answered_before_others() {
    const WRITES: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let (mut half, mut other) = (open(), open());
    let write = |byte| Request::Write { offset: 0, data: vec![byte; 512] };
    for _ in 0..WRITES {
        half.send(&write(1)).unwrap();
    }
    half.say_no_more().unwrap();
    other.ask(&write(2)).unwrap();
    (0..WRITES).for_each(|_| drop(half.receive().unwrap()));
    half.receive_any().expect_err("it has all its answers, and its connection ends");
    let found = other.ask(&Request::Read { offset: 0, length: 512 }).unwrap();
    assert!(found.iter().all(|byte| *byte == 2), "{}", found[0]);
    node.stop();
}

/// Its options went without an answer where a request stood right behind them.
#[test]
fn a_client_that_closes_before_it_has_chosen_has_its_options_answered() {
    const GREETING: usize = 18;
    const CHOSEN: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let hello = Connection::hello("vol0");
    for turn in 0..20 {
        let mut stream = UnixStream::connect(node.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&[&hello[..], &request_head(3, 1, 0, 0)].concat()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        assert!(answers.len() >= GREETING + CHOSEN, "try {turn}: {answers:?}");
    }
    node.stop();
}

/// Whoever kept on closing behind one that waited kept it waiting: it waited for all that had closed by the time at which it could have begun.
#[test]
fn nobody_waits_for_who_closes_later() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let write = |at: u64| Request::Write { offset: at * 4096, data: vec![1; 4096] };
    let (mut gone, mut waits, mut later) = (open(), open(), open());
    node.tell(&["image", "qos", "vol0", "--limit", "4"]);
    (0..8).for_each(|at| gone.send(&write(at)).unwrap());
    node.wait_until("they are under way", |node| !is_idle(node));
    drop(gone);
    // Each is behind what was sent before.
    std::thread::sleep(Duration::from_millis(300));
    waits.send(&write(0)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    (0..200).for_each(|at| later.send(&write(at)).unwrap());
    later.say_no_more().unwrap();
    waits.receive().unwrap();
    assert!(!is_idle(&node), "it waited for what came behind it");
    node.tell(&["image", "qos", "vol0", "--limit", "0"]);
    (0..200).for_each(|_| drop(later.receive().unwrap()));
    node.stop();
}

fn write(offset: u64) -> Request {
    Request::Write { offset, data: vec![1; 4096] }
}

/// Of the objects that a client writes to, one whose OSD serves it, and one whose OSD is down.
fn served_and_lost(node: &Node, probe: &mut Connection) -> (u64, u64) {
    // Cookies count from one. What is answered is served.
    (0..OBJECTS).for_each(|object| probe.send(&write(offset(object))).unwrap());
    std::thread::sleep(Duration::from_secs(1));
    node.wait_until("no op that can end", |node| {
        let (open, without_osd) = under_way(node);
        open > 0 && open == without_osd
    });
    let answers = OBJECTS as usize - under_way(node).0;
    let served: Vec<u64> = (0..answers).map(|_| probe.receive().unwrap().cookie - 1).collect();
    let lost = (0..OBJECTS).find(|object| !served.contains(object)).expect("one is down");
    (served[0], lost)
}

/// Nothing ended of what a client that was killed had asked for where nobody served the PG: others waited for it with all that they asked of
/// the image. With as much under way as one may have, nor was it noticed that the client had gone.
#[test]
fn a_client_that_has_gone_keeps_nobody_waiting_for_what_no_osd_has() {
    let folder = tempfile::tempdir().unwrap();
    let node = start_without_an_osd(&folder.path().join("node"), &[]);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let (mut probe, mut other) = (open(), open());
    let (served, lost) = served_and_lost(&node, &mut probe);
    drop(probe);
    other.ask(&write(offset(served))).unwrap();
    let mut full = open();
    for _ in 0..300 {
        full.send(&Request::Read { offset: offset(lost), length: 512 }).unwrap();
    }
    node.wait_until("it has all that it may have", |node| under_way(node).0 >= 256);
    drop(full);
    let asked = Instant::now();
    other.ask(&write(offset(served))).unwrap();
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    node.kill();
}

/// A killed guest's writes where nobody served the PG never ended, and all others of its image waited for them, the next guest among them.
#[test]
fn a_guest_that_has_gone_keeps_nobody_waiting_for_what_no_osd_has() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("vol0.sock");
    let face = format!("vol0={}", socket.display());
    let node = start_without_an_osd(&folder.path().join("node"), &["--vhost", &face]);
    let mut other = Connection::open(&node.socket(), "vol0").unwrap();
    let (served, lost) = served_and_lost(&node, &mut other);
    drop(other);
    let mut other = Connection::open(&node.socket(), "vol0").unwrap();
    let mut guest = Guest::connect(&socket);
    guest.begin_request(0, (1, offset(lost) / 512), &[1; 4096], 0);
    node.wait_until("it does not wait", |node| under_way(node) == (1, 1));
    guest.hang_up();
    let asked = Instant::now();
    other.ask(&write(offset(served))).unwrap();
    let mut next = Guest::connect(&socket);
    next.write(offset(served) / 512, &[2; 4096]);
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    node.kill();
}

/// Whoever asks for more than is sent to it at a time, closes its end and takes nothing of it would keep all others of the image waiting for ever.
#[test]
fn a_client_that_has_closed_its_end_and_takes_no_answers_is_ended_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), &SMALL);
    let open = || Connection::open(&node.socket(), "vol0").unwrap();
    let (mut half, mut other) = (open(), open());
    for _ in 0..40 {
        half.send(&Request::Read { offset: 0, length: 4 << 20 }).unwrap();
    }
    half.say_no_more().unwrap();
    // Its close is known by then.
    std::thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    other.ask(&Request::Write { offset: 0, data: vec![2; 512] }).unwrap();
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    assert!(node.log().contains("that had closed its end took no answers"), "{}", node.log());
    node.stop();
}
