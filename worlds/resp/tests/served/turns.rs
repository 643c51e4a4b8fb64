//! Turns at the database: connections that wait for one do not keep those that they have. And who has none at all, or is gone.

use crate::{connected, served};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// Fifty connections with sixteen commands each had all turns with a few commands, whose answers none of them looked at while it waited for the turn of its next;
/// so nobody was served any more, the fifty-first neither.
#[test]
fn deep_pipelines_on_many_connections_are_served() {
    served(|server| {
        let sets: String = (0..40).map(|key| format!("SET k{key} v\r\n")).collect();
        let mut streams: Vec<_> = (0..50).map(|_| connected(server)).collect();
        streams.iter_mut().for_each(|stream| stream.write_all(sets.as_bytes()).expect("taken"));
        for stream in &mut streams {
            let mut answers = [0; 40 * 5];
            stream.read_exact(&mut answers).expect("an answer to each");
            assert_eq!(answers[..], *b"+OK\r\n".repeat(40));
        }
    });
}

/// Who asks for much and takes nothing waits in the middle of its answers, and others are served at once.
#[test]
fn who_takes_no_answers_has_no_turns() {
    served(|server| {
        let mut one = connected(server);
        let value = "v".repeat(16 << 10);
        one.write_all(format!("SET k {value}\r\n").as_bytes()).expect("taken");
        one.read_exact(&mut [0; 5]).expect("an answer");
        let gets = b"GET k\r\n".repeat(1000);
        let greedy: Vec<_> = (0..20)
            .map(|_| {
                let mut stream = connected(server);
                stream.write_all(&gets).expect("taken");
                stream
            })
            .collect();
        one.set_read_timeout(Some(Duration::from_secs(8))).expect("it can be set");
        for _ in 0..300 {
            one.write_all(b"SET other v\r\n").expect("taken");
            one.read_exact(&mut [0; 5]).expect("an answer, sooner than anybody is closed");
        }
        drop(greedy);
    });
}

/// A page in a browser may have it send a form to any address of this machine: its lines were unknown commands, and the body of the form, which the
/// page chooses, was carried out.
#[test]
fn what_a_browser_sends_is_no_command() {
    served(|server| {
        let mut keeps = connected(server);
        keeps.write_all(b"SET key value\r\n").expect("it takes it");
        let mut answer = [0; 5];
        keeps.read_exact(&mut answer).expect("an answer");
        let sent = [
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\n",
            "OPTIONS / HTTP/1.1\r\nhost: 127.0.0.1:6379\r\n",
            "*1\r\n$4\r\npost\r\n",
        ];
        for sent in sent {
            let mut page = connected(server);
            let body = "Content-Type: text/plain\r\n\r\nFLUSHALL\r\n";
            page.write_all(format!("{sent}{body}").as_bytes()).expect("it takes it");
            let mut answers = String::new();
            page.read_to_string(&mut answers).expect("it is closed");
            assert!(!answers.contains("OK"), "{answers}");
            keeps.write_all(b"EXISTS key\r\n").expect("it takes it");
            let mut answer = [0; 4];
            keeps.read_exact(&mut answer).expect("an answer");
            assert_eq!(&answer, b":1\r\n", "{sent}");
        }
    });
}

/// What the system waits for on the connection to this port of ours: `01` for what was sent, `02` for a sign of life.
fn awaited(of_port: u16, peer_port: u16) -> String {
    let table = fs::read_to_string("/proc/net/tcp").expect("there is one");
    let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_of = |text: &str, port| text.ends_with(&format!(":{port:04X}"));
    let mut row = row.filter(|row| is_of(row[1], of_port) && is_of(row[2], peer_port));
    row.next().expect("it is connected")[5][..2].to_owned()
}

/// A client whose machine or network had gone kept its place for ever, but under `--idle`.
#[test]
fn a_peer_by_tcp_is_asked_whether_it_is_there() {
    served(|server| {
        let mut stream = TcpStream::connect(server.tcp).expect("it listens");
        let own = stream.local_addr().expect("it is connected").port();
        stream.write_all(b"PING\r\n").expect("taken");
        stream.read_exact(&mut [0; 7]).expect("an answer");
        let awaited = loop {
            match awaited(server.tcp.port(), own) {
                answer if answer == "01" => thread::yield_now(),
                other => break other,
            }
        };
        assert_eq!(awaited, "02");
    });
}
