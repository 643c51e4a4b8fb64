//! The server's side of one connection: bytes in, commands out; answers in, bytes out. No socket, no clock.
//!
//! Requests may come in any fragments and several at once; their answers leave in the order in which they came. What
//! cannot be a request is answered with 400, and the connection ends.

use super::api::{AdminAnswer, AdminRefusal, Command};
use super::head::{self, AnswerForm, HttpHead};
use super::page::{Asked, Audience};
use super::response;
use std::collections::VecDeque;

/// Bytes that may wait to be sent on a connection before it reads further requests.
pub const UNSENT_MAX: usize = 64 << 10;

/// A request of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// One connection. It holds at most one head and one body, what was given to [`HttpSession::receive`] last, and the answers to some
/// requests: 64 KiB, 1 MiB and 16 of the admin socket, 16 KiB, 4 KiB and one of the page.
#[derive(Debug)]
pub struct HttpSession {
    audience: Audience,
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
    /// It follows the live view, for as long as it lasts.
    streams: bool,
}

#[derive(Debug)]
enum Owed {
    /// The answer to a request that is being carried out; in which form, and whether the connection ends after it.
    Answer(HttpRequestId, AnswerForm, bool),
    Bytes(Vec<u8>),
}

impl HttpSession {
    /// A new connection of somebody with these rights.
    pub fn new(audience: Audience) -> HttpSession {
        HttpSession {
            audience,
            received: Vec::new(),
            looked_at: 0,
            head: None,
            owed: VecDeque::new(),
            requests: 0,
            ending: false,
            streams: false,
        }
    }

    /// Takes what came from the client. The owner does not receive while [`HttpSession::is_full`].
    pub fn receive(&mut self, bytes: &[u8], out: &mut HttpOutbox) {
        if !self.ending {
            self.received.extend_from_slice(bytes);
            self.go_on(out);
        }
    }

    /// Reads on what has come already: what was to be sent has left. A session reads no more while as much as [`UNSENT_MAX`] is in `out`,
    /// because what is answered at once, as a file is, would fill the memory for a client that asks and never reads.
    pub fn resume(&mut self, out: &mut HttpOutbox) {
        self.go_on(out);
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
            Owed::Answer(id, form, closes) if *id == request => {
                let terms = (*form, *closes);
                Some((owed, terms))
            }
            _ => None,
        });
        let (owed, (form, closes)) = open.expect("a request is answered once");
        *owed = Owed::Bytes(response::encode(answer, form, closes));
        self.go_on(out);
    }

    /// Whether so many requests are open that no more are read.
    pub fn is_full(&self) -> bool {
        self.owed.len() >= self.audience.bounds().open
    }

    /// Whether nothing is owed to the client.
    pub fn is_idle(&self) -> bool {
        self.owed.is_empty() && !self.streams()
    }

    /// Whether it follows the live view.
    pub fn streams(&self) -> bool {
        self.streams && self.owed.is_empty()
    }

    /// Tells who follows the live view of a second; `step` is one line.
    pub fn event(&mut self, step: &str, out: &mut HttpOutbox) {
        out.send.extend_from_slice(&response::event(step));
    }

    /// Reads what can be read and sends what can be sent.
    fn go_on(&mut self, out: &mut HttpOutbox) {
        self.send(out);
        while !self.ending && !self.is_full() && out.send.len() < UNSENT_MAX && self.read(out) {
            self.send(out);
        }
        self.send(out);
        out.close |= self.ending && self.owed.is_empty() && !self.streams;
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
                self.owed.push_back(Owed::Bytes(response::refuse(refusal, true)));
                self.end();
                true
            }
        }
    }

    /// A head is looked at by whole lines: so often at most as it has lines, and with one result however it came.
    fn parse_head(&mut self) -> Result<Option<(HttpHead, usize)>, AdminRefusal> {
        let bounds = self.audience.bounds();
        let line_end = self.received.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if line_end > self.looked_at {
            self.looked_at = line_end;
            let parsed = HttpHead::parse(&self.received[..line_end], bounds)?;
            if parsed.is_some() {
                return Ok(parsed);
            }
        }
        match self.received.len() > bounds.head_bytes {
            true => Err(head::too_large(bounds)),
            false => Ok(None),
        }
    }

    /// A request is whole.
    fn open(&mut self, head: &HttpHead, body: &[u8], out: &mut HttpOutbox) {
        match self.audience.asked(head, body) {
            Ok(Asked::Command(command)) => {
                let id = HttpRequestId(self.requests);
                self.requests += 1;
                self.owed.push_back(Owed::Answer(id, head.form, head.closes));
                out.commands.push((id, command));
            }
            Ok(Asked::File(file)) => {
                self.owed.push_back(Owed::Bytes(response::file(&file, head.closes)));
            }
            Ok(Asked::Stream) => {
                self.owed.push_back(Owed::Bytes(response::STREAM.to_vec()));
                self.streams = true;
                return self.end();
            }
            Err(refusal) => {
                let bytes = response::refuse(refusal, head.closes);
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
