//! A node that answers from a script, written without the protocol's own code.

#![expect(clippy::disallowed_methods, reason = "the program under test is another process")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// What a run of the program printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) status: std::process::ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program in `folder` with the node's folder `node` below it. One that goes on where it should end, such as a node that
/// starts where it should refuse to, is ended after five minutes with 124, which no test expects.
pub(crate) fn loadline(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new("timeout");
    command.args(["300", env!("CARGO_BIN_EXE_loadline")]).args(arguments);
    command.current_dir(folder).env("LOADLINE_DIR", "node");
    let output = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A request (method, target and body, if there is one), the answer's code and its body.
type Exchange = (String, u16, String);

/// A node on `node/admin.sock` in a folder of its own.
pub(crate) struct Scripted {
    folder: tempfile::TempDir,
    script: Arc<Mutex<VecDeque<Exchange>>>,
}

impl Scripted {
    pub(crate) fn new(script: &[(&str, u16, &str)]) -> Scripted {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("node/admin.sock");
        std::fs::create_dir(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(socket).unwrap();
        let owned = |&(request, code, answer): &(&str, u16, &str)| {
            (request.to_owned(), code, answer.to_owned())
        };
        let script = Arc::new(Mutex::new(script.iter().map(owned).collect()));
        let of_server = Arc::clone(&script);
        std::thread::spawn(move || {
            listener.incoming().for_each(|stream| serve(&stream.unwrap(), &of_server));
        });
        Scripted { folder, script }
    }

    /// The node, and one more exchange.
    pub(crate) fn expects(self, request: &str, code: u16, answer: &str) -> Scripted {
        self.script.lock().unwrap().push_back((request.to_owned(), code, answer.to_owned()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder().join("node/admin.sock")
    }

    pub(crate) fn was_asked_everything(&self) {
        assert!(self.script.lock().unwrap().is_empty(), "the script has not ended");
    }
}

/// Answers one connection's requests. What the script does not expect is answered so that the test shows it.
fn serve(stream: &UnixStream, script: &Mutex<VecDeque<Exchange>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let (code, answer) = match script.lock().unwrap().pop_front() {
            Some((expected, code, answer)) if expected == request => (code, answer),
            expected => (400, format!("{{\"error\":\"{expected:?} was expected\"}}")),
        };
        let length = answer.len();
        write!(&mut &*stream, "HTTP/1.1 {code} X\r\nContent-Length: {length}\r\n\r\n{answer}")
            .unwrap();
    }
}

/// `PUT /osd/2/down`, or `POST /pool {"name":"p"}`; nothing at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> Option<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let asked = lines[0].strip_suffix(" HTTP/1.1").expect("a request line").to_owned();
    let body = String::from_utf8(body).unwrap();
    Some(if body.is_empty() { asked } else { format!("{asked} {body}") })
}
