//! A server under test, and clients of it.

use crate::program::command;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// It ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) socket: PathBuf,
    pub(crate) port: u16,
}

impl Server {
    /// Serves the database in `folder/db`, with these arguments besides, which have no spaces of their own.
    pub(crate) fn start(folder: &Path, arguments: &str) -> Server {
        Server::start_at(folder, "127.0.0.1:0", arguments)
    }

    /// The same, listening at another address besides the socket.
    pub(crate) fn start_at(folder: &Path, tcp: &str, arguments: &str) -> Server {
        let socket = folder.join("kv.sock");
        let mut process = command(folder)
            .args(["kv", "serve", "--dir", "db", "--socket", "kv.sock", "--tcp", tcp])
            .args(arguments.split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says something");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no address in `{line}`"));
        Server { process, socket, port }
    }

    /// A client of the `redis` crate at the socket.
    pub(crate) fn client(&self) -> redis::Connection {
        self.client_as("")
    }

    /// The same with a query for its address (`?protocol=resp3`).
    pub(crate) fn client_as(&self, query: &str) -> redis::Connection {
        let address = format!("redis+unix://{}{query}", self.socket.display());
        let client = redis::Client::open(address).expect("it is an address");
        client.get_connection().expect("somebody listens")
    }

    /// A connection at the socket, byte by byte.
    pub(crate) fn raw(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
        stream
    }

    pub(crate) fn tcp(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("somebody listens")
    }

    /// Memory that it has now, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Memory that it has had at most.
    pub(crate) fn peak(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let line = status.lines().find(|line| line.starts_with(which)).expect("it has some");
        let kib: u64 = line.split_whitespace().nth(1).expect("a number").parse().expect("of KiB");
        kib << 10
    }

    /// `kill -9`; it has ended when this is dropped.
    pub(crate) fn strike(&self) {
        self.signal("-KILL");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.expect("there is kill").success());
    }

    /// SIGTERM: it ends by itself, and with 0.
    pub(crate) fn end(mut self) {
        self.signal("-TERM");
        assert!(self.process.wait().expect("it ends").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A file of users that nobody else may read.
pub(crate) fn write_users(path: &Path, text: &str) {
    fs::write(path, text).expect("it can be written");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
}

/// Sends bytes, and reads until what came ends so.
pub(crate) fn talk(stream: &mut (impl Read + Write), sent: &[u8], until: &str) -> String {
    stream.write_all(sent).expect("it is taken");
    let mut came = Vec::new();
    let mut part = [0; 4096];
    while !came.ends_with(until.as_bytes()) {
        let length = stream.read(&mut part).expect("it answers");
        let text = String::from_utf8_lossy(&came).into_owned();
        assert!(length > 0, "`{text}` does not end in `{until}`");
        came.extend_from_slice(&part[..length]);
    }
    String::from_utf8(came).expect("it is text")
}

/// Lets the server go on for so long.
#[expect(clippy::disallowed_methods, reason = "the server lives in real time")]
pub(crate) fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

/// Whether there is a program, with a line if not.
pub(crate) fn has(program: &str, package: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is_there = found.is_ok_and(|found| found.status.success());
    if !is_there {
        println!("skipped: there is no {program} (apt install {package})");
    }
    is_there
}
