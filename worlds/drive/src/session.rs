//! The talk with a machine about its memory and its rings.

use crate::calendar::{Calendar, CalendarError};
use crate::waiting::wait;
use loadline_base::Span;
use loadline_vhost::{
    BrokenRing, ControlSocket, DeviceOffer, DeviceTalk, MachineMemory, MachineRing, OwedReply,
    ReceivedMessage, ServedRings, SocketError, TalkError,
};
use loadline_wire::vhost::{HEADER_BYTES, MessageEffect, ScsiConfig, ring_call};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Rings of commands at most, which are answered late. QEMU gives a machine one for each of its processors.
const REQUEST_RINGS: usize = 16;

/// Before them come one for task management and questions about events, and one for events, of which this device has none.
const FIRST_REQUEST_RING: usize = 2;

/// A request's descriptors may stand in a table of their own. Without it they all stand in the ring, and long reads in many pieces fill
/// that long before there are as many as the disk takes.
const TABLES_OF_DESCRIPTORS: u64 = 1 << 28;

/// Several queues, answers to every request that wants one, requests of the device, and its configuration. Without the
/// third the machine asks for interrupt 0, which is the clock's.
const PROTOCOL_FEATURES: u64 = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 9;

/// Kicks and calls are messages with answers: in virtual time both sides have to know when one was heard.
const IN_BAND_NOTIFICATIONS: u64 = 1 << 14;

/// How long the machine may take to hear a call: it waits for one.
const CALL_TIME: Duration = Duration::from_secs(60);

/// Commands at the medium at most, as many as a drive with NCQ takes.
pub(crate) const COMMANDS_MAX: u32 = 32;

/// What the machine is told of the device: 126 segments let 128 KiB through in one command.
const CONFIG: ScsiConfig =
    ScsiConfig { segments_max: 126, sectors_max: 4096, queue_depth: COMMANDS_MAX };

/// Why a session is over.
#[derive(Debug, Error)]
pub(crate) enum VhostSessionError {
    /// Its talk makes no sense, or its socket gives no more messages.
    #[error(transparent)]
    Talk(#[from] TalkError),
    /// The machine's time cannot be kept.
    #[error(transparent)]
    Time(#[from] CalendarError),
    /// A call was not heard.
    #[error("the machine does not take a call of the drive")]
    Call,
}

impl From<BrokenRing> for VhostSessionError {
    fn from(_: BrokenRing) -> VhostSessionError {
        TalkError::Ring.into()
    }
}

impl From<SocketError> for VhostSessionError {
    fn from(error: SocketError) -> VhostSessionError {
        TalkError::from(error).into()
    }
}

/// The rings of the device, and the memory in which they lie.
#[derive(Debug)]
pub(crate) struct ScsiRings<'a> {
    /// Task management, and questions about events.
    pub(crate) controls: &'a mut MachineRing,
    /// Commands.
    pub(crate) requests: &'a mut [MachineRing],
    pub(crate) memory: &'a MachineMemory,
}

/// A machine that is connected.
#[derive(Debug)]
pub(crate) struct VhostSession {
    socket: ControlSocket,
    talk: DeviceTalk,
    /// What the machine has said and was not carried out yet. It says nothing more before it is.
    heard: Option<ReceivedMessage>,
}

impl VhostSession {
    pub(crate) fn new(stream: UnixStream) -> VhostSession {
        VhostSession::offering(stream, PROTOCOL_FEATURES)
    }

    /// With a machine whose time is virtual.
    pub(crate) fn in_virtual_time(stream: UnixStream) -> VhostSession {
        VhostSession::offering(stream, PROTOCOL_FEATURES | IN_BAND_NOTIFICATIONS)
    }

    fn offering(stream: UnixStream, protocol_features: u64) -> VhostSession {
        let config = CONFIG.bytes().to_vec();
        let features = TABLES_OF_DESCRIPTORS;
        let rings = FIRST_REQUEST_RING + REQUEST_RINGS;
        let offer = DeviceOffer { features, protocol_features, rings, config };
        let socket = ControlSocket::new(Arc::new(OwnedFd::from(stream)));
        VhostSession { socket, talk: DeviceTalk::new(offer), heard: None }
    }

