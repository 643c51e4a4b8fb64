//! Listening begins and ends: paths that are taken, paths that dead processes left, and loops dropped with peers.

use crate::server::{Way, backends, echo, listen, new_loop};
use loadline_host::{ListenAt, LoopEvent};
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
