//! One connection, from the greeting to the end.

use super::handshake::Handshake;
use super::serve::ExportService;
use super::terms::{HandshakeStep, TlsStand};
use super::{Close, ConnectionLimits, ExportId, Exports, NbdReply, SessionOutbox};

/// Answers to options that a client leaves standing, in bytes: nobody has to ask for so much before choosing an export.
const UNSENT_MAX: u64 = 64 << 10;

/// The server's side of one connection.
///
/// The bytes may arrive in pieces of any size: the outcome is the same. Memory is bounded by
/// [`ConnectionLimits::memory_max`] for an owner that follows [`want`](NbdSession::want) and reports what was
/// [`sent`](NbdSession::sent).
#[derive(Debug)]
pub struct NbdSession {
    limits: ConnectionLimits,
    phase: SessionPhase,
    /// What requests may take that come right behind the choice of an export.
    room: u64,
    /// Bytes that were queued and not reported as sent.
    unsent: u64,
}

#[derive(Debug)]
enum SessionPhase {
    Negotiating(Handshake),
    /// What comes now is TLS, until its owner says that it stands; with what goes on then.
    Securing(Handshake),
    Serving(ExportService),
    Closed,
}

impl NbdSession {
    /// A new connection; the greeting stands in `out`.
    pub fn new(limits: ConnectionLimits, out: &mut SessionOutbox) -> NbdSession {
        NbdSession::greeting(limits, TlsStand::NotOffered, out)
    }

    /// A new connection whose client is answered nothing before it has begun with TLS, which is its owner's: when the session
    /// [`is_securing`](NbdSession::is_securing), what it has not taken is the beginning of TLS, and what it takes after
    /// [`secured`](NbdSession::secured) came through it.
    pub fn behind_tls(limits: ConnectionLimits, out: &mut SessionOutbox) -> NbdSession {
        NbdSession::greeting(limits, TlsStand::Required, out)
    }

    fn greeting(limits: ConnectionLimits, tls: TlsStand, out: &mut SessionOutbox) -> NbdSession {
        assert!(limits.commands > 0 && limits.bytes > 0, "the limits must let something in");
        let before = out.queued();
        let phase = SessionPhase::Negotiating(Handshake::new(tls, out));
        NbdSession { limits, phase, room: u64::MAX, unsent: out.queued() - before }
    }

    /// How many bytes the message that is being received still lacks: its head, or what follows it. 0 if nothing
    /// may be received now, because the session [`is_full`](NbdSession::is_full) or [waits for room](NbdSession::waits_for_room), because
    /// the client has said goodbye or because the connection is to be closed.
    ///
    /// An owner may receive more than that at a time; it serves to size a buffer for a long payload.
    pub fn want(&self) -> usize {
        match &self.phase {
            SessionPhase::Closed | SessionPhase::Securing(_) => 0,
            _ if self.is_full() => 0,
            SessionPhase::Negotiating(handshake) => handshake.want(),
            SessionPhase::Serving(service) => service.want(),
        }
    }

    /// Whether the limits are reached: the owner must [`finish`](NbdSession::finish) commands or report bytes as
    /// [`sent`](NbdSession::sent) before the session takes another message.
    pub fn is_full(&self) -> bool {
        match &self.phase {
            SessionPhase::Negotiating(_) => self.unsent >= self.limits.bytes.min(UNSENT_MAX),
            SessionPhase::Serving(service) => service.is_full(&self.limits, self.unsent),
            SessionPhase::Securing(_) | SessionPhase::Closed => false,
        }
    }

    /// Gives the requests that begin from now on so many bytes for what they bring or are answered with: an owner shares out
    /// what all its connections may take together. A request that has no room waits until it is given some; with nothing under way
    /// beside it [`ROOM_MIN`](crate::request_room::ROOM_MIN) will do, in which a read or write is carried out in parts. Without a word from
    /// the owner only [`ConnectionLimits`] count.
    pub fn set_room(&mut self, bytes: u64, out: &mut SessionOutbox) {
        self.room = bytes;
        if let SessionPhase::Serving(service) = &mut self.phase {
            let before = out.queued();
            service.set_room(bytes, out);
            self.unsent += out.queued() - before;
        }
    }

    /// Whether a request, or what is left of one, waits for room.
    pub fn waits_for_room(&self) -> bool {
        matches!(&self.phase, SessionPhase::Serving(service) if service.waits_for_room())
    }

    /// Whether a request waits for room, or is carried out in parts for want of it.
    pub fn lacks_room(&self) -> bool {
        matches!(&self.phase, SessionPhase::Serving(service) if service.lacks_room())
    }

