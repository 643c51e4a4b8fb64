//! The transmission phase: requests in, commands out; answers in, bytes out.

use super::bytes::{Body, Head, Skip};
use super::numbers::{cmd, flag};
use super::reply::Answer;
use super::request::Request;
use super::terms::Agreed;
use super::{Command, Failure, Limits, Outbox, Reply, Violation};
use loadline_base::Slots;

/// A connection that has chosen its export.
#[derive(Debug)]
pub(super) struct Service {
    agreed: Agreed,
    stage: Stage,
    in_flight: Slots<Request>,
    /// Bytes of payload of the commands in flight and of the one that is being received.
    held: u64,
    /// Bytes that further requests may take.
    room: u64,
}

#[derive(Debug)]
enum Stage {
    Request(Head<28>),
    /// A request that makes sense and has no room yet.
    Waiting(Request),
    Payload(Request, Body),
    Refused(Request, Failure, Skip),
    /// The client has said goodbye.
    Leaving,
}

impl Service {
    pub(super) fn new(agreed: Agreed, room: u64) -> Service {
        let (stage, in_flight) = (Stage::Request(Head::new()), Slots::new());
        Service { agreed, stage, in_flight, held: 0, room }
    }

    /// Gives further requests so much room; one that waits for it goes on.
    pub(super) fn set_room(&mut self, bytes: u64, out: &mut Outbox) {
        self.room = bytes;
        if let Stage::Waiting(request) = self.stage
            && request.room() <= bytes
        {
            self.begin(request, out);
        }
    }

    /// How much room the request lacks that waits for it.
    pub(super) fn waits_for(&self) -> Option<u64> {
        match self.stage {
            Stage::Waiting(request) => Some(request.room()),
            _ => None,
        }
    }

    /// Whether a payload is on its way.
    pub(super) fn is_receiving(&self) -> bool {
        matches!(self.stage, Stage::Payload(..) | Stage::Refused(..))
    }

    /// Bytes of payload of what is under way.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// How many bytes the next request, or its payload, still lacks.
    pub(super) fn want(&self) -> usize {
        match &self.stage {
            Stage::Request(head) => head.missing(),
            Stage::Payload(_, body) => body.missing(),
            Stage::Refused(_, _, skip) => skip.0 as usize,
            Stage::Waiting(_) | Stage::Leaving => 0,
        }
    }

    /// Whether no further request fits beside what is in flight and `unsent` bytes of replies. One that has
    /// begun is received to its end.
    pub(super) fn is_full(&self, limits: &Limits, unsent: u64) -> bool {
        let between = matches!(self.stage, Stage::Request(_));
        let full = self.in_flight.len() >= limits.commands || self.held + unsent >= limits.bytes;
        between && full
    }

    /// Whether the client has left and everything is answered.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Leaving) && self.in_flight.is_empty()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Takes at least one byte from the input, which is not empty.
    pub(super) fn step(&mut self, input: &mut &[u8], out: &mut Outbox) -> Result<(), Violation> {
        match &mut self.stage {
            Stage::Request(head) => {
                if let Some(head) = head.fill(input) {
                    self.begin(Request::decode(head)?, out);
                }
            }
            Stage::Payload(request, body) => {
                if let Some(data) = body.fill(input) {
                    let request = *request;
                    self.hand_out(request, data, out);
                }
            }
            Stage::Refused(request, failure, skip) => {
                if skip.pass(input) {
                    Answer { request, structured: self.agreed.structured, out }.failure(failure);
                    self.stage = Stage::Request(Head::new());
                }
            }
            Stage::Waiting(_) => unreachable!("nothing is wanted while a request waits for room"),
            Stage::Leaving => *input = &[],
        }
        Ok(())
    }

    fn begin(&mut self, request: Request, out: &mut Outbox) {
        if request.command == cmd::DISC {
            self.stage = Stage::Leaving;
            return;
        }
        self.stage = Stage::Request(Head::new());
        match (request.check(&self.agreed), request.payload()) {
            (Ok(()), _) if request.room() > self.room => self.stage = Stage::Waiting(request),
            (Ok(()), length) => {
                self.room -= request.room();
                self.held += u64::from(request.transfer());
                match length {
                    0 => self.hand_out(request, Vec::new(), out),
                    _ => self.stage = Stage::Payload(request, Body::new(length)),
                }
            }
            (Err(failure), 0) => {
                let request = &request;
                Answer { request, structured: self.agreed.structured, out }.failure(&failure);
            }
            (Err(failure), length) => {
                self.stage = Stage::Refused(request, failure, Skip(length));
            }
        }
    }

    fn hand_out(&mut self, request: Request, data: Vec<u8>, out: &mut Outbox) {
        self.stage = Stage::Request(Head::new());
        out.commands.push(Command {
            id: self.in_flight.acquire(request),
            export: self.agreed.export,
            kind: request.kind(data),
            offset: request.offset,
            length: request.length,
            fua: request.has(flag::FUA),
        });
    }

    /// Answers a command.
    pub(super) fn finish(&mut self, reply: Reply, out: &mut Outbox) {
        let request = self.in_flight.release(reply.id);
        self.held -= u64::from(request.transfer());
        let mut answer = Answer { request: &request, structured: self.agreed.structured, out };
        match reply.result {
            Ok(payload) => answer.success(payload),
            Err(failure) => answer.failure(&failure),
        }
    }
}
