//! A client on a real socket: answers, refusals, and nodes that are none.

use super::commands::every_command;
use crate::admin::api::{AdminAnswer, AdminRefusal, Command, Done, RefusalKind};
use crate::admin::{Audience, Client, ClientError, HttpOutbox, HttpSession};
use rustix::process::Signal;
use signal_hook::consts::SIGUSR1;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Serves one connection with `serve` beside `ask`.
fn beside(
    serve: impl FnOnce(UnixStream) + Send,
    ask: impl FnOnce(Result<Client, ClientError>, &Path),
) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || serve(listener.accept().unwrap().0));
        ask(Client::connect(&socket), &socket);
    });
}

/// A node that carries nothing out, and refuses the shutdown.
fn serve_sessions(mut stream: UnixStream) {
    let (mut session, mut out) = (HttpSession::new(Audience::Operator), HttpOutbox::default());
    let mut piece = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        session.receive(&piece[..count], &mut out);
        for (id, command) in std::mem::take(&mut out.commands) {
            let answer = match command {
                Command::Shutdown => Err(AdminRefusal::conflict("not now").wants("patience")),
                _ => Ok(AdminAnswer::Done(Done {})),
            };
            session.answer(id, &answer, &mut out);
        }
        stream.write_all(&std::mem::take(&mut out.send)).unwrap();
    }
}

#[test]
fn one_connection_asks_everything() {
    beside(serve_sessions, |client, _| {
        let mut client = client.unwrap();
        for command in every_command("vol0", "monday") {
            match client.ask::<Done>(&command) {
                Err(ClientError::Refused(refusal)) => {
                    assert_eq!((command, refusal.kind), (Command::Shutdown, RefusalKind::Conflict));
                    assert_eq!(refusal.to_string(), "not now, expected patience");
                }
                answer => assert_eq!(answer.unwrap(), Done {}, "{command:?}"),
            }
        }
    });
}

#[test]
fn nobody_there_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin.sock");
    let check = || {
        let error = Client::connect(&socket).expect_err("nobody listens").to_string();
        let (socket, folder) = (socket.display(), folder.path().display());
        let expected =
            format!("no node answers at {socket}: start one with `loadline serve --dir {folder}`");
        assert_eq!(error, expected);
    };
    check();
    drop(UnixListener::bind(&socket).unwrap());
    check();
}

/// `--socket /nonexist` advised to serve from the root of the file system.
#[test]
fn a_socket_of_another_name_leads_to_no_node_beside_it() {
    for socket in ["/nonexist", "/admin.sock", "/tmp/other.sock"] {
        let error = Client::connect(Path::new(socket)).expect_err("nobody listens").to_string();
        let expected = format!(
            "no node answers at {socket}: `loadline serve --dir DIR` starts one, and it answers at DIR/admin.sock"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn a_node_that_breaks_off_or_talks_otherwise_is_named() {
    let check = |answer: &'static str, says: &str| {
        beside(
            move |mut stream| {
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            },
            |client, socket| {
                let error = client.unwrap().ask::<Done>(&Command::Status).unwrap_err().to_string();
                assert!(error.contains(&socket.display().to_string()), "{error}");
                assert!(error.contains(says), "{error}");
            },
        );
    };
    check("", "went away before it answered");
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "went away before it answered");
    check("SSH-2.0-x\r\n", "no node of this version");
    check("HTTP/1.1 200 OK\r\n\r\n", "no node of this version");
    check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n[", "no node of this version");
    check("HTTP/1.1 502 No\r\nContent-Length: 2\r\n\r\n{}", "no node of this version");
}

#[test]
fn a_node_that_stands_still_is_named_and_nobody_waits_for_ever() {
    let (told, done) = std::sync::mpsc::channel::<()>();
    beside(
        move |stream| {
            let _ = done.recv();
            drop(stream);
        },
        |client, socket| {
            let mut client = client.unwrap();
            client.limit = Duration::from_millis(20);
            let error = client.ask::<Done>(&Command::Status).expect_err("nobody answers");
            let node = format!("the node at {} has not answered for ", socket.display());
            assert!(error.to_string().starts_with(&node), "{error}");
            told.send(()).unwrap();
        },
    );
}

/// A terminal whose size changed while `top` asked ended it: "Interrupted system call".
#[test]
fn a_signal_ends_no_question() {
    let heard = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&heard)).unwrap();
    let asks = rustix::thread::gettid();
    // The system gives a signal to the thread that is named, if that one takes it.
    let signal = move || {
        let stat = format!("/proc/self/task/{}/stat", asks.as_raw_nonzero());
        let sleeps = || std::fs::read_to_string(&stat).unwrap().contains(") S ");
        while !sleeps() {
            std::thread::yield_now();
        }
        rustix::process::kill_process(asks, Signal::USR1).unwrap();
        while !heard.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    };
    beside(
        move |mut stream| {
            let _ = stream.read(&mut [0; 4096]).unwrap();
            signal();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        },
        |client, _| assert_eq!(client.unwrap().ask::<Done>(&Command::Status).unwrap(), Done {}),
    );
}
