//! The system calls that a loop needs, as values that own their buffers.

use super::ArenaBlock;
use crate::event_loop::DiskId;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// One system call. Descriptors are shared, so that none is closed and its number given away before the call is over.
#[derive(Debug)]
pub(crate) enum Call {
    /// Reads `length` bytes from `offset` into the block.
    Read { disk: DiskId, offset: u64, length: u32, block: ArenaBlock, priority: u16 },
    /// Writes the block's first `length` bytes to `offset`.
    Write { disk: DiskId, offset: u64, length: u32, block: ArenaBlock, priority: u16 },
    /// Makes the disk's data durable.
    Flush { disk: DiskId },
    /// Gives a range of the disk back.
    Punch { disk: DiskId, offset: u64, length: u64 },
    /// Takes the next peer of a listener. `accepted` is the answer.
    Accept { listener: Arc<OwnedFd>, accepted: Option<OwnedFd> },
    /// Receives up to the capacity of `bytes`, which is empty before.
    Receive { socket: Arc<OwnedFd>, bytes: Vec<u8> },
    /// Sends the buffers in order, without the first `skip` bytes of the first one. None of them is empty.
    Send { socket: Arc<OwnedFd>, buffers: Vec<Vec<u8>>, skip: usize },
    /// Waits until a bell rings; it is for the receiver to silence.
    Hear { bell: Arc<OwnedFd> },
    /// Waits until the peer's word that it sends nothing more has reached this machine, whatever stands before it unread.
    AwaitClose { socket: Arc<OwnedFd> },
}

impl Call {
    /// Whether it reads or writes a disk.
    pub(crate) fn moves_disk_bytes(&self) -> bool {
        matches!(self, Call::Read { .. } | Call::Write { .. })
    }

    /// Whether it waits for a peer to close.
    pub(crate) fn awaits_close(&self) -> bool {
        matches!(self, Call::AwaitClose { .. })
    }
}

/// The most buffers in one [`Call::Send`]: what Linux takes at once is 1024, and 64 cover a deep queue's replies.
pub(crate) const SEND_BUFFERS_MAX: usize = 64;

/// A call that is over.
#[derive(Debug)]
pub(crate) struct FinishedCall<P> {
    /// What it was for.
    pub(crate) purpose: P,
    /// The call with its buffers.
    pub(crate) call: Call,
    /// How many bytes were moved, or the system's error.
    pub(crate) result: Result<usize, Errno>,
}
