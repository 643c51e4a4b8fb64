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
