//! What one request may have, and what counts of its answer.

use crate::{connected, served, talk};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;

/// A request of more than 65,536 strings ended its connection, and with it what was on its way: 1,048,576 may be, as at the original.
#[test]
fn a_request_may_name_many_keys() {
    const KEYS: usize = 70_000;
    served(|server| {
        let mut stream = connected(server);
        let keys: String = (0..KEYS).map(|key| format!("$6\r\n{key:06}\r\n")).collect();
        let del = format!("*{}\r\n$3\r\nDEL\r\n{keys}", KEYS + 1);
        assert_eq!(talk(&mut stream, del.as_bytes(), "\r\n"), ":0\r\n");
        assert_eq!(talk(&mut stream, b"PING\r\n", "\r\n"), "+PONG\r\n");
    });
}

/// Each pattern was made into tables, thousands in a request, and nobody was served meanwhile.
#[test]
fn the_patterns_of_a_command_are_together_no_longer_than_one_may_be() {
    served(|server| {
        let mut stream = connected(server);
        let many = format!("CONFIG GET {}\r\n", "*a*b*c?d ".repeat(130));
        let refusal = talk(&mut stream, many.as_bytes(), "\r\n");
        assert_eq!(refusal, "-ERR the patterns of a command have at most 1024 bytes\r\n");
        let told = talk(&mut stream, b"CONFIG GET SAV? data* none\r\n", "$0\r\n\r\n");
        assert_eq!(told, "*4\r\n$9\r\ndatabases\r\n$2\r\n16\r\n$4\r\nsave\r\n$0\r\n\r\n");
    });
}

/// What `INFO` counts under this name.
fn counted(stream: &mut UnixStream, name: &str) -> u64 {
    let info = talk(stream, b"INFO\r\nPING\r\n", "+PONG\r\n");
    let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.expect("it is there").parse().expect("a count")
}

/// Of an answer that tells one field many times, only what was read for it counted, until it was sent.
#[test]
fn answers_count_as_long_as_they_are() {
    const ASKED: u64 = 16;
    served(|server| {
        let [mut asks, mut looks] = [connected(server), connected(server)];
        let set = format!("HSET h f {}\r\n", "v".repeat(30 << 10));
        assert_eq!(talk(&mut asks, set.as_bytes(), "\r\n"), ":1\r\n");
        let get = format!("HMGET h{}\r\n", " f".repeat(100));
        asks.write_all(get.repeat(ASKED as usize).as_bytes()).expect("it is taken");
        while counted(&mut looks, "keyspace_hits") < ASKED {
            thread::yield_now();
        }
        // It takes none of its answers, of three million bytes each.
        let held = counted(&mut looks, "loadline_held_bytes");
        assert!(held > 40 << 20, "{} MiB", held >> 20);
    });
}
