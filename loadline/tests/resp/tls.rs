//! Redis' protocol through TLS, as the original's own programs speak it: who comes in, and what becomes of who does not.

use crate::authority::{Authority, Signed};
use crate::program::check;
use crate::server::{Server, has, pause, talk, write_users};
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const USERS: &str = "[user.default]\npassword = \"abracadabra\"\n[user.ada]\npassword = \"1815\"\n";

/// A CA, what it has signed for the server, and the flags for both.
fn certified(folder: &Path) -> (Authority, String) {
    let authority = Authority::new(folder, "own");
    authority.sign("kv", &["localhost", "127.0.0.1"], 2120);
    write_users(&folder.join("users"), USERS);
    (authority, "--tls-certificate kv-cert.pem --tls-key kv-key.pem --size 64MiB".to_owned())
}

/// What `redis-cli` or `redis-benchmark` says through TLS, by this CA and perhaps with a certificate of its own.
fn say(
    (folder, server): (&Path, &Server),
    (program, ca): (&str, &str),
    own: Option<&Signed>,
    words: &str,
) -> String {
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "--tls", "--cacert", ca]);
    if let Some(Signed { certificate, key }) = own {
        command.arg("--cert").arg(certificate).arg("--key").arg(key);
    }
    let out = command.args(words.split(' ')).current_dir(folder).output().expect("it runs");
    let (said, failed) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    format!("{said}{failed}")
}

/// How many connections have come to nothing, as the socket is told.
fn failures(server: &Server) -> u64 {
    let mut raw = server.raw();
    let said = talk(&mut raw, b"AUTH abracadabra\r\nINFO stats\r\nECHO end\r\n", "end\r\n");
    let line = said.lines().find_map(|line| line.strip_prefix("loadline_tls_failed:"));
    line.expect("it is told").parse().expect("a number")
}

#[test]
fn the_originals_programs_are_served_through_tls() {
    if !has("redis-benchmark", "redis-tools") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (_authority, flags) = certified(path);
    let server = Server::start_at(path, "0.0.0.0:0", &format!("{flags} --users users"));
    let cli = |words: &str| say((path, &server), ("redis-cli", "own-ca.pem"), None, words);
    assert_eq!(cli("--no-auth-warning -a abracadabra SET ada 1815"), "OK\n");
    assert_eq!(cli("--no-auth-warning --user ada --pass 1815 GET ada"), "1815\n");
    assert!(cli("GET ada").contains("NOAUTH"), "TLS alone makes nobody a user");
    assert!(cli("--no-auth-warning -a wrong GET ada").contains("WRONGPASS"));
    // An answer of many records; the benchmark's pipelines are requests of many.
    let long = "x".repeat(30_000);
    assert_eq!(cli(&format!("--no-auth-warning -a abracadabra SET long {long}")), "OK\n");
    let same = " long".repeat(40);
    let all = cli(&format!("--no-auth-warning -a abracadabra MGET{same}"));
    assert!(all.lines().count() == 40 && all.lines().all(|line| line == long));
    let many = "-a abracadabra -n 400 -c 20 -P 16 -d 1000 -t set,get,mset --csv";
    let said = say((path, &server), ("redis-benchmark", "own-ca.pem"), None, many);
    assert!(said.lines().count() >= 3 && !said.to_lowercase().contains("error"), "{said}");
    server.end();
}

