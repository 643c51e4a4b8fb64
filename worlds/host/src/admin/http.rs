//! The server's side of one connection: bytes in, commands out; answers in, bytes out. No socket, no clock.
//!
//! Requests may come in any fragments and several at once; their answers leave in the order in which they came. What
//! cannot be a request is answered with 400, and the connection ends.

use super::api::{AdminAnswer, AdminRefusal, Command};
use super::head::{self, HEAD_BYTES_MAX, HttpHead};
use super::response;
use super::route;
use std::collections::VecDeque;

/// Requests of one connection that wait for their answers at a time.
const OPEN_MAX: usize = 16;

/// A request of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpRequestId(u64);

/// What a session wants from its owner. The owner takes things out; a session only appends.
#[derive(Debug, Default)]
pub struct HttpOutbox {
    /// Bytes for the client.
    pub send: Vec<u8>,
    /// To be carried out. Each is answered once, by [`HttpSession::answer`].
    pub commands: Vec<(HttpRequestId, Command)>,
    /// The connection ends when `send` has left.
    pub close: bool,
}

/// One connection. It holds at most one head (64 KiB), one body (1 MiB), what was given to [`HttpSession::receive`] last,
/// and the answers to 16 requests.
#[derive(Debug, Default)]
pub struct HttpSession {
    received: Vec<u8>,
    /// So much of `received` was looked at, and no head ends in there.
    looked_at: usize,
    /// A head whose body is not whole.
    head: Option<HttpHead>,
    /// What the client is owed, in order.
    owed: VecDeque<Owed>,
    requests: u64,
    /// Nothing is read any more.
    ending: bool,
}

#[derive(Debug)]
enum Owed {
    /// The answer to a request that is being carried out; the bool says whether the connection ends after it.
    Answer(HttpRequestId, bool),
    Bytes(Vec<u8>),
}

impl HttpSession {
    /// A new connection.
    pub fn new() -> HttpSession {
        HttpSession::default()
    }

    /// Takes what came from the client. The owner does not receive while [`HttpSession::is_full`].
    pub fn receive(&mut self, bytes: &[u8], out: &mut HttpOutbox) {
        if !self.ending {
            self.received.extend_from_slice(bytes);
            self.go_on(out);
        }
    }

    /// Takes the answer to a request that came out before.
    ///
    /// # Panics
    /// If that request is answered already, or was never asked.
    pub fn answer(
        &mut self,
        request: HttpRequestId,
        answer: &Result<AdminAnswer, AdminRefusal>,
        out: &mut HttpOutbox,
    ) {
        let open = self.owed.iter_mut().find_map(|owed| match owed {
            Owed::Answer(id, closes) if *id == request => {
                let closes = *closes;
                Some((owed, closes))
            }
            _ => None,
        });
        let (owed, closes) = open.expect("a request is answered once");
        *owed = Owed::Bytes(response::encode(answer, closes));
        self.go_on(out);
    }

    /// Whether so many requests are open that no more are read.
    pub fn is_full(&self) -> bool {
        self.owed.len() >= OPEN_MAX
    }

    /// Whether nothing is owed to the client.
    pub fn is_idle(&self) -> bool {
        self.owed.is_empty()
    }

    /// Reads what can be read and sends what can be sent.
    fn go_on(&mut self, out: &mut HttpOutbox) {
        self.send(out);
        while !self.ending && !self.is_full() && self.read(out) {
            self.send(out);
        }
        self.send(out);
        out.close |= self.ending && self.owed.is_empty();
    }

    fn send(&mut self, out: &mut HttpOutbox) {
        while let Some(Owed::Bytes(bytes)) = self.owed.front() {
            out.send.extend_from_slice(bytes);
            self.owed.pop_front();
        }
    }

    /// Reads a head or a body. Returns whether there was a whole one.
    fn read(&mut self, out: &mut HttpOutbox) -> bool {
        if let Some(head) = self.head.take_if(|head| head.body_bytes <= self.received.len()) {
            let body: Vec<u8> = self.received.drain(..head.body_bytes).collect();
            self.open(&head, &body, out);
            return true;
        }
        self.head.is_none() && self.read_head()
    }

    fn read_head(&mut self) -> bool {
        match self.parse_head() {
            Ok(None) => false,
            Ok(Some((head, length))) => {
                self.received.drain(..length);
                self.looked_at = 0;
                if head.expects_leave && head.body_bytes > 0 {
                    self.owed.push_back(Owed::Bytes(response::CONTINUE.to_vec()));
                }
                self.head = Some(head);
                true
            }
            Err(refusal) => {
                self.owed.push_back(Owed::Bytes(response::encode(&Err(refusal), true)));
                self.end();
                true
            }
        }
    }

    /// A head is looked at by whole lines: so often at most as it has lines, and with one result however it came.
    fn parse_head(&mut self) -> Result<Option<(HttpHead, usize)>, AdminRefusal> {
        let line_end = self.received.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if line_end > self.looked_at {
            self.looked_at = line_end;
            let parsed = HttpHead::parse(&self.received[..line_end])?;
            if parsed.is_some() {
                return Ok(parsed);
            }
        }
        if self.received.len() > HEAD_BYTES_MAX { Err(head::too_large()) } else { Ok(None) }
    }

    /// A request is whole.
    fn open(&mut self, head: &HttpHead, body: &[u8], out: &mut HttpOutbox) {
        match route::command(head.method, &head.target, body) {
            Ok(command) => {
                let id = HttpRequestId(self.requests);
                self.requests += 1;
                self.owed.push_back(Owed::Answer(id, head.closes));
                out.commands.push((id, command));
            }
            Err(refusal) => {
                let bytes = response::encode(&Err(refusal), head.closes);
                self.owed.push_back(Owed::Bytes(bytes));
            }
        }
        if head.closes {
            self.end();
        }
    }

    /// What follows is not read.
    fn end(&mut self) {
        self.ending = true;
        self.received = Vec::new();
    }
}
