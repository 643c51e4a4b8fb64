//! The talk with a machine about its memory and its rings, as far as it is the same for every device.

use crate::inflight::{InflightError, InflightTable};
use crate::memory::{MachineMemory, MemoryError};
use crate::ring::{BrokenRing, MachineRing};
use crate::socket::{ControlSocket, ReceivedMessage, SocketError};
use loadline_wire::vhost::{VhostRequest, config_changed, config_reply};
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use thiserror::Error;

/// VIRTIO_F_VERSION_1 and VHOST_USER_F_PROTOCOL_FEATURES, which every device has.
const FEATURES: u64 = 1 << 32 | 1 << 30;

/// VIRTIO_RING_F_EVENT_IDX.
const EVENT_INDEX: u64 = 1 << 29;

/// Protocol features: answers to every request that wants one; memory for what is under way.
const REPLY_ACK: u64 = 1 << 3;
const INFLIGHT: u64 = 1 << 12;

/// Why a talk is over.
#[derive(Debug, Error)]
pub enum TalkError {
    /// Its socket gives no more messages, or takes none.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The machine's memory cannot be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Memory for what is under way cannot be had.
    #[error(transparent)]
    Inflight(#[from] InflightError),
    /// A ring makes no sense.
    #[error("a ring of the machine makes no sense")]
    Ring,
}

impl From<BrokenRing> for TalkError {
    fn from(_: BrokenRing) -> TalkError {
        TalkError::Ring
    }
}

/// What a device offers.
#[derive(Clone, Debug)]
pub struct DeviceOffer {
    /// Features of virtio, beside those that every device has.
    pub features: u64,
    /// Features of vhost-user.
    pub protocol_features: u64,
    /// How many rings it may have.
    pub rings: usize,
    /// Its configuration.
    pub config: Vec<u8>,
}

/// The rings that a device serves, and the memory in which they lie.
#[derive(Debug)]
pub struct ServedRings<'a> {
    /// All that there may be.
    pub rings: &'a mut [MachineRing],
    /// The machine's.
    pub memory: &'a MachineMemory,
}

/// An answer that the machine waits for.
#[derive(Debug)]
#[must_use]
pub struct OwedReply {
    request: u32,
    payload: Option<Vec<u8>>,
    beside: Option<OwnedFd>,
    /// It has kicked a ring, and goes on when it has the answer.
    pub kicked: bool,
}

impl OwedReply {
    /// Sends it, if one is due.
    ///
    /// # Errors
    /// The machine does not take it.
    pub fn send(self, socket: &ControlSocket) -> Result<(), SocketError> {
        match self.payload {
            Some(payload) => {
                socket.reply(self.request, &payload, self.beside.as_ref().map(AsFd::as_fd))
            }
            None => Ok(()),
        }
    }
}

/// What a request is answered with by itself.
enum TalkAnswer {
    /// Nothing but that it went well, if somebody wants to know.
    Done,
    Bytes(Vec<u8>),
    WithDescriptor(Vec<u8>, OwnedFd),
}

/// What a machine has said so far.
#[derive(Debug)]
pub struct DeviceTalk {
    offer: DeviceOffer,
    memory: Option<MachineMemory>,
    rings: Vec<MachineRing>,
    features: u64,
    protocol_features: u64,
    inflight: Option<InflightTable>,
    /// By which the device says something by itself. A machine may take the closing of this channel for its own end and then never rest
    /// again (user-mode Linux does), so it is kept.
    channel: Option<UnixStream>,
}

impl DeviceTalk {
    /// Nothing has been said yet.
    pub fn new(offer: DeviceOffer) -> DeviceTalk {
        DeviceTalk {
            rings: (0..offer.rings).map(|_| MachineRing::new()).collect(),
            offer,
            memory: None,
            features: 0,
            protocol_features: 0,
            inflight: None,
            channel: None,
        }
    }

