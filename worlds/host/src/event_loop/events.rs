//! What may happen on a loop, to whom, and what a call is for.

use super::disks::Transfer;
use loadline_base::define_id;
use loadline_device::Outcome;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

define_id! {
    /// A disk of one loop. The id is used again after the disk was removed.
    pub struct DiskId, "disk "
}

define_id! {
    /// A listening socket of one loop.
    pub struct ListenerId, "listener "
}

/// A descriptor whose owner reads it himself, and is told when there is something. No id is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadinessId(pub(super) u64);

/// A connection of one loop. An id is never used twice; asking something of a connection that is closed has no
/// effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    pub(super) slot: loadline_base::SlotId,
    pub(super) serial: u64,
}

#[cfg(test)]
impl ConnId {
    /// The connection of a test that has no loop.
    pub(crate) fn numbered(number: u32) -> ConnId {
        ConnId { slot: loadline_base::SlotId::new(number), serial: u64::from(number) }
    }
}

/// Something that happened. `M` is the owner's mail.
#[derive(Debug)]
pub enum LoopEvent<M> {
    /// A request to a disk has ended.
    DiskDone {
        /// The disk.
        disk: DiskId,
        /// The number that came with the request.
        token: u64,
        /// How it ended.
        outcome: Outcome,
        /// A read's bytes or a write's buffer; empty otherwise, and when a read failed.
        data: Vec<u8>,
        /// The system's error number behind a failure, for the log.
        error: Option<i32>,
    },
    /// A peer has connected. Nothing is received before [`Loop::want`](super::Loop::want).
    Accepted {
        /// Through which listener.
        listener: ListenerId,
        /// The new connection.
        conn: ConnId,
        /// Who it is.
        peer: Peer,
    },
    /// The peer sends nothing more, or has gone: the answer to [`Loop::await_close`](super::Loop::await_close). What it has sent before may
    /// still have to be asked for. It is told before everything that others have sent after it.
    Closes {
        /// Whose.
        conn: ConnId,
    },
    /// Bytes have come, the answer to one [`Loop::want`](super::Loop::want).
    Received {
        /// From where.
        conn: ConnId,
        /// At least one byte, at most as many as were wanted.
        bytes: Vec<u8>,
    },
    /// The peer will send nothing more, the answer to a [`Loop::want`](super::Loop::want). It may still read answers; the owner
    /// decides when to close.
    Ended {
        /// Whose.
        conn: ConnId,
    },
    /// Some of what was to be sent is in the system's hands.
    Sent {
        /// To where.
        conn: ConnId,
        /// How many bytes.
        bytes: usize,
        /// How many were still waiting when it was noted; what is sent between then and now is not among them.
        queued: usize,
    },
    /// The connection is gone: its last happening, whoever closed it.
    Closed {
        /// Which.
        conn: ConnId,
        /// Who closed it.
        reason: Disconnect,
    },
    /// A descriptor has something to read, or will never again. It is told of until it is read or [forgotten](super::Loop::forget_readable).
    Readable(ReadinessId),
    /// The process was asked to stop.
    Signal(Signal),
    /// Somebody used the [`Mailbox`](super::Mailbox).
    Mail(M),
}

/// Who has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A process of this machine, by a Unix socket.
    Process {
        /// Its user.
        user: u32,
        /// Its number; 0 where it is none of ours to see.
        process: i32,
    },
    /// A machine, by TCP.
    Address(IpAddr),
    /// The system does not tell.
    Unknown,
}

impl Peer {
    /// Whom it counts as where each may have so much: a machine has all addresses of its IPv6 network (its first 64 bits), and one that IPv4 is written in is that one.
    #[must_use]
    pub fn network(self) -> Peer {
        match self {
            Peer::Address(address) => Peer::Address(match address.to_canonical() {
                IpAddr::V6(address) => {
                    let [a, b, c, d, ..] = address.segments();
                    IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
                }
                address => address,
            }),
            other => other,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Process { user, process } => write!(f, "uid {user}, pid {process}"),
            Peer::Address(address) => write!(f, "{address}"),
            Peer::Unknown => f.write_str("somebody"),
        }
    }
}

/// Why a connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// The owner asked for it.
    Asked,
    /// The peer vanished, or the path to it: the system's error number.
    Broken(i32),
}

/// A signal that [`Loop::watch_signals`](super::Loop::watch_signals) reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT, as from Ctrl-C.
    Interrupt,
    /// SIGHUP: the terminal has gone.
    HangUp,
}

/// What a call is for, as it travels through the backend and back.
#[derive(Debug)]
pub(super) enum CallPurpose {
    Transfer(DiskId, Transfer),
    Accept(ListenerId),
    Receive(ConnId),
    Send(ConnId),
    AwaitClose(ConnId),
    Readiness,
    Mail,
    Signal(Signal),
}
