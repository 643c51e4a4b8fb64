//! The transmission phase: requests in, commands out; answers in, bytes out.

use super::bytes::{BodyBuffer, HeadBuffer, Skip};
use super::numbers::{cmd, flag};
use super::reply::Replier;
use super::request::NbdRequest;
use super::terms::Agreed;
use super::{ConnectionLimits, ExportCommand, NbdFailure, NbdReply, SessionOutbox, Violation};
use loadline_base::Slots;

/// A connection that has chosen its export.
#[derive(Debug)]
pub(super) struct ExportService {
    agreed: Agreed,
    stage: ServeStage,
    in_flight: Slots<NbdRequest>,
    /// Bytes that the commands in flight hold, and the one that is being received.
    held: u64,
    /// Bytes that further requests may take.
    room: u64,
}

#[derive(Debug)]
enum ServeStage {
    Request(HeadBuffer<28>),
    /// A request that makes sense and has no room yet.
    Waiting(NbdRequest),
    Payload(NbdRequest, BodyBuffer),
    Refused(NbdRequest, NbdFailure, Skip),
    /// The client has said goodbye.
    Leaving,
}

impl ExportService {
    pub(super) fn new(agreed: Agreed, room: u64) -> ExportService {
        let (stage, in_flight) = (ServeStage::Request(HeadBuffer::new()), Slots::new());
        ExportService { agreed, stage, in_flight, held: 0, room }
    }

    /// Gives further requests so much room; one that waits for it goes on.
    pub(super) fn set_room(&mut self, bytes: u64, out: &mut SessionOutbox) {
        self.room = bytes;
        if let ServeStage::Waiting(request) = self.stage
            && request.room() <= bytes
        {
            self.begin(request, out);
        }
    }

    /// How much room the request lacks that waits for it.
    pub(super) fn waits_for(&self) -> Option<u64> {
        match self.stage {
            ServeStage::Waiting(request) => Some(request.room()),
            _ => None,
        }
    }

    /// Whether a payload is on its way.
    pub(super) fn is_receiving(&self) -> bool {
        matches!(self.stage, ServeStage::Payload(..) | ServeStage::Refused(..))
    }

    /// Bytes that the request holds whose payload is on its way.
    pub(super) fn receives(&self) -> u64 {
        match self.stage {
            ServeStage::Payload(request, _) => request.room(),
            _ => 0,
        }
    }

    /// How many bytes the next request, or its payload, still lacks.
    pub(super) fn want(&self) -> usize {
        match &self.stage {
            ServeStage::Request(head) => head.missing(),
            ServeStage::Payload(_, body) => body.missing(),
            ServeStage::Refused(_, _, skip) => skip.0 as usize,
            ServeStage::Waiting(_) | ServeStage::Leaving => 0,
        }
    }

    /// Whether no further request fits beside what is in flight and `unsent` bytes of replies. One that has
    /// begun is received to its end.
    pub(super) fn is_full(&self, limits: &ConnectionLimits, unsent: u64) -> bool {
        let between = matches!(self.stage, ServeStage::Request(_));
        let full = self.in_flight.len() >= limits.commands || self.held + unsent >= limits.bytes;
        between && full
    }

    /// Whether the client has left and everything is answered.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, ServeStage::Leaving) && self.in_flight.is_empty()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Takes at least one byte from the input, which is not empty.
    pub(super) fn step(
        &mut self,
        input: &mut &[u8],
        out: &mut SessionOutbox,
    ) -> Result<(), Violation> {
        match &mut self.stage {
            ServeStage::Request(head) => {
                if let Some(head) = head.fill(input) {
                    self.begin(NbdRequest::decode(head)?, out);
                }
            }
            ServeStage::Payload(request, body) => {
                if let Some(data) = body.fill(input) {
                    let request = *request;
                    self.hand_out(request, data, out);
                }
            }
            ServeStage::Refused(request, failure, skip) => {
                if skip.pass(input) {
                    Replier { request, structured: self.agreed.structured, out }.failure(failure);
                    self.stage = ServeStage::Request(HeadBuffer::new());
                }
            }
            ServeStage::Waiting(_) => {
                unreachable!("nothing is wanted while a request waits for room")
            }
            ServeStage::Leaving => *input = &[],
        }
        Ok(())
    }

    fn begin(&mut self, request: NbdRequest, out: &mut SessionOutbox) {
        if request.command == cmd::DISC {
            self.stage = ServeStage::Leaving;
            return;
        }
        self.stage = ServeStage::Request(HeadBuffer::new());
        match (request.check(&self.agreed), request.payload()) {
            (Ok(()), _) if request.room() > self.room => self.stage = ServeStage::Waiting(request),
            (Ok(()), length) => {
                self.room -= request.room();
                self.held += request.room();
                match length {
                    0 => self.hand_out(request, Vec::new(), out),
                    _ => self.stage = ServeStage::Payload(request, BodyBuffer::new(length)),
                }
            }
            (Err(failure), 0) => {
                let request = &request;
                Replier { request, structured: self.agreed.structured, out }.failure(&failure);
            }
            (Err(failure), length) => {
                self.stage = ServeStage::Refused(request, failure, Skip(length));
            }
        }
    }

    fn hand_out(&mut self, request: NbdRequest, data: Vec<u8>, out: &mut SessionOutbox) {
        self.stage = ServeStage::Request(HeadBuffer::new());
        out.commands.push(ExportCommand {
            id: self.in_flight.acquire(request),
            export: self.agreed.export,
            kind: request.kind(data),
            offset: request.offset,
            length: request.length,
            fua: request.has(flag::FUA),
            holds: request.room(),
        });
    }

    /// Answers a command.
    pub(super) fn finish(&mut self, reply: NbdReply, out: &mut SessionOutbox) {
        let request = self.in_flight.release(reply.id);
        self.held -= request.room();
        let mut answer = Replier { request: &request, structured: self.agreed.structured, out };
        match reply.result {
            Ok(payload) => answer.success(payload),
            Err(failure) => answer.failure(&failure),
        }
    }
}