    /// The rings that are served, once there is memory in which they lie.
    pub fn served(&mut self) -> Option<ServedRings<'_>> {
        let memory = self.memory.as_ref()?;
        Some(ServedRings { rings: &mut self.rings, memory })
    }

    /// Whether a ring has a request that was not taken.
    pub fn has_requests(&self) -> bool {
        let memory = self.memory.as_ref();
        memory.is_some_and(|memory| self.rings.iter().any(|ring| ring.has_requests(memory)))
    }

    /// All rings that there may be.
    pub fn rings(&self) -> &[MachineRing] {
        &self.rings
    }

    /// Whether a feature of virtio is agreed on.
    pub fn has(&self, feature: u64) -> bool {
        self.features & feature != 0
    }

    /// Whether the machine keeps what is under way for whoever serves it next.
    pub fn keeps_under_way(&self) -> bool {
        self.inflight.is_some() && self.protocol_features & INFLIGHT != 0
    }

    /// The channel by which the device says something by itself.
    pub fn channel(&self) -> Option<&UnixStream> {
        self.channel.as_ref()
    }

    /// The same rings, of which the first that has something new for a machine that is called in band is called from now on.
    pub fn take_called(&mut self) -> Option<usize> {
        self.rings.iter_mut().position(MachineRing::take_called)
    }

    /// The device has another configuration; a machine that has a channel for it is told. Answers whether it was.
    pub fn set_config(&mut self, config: Vec<u8>) -> bool {
        self.offer.config = config;
        let message = config_changed();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = self.channel.as_ref().map(|channel| send(channel, &message, flags));
        matches!(sent, Some(Ok(bytes)) if bytes == message.len())
    }

    /// Does what a message says.
    ///
    /// # Errors
    /// It makes no sense, or what it needs cannot be had.
    pub fn carry_out(&mut self, message: ReceivedMessage) -> Result<OwedReply, TalkError> {
        let ReceivedMessage { head, request, descriptors } = message;
        let kicked = matches!(request, VhostRequest::Kick { .. });
        let answer = self.answer(request, descriptors)?;
        let wants_word = head.need_reply && self.protocol_features & REPLY_ACK != 0;
        let (payload, beside) = match answer {
            TalkAnswer::Done => (wants_word.then(|| number(0)), None),
            TalkAnswer::Bytes(bytes) => (Some(bytes), None),
            TalkAnswer::WithDescriptor(bytes, beside) => (Some(bytes), Some(beside)),
        };
        Ok(OwedReply { request: head.request, payload, beside, kicked })
    }

    fn answer(
        &mut self,
        request: VhostRequest,
        mut descriptors: Vec<OwnedFd>,
    ) -> Result<TalkAnswer, TalkError> {
        match request {
            VhostRequest::GetFeatures => {
                return Ok(TalkAnswer::Bytes(number(self.offer.features | FEATURES)));
            }
            VhostRequest::GetProtocolFeatures => {
                return Ok(TalkAnswer::Bytes(number(self.offer.protocol_features)));
            }
            VhostRequest::GetQueueCount => {
                return Ok(TalkAnswer::Bytes(number(self.offer.rings as u64)));
            }
            VhostRequest::GetConfig { offset, bytes } => {
                return Ok(TalkAnswer::Bytes(config_reply(&self.offer.config, offset, bytes)));
            }
            VhostRequest::StopRing { ring } => {
                let next = self.known(ring)?.stop();
                let bytes = [(ring as u32).to_le_bytes(), next.to_le_bytes()].concat();
                return Ok(TalkAnswer::Bytes(bytes));
            }
            VhostRequest::GetInflight { rings, size } => {
                if usize::from(rings) > self.rings.len() {
                    return Err(TalkError::Ring);
                }
                let (area, file) = InflightTable::make(rings, size)?;
                return Ok(TalkAnswer::WithDescriptor(area.reply(), file));
            }
            VhostRequest::SetInflight(area) => {
                let file = descriptors.pop().ok_or(TalkError::Ring)?;
                self.inflight = Some(InflightTable::map(area, file)?);
            }
            VhostRequest::SetOwner | VhostRequest::SetConfig => {}
            VhostRequest::ResetOwner => {
                self.rings = (0..self.offer.rings).map(|_| MachineRing::new()).collect();
            }
            VhostRequest::SetFeatures(features) => self.agree(features),
            VhostRequest::SetProtocolFeatures(features) => self.protocol_features = features,
            VhostRequest::SetMemory(regions) => {
                self.memory = Some(MachineMemory::map(regions, descriptors)?);
            }
            VhostRequest::SetRingSize { ring, size } => self.known(ring)?.set_size(size)?,
            VhostRequest::SetRingAddresses { ring, addresses } => {
                let memory = self.memory.clone().ok_or(TalkError::Ring)?;
                self.known(ring)?.set_addresses(&memory, addresses)?;
            }
            VhostRequest::SetRingBase { ring, next } => self.known(ring)?.set_base(next)?,
            VhostRequest::SetKick { ring } => {
                // One that runs gets another descriptor, and takes nothing twice.
                if !self.known(ring)?.has_begun() {
                    self.go_on(ring)?;
                }
                self.known(ring)?.set_kick(descriptors.pop());
            }
            VhostRequest::SetCall { ring } => self.known(ring)?.set_call(descriptors.pop()),
            VhostRequest::SetError { ring } => {
                self.known(ring)?;
            }
            VhostRequest::EnableRing { ring, enabled } => self.known(ring)?.enable(enabled),
            VhostRequest::SetBackendChannel => {
                self.channel = descriptors.pop().map(UnixStream::from);
            }
            VhostRequest::Kick { ring } => self.known(ring)?.start(),
        }
        Ok(TalkAnswer::Done)
    }

    /// Until it is said otherwise rings run only if the machine does not know how to enable them.
    fn agree(&mut self, features: u64) {
        self.features = features & (self.offer.features | FEATURES);
        let runs = features & 1 << 30 == 0;
        for ring in &mut self.rings {
            ring.set_event_index(self.features & EVENT_INDEX != 0);
            if runs {
                ring.enable(true);
            }
        }
    }

    /// A ring begins, where the last session's requests under way are known with those.
    fn go_on(&mut self, ring: usize) -> Result<(), TalkError> {
        let is_agreed = self.protocol_features & INFLIGHT != 0;
        let (Some(table), Some(memory)) = (&self.inflight, &self.memory) else { return Ok(()) };
        let place = self.rings.get_mut(ring).ok_or(TalkError::Ring)?;
        if is_agreed {
            let inflight = table.ring(ring, place.size())?;
            place.go_on(memory, inflight)?;
        }
        Ok(())
    }

    fn known(&mut self, ring: usize) -> Result<&mut MachineRing, TalkError> {
        self.rings.get_mut(ring).ok_or(TalkError::Ring)
    }
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}
