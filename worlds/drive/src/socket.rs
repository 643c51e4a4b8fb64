//! The control socket: messages with the descriptors that travel beside them.

use loadline_wire::vhost::{HEADER_BYTES, MessageHead, VhostError, VhostRequest, reply};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// How long a message may take once it has begun: its sender is on this machine and sends it at once.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// Most descriptors beside one message.
const DESCRIPTORS_MAX: usize = 32;

/// Why no message could be had; the session is over.
#[derive(Debug, Error)]
pub(crate) enum SocketError {
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

/// A socket at `path`, where machines find the drive. One that a former drive has left is replaced.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// Whether nobody listens there any more.
fn is_left(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    UnixStream::connect(path).is_err_and(refused)
}

/// A message that was received.
#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) head: MessageHead,
    pub(crate) request: VhostRequest,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// One end of the control socket.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    stream: UnixStream,
}

impl ControlSocket {
    pub(crate) fn new(stream: UnixStream) -> io::Result<ControlSocket> {
        stream.set_read_timeout(Some(MESSAGE_TIME))?;
        stream.set_write_timeout(Some(MESSAGE_TIME))?;
        Ok(ControlSocket { stream })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The next message; waits for its end once it has begun.
    pub(crate) fn receive(&mut self) -> Result<ReceivedMessage, SocketError> {
        let mut bytes = [0; HEADER_BYTES];
        let (have, descriptors) = self.begin(&mut bytes)?;
        self.fill(&mut bytes[have..])?;
        let head = MessageHead::decode(&bytes)?;
        let mut payload = vec![0; head.payload_bytes];
        self.fill(&mut payload)?;
        let request = VhostRequest::decode(head.request, &payload, descriptors.len())?;
        Ok(ReceivedMessage { head, request, descriptors })
    }

    /// The first bytes of a message, with which its descriptors come.
    fn begin(&self, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), SocketError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(bytes)];
        let got = recvmsg(&self.stream, &mut slices, &mut beside, RecvFlags::CMSG_CLOEXEC)
            .map_err(io::Error::from)?;
        let descriptors = beside
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        if got.bytes == 0 {
            return Err(SocketError::Gone);
        }
        if got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::Error::other("more descriptors than any message has").into());
        }
        Ok((got.bytes, descriptors))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SocketError> {
        self.stream.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SocketError::Gone,
            _ => error.into(),
        })
    }

    pub(crate) fn reply(&mut self, request: u32, payload: &[u8]) -> Result<(), SocketError> {
        self.stream.write_all(&reply(request, payload)).map_err(SocketError::from)
    }
}
