//! Connections that say nothing, take nothing or send without end keep nobody out and take no more memory than there may be.

use crate::server::{Server, pause, talk};
use redis::cmd;
use std::io::Write;
use std::time::Duration;

#[test]
fn a_crowd_keeps_nobody_out_and_takes_no_more_than_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = "--size 256MiB --cache 32MiB --memory 16MiB --clients 300";
    let server = Server::start(folder.path(), arguments);
    let client = &mut server.client();
    let value = vec![b'v'; 16 << 10];
    for key in 0..64 {
        cmd("SET").arg(key).arg(&value[..]).query::<()>(client).expect("it is kept");
    }
    let before = server.resident();
    // Some say nothing, some ask for much and take nothing, some begin a request that they do not end.
    let silent: Vec<_> = (0..100).map(|_| server.raw()).collect();
    let asks: Vec<u8> =
        (0..20_000).flat_map(|n| format!("GET {}\r\n", n % 64).into_bytes()).collect();
    let greedy: Vec<_> = (0..50).map(|_| pushed(&server, &asks)).collect();
    let begun: Vec<u8> =
        [b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$8000000\r\n".to_vec(), vec![b'x'; 6 << 20]].concat();
    let unending: Vec<_> = (0..50).map(|_| pushed(&server, &begun)).collect();
    for _ in 0..200 {
        let length: usize = cmd("STRLEN").arg(1).query(client).expect("it is served on");
        assert_eq!(length, value.len());
    }
    let more = server.resident().saturating_sub(before);
    assert!(more < 160 << 20, "{} MiB more", more >> 20);
    drop((silent, greedy, unending));
    wait_until_alone(client);

    // Beyond the number that may be, a sentence; and room again when they are gone.
    let many: Vec<_> = (0..310).map(|_| server.raw()).collect();
    let refused = many.into_iter().next_back().map(|mut last| talk(&mut last, b"", "\r\n"));
    assert_eq!(refused.as_deref(), Some("-ERR max number of clients reached\r\n"));
    wait_until_alone(client);
    let mut again = server.raw();
    assert_eq!(talk(&mut again, b"PING\r\n", "\r\n"), "+PONG\r\n");
}

/// Transactions that were begun and not ended held the memory for requests for ever, and who had more than a little to send was closed for it.
#[test]
fn who_begins_a_transaction_and_stands_still_keeps_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 512MiB --cache 32MiB --memory 16MiB");
    let client = &mut server.client();
    let value = vec![b'v'; 50 << 10];
    let head = format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n", value.len());
    let set = [head.as_bytes(), &value, b"\r\n"].concat();
    let begin = |commands: usize| {
        let mut stream = server.raw();
        assert_eq!(talk(&mut stream, b"MULTI\r\n", "\r\n"), "+OK\r\n");
        let said = (0..commands).map(|_| talk(&mut stream, &set, "\r\n"));
        let last = said.last().expect("there are some");
        (stream, last)
    };
    // What they will take when they are carried out counts as they come, and is no more than one may have, nor than there is.
    let (_, last) = begin(31);
    assert!(last.starts_with("-ERR this transaction takes 1"), "{last}");
    let begun = [28, 10].map(|commands| {
        let (stream, last) = begin(commands);
        assert_eq!(last, "+QUEUED\r\n");
        stream
    });
    let (_, last) = begin(3);
    assert!(last.contains("the memory for requests and answers is used up"), "{last}");
    let large = vec![b'v'; 200 << 10];
    for key in 0..20 {
        let kept = cmd("SET").arg(key).arg(&large[..]).query::<String>(client);
        assert_eq!(kept.expect("there is room"), "OK");
    }
    drop(begun);
    server.end();
}

