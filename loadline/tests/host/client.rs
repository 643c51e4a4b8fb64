//! A small NBD client, written from the protocol's text alone: one connection, any number of requests in flight, simple
//! replies. It shares no code with the server.

use crate::node::PATIENCE;
use rustix::net::sockopt::set_socket_linger;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const EXPORT_NAME: u32 = 1;
/// Fixed newstyle, and no 124 zeroes after the export's flags; the client's flags have the same values.
const HANDSHAKE_FLAGS: u16 = 1 | 2;

/// What a request does.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Read { offset: u64, length: u32 },
    Write { offset: u64, data: Vec<u8> },
    Flush,
    Zero { offset: u64, length: u32 },
    Trim { offset: u64, length: u32 },
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) cookie: u64,
    /// The protocol's number of an error, or 0.
    pub(crate) error: u32,
    /// What was read; empty after other requests.
    pub(crate) data: Vec<u8>,
}

/// A socket of either kind.
trait Stream: Read + Write + Send {
    fn say_no_more(&self) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn say_no_more(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Stream for TcpStream {
    fn say_no_more(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// A connection to one export.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    /// The export's size.
    pub(crate) bytes: u64,
    /// Bytes that the answer to each request in flight brings.
    expected: BTreeMap<u64, u32>,
    cookie_next: u64,
}

impl Connection {
    pub(crate) fn open(socket: &Path, export: &str) -> io::Result<Connection> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Connection::begin(Box::new(stream), export)
    }

    pub(crate) fn open_tcp(address: SocketAddr, export: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        // A close returns when the other machine has heard of it, or has closed as well.
        set_socket_linger(&stream, Some(PATIENCE))?;
        Connection::begin(Box::new(stream), export)
    }

    /// Chooses the export.
    fn begin(mut stream: Box<dyn Stream>, export: &str) -> io::Result<Connection> {
        let greeting: [u8; 18] = receive(&mut stream)?;
        assert_eq!(&greeting[..8], b"NBDMAGIC");
        assert_eq!(&greeting[8..16], OPTION_MAGIC);
        assert_eq!(greeting[16..], HANDSHAKE_FLAGS.to_be_bytes());
        stream.write_all(&Connection::hello(export))?;
        let bytes = u64::from_be_bytes(receive(&mut stream)?);
        let _transmission_flags: [u8; 2] = receive(&mut stream)?;
        Ok(Connection { stream, bytes, expected: BTreeMap::new(), cookie_next: 1 })
    }

    /// What a client says first: that it chooses this export, by which transmission begins.
    pub(crate) fn hello(export: &str) -> Vec<u8> {
        let mut hello = u32::from(HANDSHAKE_FLAGS).to_be_bytes().to_vec();
        hello.extend_from_slice(OPTION_MAGIC);
        hello.extend_from_slice(&EXPORT_NAME.to_be_bytes());
        hello.extend_from_slice(&u32::try_from(export.len()).unwrap().to_be_bytes());
        hello.extend_from_slice(export.as_bytes());
        hello
    }

    /// Requests that have not been answered yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.expected.len()
    }

    /// The cookie that the next request will have.
    pub(crate) fn cookie(&self) -> u64 {
        self.cookie_next
    }

    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        let (command, offset, length, data): (u16, u64, u32, &[u8]) = match request {
            Request::Read { offset, length } => (0, *offset, *length, &[]),
            Request::Write { offset, data } => {
                (1, *offset, u32::try_from(data.len()).expect("at most 32 MiB"), data)
            }
            Request::Flush => (3, 0, 0, &[]),
            Request::Zero { offset, length } => (6, *offset, *length, &[]),
            Request::Trim { offset, length } => (4, *offset, *length, &[]),
        };
        let answer = if matches!(request, Request::Read { .. }) { length } else { 0 };
        self.expected.insert(self.cookie_next, answer);
        let head = request_head(command, self.cookie_next, offset, length);
        self.cookie_next += 1;
        self.stream.write_all(&[&head[..], data].concat())
    }

    /// The next answer, to whichever request. An error in an answer is a failed test.
    pub(crate) fn receive(&mut self) -> io::Result<Reply> {
        let reply = self.receive_any()?;
        let Reply { cookie, error, .. } = reply;
        assert_eq!(error, 0, "request {cookie} was answered with an error");
        Ok(reply)
    }

    /// The next answer, good or bad.
    pub(crate) fn receive_any(&mut self) -> io::Result<Reply> {
        let magic = u32::from_be_bytes(receive(&mut self.stream)?);
        assert_eq!(magic, SIMPLE_REPLY_MAGIC);
        let error = u32::from_be_bytes(receive(&mut self.stream)?);
        let cookie = u64::from_be_bytes(receive(&mut self.stream)?);
        let length = self.expected.remove(&cookie).expect("every answer has its request");
        let mut data = vec![0; if error == 0 { length as usize } else { 0 }];
        self.stream.read_exact(&mut data)?;
        Ok(Reply { cookie, error, data })
    }

    /// Sends nothing more, and says so.
    pub(crate) fn say_no_more(&self) -> io::Result<()> {
        self.stream.say_no_more()
    }

    /// One request and its answer, on a connection without others in flight.
    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<Vec<u8>> {
        assert_eq!(self.in_flight(), 0);
        self.send(request)?;
        self.receive().map(|reply| reply.data)
    }
}

/// The 28 bytes before a request's payload.
pub(crate) fn request_head(command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut head = REQUEST_MAGIC.to_be_bytes().to_vec();
    head.extend_from_slice(&[0, 0]);
    head.extend_from_slice(&command.to_be_bytes());
    head.extend_from_slice(&cookie.to_be_bytes());
    head.extend_from_slice(&offset.to_be_bytes());
    head.extend_from_slice(&length.to_be_bytes());
    head
}

pub(crate) fn receive<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
