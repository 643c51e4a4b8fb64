//! What was answered is there after a `kill -9`, and a full database refuses what needs room and goes on.

use crate::server::{Server, pause};
use redis::cmd;
use std::sync::Mutex;
use std::thread;

/// Under `appendfsync always` every answered SET is there, and under `everysec` too: a kill takes the process and not the machine.
#[test]
fn answered_writes_survive_kills() {
    let folder = tempfile::tempdir().expect("a folder");
    let answered = Mutex::new(0_u64);
    for round in 0..6 {
        let mode = ["always", "everysec"][round % 2];
        let server = Server::start(folder.path(), &format!("--size 64MiB --appendfsync {mode}"));
        let client = &mut server.client();
        let there = *answered.lock().expect("nobody panicked");
        for number in (0..there).rev().take(500) {
            let value: Option<u64> = cmd("GET").arg(number).query(client).expect("an answer");
            assert_eq!(value, Some(number), "round {round}: an answered write is gone");
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                let client = &mut server.client();
                loop {
                    let mut next = answered.lock().expect("nobody panicked");
                    let set = cmd("SET").arg(*next).arg(*next).query::<()>(client);
                    match set {
                        Ok(()) => *next += 1,
                        Err(_) => break,
                    }
                }
            });
            pause(200);
            server.strike();
        });
    }
    assert!(*answered.lock().expect("nobody panicked") > 0);
}

#[test]
fn a_full_database_refuses_writes_and_serves_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 16MiB --cache 8MiB");
    let client = &mut server.client();
    let value = vec![b'v'; 8 << 10];
    let mut kept = 0;
    let refusal = loop {
        match cmd("SET").arg(kept).arg(&value[..]).query::<()>(client) {
            Ok(()) => kept += 1,
            Err(error) => break error.to_string(),
        }
        assert!(kept < 4096, "16 MiB hold more than 32");
    };
    assert!(refusal.contains("the database is full"), "{refusal}");
    let first: Vec<u8> = cmd("GET").arg(0).query(client).expect("reads go on");
    assert_eq!(first, value);
    for number in 0..kept / 2 {
        cmd("DEL").arg(number).query::<()>(client).expect("removals go on");
    }
    cmd("SET").arg("again").arg(&value[..]).query::<()>(client).expect("there is room");
    server.end();
}
