//! The transmission phase: requests in, commands out; answers in, bytes out.

use super::bytes::{BodyBuffer, HeadBuffer, Skip};
use super::numbers::{cmd, flag};
use super::reply::Replier;
use super::request::NbdRequest;
use super::terms::{Agreed, BlockContext};
use super::{
    Close, CommandKind, ConnectionLimits, ExportCommand, ExportId, NbdFailure, NbdReply,
    ReplyPayload, SessionOutbox, Violation,
};
use crate::request_room::ROOM_MIN;
use loadline_base::Slots;

/// A connection that has chosen its export.
#[derive(Debug)]
pub(super) struct ExportService {
    agreed: Agreed,
    stage: ServeStage,
    in_flight: Slots<ChargedRequest>,
    /// Bytes that the commands in flight hold, and the one that is being received.
    held: u64,
    /// Bytes that further requests may take.
    room: u64,
    parts: Option<RequestInParts>,
}

/// A request, or a part of one, that is carried out, and how many bytes it takes.
#[derive(Clone, Copy, Debug)]
struct ChargedRequest {
    request: NbdRequest,
    holds: u64,
}

/// A read or write for which there was never room, and that is carried out in parts, one after the other. Nothing of its connection is under
/// way beside it, so that its answer may stand in one piece.
#[derive(Clone, Copy, Debug)]
struct RequestInParts {
    whole: NbdRequest,
    /// Bytes of it that have been read or written.
    done: u32,
}

#[derive(Debug)]
enum ServeStage {
    Request(HeadBuffer<28>),
    /// A request that makes sense, or what is left of one, and has no room yet.
    Waiting(NbdRequest),
    Payload(ChargedRequest, BodyBuffer),
    /// A part of a request is under way.
    Part,
    Refused(NbdRequest, NbdFailure, Skip),
    /// The client has said goodbye.
    Leaving,
}

impl ExportService {
    pub(super) fn new(agreed: Agreed, room: u64) -> ExportService {
        let (stage, in_flight) = (ServeStage::Request(HeadBuffer::new()), Slots::new());
        ExportService { agreed, stage, in_flight, held: 0, room, parts: None }
    }

    pub(super) fn export(&self) -> ExportId {
        self.agreed.export
    }

    /// The export, unless it is only read.
    pub(super) fn writes_to(&self) -> Option<ExportId> {
        (!self.agreed.read_only).then_some(self.agreed.export)
    }

    /// Gives further requests so much room; one that waits for it goes on.
    pub(super) fn set_room(&mut self, bytes: u64, out: &mut SessionOutbox) {
        self.room = bytes;
        if let ServeStage::Waiting(request) = self.stage {
            self.go_on(request, out);
        }
    }

    /// Whether a request, or what is left of one, waits for room.
    pub(super) fn waits_for_room(&self) -> bool {
        matches!(self.stage, ServeStage::Waiting(_))
    }

    /// Whether a request has less room than it asks for.
    pub(super) fn lacks_room(&self) -> bool {
        self.waits_for_room() || self.parts.is_some()
    }

    /// Whether a payload is on its way.
    pub(super) fn is_receiving(&self) -> bool {
        matches!(self.stage, ServeStage::Payload(..) | ServeStage::Refused(..))
    }

    /// Bytes that the request holds whose payload is on its way.
    pub(super) fn receives(&self) -> u64 {
        match self.stage {
            ServeStage::Payload(begun, _) => begun.holds,
            _ => 0,
        }
    }

