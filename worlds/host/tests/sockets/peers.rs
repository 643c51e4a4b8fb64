//! Peers that behave badly: one that does not read, ones that vanish in the middle, and callers that ask too late.

use crate::server::{Way, backends, echo, listen, new_loop};
use loadline_base::Span;
use loadline_host::{ConnId, Disconnect, Loop, LoopEvent};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// The next peer.
fn accept(turns: &mut Loop<()>) -> ConnId {
    let mut happened = Vec::new();
    turns.turn(None, &mut happened);
    match happened.as_slice() {
        [LoopEvent::Accepted { conn, .. }] => *conn,
        other => panic!("a peer should come, not {other:?}"),
    }
}

/// What happens within a fifth of a second; nothing is a good answer.
fn quiet(turns: &mut Loop<()>) -> Vec<LoopEvent<()>> {
    let mut happened = Vec::new();
    let until = turns.now() + Span::from_millis(200);
    turns.turn(Some(until), &mut happened);
    happened
}

/// A peer that sends without end is stopped by the system when nobody wants its bytes, and goes on when somebody
/// does.
#[test]
fn a_peer_nobody_listens_to_has_to_wait() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let Way::Unix(path) = listen(&mut turns, folder.path()).remove(0).1 else { unreachable!() };
        let mut peer = UnixStream::connect(path).expect("somebody listens");
        peer.set_nonblocking(true).expect("it can be told not to wait");
        let conn = accept(&mut turns);
        let mut said = 0;
        let stopped = loop {
            match peer.write(&[7; 4096]) {
                Ok(bytes) => said += bytes,
                Err(error) => break error,
            }
        };
        assert_eq!(stopped.kind(), ErrorKind::WouldBlock, "after {said} bytes");
        assert!(quiet(&mut turns).is_empty(), "nothing was wanted");
        let mut heard = 0;
        while heard < said {
            turns.want(conn, 10_000);
            turns.want(conn, 10_000);
            let mut happened = Vec::new();
            turns.turn(None, &mut happened);
            let [LoopEvent::Received { bytes, .. }] = happened.as_slice() else {
                panic!("one answer to both")
            };
            heard += bytes.len();
        }
        assert_eq!(heard, said);
        assert!(peer.write(&[7; 4096]).is_ok(), "there is room again");
    }
}

/// A peer that does not read: what is to be sent stays queued, and closing does not wait for it.
#[test]
fn a_peer_that_does_not_read_is_closed_all_the_same() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        for (_, way) in listen(&mut turns, folder.path()) {
            let peer = way.connect();
            let conn = accept(&mut turns);
            turns.send(conn, vec![1; 32 << 20]);
            turns.close_when_sent(conn);
            while quiet(&mut turns).iter().any(|one| matches!(one, LoopEvent::Sent { .. })) {}
            assert!(turns.queued(conn) > 0);
            turns.close(conn);
            let reason = until_closed(&mut turns, conn);
            assert!(matches!(reason, Disconnect::Asked), "{reason:?}");
            assert_eq!(turns.queued(conn), 0);
            drop(peer);
        }
    }
}

/// Peers that vanish while the server sends to them break their own connection only: another one is served on.
#[test]
fn a_peer_that_vanishes_hurts_nobody() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        for (_, way) in listen(&mut turns, folder.path()) {
            let mut calm = way.connect();
            let other = accept(&mut turns);
            for _ in 0..10 {
                let mut peer = way.connect();
                let conn = accept(&mut turns);
                turns.send(conn, vec![1; 32 << 20]);
                turns.want(conn, 4096);
                turns.turn(Some(turns.now()), &mut Vec::new());
                peer.read_exact(&mut [0; 4096]).expect("the server sends");
                drop(peer);
                let reason = until_closed(&mut turns, conn);
                assert!(matches!(reason, Disconnect::Broken(_)), "{reason:?}");
                turns.send(conn, vec![1; 10]);
                turns.want(conn, 10);
                turns.close(conn);
                assert_eq!(turns.queued(conn), 0);
            }
            calm.write_all(b"still here").expect("the server takes it");
            turns.want(other, 100);
            let mut happened = Vec::new();
            turns.turn(None, &mut happened);
            let [LoopEvent::Received { conn, bytes }] = happened.as_slice() else {
                panic!("only the calm one speaks, not {happened:?}")
            };
            assert_eq!((*conn, bytes.as_slice()), (other, &b"still here"[..]));
            turns.close(other);
            until_closed(&mut turns, other);
        }
    }
}

fn until_closed(turns: &mut Loop<()>, wanted: ConnId) -> Disconnect {
    let mut happened = Vec::new();
    loop {
        turns.turn(None, &mut happened);
        for happening in happened.drain(..) {
            match happening {
                LoopEvent::Closed { conn, reason } => {
                    assert_eq!(conn, wanted);
                    return reason;
                }
                LoopEvent::Sent { .. } | LoopEvent::Ended { .. } => {}
                other => panic!("a vanished peer told {other:?}"),
            }
        }
    }
}

/// A peer that ends its side still gets its answer.
#[test]
fn half_a_connection_is_enough_for_an_answer() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let Way::Tcp(address) = listen(&mut turns, folder.path()).remove(1).1 else {
            unreachable!()
        };
        let mut peer = TcpStream::connect(address).expect("somebody listens");
        peer.write_all(b"question").expect("it is taken");
        peer.shutdown(std::net::Shutdown::Write).expect("it can end its side");
        assert_eq!(echo(&mut turns, 1), [Disconnect::Asked]);
        let mut answer = String::new();
        peer.read_to_string(&mut answer).expect("the answer comes");
        assert_eq!(answer, "question");
    }
}
