//! Several connections to one image, and the promise behind `CAN_MULTI_CONN`: what was answered on one connection before a
//! flush began on another is durable when that flush is answered.

use crate::client::{Connection, Request};
use crate::node::{Node, SMALL};

const PIECE: u64 = 40 << 10;

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
