//! The command line's side: one connection to a node's socket, asking one thing after the other.

use super::api::{AdminRefusal, Command, RefusalKind};
use super::patience::{DEED_LIMIT, QUESTION_LIMIT};
use super::route;
use crate::folder::folder_of;
use crate::why;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

/// The largest head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A connection to a running node. What is to be watched for a time it waits for as long as the node takes.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    stream: UnixStream,
    /// What came beyond the last answer.
    received: Vec<u8>,
    /// How long each piece of an answer to a question may take.
    pub(super) limit: Duration,
    /// The same for what is to be done.
    pub(super) deed_limit: Duration,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ClientError {
    /// Nobody listens on this socket.
    NobodyAnswers {
        /// The socket.
        socket: PathBuf,
    },
    /// Where a node's folder is to be something else stands.
    NoFolder {
        /// What was named.
        folder: PathBuf,
    },
    /// Where its socket is to be something else stands.
    NoSocket {
        /// What was named.
        socket: PathBuf,
        /// What it is.
        is: &'static str,
    },
    /// The socket cannot be used, or the connection broke.
    Io {
        /// The socket.
        socket: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The node does not answer.
    Silent {
        /// The socket.
        socket: PathBuf,
        /// How long it was waited for.
        limit: Duration,
    },
    /// What came back is no answer of a node.
    Foreign {
        /// The socket.
        socket: PathBuf,
    },
    /// The node refuses.
    Refused(AdminRefusal),
}

/// Why a node's socket could not be reached.
fn unreached(socket: &Path, error: io::Error) -> ClientError {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    let folder = folder_of(socket);
    let kind = |path: &Path| fs::metadata(path).ok().map(|facts| facts.file_type());
    match (kind(folder), kind(socket)) {
        (Some(found), _) if !found.is_dir() => ClientError::NoFolder { folder: folder.into() },
        (_, Some(found)) if !found.is_socket() => {
            let is = if found.is_dir() { "a folder" } else { "no socket" };
            ClientError::NoSocket { socket: socket.into(), is }
        }
        _ if matches!(error.kind(), NotFound | ConnectionRefused) => {
            ClientError::NobodyAnswers { socket: socket.into() }
        }
        _ => ClientError::Io { socket: socket.into(), error },
    }
}

/// Whether whoever was asked ended before the answer.
fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

impl Client {
    /// Connects to the node that listens on `socket`.
    ///
    /// # Errors
    /// [`ClientError::NobodyAnswers`] if there is none, or what else keeps it from being reached.
    pub fn connect(socket: &Path) -> Result<Client, ClientError> {
        match UnixStream::connect(socket) {
            Ok(stream) => {
                let (socket, received) = (socket.into(), Vec::new());
                let (limit, deed_limit) = (QUESTION_LIMIT, DEED_LIMIT);
                Ok(Client { socket, stream, received, limit, deed_limit })
            }
            Err(error) => Err(unreached(socket, error)),
        }
    }

    /// Asks, and waits for the answer. Each [`Command`] names what is answered; `A` may also be plain JSON.
    ///
    /// # Errors
    /// [`ClientError::Refused`] if the node does not do it; all others mean that it is not known whether it was done.
    pub fn ask<A: DeserializeOwned>(&mut self, command: &Command) -> Result<A, ClientError> {
        let body = self.ask_for("application/json", command)?;
        let foreign = |_| ClientError::Foreign { socket: self.socket.clone() };
        serde_json::from_slice(&body).map_err(foreign)
    }

    /// Asks for an answer as text, where it has that form.
    ///
    /// # Errors
    /// The same as of [`Client::ask`].
    pub fn ask_text(&mut self, command: &Command) -> Result<String, ClientError> {
        let body = self.ask_for("text/plain", command)?;
        let foreign = |_| ClientError::Foreign { socket: self.socket.clone() };
        String::from_utf8(body).map_err(foreign)
    }

    fn ask_for(&mut self, accept: &str, command: &Command) -> Result<Vec<u8>, ClientError> {
        let request = command.request();
        let limit = match command.is_question() {
            true => Some(self.limit),
            false => Some(self.deed_limit).filter(|_| !command.is_watch()),
        };
        let timed = self.stream.set_read_timeout(limit);
        let sent = timed.and_then(|()| self.stream.write_all(&encode(accept, &request)));
        sent.map_err(|error| self.broken(error))?;
        let (code, body) = self.receive()?;
        let foreign = || ClientError::Foreign { socket: self.socket.clone() };
        match code {
            200 => Ok(body),
            _ => {
                Err(AdminRefusal::from_json(code, &body).map_or_else(foreign, ClientError::Refused))
            }
        }
    }

    /// The status code and the body of the next answer.
    fn receive(&mut self) -> Result<(u16, Vec<u8>), ClientError> {
        loop {
            match Answered::parse(&self.received) {
                Some(Ok(answered)) => return self.receive_body(&answered),
                None if self.received.len() <= HEAD_BYTES_MAX => self.receive_more()?,
                _ => return Err(ClientError::Foreign { socket: self.socket.clone() }),
            }
        }
    }

    fn receive_body(&mut self, answered: &Answered) -> Result<(u16, Vec<u8>), ClientError> {
        while self.received.len() - answered.head_bytes < answered.body_bytes {
            self.receive_more()?;
        }
        self.received.drain(..answered.head_bytes);
        Ok((answered.code, self.received.drain(..answered.body_bytes).collect()))
    }

    fn receive_more(&mut self) -> Result<(), ClientError> {
        let mut piece = [0; 16 << 10];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.received.extend_from_slice(&piece[..count]);
                    return Ok(());
                }
                // A read with a time limit ends at any signal, such as that of a terminal's new size, and is not begun again by itself.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    fn broken(&self, error: io::Error) -> ClientError {
        let socket = self.socket.clone();
        match error.kind() {
            // What a read that has waited for its time ends with.
            io::ErrorKind::WouldBlock => {
                let limit = self.stream.read_timeout().ok().flatten();
                ClientError::Silent { socket, limit: limit.unwrap_or_default() }
            }
            _ => ClientError::Io { socket, error },
        }
    }
}

