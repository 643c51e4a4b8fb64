//! What a client library asks for is answered, in both versions of the protocol, alone and in transactions.

use crate::program::{check, loadline, text};
use crate::server::{Server, pause, talk};
use redis::{Connection, Value, cmd};
use std::collections::{BTreeMap, BTreeSet};

fn ask<T: redis::FromRedisValue>(client: &mut Connection, words: &str) -> T {
    let mut words = words.split_whitespace();
    let mut command = cmd(words.next().expect("a name"));
    for word in words {
        command.arg(word);
    }
    command.query(client).expect("it is answered")
}

/// What `INFO` counts under this name.
fn counted(client: &mut Connection, name: &str) -> u64 {
    let info: String = ask(client, "INFO persistence");
    let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.expect("it is there").parse().expect("a count")
}

/// Each flush writes the block again that is not full yet, which the bytes of the records do not tell.
#[test]
fn what_the_log_holds_is_told_apart_from_what_its_disk_gets() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB --appendfsync always");
    let client = &mut server.client_as("");
    for _ in 0..10 {
        ask::<()>(client, "SET a 1");
    }
    let [records, written] =
        ["loadline_log_bytes", "loadline_log_device_bytes"].map(|name| counted(client, name));
    assert!(records < 10 * 4096 && written >= 10 * 4096, "{records} {written}");
    server.end();
}

fn refused(client: &mut Connection, words: &str) -> String {
    let mut words = words.split_whitespace();
    let mut command = cmd(words.next().expect("a name"));
    for word in words {
        command.arg(word);
    }
    command.query::<Value>(client).expect_err("it is refused").to_string()
}

#[test]
fn strings_hashes_and_their_expiry_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB");
    for query in ["", "?protocol=resp3"] {
        let client = &mut server.client_as(query);
        assert_eq!(ask::<String>(client, "SET a 1"), "OK");
        assert_eq!(ask::<i64>(client, "INCRBY a 41"), 42);
        assert_eq!(ask::<Option<String>>(client, "GET a"), Some("42".to_owned()));
        assert_eq!(ask::<Option<String>>(client, "GET none"), None);
        assert_eq!(ask::<Option<String>>(client, "SET a 2 NX"), None);
        assert_eq!(ask::<i64>(client, "APPEND a x"), 3);
        ask::<()>(client, "MSET b 1 c 2");
        let three: Vec<Option<String>> = ask(client, "MGET a b none");
        assert_eq!(three, [Some("42x".to_owned()), Some("1".to_owned()), None]);
        assert_eq!(ask::<i64>(client, "DEL a b none"), 2);

        assert_eq!(ask::<i64>(client, "HSET h one 1 two 2"), 2);
        assert_eq!(ask::<i64>(client, "HINCRBY h two 40"), 42);
        let all: BTreeMap<String, i64> = ask(client, "HGETALL h");
        assert_eq!(all, BTreeMap::from([("one".to_owned(), 1), ("two".to_owned(), 42)]));
        assert!(refused(client, "GET h").contains("WRONGTYPE"));
        assert_eq!(ask::<String>(client, "TYPE h"), "hash");

        ask::<()>(client, "SET short 1 PX 30");
        assert!((1..=30).contains(&ask::<i64>(client, "PTTL short")));
        while ask::<i64>(client, "EXISTS short") == 1 {
            pause(5);
        }
        assert_eq!(ask::<i64>(client, "TTL short"), -2);
        assert_eq!(ask::<i64>(client, "TTL h"), -1);
        ask::<()>(client, "FLUSHALL");
    }
    server.end();
}

#[test]
fn a_walk_sees_every_key_once_and_databases_are_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB");
    let client = &mut server.client();
    let mut pipeline = redis::pipe();
    for number in 0..1000 {
        pipeline.cmd("SET").arg(format!("k{number}")).arg(number);
    }
    pipeline.query::<()>(client).expect("all are answered");
    ask::<()>(client, "SELECT 3");
    ask::<()>(client, "SET elsewhere 1");
    assert_eq!(ask::<i64>(client, "DBSIZE"), 1);
    ask::<()>(client, "SELECT 0");
    assert_eq!(ask::<i64>(client, "DBSIZE"), 1000);
    let (mut cursor, mut seen, mut turns) = (0_u64, BTreeSet::new(), 0);
    loop {
        let (next, keys): (u64, Vec<String>) =
            ask(client, &format!("SCAN {cursor} MATCH k* COUNT 70"));
        keys.into_iter().for_each(|key| assert!(seen.insert(key), "a key came twice"));
        (cursor, turns) = (next, turns + 1);
        if next == 0 {
            break;
        }
    }
    assert_eq!((seen.len(), turns), (1000, 15));
    let found: Vec<String> = ask(client, "KEYS k99?");
    assert_eq!(found.len(), 10);
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB");
    let client = &mut server.client();
    for (words, says) in [
        ("LPUSH l 1", "unknown command 'lpush'"),
        ("SUBSCRIBE c", "unknown command 'subscribe'"),
        ("EVAL x 0", "unknown command 'eval'"),
        ("CLIENT KILL x", "unknown subcommand 'kill' of CLIENT"),
        ("CONFIG SET maxmemory 1", "cannot be set"),
        ("GET", "wrong number of arguments for 'get'"),
        ("SET a 1 EX 0", "invalid expire time"),
        ("SELECT 16", "0 to 15"),
        ("HELLO 4", "unsupported protocol version"),
        ("EXEC", "EXEC without MULTI"),
    ] {
        let refusal = refused(client, words);
        assert!(refusal.contains(says), "{words}: `{refusal}` should contain `{says}`");
    }
    // What cannot be told apart ends the connection, with a sentence.
    let mut raw = server.raw();
    let end = talk(&mut raw, b"*1\r\n$-7\r\n", "\r\n");
    assert!(end.contains("invalid bulk length"), "{end}");
    let typed = talk(&mut server.tcp(), b"PING hello\r\n", "\r\n");
    assert_eq!(typed, "$5\r\nhello\r\n");
}