#[test]
fn who_does_not_come_through_tls_does_not_come() {
    if !has("redis-cli", "redis-tools") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (authority, flags) = certified(path);
    let foreign = Authority::new(path, "foreign").sign("spy", &[], 2120);
    let flags = format!("{flags} --users users --tls-client-ca own-ca.pem");
    let server = Server::start(path, &flags);
    let words = "--no-auth-warning -a abracadabra PING";
    let ping = |ca, own| say((path, &server), ("redis-cli", ca), own, words);
    assert!(!ping("foreign-ca.pem", Some(&foreign)).contains("PONG"), "the client finds it out");
    assert!(!ping("own-ca.pem", None).contains("PONG"), "it shows no certificate");
    assert!(!ping("own-ca.pem", Some(&foreign)).contains("PONG"), "the CA does not know it");
    let mut plain = server.tcp();
    let mut said = Vec::new();
    std::io::Write::write_all(&mut plain, b"PING\r\n").expect("it is taken");
    // It is told so in TLS, and that is all.
    drop(plain.read_to_end(&mut said));
    assert!(!said.windows(4).any(|part| part == b"PONG"), "{said:?}");
    let turned_away = failures(&server);
    assert!(turned_away >= 4, "{turned_away}, and each program tries again");
    let own = authority.sign("client", &[], 2120);
    assert_eq!(ping("own-ca.pem", Some(&own)), "PONG\n");
    assert_eq!(failures(&server), turned_away);
    server.end();
}

/// Connections that say nothing, or not who they are, would keep all others out.
#[test]
fn who_keeps_a_place_for_nothing_loses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (_authority, flags) = certified(path);
    let server = Server::start(path, &format!("{flags} --users users --clients 2"));
    let is_closed = |mut stream: TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("it can be set");
        stream.read(&mut [0; 64]).expect("it ends, and does not last") == 0
    };
    let in_tls = server.tcp();
    let mut at_socket = server.raw();
    assert_eq!(talk(&mut at_socket, b"GET a\r\n", "\r\n"), "-NOAUTH Authentication required.\r\n");
    assert!(is_closed(server.tcp()), "there are two already");
    assert!(is_closed(in_tls), "it has not begun TLS");
    // To say something else is not to say who it is. Each pause is at least that long, so these are 80 seconds.
    let is_kept = |_: &u32| {
        pause(4000);
        let said = std::io::Write::write_all(&mut at_socket, b"RESET\r\n");
        said.is_ok() && at_socket.read(&mut [0; 64]).is_ok_and(|length| length > 0)
    };
    let resets = (0..20).take_while(is_kept).count();
    assert!(resets < 20, "it has not said who it is");
    assert_eq!(failures(&server), 1);
    server.end();
}

#[test]
fn what_is_served_outside_asks_everybody_who_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (_authority, flags) = certified(path);
    let serve = format!("kv serve --dir db --tcp 0.0.0.0:0 {flags}");
    check(path, &serve, 2, "not every user has a password: give a file of --users");
    write_users(&path.join("some"), &format!("{USERS}[user.guest]\n"));
    check(path, &format!("{serve} --users some"), 2, "not every user has a password");
    let nowhere = format!("kv serve --dir db --socket s {flags}");
    check(path, &nowhere, 2, "TLS is for a --tcp address, and there is none");
    assert!(!path.join("db").exists(), "nothing is made before all is known to be right");
}

/// Each connection had its handshake at once: who opened thousands had the server do nothing else, and who said nothing on them had all its places.
#[test]
#[expect(clippy::disallowed_methods, reason = "a pace is held against real time")]
fn one_peer_has_a_pace_of_handshakes_and_leaves_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (_authority, flags) = certified(path);
    let server = Server::start(path, &format!("{flags} --users users --clients 400"));
    let began = Instant::now();
    let gone: Vec<_> = (0..150).map(|_| server.tcp()).collect();
    drop(gone);
    while failures(&server) < 150 {
        pause(20);
    }
    let took = began.elapsed().as_millis();
    assert!(took >= 900, "{took} ms for 50 more than may begin at once");
    let silent: Vec<_> = (0..500).map(|_| server.tcp()).collect();
    let mut last = silent.last().expect("there are many");
    last.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
    assert!(last.read(&mut [0]).is_ok_and(|length| length == 0), "it is one too many");
    let said = talk(&mut server.raw(), b"AUTH abracadabra\r\nPING\r\n", "PONG\r\n");
    assert_eq!(said, "+OK\r\n+PONG\r\n", "half of the places are others'");
    server.end();
}
