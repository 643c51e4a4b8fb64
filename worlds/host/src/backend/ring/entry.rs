//! A call as an entry of the submission queue.

use crate::backend::Call;
use io_uring::opcode::{Accept, Fallocate, Fsync, PollAdd, Recv, Send, SendMsg};
use io_uring::opcode::{Read, ReadFixed, Write, WriteFixed};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, FsyncFlags};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

/// Why a call with an id of no disk cannot be.
const ATTACHED: &str = "a call names an attached disk";

/// A message header with the list of buffers that it points to, both at a fixed address.
pub(super) struct MessageHeader {
    header: Box<libc::msghdr>,
    parts: Box<[libc::iovec]>,
}

impl MessageHeader {
    /// The header for the buffers of a send. They must stay where they are until it is over.
    pub(super) fn new(buffers: &[Vec<u8>], skip: usize) -> MessageHeader {
        let part = |(index, buffer): (usize, &Vec<u8>)| {
            let bytes = if index == 0 { &buffer[skip..] } else { &buffer[..] };
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
        };
        let mut parts: Box<[libc::iovec]> = buffers.iter().enumerate().map(part).collect();
        // SAFETY: all zeros is a message header: no name, no buffers, no control data.
        let mut header: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        header.msg_iov = parts.as_mut_ptr();
        header.msg_iovlen = parts.len() as _;
        MessageHeader { header, parts }
    }
}

/// A disk as the ring knows it: its places in the tables of files and of memory, if it has some.
pub(super) struct Attached {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) file: Option<u32>,
    pub(super) memory: Option<u16>,
}

/// The entry of a call. Its addresses point into the call's and the message's buffers.
pub(super) fn entry(
    call: &mut Call,
    message: Option<&MessageHeader>,
    disks: &[Option<Attached>],
) -> Entry {
    let of = |disk: &crate::DiskId| disks[usize::from(*disk)].as_ref().expect(ATTACHED);
    match call {
        Call::Read { disk, offset, length, block, priority } => {
            let (disk, at) = (of(disk), block.address());
            let entry = match disk.memory {
                Some(index) => ReadFixed::new(disk.target(), at, *length, index)
                    .offset(*offset)
                    .ioprio(*priority)
                    .build(),
                None => {
                    Read::new(disk.target(), at, *length).offset(*offset).ioprio(*priority).build()
                }
            };
            entry.flags(disk.flags())
        }
        Call::Write { disk, offset, length, block, priority } => {
            let (disk, at) = (of(disk), block.address().cast_const());
            let entry = match disk.memory {
                Some(index) => WriteFixed::new(disk.target(), at, *length, index)
                    .offset(*offset)
                    .ioprio(*priority)
                    .build(),
                None => {
                    Write::new(disk.target(), at, *length).offset(*offset).ioprio(*priority).build()
                }
            };
            entry.flags(disk.flags())
        }
        Call::Flush { disk } => {
            let disk = of(disk);
            Fsync::new(disk.target()).flags(FsyncFlags::DATASYNC).build().flags(disk.flags())
        }
        Call::Punch { disk, offset, length } => {
            let disk = of(disk);
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let entry = Fallocate::new(disk.target(), *length).offset(*offset).mode(mode);
            entry.build().flags(disk.flags())
        }
        Call::Accept { listener, .. } => {
            Accept::new(fd(listener), ptr::null_mut(), ptr::null_mut())
                .flags(libc::SOCK_CLOEXEC)
                .build()
        }
        Call::Receive { socket, bytes } => {
            Recv::new(fd(socket), bytes.as_mut_ptr(), length(bytes.capacity())).build()
        }
        Call::Send { socket, buffers, skip } => match message {
            Some(message) => {
                debug_assert_eq!(message.parts.len(), buffers.len());
                SendMsg::new(fd(socket), &*message.header).flags(libc::MSG_NOSIGNAL as u32).build()
            }
            None => {
                let bytes = &buffers[0][*skip..];
                Send::new(fd(socket), bytes.as_ptr(), length(bytes.len()))
                    .flags(libc::MSG_NOSIGNAL)
                    .build()
            }
        },
        Call::Hear { bell } => PollAdd::new(fd(bell), libc::POLLIN as u32).build(),
        Call::AwaitClose { socket } => PollAdd::new(fd(socket), libc::POLLRDHUP as u32).build(),
    }
}

fn fd(fd: &OwnedFd) -> Fd {
    Fd(fd.as_raw_fd())
}

/// One system call moves at most 2 GiB; whoever sends more gets a short answer and goes on.
fn length(bytes: usize) -> u32 {
    bytes.min(1 << 30) as u32
}

impl Attached {
    /// The number that entries name the disk by: its place in the ring's table, or its descriptor.
    fn target(&self) -> Fd {
        self.file.map_or(Fd(self.fd.as_raw_fd()), |index| Fd(index as i32))
    }

    fn flags(&self) -> Flags {
        if self.file.is_some() { Flags::FIXED_FILE } else { Flags::empty() }
    }
}