/// Whoever counts in one key under WATCH loses no turn, however many do.
#[test]
fn transactions_under_watch_are_serialisable() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let client = &mut server.client();
                for _ in 0..40 {
                    loop {
                        ask::<()>(client, "WATCH sum count");
                        let sum: Option<i64> = ask(client, "GET sum");
                        let count: Option<i64> = ask(client, "GET count");
                        ask::<()>(client, "MULTI");
                        let (sum, count) = (sum.unwrap_or(0), count.unwrap_or(0) + 1);
                        ask::<()>(client, &format!("SET count {count}"));
                        ask::<()>(client, &format!("SET sum {}", sum + count));
                        if ask::<Option<Vec<Value>>>(client, "EXEC").is_some() {
                            break;
                        }
                    }
                }
            });
        }
    });
    let client = &mut server.client();
    assert_eq!(ask::<i64>(client, "GET count"), 160);
    assert_eq!(ask::<i64>(client, "GET sum"), 160 * 161 / 2);
    // A transaction with a command that was refused is carried out nowhere.
    ask::<()>(client, "MULTI");
    ask::<()>(client, "SET count 0");
    assert!(refused(client, "NOSUCH 1").contains("unknown command"));
    assert!(refused(client, "EXEC").contains("Transaction discarded"));
    assert_eq!(ask::<i64>(client, "GET count"), 160);
}

/// A flush removed keys and left the notes of when they were to expire: of each session that was kept for a day, until that day was over.
#[test]
fn a_flush_leaves_no_notes_of_times_to_live() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let server = Server::start(path, "--size 64MiB --appendfsync no");
    let client = &mut server.client();
    for database in [1, 0] {
        ask::<()>(client, &format!("SELECT {database}"));
        for key in 0..300 {
            // The note of an earlier time is another one.
            ask::<()>(client, &format!("SETEX k{key} 86400 v"));
            ask::<()>(client, &format!("SETEX k{key} 864000 v"));
        }
    }
    ask::<()>(client, "FLUSHDB");
    server.end();
    let keys = || {
        check(path, "kv verify --dir db", 0, "free pages");
        let told = text(&loadline(path, "inspect db/data keys --most 9999").stdout);
        told.lines().filter(|line| line.contains(" 0x")).count()
    };
    assert_eq!(keys(), 3 * 300, "the other database's, each with its two notes");
    let server = Server::start(path, "");
    assert_eq!(ask::<String>(&mut server.client(), "FLUSHALL"), "OK");
    server.end();
    assert_eq!(keys(), 0);
}

/// A flush kept one snapshot to its end, for which every value that it removed was read and kept: beyond the memory for that it stopped half-way with an error.
#[test]
fn a_flush_removes_more_than_there_is_memory_for_former_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 512MiB --cache 64MiB --appendfsync no");
    let client = &mut server.client();
    let value = vec![b'v'; 100 << 10];
    for key in 0..800 {
        cmd("SET").arg(format!("k{key:03}")).arg(&value[..]).query::<()>(client).expect("it fits");
    }
    // Who watches a key is none of those for whom they would be kept.
    let watcher = &mut server.client();
    ask::<()>(watcher, "WATCH another");
    assert_eq!(ask::<String>(client, "FLUSHALL"), "OK");
    assert_eq!(ask::<i64>(client, "DBSIZE"), 0);
    ask::<()>(watcher, "MULTI");
    ask::<()>(watcher, "SET another 1");
    assert_eq!(ask::<Option<Vec<String>>>(watcher, "EXEC"), Some(vec!["OK".to_owned()]));
    server.end();
}
