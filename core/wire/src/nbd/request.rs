//! One request of the transmission phase: its head, and whether it makes sense.

use super::bytes::Fields;
use super::numbers::{REQUEST_MAGIC, cmd, flag};
use super::terms::Agreed;
use super::{CommandKind, NbdError, NbdFailure, PAYLOAD_MAX, Violation};
use crate::request_room::{part_within, range_room, status_room};
use std::borrow::Cow;

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct NbdRequest {
    flags: u16,
    pub(super) command: u16,
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl NbdRequest {
    pub(super) fn decode(head: [u8; 28]) -> Result<NbdRequest, Violation> {
        let mut fields = Fields(&head);
        let mut decode = || {
            let magic = fields.u32()?;
            let (flags, command) = (fields.u16()?, fields.u16()?);
            let (cookie, offset) = (fields.u64()?, fields.u64()?);
            Some((magic, NbdRequest { flags, command, cookie, offset, length: fields.u32()? }))
        };
        match decode().expect("the head has 28 bytes") {
            (REQUEST_MAGIC, request) => Ok(request),
            (magic, _) => Err(Violation::RequestMagic(magic)),
        }
    }

    /// How many bytes follow the head.
    pub(super) fn payload(&self) -> u32 {
        if self.command == cmd::WRITE { self.length } else { 0 }
    }

    /// How many bytes of data go one way or the other.
    pub(super) fn transfer(&self) -> u32 {
        if matches!(self.command, cmd::READ | cmd::WRITE) { self.length } else { 0 }
    }

    /// How much memory it takes until it is answered: its data, or ops on what it names; and the longest list of extents.
    pub(super) fn room(&self) -> u64 {
        let length = u64::from(self.length);
        match self.command {
            cmd::BLOCK_STATUS => status_room(length),
            cmd::TRIM | cmd::WRITE_ZEROES => range_room([length]),
            _ => u64::from(self.transfer()),
        }
    }

    /// What is carried out of it in so much room, and how much that takes: of data the first part of it, and anything else as a whole.
    pub(super) fn within(&self, room: u64) -> (NbdRequest, u64) {
        if self.transfer() == 0 {
            return (*self, self.room().min(room));
        }
        let length = part_within(self.offset, u64::from(self.length), room);
        (NbdRequest { length: length as u32, ..*self }, length)
    }

    /// What is left of it behind so many bytes.
    pub(super) fn behind(&self, done: u32) -> NbdRequest {
        NbdRequest { offset: self.offset + u64::from(done), length: self.length - done, ..*self }
    }

    pub(super) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// What the request asks for; `data` is its payload. The request was found to make sense.
    pub(super) fn kind(&self, data: Vec<u8>) -> CommandKind {
        match self.command {
            cmd::READ => CommandKind::Read,
            cmd::WRITE => CommandKind::Write(data),
            cmd::FLUSH => CommandKind::Flush,
            cmd::TRIM => CommandKind::Trim,
            cmd::CACHE => CommandKind::Cache,
            cmd::WRITE_ZEROES => CommandKind::WriteZeroes {
                no_hole: self.has(flag::NO_HOLE),
                fast: self.has(flag::FAST_ZERO),
            },
            cmd::BLOCK_STATUS => {
                CommandKind::BlockStatus { one: self.has(flag::REQ_ONE), since: None }
            }
            command => panic!("command {command} makes no sense"),
        }
    }

    /// Whether the request makes sense on this export, with what was agreed.
    pub(super) fn check(&self, agreed: &Agreed) -> Result<(), NbdFailure> {
        let flags = self
            .flags_allowed(agreed)
            .ok_or(fail(NbdError::Invalid, "this command is not known here"))?;
        if self.flags & !flags != 0 {
            return Err(fail(NbdError::Invalid, "a flag that this command does not have here"));
        }
        if self.writes() && agreed.read_only {
            return Err(fail(NbdError::Permission, "the export is read-only"));
        }
        if self.command == cmd::BLOCK_STATUS && agreed.context.is_none() {
            return Err(fail(NbdError::Invalid, "no metadata context was selected"));
        }
        if self.command == cmd::FLUSH {
            let empty = self.offset == 0 && self.length == 0;
            return empty.then_some(()).ok_or(fail(NbdError::Invalid, "a flush has no range"));
        }
        self.check_range(agreed.size)
    }

    fn check_range(&self, size: u64) -> Result<(), NbdFailure> {
        if self.length == 0 {
            return Err(fail(NbdError::Invalid, "the range is empty"));
        }
        if self.transfer() > PAYLOAD_MAX {
            let whole = self.command == cmd::READ && self.has(flag::DF);
            let error = if whole { NbdError::Overflow } else { NbdError::Invalid };
            return Err(fail(error, "more than 32 MiB in one request"));
        }
        let end = self.offset.checked_add(u64::from(self.length));
        if end.is_none_or(|end| end > size) {
            let error = self.kind(Vec::new()).past_end();
            return Err(fail(error, "the range ends past the export"));
        }
        Ok(())
    }

    fn writes(&self) -> bool {
        matches!(self.command, cmd::WRITE | cmd::TRIM | cmd::WRITE_ZEROES)
    }

    /// The flags that the command may have; every command may have `FUA`. `None` if it is
    /// not offered.
    fn flags_allowed(&self, agreed: &Agreed) -> Option<u16> {
        let when = |condition: bool, flag: u16| if condition { flag } else { 0 };
        let own = match self.command {
            cmd::READ => when(agreed.structured, flag::DF),
            cmd::WRITE | cmd::FLUSH | cmd::TRIM => 0,
            cmd::CACHE if agreed.cache => 0,
            cmd::WRITE_ZEROES => flag::NO_HOLE | when(agreed.fast_zero, flag::FAST_ZERO),
            cmd::BLOCK_STATUS => flag::REQ_ONE,
            _ => return None,
        };
        Some(own | flag::FUA)
    }
}

fn fail(error: NbdError, message: &'static str) -> NbdFailure {
    NbdFailure { error, message: Cow::Borrowed(message) }
}
