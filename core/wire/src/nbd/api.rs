//! What passes between a session and its owner once an export is chosen. The front door; no algorithms.

use super::{EXTENTS_MAX, ExportId, OPTION_MAX, PAYLOAD_MAX, STRING_MAX};
use loadline_base::SlotId;
use std::borrow::Cow;
use std::fmt;

/// What one connection may hold at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most commands that are handed out and not answered; at least one.
    pub commands: usize,
    /// The most bytes of payload, counted from the request on, plus the bytes of replies that wait to be sent.
    /// The last command that is let in may exceed it.
    pub bytes: u64,
}

impl ConnectionLimits {
    /// The most memory in bytes that a session, its commands and its unsent replies take under these limits, the
    /// answer to one list of exports and the allocator's rounding aside:
    /// the limit, one command beyond it, one option, and for each command what its answer adds to its payload.
    pub const fn memory_max(&self) -> u64 {
        let answer = (EXTENTS_MAX * 28 + STRING_MAX + 64) as u64;
        self.bytes + PAYLOAD_MAX as u64 + OPTION_MAX as u64 + self.commands as u64 * answer
    }
}

impl Default for ConnectionLimits {
    /// 256 commands and 64 MiB: the kernel's client keeps 128 commands in flight, libnbd's copying tool 64 of
    /// 256 KiB each.
    fn default() -> ConnectionLimits {
        ConnectionLimits { commands: 256, bytes: 64 << 20 }
    }
}

/// One command of the client. The session has checked it: its range lies inside the export and is not empty
/// (only a flush has none), and nothing writes to a read-only export.
#[derive(Debug, PartialEq, Eq)]
pub struct ExportCommand {
    /// Names the command in its [`NbdReply`].
    pub id: SlotId,
    /// The export that the client has chosen.
    pub export: ExportId,
    /// What to do.
    pub kind: CommandKind,
    /// First byte.
    pub offset: u64,
    /// How many bytes; at most [`PAYLOAD_MAX`] for a read or write, any number for the others.
    pub length: u32,
    /// Whether what the command writes must be durable before it is answered. Meaningless without writing.
    pub fua: bool,
    /// How many bytes it takes of the room that the owner gave, until it has ended, whether or not its client is there by then.
    pub holds: u64,
}

/// What a [`ExportCommand`] asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Answered with [`ReplyPayload::Data`] or [`ReplyPayload::Pieces`] of exactly the command's length.
    Read,
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Makes every write durable that was answered before the flush was received: on this connection, and where
    /// the export says so on every other.
    Flush,
    /// The range is no longer needed; what it reads afterwards is undefined. May do nothing.
    Trim,
    /// The range reads as zeroes afterwards.
    WriteZeroes {
        /// Whether the range must stay allocated, so that a later write cannot run out of space.
        no_hole: bool,
        /// Whether to refuse with [`NbdError::NotSupported`] unless it is faster than a write.
        fast: bool,
    },
    /// The client will soon read the range.
    Cache,
    /// Answered with [`ReplyPayload::Extents`].
    BlockStatus {
        /// Whether the client looks only at the first extent.
        one: bool,
        /// What it compares with, if it asks for changes and not for what is allocated: answered with [`ReplyPayload::Changes`] then.
        since: Option<ExportId>,
    },
}

impl CommandKind {
    /// How it fails where its range ends past the export.
    pub const fn past_end(&self) -> NbdError {
        match self {
            CommandKind::Write(_) | CommandKind::WriteZeroes { .. } => NbdError::NoSpace,
            _ => NbdError::Invalid,
        }
    }
}

/// The answer to a [`ExportCommand`].
#[derive(Debug, PartialEq, Eq)]
pub struct NbdReply {
    /// Which command.
    pub id: SlotId,
    /// What came of it.
    pub result: Result<ReplyPayload, NbdFailure>,
}

/// What a successful command brings.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyPayload {
    /// Nothing: writes, flushes, trims, zeroes and cache.
    Done,
    /// All the data of a read. The buffer goes to [`Outbox::send`](super::SessionOutbox::send) as it is.
    Data(Vec<u8>),
    /// The data of a read with its holes, in order and without gaps.
    Pieces(Vec<ReadPiece>),
    /// The extents from the command's offset on, at least one. Those beyond the command's length or beyond
    /// [`EXTENTS_MAX`] are left out.
    Extents(Vec<StatusExtent>),
    /// The same of where it may be other than what it is compared with.
    Changes(Vec<ChangeExtent>),
}

impl ReplyPayload {
    /// The data of a read; `None` of anything else.
    pub(super) fn into_data(self) -> Option<Vec<u8>> {
        let ReplyPayload::Pieces(pieces) = self else {
            return match self {
                ReplyPayload::Data(data) => Some(data),
                _ => None,
            };
        };
        let bytes = pieces.into_iter().map(|piece| match piece {
            ReadPiece::Data(data) => data,
            ReadPiece::Hole(length) => vec![0; length as usize],
        });
        Some(bytes.collect::<Vec<_>>().concat())
    }
}

/// A part of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadPiece {
    /// These bytes, at least one.
    Data(Vec<u8>),
    /// So many bytes of zeroes, at least one, which are not transferred if the client understands that.
    Hole(u32),
}

/// A stretch of one allocation state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusExtent {
    /// How many bytes, at least one.
    pub length: u32,
    /// Whether nothing is allocated there, so that a write may run out of space.
    pub hole: bool,
    /// Whether it reads as zeroes.
    pub zero: bool,
}

/// A stretch that may be other than it was, or that is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeExtent {
    /// How many bytes, at least one.
    pub length: u32,
    /// Whether it may be other.
    pub is_changed: bool,
}

/// Why a command failed, in the protocol's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdError {
    /// `EPERM`: not allowed on this export.
    Permission,
    /// `EIO`: the medium or the path to it failed.
    Io,
    /// `ENOMEM`: no memory for it.
    Memory,
    /// `EINVAL`: the request makes no sense here.
    Invalid,
    /// `ENOSPC`: no space, or a write past the end.
    NoSpace,
    /// `EOVERFLOW`: too long to be answered in one piece, as was asked.
    Overflow,
    /// `ENOTSUP`: cannot be fast, as was asked.
    NotSupported,
    /// `ESHUTDOWN`: the server is going away.
    Shutdown,
}

impl NbdError {
    /// The number on the wire.
    pub const fn code(self) -> u32 {
        match self {
            NbdError::Permission => 1,
            NbdError::Io => 5,
            NbdError::Memory => 12,
            NbdError::Invalid => 22,
            NbdError::NoSpace => 28,
            NbdError::Overflow => 75,
            NbdError::NotSupported => 95,
            NbdError::Shutdown => 108,
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            NbdError::Permission => "not allowed on this export",
            NbdError::Io => "input or output failed",
            NbdError::Memory => "out of memory",
            NbdError::Invalid => "invalid request",
            NbdError::NoSpace => "no space left",
            NbdError::Overflow => "too long for one reply",
            NbdError::NotSupported => "not supported",
            NbdError::Shutdown => "the server is shutting down",
        }
    }
}

impl fmt::Display for NbdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// An error with the sentence that a client with structured replies may show. Others see the error only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdFailure {
    /// The error.
    pub error: NbdError,
    /// The sentence; cut after [`STRING_MAX`] bytes.
    pub message: Cow<'static, str>,
}

impl From<NbdError> for NbdFailure {
    fn from(error: NbdError) -> NbdFailure {
        NbdFailure { error, message: Cow::Borrowed(error.sentence()) }
    }
}
