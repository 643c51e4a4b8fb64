//! Listening begins and ends: paths that are taken, paths that dead processes left, and loops dropped with peers.

use crate::server::{Way, backends, echo, listen, new_loop};
use loadline_host::{ListenAt, Loop, LoopEvent};
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

#[test]
fn a_path_in_use_is_refused_and_a_dead_one_is_replaced() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let path = folder.path().join("socket");
        let at = ListenAt::Unix(path.clone());
        let other = UnixListener::bind(&path).expect("the path is free");
        let error = turns.listen(&at).expect_err("somebody listens");
        let wanted = format!("{}: another process listens there", path.display());
        assert_eq!(error.to_string(), wanted);
        drop(other);
        assert!(path.exists(), "a dead process leaves its path");
        let listener = turns.listen(&at).expect("nobody listens any more");
        drop(UnixStream::connect(&path).expect("now we do"));
        turns.stop_listening(listener);
        assert!(!path.exists());
        fs::write(&path, "precious").expect("a file");
        let error = turns.listen(&at).expect_err("that is no socket");
        let wanted = format!("{}: there is a file that is no socket", path.display());
        assert_eq!(error.to_string(), wanted);
        assert_eq!(fs::read(&path).expect("it is still there"), b"precious");
    }
}

/// After the end of listening nobody gets in, and who is in stays.
#[test]
fn the_end_of_listening_leaves_connections_alone() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        for (listener, way) in listen(&mut turns, folder.path()) {
            let mut peer = way.connect();
            let mut happened = Vec::new();
            turns.turn(None, &mut happened);
            let [LoopEvent::Accepted { conn, .. }] = happened.as_slice() else {
                panic!("a peer comes, not {happened:?}")
            };
            turns.want(*conn, 100);
            turns.turn(Some(turns.now()), &mut Vec::new());
            turns.stop_listening(listener);
            turns.turn(Some(turns.now()), &mut Vec::new());
            match way {
                Way::Unix(path) => assert!(UnixStream::connect(path).is_err()),
                Way::Tcp(address) => assert!(std::net::TcpStream::connect(address).is_err()),
            }
            let talk = thread::spawn(move || {
                peer.write_all(b"hello").expect("the server takes it");
                peer.read_exact(&mut [0; 5]).expect("the server answers");
            });
            echo(&mut turns, 1);
            talk.join().expect("the talk went on");
        }
    }
}

/// Who waits for memory is not received from: a thousand that had been killed kept their places until each had had its turn.
#[test]
fn a_peer_that_has_gone_is_noticed_without_asking_it_for_anything() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let path = folder.path().join("socket");
        turns.listen(&ListenAt::Unix(path.clone())).expect("the path is free");
        let connect = || UnixStream::connect(&path).expect("it listens");
        let (_stays, half, gone) = (connect(), connect(), connect());
        half.shutdown(Shutdown::Write).expect("it is open");
        let (mut conns, mut happened) = (Vec::new(), Vec::new());
        while conns.len() < 3 {
            turns.turn(None, &mut happened);
            conns.extend(happened.drain(..).filter_map(|event| match event {
                LoopEvent::Accepted { conn, .. } => Some(conn),
                _ => None,
            }));
        }
        assert_eq!(turns.hung_up(&conns), [], "one listens, the other still does");
        drop(gone);
        assert_eq!(turns.hung_up(&conns), [conns[2]]);
    }
}

/// What one had sent before it closed was read behind what another had sent after that, and taken for the later of both.
#[test]
fn a_close_is_told_before_all_that_others_send_after_it() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        for (_, way) in listen(&mut turns, folder.path()) {
            for round in 0..200 {
                closes_before_another_sends(&mut turns, &way, round % 2 == 0);
            }
        }
    }
}