    /// How many bytes the next request, or its payload, still lacks.
    pub(super) fn want(&self) -> usize {
        match &self.stage {
            ServeStage::Request(head) => head.missing(),
            ServeStage::Payload(_, body) => body.missing(),
            ServeStage::Refused(_, _, skip) => skip.0 as usize,
            ServeStage::Waiting(_) | ServeStage::Part | ServeStage::Leaving => 0,
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
            ServeStage::Payload(begun, body) => {
                if let Some(data) = body.fill(input) {
                    let begun = *begun;
                    self.hand_out(begun, data, out);
                }
            }
            ServeStage::Refused(request, failure, skip) => {
                if skip.pass(input) {
                    Replier { request, structured: self.agreed.structured, out }.failure(failure);
                    self.stage = ServeStage::Request(HeadBuffer::new());
                }
            }
            ServeStage::Waiting(_) | ServeStage::Part => {
                unreachable!("nothing is wanted before room or an answer has come")
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
            (Ok(()), _) => self.go_on(request, out),
            (Err(failure), 0) => {
                let request = &request;
                Replier { request, structured: self.agreed.structured, out }.failure(&failure);
            }
            (Err(failure), length) => {
                self.stage = ServeStage::Refused(request, failure, Skip(length));
            }
        }
    }

    /// Carries out a request, or what is left of one, as far as there is room for it; what finds none while others are under way, which give
    /// back theirs, waits for that.
    fn go_on(&mut self, request: NbdRequest, out: &mut SessionOutbox) {
        let (part, holds) = match request.room() <= self.room {
            true => (request, request.room()),
            false if self.in_flight.is_empty() && self.room >= ROOM_MIN => {
                request.within(self.room)
            }
            false => return self.stage = ServeStage::Waiting(request),
        };
        if part.length < request.length && self.parts.is_none() {
            self.parts = Some(RequestInParts { whole: request, done: 0 });
        }
        self.room -= holds;
        self.held += holds;
        let begun = ChargedRequest { request: part, holds };
        match part.payload() {
            0 => self.hand_out(begun, Vec::new(), out),
            length => self.stage = ServeStage::Payload(begun, BodyBuffer::new(length)),
        }
    }

    fn hand_out(&mut self, begun: ChargedRequest, data: Vec<u8>, out: &mut SessionOutbox) {
        self.stage = match self.parts {
            Some(_) => ServeStage::Part,
            None => ServeStage::Request(HeadBuffer::new()),
        };
        let ChargedRequest { request, holds } = begun;
        let mut kind = request.kind(data);
        if let CommandKind::BlockStatus { since, .. } = &mut kind
            && let Some(BlockContext::Changes(other)) = self.agreed.context
        {
            *since = Some(other);
        }
        out.commands.push(ExportCommand {
            id: self.in_flight.acquire(begun),
            export: self.agreed.export,
            kind,
            offset: request.offset,
            length: request.length,
            fua: request.has(flag::FUA),
            holds,
        });
    }

    /// Answers a command. An error is one that the client cannot be told of.
    pub(super) fn finish(&mut self, reply: NbdReply, out: &mut SessionOutbox) -> Result<(), Close> {
        let ChargedRequest { request, holds } = self.in_flight.release(reply.id);
        self.held -= holds;
        if let Some(parts) = self.parts.take() {
            return self.part_ended(parts, request.length, reply.result, out);
        }
        let mut answer = Replier { request: &request, structured: self.agreed.structured, out };
        match reply.result {
            Ok(payload) => answer.success(payload),
            Err(failure) => answer.failure(&failure),
        }
        Ok(())
    }

    /// A part of so many bytes has ended. The first that fails is the last.
    fn part_ended(
        &mut self,
        RequestInParts { whole, done }: RequestInParts,
        length: u32,
        result: Result<ReplyPayload, NbdFailure>,
        out: &mut SessionOutbox,
    ) -> Result<(), Close> {
        let rest = whole.behind(done + length);
        let mut answer = Replier { request: &whole, structured: self.agreed.structured, out };
        self.stage = ServeStage::Request(HeadBuffer::new());
        match result {
            Err(failure) if rest.payload() > 0 => {
                self.stage = ServeStage::Refused(whole, failure, Skip(rest.payload()));
            }
            Err(failure) if whole.payload() > 0 || done == 0 || answer.tells_failures_late() => {
                answer.failure(&failure);
            }
            Err(failure) => return Err(Close::CutShort(failure)),
            Ok(payload) => {
                match payload.into_data() {
                    Some(data) => answer.part(done, data),
                    None if rest.length == 0 => answer.success(ReplyPayload::Done),
                    None => {}
                }
                if rest.length > 0 {
                    self.parts = Some(RequestInParts { whole, done: done + length });
                    self.stage = ServeStage::Waiting(rest);
                }
            }
        }
        Ok(())
    }
}