    /// What becomes readable when the machine has a message.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }

    /// What becomes readable when the machine has something to say; nothing while it waits for what it has said.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        if self.heard.is_some() {
            return Vec::new();
        }
        let kicks = self.talk.rings().iter().filter_map(MachineRing::kick);
        std::iter::once(self.socket.descriptor()).chain(kicks).collect()
    }

    /// The rings that are served, once there is memory in which they lie.
    pub(crate) fn rings(&mut self) -> Option<ScsiRings<'_>> {
        let ServedRings { rings, memory } = self.talk.served()?;
        let [controls, _events, requests @ ..] = rings else { return None };
        Some(ScsiRings { controls, requests, memory })
    }

    /// Takes the kicks of all rings that have one. Buffers for events are left where they are: there are no events.
    pub(crate) fn take_kicks(
        &self,
        ready: impl Fn(BorrowedFd<'_>) -> bool,
    ) -> Result<(), VhostSessionError> {
        for ring in self.talk.rings() {
            if ring.kick().is_some_and(&ready) {
                ring.take_kicks()?;
            }
        }
        Ok(())
    }

    /// Receives a message, which is carried out next.
    pub(crate) fn receive(&mut self) -> Result<(), VhostSessionError> {
        self.heard = Some(self.socket.receive()?);
        Ok(())
    }

    /// What the message that was received means for commands, which rings are counted from the first that carries some; `None` if none is left
    /// to be carried out.
    pub(crate) fn heard(&self) -> Option<MessageEffect> {
        Some(match self.heard.as_ref()?.request.effect() {
            MessageEffect::RingEnds(Some(ring)) => match ring.checked_sub(FIRST_REQUEST_RING) {
                Some(ring) => MessageEffect::RingEnds(Some(ring)),
                None => MessageEffect::None,
            },
            effect => effect,
        })
    }

    /// Does what the message says that was received, if there is one.
    pub(crate) fn carry_out(&mut self) -> Result<Option<OwedReply>, VhostSessionError> {
        let Some(message) = self.heard.take() else { return Ok(None) };
        Ok(Some(self.talk.carry_out(message)?))
    }

    /// Sends an answer, if one is due.
    pub(crate) fn reply(&mut self, owed: OwedReply) -> Result<(), VhostSessionError> {
        Ok(owed.send(&self.socket)?)
    }

    /// Whether a ring has something new for a machine that is called in band.
    pub(crate) fn has_calls(&self) -> bool {
        self.talk.rings().iter().any(MachineRing::is_called)
    }

    /// Calls the machine for the first ring that has something new. Returns when it has heard; what it asks about its
    /// time meanwhile is answered.
    pub(crate) fn call(&mut self, calendar: &mut Calendar) -> Result<(), VhostSessionError> {
        let Some(ring) = self.talk.take_called() else { return Ok(()) };
        let mut channel = self.talk.channel().ok_or(VhostSessionError::Call)?;
        channel.set_read_timeout(Some(CALL_TIME)).map_err(SocketError::from)?;
        channel.write_all(&ring_call(ring)).map_err(SocketError::from)?;
        loop {
            let timeout = Span::from_nanos(CALL_TIME.as_nanos() as u64);
            let descriptors = [channel.as_fd(), calendar.descriptor()];
            let ready = wait(&descriptors, timeout).map_err(SocketError::from)?;
            if ready.contains(&calendar.descriptor().as_raw_fd()) {
                calendar.receive()?;
            }
            if ready.contains(&channel.as_raw_fd()) {
                break;
            }
            if ready.is_empty() {
                return Err(VhostSessionError::Call);
            }
        }
        let mut heard = [0; HEADER_BYTES + 8];
        channel.read_exact(&mut heard).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => SocketError::Gone,
            _ => error.into(),
        })?;
        if heard[HEADER_BYTES..] == 0u64.to_le_bytes() {
            Ok(())
        } else {
            Err(VhostSessionError::Call)
        }
    }
}
