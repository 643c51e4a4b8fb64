//! Bytes there and back: echoes, thousands of connections, replies in many buffers, and a peer that is in no hurry.

use crate::server::{Peer, Way, backends, echo, listen, new_loop};
use loadline_base::{Rng, Span};
use loadline_host::{Disconnect, Loop, LoopEvent, LoopOptions};
use std::io::{Read, Write};
use std::thread;

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

/// Writes from one thread and reads in this one, so that neither side waits for the other.
fn there_and_back(mut peer: impl Read + Write + Send, mut writer: impl Write + Send, sent: &[u8]) {
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(sent).expect("the server takes it"));
        let mut back = vec![0; sent.len()];
        peer.read_exact(&mut back).expect("the server answers");
        assert!(back == sent, "the echo is what was said");
    });
}

#[test]
fn what_is_said_comes_back() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let ways = listen(&mut turns, folder.path());
        let peers = thread::spawn(move || {
            for (_, way) in ways {
                let said = bytes(1, 1 << 20);
                match way {
                    Way::Unix(path) => {
                        let peer = std::os::unix::net::UnixStream::connect(path).expect("listens");
                        there_and_back(&peer, &peer, &said);
                    }
                    Way::Tcp(address) => {
                        let peer = std::net::TcpStream::connect(address).expect("listens");
                        there_and_back(&peer, &peer, &said);
                    }
                }
            }
        });
        assert_eq!(echo(&mut turns, 2), [Disconnect::Asked, Disconnect::Asked]);
        peers.join().expect("the echo is right");
    }
}

/// Three thousand peers of each family, sixteen at a time, most of which say a word and some of which do not even
/// that.
#[test]
fn thousands_come_and_go() {
    const PEERS: usize = 3000;
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let ways = listen(&mut turns, folder.path());
        let peers = thread::spawn(move || {
            for (_, way) in ways {
                for batch in 0..PEERS / 16 {
                    let mut open: Vec<_> = (0..16).map(|_| way.connect()).collect();
                    for (number, peer) in open.iter_mut().enumerate() {
                        if !(batch + number).is_multiple_of(5) {
                            hello(peer);
                        }
                    }
                }
            }
        });
        let reasons = echo(&mut turns, 2 * (PEERS / 16) * 16);
        assert!(reasons.iter().all(|reason| *reason == Disconnect::Asked));
        peers.join().expect("every peer was heard");
    }
}

fn hello(peer: &mut Box<dyn Peer>) {
    peer.write_all(b"hello").expect("the server takes it");
    let mut back = [0; 5];
    peer.read_exact(&mut back).expect("the server answers");
    assert_eq!(&back, b"hello");
}

/// No more connections than the limit, and one for each listener; the others wait in the system's line and are
/// served later.
#[test]
fn peers_beyond_the_limit_wait_their_turn() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = LoopOptions { backend, connections_max: 4, ..LoopOptions::default() };
        let mut turns = Loop::<()>::new(options).expect("a loop can be made");
        let way = listen(&mut turns, folder.path()).remove(0).1;
        let peers: Vec<_> = (0..20).map(|_| way.connect()).collect();
        let (mut open, mut most, mut closed) = (Vec::new(), 0, 0);
        let (mut accepted, mut happened) = (0, Vec::new());
        while closed < 20 {
            // Whoever is due comes, however long that takes; one more than the limit may.
            let is_full = open.len() >= 4 || accepted == 20;
            let until = is_full.then(|| turns.now() + Span::from_millis(5));
            turns.turn(until, &mut happened);
            if happened.is_empty() && is_full && !open.is_empty() {
                turns.close(open.remove(0));
            }
            for happening in happened.drain(..) {
                match happening {
                    LoopEvent::Accepted { conn, .. } => {
                        accepted += 1;
                        open.push(conn);
                    }
                    LoopEvent::Closed { .. } => closed += 1,
                    other => panic!("nobody asked for {other:?}"),
                }
            }
            most = most.max(open.len());
        }
        assert!((4..=5).contains(&most), "{most} at a time");
        drop(peers);
    }
}

/// Many small buffers, sent at once, arrive whole and in order, and the queue is told as it shrinks.
#[test]
fn buffers_leave_in_order() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        for (_, way) in listen(&mut turns, folder.path()) {
            let mut rng = Rng::new(5);
            let parts: Vec<Vec<u8>> =
                (0..500).map(|seed| bytes(seed, rng.below(20_000) as usize)).collect();
            let expected = parts.concat();
            let mut peer = way.connect();
            let reader = thread::spawn(move || {
                let mut all = Vec::new();
                peer.read_to_end(&mut all).map(|_| all)
            });
            let mut parts = Some(parts);
            let mut before = expected.len();
            let mut happened = Vec::new();
            'closed: loop {
                turns.turn(None, &mut happened);
                for happening in happened.drain(..) {
                    match happening {
                        LoopEvent::Accepted { conn, .. } => {
                            for part in parts.take().expect("one peer") {
                                turns.send(conn, part);
                            }
                            assert_eq!(turns.queued(conn), before);
                            turns.close_when_sent(conn);
                        }
                        LoopEvent::Sent { queued, .. } => {
                            assert!(queued < before);
                            before = queued;
                        }
                        LoopEvent::Closed { .. } => break 'closed,
                        other => panic!("nobody asked for {other:?}"),
                    }
                }
            }
            assert_eq!(before, 0);
            let all = reader.join().expect("it reads").expect("nothing is reset");
            assert!(all == expected, "all bytes in order");
        }
    }
}
