//! The talk with a machine about its memory and its rings.

use crate::calendar::{Calendar, CalendarError};
use crate::memory::{MachineMemory, MemoryError};
use crate::ring::{BrokenRing, MachineRing};
use crate::socket::{ControlSocket, ReceivedMessage, SocketError};
use crate::waiting::wait;
use loadline_base::Span;
use loadline_wire::vhost::{DeviceConfig, HEADER_BYTES, VhostRequest, ring_call};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thiserror::Error;

/// Task management and questions about events; events, of which this device has none; commands.
const RINGS: usize = 3;

/// VIRTIO_F_VERSION_1 and VHOST_USER_F_PROTOCOL_FEATURES.
const FEATURES: u64 = 1 << 32 | 1 << 30;

/// Several queues, answers to every request that wants one, requests of the device, and its configuration. Without the
/// third the machine asks for interrupt 0, which is the clock's.
const PROTOCOL_FEATURES: u64 = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 9;

/// Kicks and calls are messages with answers: in virtual time both sides have to know when one was heard.
const IN_BAND_NOTIFICATIONS: u64 = 1 << 14;

/// How long the machine may take to hear a call: it waits for one.
const CALL_TIME: Duration = Duration::from_secs(60);

/// What the machine is told of the device: 126 segments let 128 KiB through in one command.
const CONFIG: DeviceConfig = DeviceConfig { segments_max: 126, sectors_max: 4096, queue_depth: 32 };

/// Why a session is over.
#[derive(Debug, Error)]
pub(crate) enum VhostSessionError {
    /// Its socket gives no more messages.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The machine's memory cannot be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A ring makes no sense.
    #[error("a ring of the machine makes no sense")]
    Ring,
    /// The machine's time cannot be kept.
    #[error(transparent)]
    Time(#[from] CalendarError),
    /// A call was not heard.
    #[error("the machine does not take a call of the drive")]
    Call,
}

impl From<BrokenRing> for VhostSessionError {
    fn from(_: BrokenRing) -> VhostSessionError {
        VhostSessionError::Ring
    }
}

/// The rings that a device serves, and the memory in which they lie.
#[derive(Debug)]
pub(crate) struct ServedRings<'a> {
    /// Task management, and questions about events.
    pub(crate) controls: &'a mut MachineRing,
    /// Commands.
    pub(crate) requests: &'a mut MachineRing,
    pub(crate) memory: &'a MachineMemory,
}

/// A machine that is connected.
#[derive(Debug)]
pub(crate) struct VhostSession {
    socket: ControlSocket,
    memory: Option<MachineMemory>,
    rings: [MachineRing; RINGS],
    offered: u64,
    protocol_features: u64,
    /// By which the machine is called in band. It takes the closing of this channel for its own end and then never rests
    /// again, so it is kept.
    backend_channel: Option<UnixStream>,
}

/// An answer that the machine waits for.
#[derive(Debug)]
#[must_use]
pub(crate) struct OwedReply {
    request: u32,
    payload: Option<Vec<u8>>,
    /// It has kicked a ring, and goes on when it has the answer.
    pub(crate) kicked: bool,
}

impl VhostSession {
    pub(crate) fn new(stream: UnixStream) -> io::Result<VhostSession> {
        VhostSession::offering(stream, PROTOCOL_FEATURES)
    }

    /// With a machine whose time is virtual.
    pub(crate) fn in_virtual_time(stream: UnixStream) -> io::Result<VhostSession> {
        VhostSession::offering(stream, PROTOCOL_FEATURES | IN_BAND_NOTIFICATIONS)
    }

    fn offering(stream: UnixStream, offered: u64) -> io::Result<VhostSession> {
        Ok(VhostSession {
            socket: ControlSocket::new(stream)?,
            memory: None,
            rings: std::array::from_fn(|_| MachineRing::new()),
            offered,
            protocol_features: 0,
            backend_channel: None,
        })
    }

    /// What becomes readable when the machine has a message.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }

