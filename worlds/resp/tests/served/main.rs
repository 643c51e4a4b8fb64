//! The server as connections meet it, byte by byte, in one process with it.

mod bounds;
mod turns;

use loadline_base::Bytes;
use loadline_kv::{Db, DbOptions, LogMode};
use loadline_resp::{Listening, RespOptions, Users, serve};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Ends the server, also where a client finds something wrong: otherwise the test would wait for ever.
struct Ends<'s>(&'s AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where clients find the server.
pub(crate) struct Served {
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
}

/// Serves a database while `clients` run.
pub(crate) fn served(clients: impl FnOnce(&Served)) {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("s");
    let size = Bytes::from_mib(64);
    let options = DbOptions { size, ..DbOptions::default() };
    let db = Db::open(folder.path().join("db"), options).expect("a database");
    let options = RespOptions {
        socket: Some(socket.clone()),
        tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        tls: None,
        clients: 100,
        idle: None,
        memory: Bytes::from_mib(64),
        promise: LogMode::LogOnly,
    };
    let stop = AtomicBool::new(false);
    let (ready, listens) = channel();
    // A server that does not come to listening drops this, and is not waited for.
    let ready = move |at: Listening| ready.send(at.tcp).expect("we wait");
    thread::scope(|scope| {
        let (options, stop) = (&options, &stop);
        let server = scope.spawn(move || serve(db, Users::default(), options, ready, stop));
        let ends = Ends(stop);
        let tcp = listens.recv().expect("it listens").expect("its address");
        clients(&Served { socket, tcp });
        drop(ends);
        server.join().expect("it ends").expect("it ends well");
    });
}

/// A connection at the socket, byte by byte.
pub(crate) fn connected(served: &Served) -> UnixStream {
    let stream = UnixStream::connect(&served.socket).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it can be set");
    stream
}

/// Sends bytes, and reads until what came ends so.
pub(crate) fn talk(stream: &mut UnixStream, sent: &[u8], until: &str) -> String {
    stream.write_all(sent).expect("it is taken");
    let mut came = Vec::new();
    let mut part = [0; 4096];
    while !came.ends_with(until.as_bytes()) {
        let length = stream.read(&mut part).expect("it answers");
        assert!(length > 0, "`{}` does not end in `{until}`", came.escape_ascii());
        came.extend_from_slice(&part[..length]);
    }
    String::from_utf8(came).expect("it is text")
}