    /// How many bytes the session itself holds for the client: the request whose payload is on its way, and what the client has not been
    /// sent yet. What commands hold that are handed out their owner counts ([`ExportCommand::holds`](super::ExportCommand::holds)): they
    /// may outlive the session.
    pub fn held(&self) -> u64 {
        let begun = match &self.phase {
            SessionPhase::Serving(service) => service.receives(),
            _ => 0,
        };
        begun + self.unsent
    }

    /// Whether it is the client's turn: it has answers to take, or a payload to send.
    pub fn awaits_client(&self) -> bool {
        let sends = matches!(&self.phase, SessionPhase::Serving(service) if service.is_receiving());
        sends || self.unsent > 0
    }

    /// Whether the client has not chosen an export yet. The owner may set a time for that.
    pub fn is_negotiating(&self) -> bool {
        matches!(self.phase, SessionPhase::Negotiating(_) | SessionPhase::Securing(_))
    }

    /// Whether the client has been told to begin with TLS, and it does not stand yet. Nothing is received meanwhile.
    pub fn is_securing(&self) -> bool {
        matches!(self.phase, SessionPhase::Securing(_))
    }

    /// TLS stands: the client negotiates anew, and what is received from now on has come through it.
    pub fn secured(&mut self) {
        match std::mem::replace(&mut self.phase, SessionPhase::Closed) {
            SessionPhase::Securing(behind) => self.phase = SessionPhase::Negotiating(behind),
            _ => panic!("only who was told to begin with TLS has it"),
        }
    }

    /// The export that the client has chosen.
    pub fn export(&self) -> Option<ExportId> {
        match &self.phase {
            SessionPhase::Serving(service) => Some(service.export()),
            _ => None,
        }
    }

    /// The export that the client has chosen, if it may write there.
    pub fn writes_to(&self) -> Option<ExportId> {
        match &self.phase {
            SessionPhase::Serving(service) => service.writes_to(),
            _ => None,
        }
    }

    /// How many commands are handed out and not answered.
    pub fn in_flight(&self) -> usize {
        match &self.phase {
            SessionPhase::Serving(service) => service.in_flight(),
            _ => 0,
        }
    }

    /// Takes bytes from the client and returns how many. It takes fewer than there are only where
    /// [`want`](NbdSession::want) has become 0; the owner keeps the rest and offers it again later.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        exports: &dyn Exports,
        out: &mut SessionOutbox,
    ) -> usize {
        let mut input = bytes;
        while !input.is_empty() && self.want() > 0 {
            let before = out.queued();
            self.step(&mut input, exports, out);
            self.unsent += out.queued() - before;
        }
        bytes.len() - input.len()
    }

    fn step(&mut self, input: &mut &[u8], exports: &dyn Exports, out: &mut SessionOutbox) {
        match &mut self.phase {
            SessionPhase::Negotiating(handshake) => match handshake.step(input, exports, out) {
                HandshakeStep::Stay => {}
                HandshakeStep::Secure => self.phase = SessionPhase::Securing(handshake.secured()),
                HandshakeStep::Serve(agreed) => {
                    self.phase = SessionPhase::Serving(ExportService::new(agreed, self.room));
                }
                HandshakeStep::Close(close) => self.close(close, out),
            },
            SessionPhase::Serving(service) => match service.step(input, out) {
                Ok(()) if service.is_over() => self.close(Close::Asked, out),
                Ok(()) => {}
                Err(violation) => self.close(Close::Violated(violation), out),
            },
            SessionPhase::Securing(_) | SessionPhase::Closed => {}
        }
    }

    /// Answers a command. Each command is answered once; an answer after the end is dropped.
    pub fn finish(&mut self, reply: NbdReply, out: &mut SessionOutbox) {
        let SessionPhase::Serving(service) = &mut self.phase else {
            assert!(!self.is_negotiating(), "there is no command before an export is chosen");
            return;
        };
        let before = out.queued();
        let answered = service.finish(reply, out);
        let is_over = service.is_over();
        self.unsent += out.queued() - before;
        match answered {
            Err(close) => self.close(close, out),
            Ok(()) if is_over => self.close(Close::Asked, out),
            Ok(()) => {}
        }
    }

    /// Tells that so many bytes of what was queued have gone out.
    pub fn sent(&mut self, bytes: u64) {
        self.unsent = self.unsent.checked_sub(bytes).expect("only what was queued is sent");
    }

    fn close(&mut self, close: Close, out: &mut SessionOutbox) {
        self.phase = SessionPhase::Closed;
        out.close = Some(close);
    }
}