/// What a transaction makes of its keys was counted when it was handed to the database: some KiB of commands took all of the machine's memory before.
#[test]
fn a_transaction_makes_no_more_than_the_database_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 256MiB --cache 32MiB --memory 16MiB");
    let client = &mut server.client();
    let before = server.resident();
    let refused = |command: &dyn Fn(u32) -> String, count| {
        let commands: String = (0..count).map(command).collect();
        let sent = format!("MULTI\r\n{commands}EXEC\r\nECHO end\r\n");
        let said = talk(&mut server.raw(), sent.as_bytes(), "end\r\n");
        said.lines().find(|line| line.starts_with('-')).unwrap_or_default().to_owned()
    };
    let long = refused(&|key| format!("SETRANGE {key} {} x\r\n", (8 << 20) - 1), 100);
    assert!(long.contains("a value has 8388610 bytes"), "{long}");
    // One value that the database takes, copied until there are too many.
    let value = vec![b'v'; 60 << 10];
    cmd("SET").arg("a").arg(&value[..]).query::<()>(client).expect("it is kept");
    let many = refused(&|key| format!("COPY a b{key} REPLACE\r\n"), 5000);
    assert!(many.contains("bytes of the log"), "{many}");
    let often = refused(&|_| "COPY a same REPLACE\r\n".to_owned(), 5000);
    assert!(often.contains("ask for fewer at a time"), "{often}");
    let more = server.peak().saturating_sub(before);
    assert!(more < 100 << 20, "{} MiB more", more >> 20);
    let name = vec![b'n'; 1 << 20];
    let refused = cmd("CLIENT").arg("SETNAME").arg(&name[..]).query::<()>(client);
    assert!(
        refused.expect_err("it is kept for as long").to_string().contains("a connection's name")
    );
    server.end();
}

/// What a request under way takes did not count: a removal of 480,000 keys took 441 MB, whatever `--memory` said, and several at a time several times that.
#[test]
fn requests_of_many_keys_take_from_the_memory_before_they_are_read_whole() {
    const MEMORY: u64 = 64 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 256MiB --cache 32MiB --memory 64MiB");
    let removal = |keys: usize| {
        let names: String = (0..keys).map(|key| format!("$6\r\n{key:06}\r\n")).collect();
        format!("*{}\r\n$3\r\nDEL\r\n{names}", keys + 1)
    };
    let many = removal(40_000);
    // It has what it needs of the rest by then.
    assert_eq!(talk(&mut server.raw(), many.as_bytes(), "\r\n"), ":0\r\n");
    let before = server.resident();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut stream = server.raw();
                // Each waits for room, and is served when it is there.
                assert_eq!(talk(&mut stream, many.as_bytes(), "\r\n"), ":0\r\n");
            });
        }
    });
    let mut stream = server.raw();
    let refused = talk(&mut stream, removal(480_000).as_bytes(), "\r\n");
    assert!(refused.starts_with("-ERR DEL with 480001 strings takes 2"), "{refused}");
    assert!(refused.contains("of --memory; name fewer keys at a time"), "{refused}");
    assert_eq!(talk(&mut stream, b"PING\r\n", "\r\n"), "+PONG\r\n", "it goes on behind that");
    let more = server.peak().saturating_sub(before);
    assert!(more < MEMORY, "{} MiB more", more >> 20);
    server.end();
}

/// An answer that tells one value many times counted when it was made: each connection could have one of 32 MiB beside what there was.
#[test]
fn answers_take_from_the_memory_before_they_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 512MiB --cache 32MiB --memory 64MiB");
    let client = &mut server.client();
    let value = vec![b'v'; 200 << 10];
    cmd("SET").arg("long").arg(&value[..]).query::<()>(client).expect("it is kept");
    cmd("SET").arg("k").arg(&value[..100 << 10]).query::<()>(client).expect("it is kept");
    let many = format!("MGET{}\r\n", " k".repeat(200));
    let all: Vec<Vec<u8>> = cmd("MGET").arg(&["k"; 200]).query(client).expect("it is told");
    assert!(all.len() == 200 && all.iter().all(|told| told[..] == value[..100 << 10]));
    let before = server.resident();
    let greedy: Vec<_> = (0..20).map(|_| pushed(&server, many.as_bytes())).collect();
    for number in 0..200 {
        let kept = cmd("SET").arg(number).arg("v").query::<String>(client);
        assert_eq!(kept.expect("who asks for little is served"), "OK");
        let length: usize = cmd("STRLEN").arg("long").query(client).expect("it is served on");
        assert_eq!(length, value.len());
    }
    drop(greedy);
    // One more that is being made, and what the allocator keeps.
    let more = server.peak().saturating_sub(before);
    assert!(more < 130 << 20, "{} MiB more", more >> 20);
    server.end();
}

/// The server notices by itself that connections have gone.
fn wait_until_alone(client: &mut redis::Connection) {
    loop {
        let info: String = cmd("INFO").arg("clients").query(client).expect("it is told");
        if info.contains("connected_clients:1\r\n") {
            return;
        }
        pause(10);
    }
}

/// A connection that has sent as much of this as is taken without a wait.
fn pushed(server: &Server, bytes: &[u8]) -> std::os::unix::net::UnixStream {
    let mut stream = server.raw();
    stream.set_write_timeout(Some(Duration::from_millis(50))).expect("it can be set");
    drop(stream.write_all(bytes));
    stream
}
