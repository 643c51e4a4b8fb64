//! What is typed wrong is answered in a sentence.

use crate::program::check;
use crate::server::Server;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_cannot_be_served_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    check(path, "kv serve --dir db", 2, "there is nothing to listen on");
    check(path, "kv serve --dir db --tcp 0.0.0.0:6379", 2, "through TLS alone: give --tls-cert");
    let half = "kv serve --dir db --tcp 127.0.0.1:0 --tls-certificate cert.pem";
    check(path, half, 2, "--tls-key: TLS takes the key of its certificate");
    let never = "kv serve --dir db --socket s --appendfsync never";
    check(path, never, 2, "it is always, everysec or no");
    for (flag, says) in [
        ("--memory 1", "--memory 1 B: it takes at least 16 MiB, since one request may have half"),
        ("--clients 0", "--clients 0: nobody would be served; it takes at least 1"),
        ("--idle 0s", "--idle 0ns: connections would be closed before their first command"),
        ("--idle 999ms", "--idle 999ms: connections would be closed before their first command"),
    ] {
        check(path, &format!("kv serve --dir db --socket s {flag}"), 2, says);
    }
    let crowd = "kv serve --dir db --socket s --clients 100000000";
    check(path, crowd, 1, "--clients 100000000: connections take a descriptor each, and ");
    let most = format!("kv serve --dir db --socket s --clients {}", u64::MAX);
    check(path, &most, 1, "raise `ulimit -n`");
    check(path, "kv serve --dir db --socket s --users none", 2, "cannot read none");
    fs::write(path.join("users"), "[user.a]\nlimits = 3\n").expect("it can be written");
    check(
        path,
        "kv serve --dir db --socket s --users users",
        2,
        "users: line 2: unknown field `limits`",
    );
    fs::write(path.join("users"), "[user.a]\nlimit = 3\nreservation = 5\n").expect("it too");
    check(path, "kv serve --dir db --socket s --users users", 2, "its limit is below its");
    // The passwords were read, where everybody could; a key of TLS was not.
    fs::write(path.join("users"), "[user.a]\npassword = \"lace\"\n").expect("it too");
    fs::set_permissions(path.join("users"), Permissions::from_mode(0o644)).expect("it is ours");
    let open = "users: everybody on this machine may read the passwords in it; take that right";
    check(path, "kv serve --dir db --socket s --users users", 2, open);
    fs::write(path.join("users"), b"\xff").expect("it too");
    check(path, "kv serve --dir db --socket s --users users", 2, "users: is no text");

    assert!(!path.join("db").exists(), "nothing is made before all is known to be right");

    // Terms without passwords are no secret.
    fs::write(path.join("users"), "[user.default]\n").expect("it too");
    Server::start(path, "--size 64MiB --users users").end();
    let server = Server::start(path, "");
    let mode = fs::metadata(&server.socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Another has the database, and another the port.
    check(path, "kv serve --dir db --socket other.sock", 1, "");
    let port = format!("kv serve --dir db2 --size 64MiB --tcp 127.0.0.1:{}", server.port);
    check(path, &port, 1, "another process listens there");
    assert!(!path.join("db2").exists(), "a database was made that nobody can serve");
    server.end();
    assert!(!path.join("kv.sock").exists(), "the socket goes with the server");
    // A socket that nobody listens at any more is in nobody's way.
    Server::start(path, "").strike();
    Server::start(path, "").end();
}
