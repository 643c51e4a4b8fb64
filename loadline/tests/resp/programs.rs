//! The original's own programs, and a client library in Python.

use crate::server::{Server, has};
use std::process::Command;

#[test]
fn redis_cli_and_redis_benchmark_are_served() {
    if !has("redis-benchmark", "redis-tools") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 256MiB");
    let socket = server.socket.to_str().expect("it is text");
    let cli = |words: &[&str]| {
        let out = Command::new("redis-cli").args(["-s", socket]).args(words).output();
        String::from_utf8(out.expect("it runs").stdout).expect("it is text")
    };
    assert_eq!(cli(&["SET", "ada", "1815"]), "OK\n");
    assert_eq!(cli(&["GET", "ada"]), "1815\n");
    assert_eq!(cli(&["-3", "HSET", "h", "a", "1"]), "1\n");
    assert_eq!(cli(&["-3", "--json", "HGETALL", "h"]), "{\"a\":\"1\"}\n");
    assert!(cli(&["INFO", "server"]).contains("loadline_version:"));
    assert!(cli(&["--scan"]).contains("ada"));
    let tests = "ping_inline,ping_mbulk,set,get,incr,hset,mset";
    for pipeline in ["1", "16"] {
        let out = Command::new("redis-benchmark")
            .args(["-s", socket, "-n", "200", "-c", "20", "-P", pipeline, "-t", tests, "--csv"])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{said} {}", String::from_utf8_lossy(&out.stderr));
        assert!(said.lines().count() >= 7, "{said}");
        assert!(!said.to_lowercase().contains("error"), "{said}");
    }
    server.end();
}

const PYTHON: &str = r#"
import sys
try:
    import redis
except ImportError:
    print("skipped: there is no redis for python3 (apt install python3-redis)")
    sys.exit()
r = redis.Redis(unix_socket_path=sys.argv[1], decode_responses=True)
assert r.ping() and r.set("a", "1") and r.incr("a") == 2
r.hset("h", mapping={"x": "1", "y": "2"})
assert r.hgetall("h") == {"x": "1", "y": "2"}
assert sorted(r.scan_iter()) == ["a", "h"]
with r.pipeline() as p:
    p.watch("a")
    n = int(p.get("a"))
    p.multi()
    p.set("a", n + 40)
    p.get("a")
    assert p.execute() == [True, "42"]
assert r.set("t", "1", px=100000) and 0 < r.pttl("t") <= 100000
try:
    r.lpush("l", "1")
    raise SystemExit("lists are not served")
except redis.ResponseError as error:
    assert "unknown command" in str(error)
print("served")
"#;

#[test]
fn a_client_library_in_python_is_served() {
    if !has("/usr/bin/python3", "python3") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "--size 64MiB");
    let out = Command::new("/usr/bin/python3").args(["-c", PYTHON]).arg(&server.socket).output();
    let out = out.expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    print!("{said}");
    assert!(said.starts_with("served") || said.starts_with("skipped"), "{said}");
}