/// One closes behind what nobody asks for, or not all of it, and another sends then.
fn closes_before_another_sends(turns: &mut Loop<()>, way: &Way, is_asked: bool) {
    let (mut gone, mut other) = (way.connect(), way.connect());
    let mut happened = Vec::new();
    let mut accepted = Vec::new();
    while accepted.len() < 2 {
        turns.turn(None, &mut happened);
        accepted.extend(happened.drain(..).filter_map(|event| match event {
            LoopEvent::Accepted { conn, .. } => Some(conn),
            _ => None,
        }));
    }
    // Which of them is which, their first words tell.
    gone.write_all(b"g").expect("it is open");
    other.write_all(b"o").expect("it is open");
    let mut first = None;
    for conn in &accepted {
        turns.await_close(*conn);
        turns.want(*conn, 1);
        let bytes = loop {
            turns.turn(None, &mut happened);
            if let Some(LoopEvent::Received { bytes, .. }) = happened.pop() {
                break bytes;
            }
        };
        if bytes == b"g" {
            first = Some(*conn);
        }
    }
    let first = first.expect("one of them is it");
    let second = accepted.iter().copied().find(|conn| *conn != first).expect("there are two");
    let talk = thread::spawn(move || {
        gone.write_all(&[1; 9000]).expect("there is room for it");
        drop(gone);
        other.write_all(b"later").expect("it is open");
        other
    });
    turns.want(second, 100);
    if is_asked {
        turns.want(first, 100);
    }
    let mut has_closed = false;
    'turns: loop {
        turns.turn(None, &mut happened);
        for event in happened.drain(..) {
            match event {
                LoopEvent::Closes { conn } if conn == first => has_closed = true,
                LoopEvent::Received { conn, .. } if conn == first => turns.want(first, 100),
                LoopEvent::Received { conn, bytes } if conn == second => {
                    assert_eq!(bytes, b"later");
                    assert!(has_closed, "it was told after what was sent behind it");
                    break 'turns;
                }
                LoopEvent::Ended { conn } if conn == first => {}
                event => panic!("{event:?}"),
            }
        }
    }
    drop(talk.join().expect("it talks"));
    accepted.iter().for_each(|conn| turns.close(*conn));
    let mut left = 2;
    while left > 0 {
        turns.turn(None, &mut happened);
        let closed = |event: &LoopEvent<()>| matches!(event, LoopEvent::Closed { .. });
        left -= happened.drain(..).filter(closed).count();
    }
}

/// A peer may close its end and still listen; it is told once, and what it has sent before is there to be asked for.
#[test]
fn a_peer_that_has_closed_its_end_is_heard_and_answered() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let path = folder.path().join("socket");
        turns.listen(&ListenAt::Unix(path.clone())).expect("the path is free");
        let mut half = UnixStream::connect(&path).expect("it listens");
        half.write_all(b"hello").expect("it is open");
        half.shutdown(Shutdown::Write).expect("it is open");
        let mut happened = Vec::new();
        turns.turn(None, &mut happened);
        let [LoopEvent::Accepted { conn, .. }] = *happened.as_slice() else {
            panic!("a peer comes, not {happened:?}")
        };
        happened.clear();
        turns.await_close(conn);
        turns.turn(None, &mut happened);
        assert!(
            matches!(*happened, [LoopEvent::Closes { conn: of }] if of == conn),
            "{happened:?}"
        );
        turns.want(conn, 100);
        let talk = thread::spawn(move || half.read_exact(&mut [0; 5]).expect("it is answered"));
        echo(&mut turns, 1);
        talk.join().expect("the talk went on");
    }
}

/// Receives, sends and accepts in flight when the loop goes: peers see the end, paths vanish.
#[test]
fn a_loop_dropped_among_peers_hangs_up() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut turns = new_loop::<()>(backend);
        let ways = listen(&mut turns, folder.path());
        let mut peers: Vec<_> =
            ways.iter().flat_map(|(_, way)| [way.connect(), way.connect()]).collect();
        let mut accepted = 0;
        let mut happened = Vec::new();
        while accepted < peers.len() {
            turns.turn(None, &mut happened);
            for happening in happened.drain(..) {
                if let LoopEvent::Accepted { conn, .. } = happening {
                    accepted += 1;
                    turns.want(conn, 1000);
                    turns.send(conn, vec![1; 32 << 20]);
                }
            }
        }
        turns.turn(Some(turns.now()), &mut happened);
        drop(turns);
        for peer in &mut peers {
            let mut all = Vec::new();
            let _ = peer.read_to_end(&mut all);
            assert!(all.len() < 32 << 20 && all.iter().all(|byte| *byte == 1));
        }
        assert!(!folder.path().join("socket").exists());
    }
}