pub(super) fn encode(accept: &str, request: &route::HttpRequest) -> Vec<u8> {
    let mut bytes = format!(
        "{} {} HTTP/1.1\r\nHost: loadline\r\nAccept: {accept}\r\nContent-Length: {}\r\n\r\n",
        request.method.name(),
        request.target,
        request.body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(&request.body);
    bytes
}

/// The head of an answer.
struct Answered {
    code: u16,
    head_bytes: usize,
    body_bytes: usize,
}

/// Not an answer of HTTP/1.1 with a length.
struct NoAnswer;

impl Answered {
    /// Reads the head at the beginning of `bytes`; `None` while it is not whole.
    fn parse(bytes: &[u8]) -> Option<Result<Answered, NoAnswer>> {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut response = httparse::Response::new(&mut headers);
        let head_bytes = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return None,
            Err(_) => return Some(Err(NoAnswer)),
        };
        let length =
            response.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
        Some(match (response.code, length) {
            (Some(code), Some(body_bytes)) => Ok(Answered { code, head_bytes, body_bytes }),
            _ => Err(NoAnswer),
        })
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::NobodyAnswers { socket } => {
                let folder = folder_of(socket);
                write!(f, "no node answers at {}: ", socket.display())?;
                // Where a node of that folder would answer. Elsewhere, and in the root, a node would litter.
                match socket.ends_with("admin.sock") && folder != Path::new("/") {
                    true => write!(f, "start one with `loadline serve --dir {}`", folder.display()),
                    false => f.write_str(
                        "`loadline serve --dir DIR` starts one, and it answers at DIR/admin.sock",
                    ),
                }
            }
            ClientError::NoFolder { folder } => write!(
                f,
                "{} is no folder; --dir takes a node's folder, and --socket its socket",
                folder.display()
            ),
            ClientError::NoSocket { socket, is } => write!(
                f,
                "{} is {is}; --socket takes a node's socket, and --dir its folder",
                socket.display()
            ),
            ClientError::Io { socket, error } if has_gone(error) => {
                write!(f, "the node at {} went away before it answered", socket.display())
            }
            ClientError::Io { socket, error } => {
                write!(f, "{}: cannot be asked: {}", socket.display(), why(error))
            }
            ClientError::Silent { socket, limit } => write!(
                f,
                "the node at {} has not answered for {} s: it is held up or stopped by a signal; its log may say by what",
                socket.display(),
                limit.as_secs()
            ),
            ClientError::Foreign { socket } => {
                write!(f, "{}: what answers there is no node of this version", socket.display())
            }
            ClientError::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

impl ClientError {
    /// The system's kind for it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            ClientError::NobodyAnswers { .. } => io::ErrorKind::ConnectionRefused,
            ClientError::NoFolder { .. } => io::ErrorKind::NotADirectory,
            ClientError::NoSocket { .. } => io::ErrorKind::InvalidInput,
            ClientError::Io { error, .. } => error.kind(),
            ClientError::Silent { .. } => io::ErrorKind::TimedOut,
            ClientError::Refused(refusal) if refusal.kind != RefusalKind::Unavailable => {
                io::ErrorKind::InvalidInput
            }
            ClientError::Foreign { .. } | ClientError::Refused(_) => io::ErrorKind::Other,
        }
    }
}