    /// What becomes readable when the machine has something to say.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let kicks = self.rings.iter().filter_map(MachineRing::kick);
        std::iter::once(self.socket.descriptor()).chain(kicks).collect()
    }

    /// The rings that are served, once there is memory in which they lie.
    pub(crate) fn rings(&mut self) -> Option<ServedRings<'_>> {
        let memory = self.memory.as_ref()?;
        let [controls, _events, requests] = &mut self.rings;
        Some(ServedRings { controls, requests, memory })
    }

    /// Takes the kicks of all rings that have one. Buffers for events are left where they are: there are no events.
    pub(crate) fn take_kicks(
        &self,
        ready: impl Fn(BorrowedFd<'_>) -> bool,
    ) -> Result<(), VhostSessionError> {
        for ring in &self.rings {
            if ring.kick().is_some_and(&ready) {
                ring.take_kicks()?;
            }
        }
        Ok(())
    }

    /// Receives a message and does what it says.
    pub(crate) fn receive(&mut self) -> Result<OwedReply, VhostSessionError> {
        let ReceivedMessage { head, request, descriptors } = self.socket.receive()?;
        let kicked = matches!(request, VhostRequest::Kick { .. });
        let answer = self.carry_out(request, descriptors)?;
        let wants_word = head.need_reply && self.protocol_features & 1 << 3 != 0;
        let payload = answer.or_else(|| wants_word.then(|| number(0)));
        Ok(OwedReply { request: head.request, payload, kicked })
    }

    /// Sends an answer, if one is due.
    pub(crate) fn reply(&mut self, owed: OwedReply) -> Result<(), VhostSessionError> {
        match owed.payload {
            Some(payload) => Ok(self.socket.reply(owed.request, &payload)?),
            None => Ok(()),
        }
    }

    /// Whether a ring has something new for a machine that is called in band.
    pub(crate) fn has_calls(&self) -> bool {
        self.rings.iter().any(MachineRing::is_called)
    }

    /// Calls the machine for the first ring that has something new. Returns when it has heard; what it asks about its
    /// time meanwhile is answered.
    pub(crate) fn call(&mut self, calendar: &mut Calendar) -> Result<(), VhostSessionError> {
        let Some(ring) = self.rings.iter_mut().position(MachineRing::take_called) else {
            return Ok(());
        };
        let mut channel = self.backend_channel.as_ref().ok_or(VhostSessionError::Call)?;
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
        if heard[HEADER_BYTES..] == number(0) { Ok(()) } else { Err(VhostSessionError::Call) }
    }

    /// `Some` is an answer that the request itself has.
    fn carry_out(
        &mut self,
        request: VhostRequest,
        mut descriptors: Vec<OwnedFd>,
    ) -> Result<Option<Vec<u8>>, VhostSessionError> {
        match request {
            VhostRequest::GetFeatures => return Ok(Some(number(FEATURES))),
            VhostRequest::GetProtocolFeatures => return Ok(Some(number(self.offered))),
            VhostRequest::GetQueueCount => return Ok(Some(number(RINGS as u64))),
            VhostRequest::GetConfig { offset, bytes } => {
                return Ok(Some(CONFIG.reply(offset, bytes)));
            }
            VhostRequest::StopRing { ring } => {
                let next = self.known(ring)?.stop();
                return Ok(Some([(ring as u32).to_le_bytes(), next.to_le_bytes()].concat()));
            }
            VhostRequest::SetOwner | VhostRequest::SetConfig => {}
            VhostRequest::ResetOwner => self.rings = std::array::from_fn(|_| MachineRing::new()),
            // Until it is said otherwise rings run only if the machine does not know how to enable them.
            VhostRequest::SetFeatures(features) => {
                let enabled = features & 1 << 30 == 0;
                self.rings.iter_mut().for_each(|ring| ring.enable(enabled));
            }
            VhostRequest::SetProtocolFeatures(features) => self.protocol_features = features,
            VhostRequest::SetMemory(regions) => {
                self.memory = Some(MachineMemory::map(regions, descriptors)?);
            }
            VhostRequest::SetRingSize { ring, size } => self.known(ring)?.set_size(size)?,
            VhostRequest::SetRingAddresses { ring, addresses } => {
                let memory = self.memory.clone().ok_or(VhostSessionError::Ring)?;
                self.known(ring)?.set_addresses(&memory, addresses)?;
            }
            VhostRequest::SetRingBase { ring, next } => self.known(ring)?.set_base(next)?,
            VhostRequest::SetKick { ring } => self.known(ring)?.set_kick(descriptors.pop()),
            VhostRequest::SetCall { ring } => self.known(ring)?.set_call(descriptors.pop()),
            VhostRequest::SetError { ring } => {
                self.known(ring)?;
            }
            VhostRequest::EnableRing { ring, enabled } => self.known(ring)?.enable(enabled),
            VhostRequest::SetBackendChannel => {
                self.backend_channel = descriptors.pop().map(UnixStream::from);
            }
            VhostRequest::Kick { ring } => self.known(ring)?.start(),
        }
        Ok(None)
    }

    fn known(&mut self, ring: usize) -> Result<&mut MachineRing, VhostSessionError> {
        self.rings.get_mut(ring).ok_or(VhostSessionError::Ring)
    }
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}
