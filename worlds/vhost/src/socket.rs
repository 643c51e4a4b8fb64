//! The control socket: messages with the descriptors that travel beside them.

use loadline_wire::vhost::{HEADER_BYTES, MessageHead, VhostError, VhostRequest, reply};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::time::Timespec;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use thiserror::Error;

/// How long a message may take once it has begun, for who waits for it: its sender is on this machine and sends it at once.
const MESSAGE_TIME: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Most descriptors beside one message.
const DESCRIPTORS_MAX: usize = 32;

/// Why no message could be had; the session is over.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The machine has closed its end.
    #[error("the machine has gone")]
    Gone,
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Io(#[from] io::Error),
    /// The message makes no sense.
    #[error("the machine said something that is not understood: {0}")]
    Message(#[from] VhostError),
}

/// A message that was received.
#[derive(Debug)]
pub struct ReceivedMessage {
    /// Its head.
    pub head: MessageHead,
    /// What it asks.
    pub request: VhostRequest,
    /// What came beside it.
    pub descriptors: Vec<OwnedFd>,
}

/// One end of the control socket.
#[derive(Debug)]
pub struct ControlSocket {
    socket: Arc<OwnedFd>,
    /// What has come of the next message.
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl ControlSocket {
    /// Of a machine that has connected.
    pub fn new(socket: Arc<OwnedFd>) -> ControlSocket {
        ControlSocket { socket, bytes: Vec::new(), descriptors: Vec::new() }
    }

    /// What becomes readable when the machine says something.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The next message; waits for it, and not for ever for its end.
    ///
    /// # Errors
    /// The machine has gone, or says what makes no sense.
    pub fn receive(&mut self) -> Result<ReceivedMessage, SocketError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut polled, Some(&MESSAGE_TIME)) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    /// The machine has gone, or says what makes no sense.
    pub fn take(&mut self) -> Result<Option<ReceivedMessage>, SocketError> {
        loop {
            let head = match self.bytes.first_chunk::<HEADER_BYTES>() {
                Some(head) => Some(MessageHead::decode(head)?),
                None => None,
            };
            let length = HEADER_BYTES + head.map_or(0, |head| head.payload_bytes);
            let missing = length - self.bytes.len();
            if let Some(head) = head.filter(|_| missing == 0) {
                let bytes = std::mem::take(&mut self.bytes);
                let descriptors = std::mem::take(&mut self.descriptors);
                let payload = &bytes[HEADER_BYTES..];
                let request = VhostRequest::decode(head.request, payload, descriptors.len())?;
                return Ok(Some(ReceivedMessage { head, request, descriptors }));
            }
            if !self.fill(missing)? {
                return Ok(None);
            }
        }
    }

    /// Takes some of the bytes that are missing; false if there are none yet.
    fn fill(&mut self, missing: usize) -> Result<bool, SocketError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let have = self.bytes.len();
        self.bytes.resize(have + missing, 0);
        let mut slices = [IoSliceMut::new(&mut self.bytes[have..])];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let got = recvmsg(&self.socket, &mut slices, &mut beside, flags);
        self.bytes.truncate(have + got.as_ref().map_or(0, |got| got.bytes));
        let got = match got {
            Ok(got) => got,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(Errno::CONNRESET) => return Err(SocketError::Gone),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        if got.bytes == 0 {
            return Err(SocketError::Gone);
        }
        if got.flags.contains(ReturnFlags::CTRUNC) || self.descriptors.len() > DESCRIPTORS_MAX {
            return Err(io::Error::other("more descriptors than any message has").into());
        }
        Ok(true)
    }

    /// Answers a message, with a descriptor beside it if there is one. Whoever does not take so little has stopped to listen.
    ///
    /// # Errors
    /// The machine does not take it.
    pub fn reply(
        &self,
        request: u32,
        payload: &[u8],
        beside: Option<BorrowedFd<'_>>,
    ) -> Result<(), SocketError> {
        let message = reply(request, payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let beside = beside.as_slice();
        if !beside.is_empty() {
            let has_room = control.push(SendAncillaryMessage::ScmRights(beside));
            debug_assert!(has_room, "there is room for one");
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match sendmsg(&self.socket, &[IoSlice::new(&message)], &mut control, flags) {
            Ok(sent) if sent == message.len() => Ok(()),
            Ok(_) | Err(Errno::AGAIN) => {
                Err(io::Error::other("the machine does not take its answers").into())
            }
            Err(Errno::PIPE | Errno::CONNRESET) => Err(SocketError::Gone),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
