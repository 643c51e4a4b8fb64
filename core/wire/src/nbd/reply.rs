//! Answers of the transmission phase, as bytes.

use super::bytes::cut;
use super::numbers::{
    CONTEXT_ID, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, cmd, flag, state,
};
use super::request::NbdRequest;
use super::{
    ChangeExtent, EXTENTS_MAX, NbdFailure, ReadPiece, ReplyPayload, SessionOutbox, StatusExtent,
};

/// Answers requests of one connection.
pub(super) struct Replier<'a> {
    pub(super) request: &'a NbdRequest,
    pub(super) structured: bool,
    pub(super) out: &'a mut SessionOutbox,
}

impl Replier<'_> {
    pub(super) fn failure(&mut self, failure: &NbdFailure) {
        let code = failure.error.code();
        if !self.structured {
            return self.simple(code);
        }
        let message = cut(&failure.message).as_bytes();
        self.chunk(chunk::ERROR, chunk::DONE, 6 + message.len() as u32);
        self.out.put(&code.to_be_bytes());
        self.out.put(&(message.len() as u16).to_be_bytes());
        self.out.put(message);
    }

    /// Answers with what the owner brought. A payload that does not fit the request is a bug of the owner.
    pub(super) fn success(&mut self, payload: ReplyPayload) {
        match (self.request.command, payload) {
            (cmd::READ, ReplyPayload::Data(data)) => self.data(data),
            (cmd::READ, ReplyPayload::Pieces(pieces)) => self.pieces(pieces),
            (cmd::BLOCK_STATUS, ReplyPayload::Extents(extents)) => {
                self.extents(extents.iter().map(|extent| (extent.length, allocation(extent))));
            }
            (cmd::BLOCK_STATUS, ReplyPayload::Changes(extents)) => {
                let dirty =
                    |extent: &ChangeExtent| if extent.is_changed { state::DIRTY } else { 0 };
                self.extents(extents.iter().map(|extent| (extent.length, dirty(extent))));
            }
            (cmd::READ | cmd::BLOCK_STATUS, _)
            | (_, ReplyPayload::Data(_) | ReplyPayload::Pieces(_)) => {
                panic!("the payload does not fit command {}", self.request.command)
            }
            // The short form saves bytes where there is nothing to add.
            (_, ReplyPayload::Done | ReplyPayload::Extents(_) | ReplyPayload::Changes(_)) => {
                self.simple(0)
            }
        }
    }

    /// Answers with a part of what a read brings, behind so many bytes that were answered before.
    pub(super) fn part(&mut self, done: u32, data: Vec<u8>) {
        let NbdRequest { offset, length, .. } = *self.request;
        let end = done + data.len() as u32;
        assert!(done < end && end <= length, "a part lies inside its read");
        if self.tells_failures_late() {
            let last = if end == length { chunk::DONE } else { 0 };
            self.data_chunk(offset + u64::from(done), data.len() as u32, last);
        } else if done == 0 {
            self.whole();
        }
        self.out.put_payload(data);
    }

    /// Whether a read may still fail when a part of it was answered.
    pub(super) fn tells_failures_late(&self) -> bool {
        self.structured && !self.request.has(flag::DF)
    }

    fn data(&mut self, data: Vec<u8>) {
        assert_eq!(data.len() as u64, u64::from(self.request.length), "a read is answered whole");
        self.whole();
        self.out.put_payload(data);
    }

    /// What precedes all the data of a read in one stretch.
    fn whole(&mut self) {
        let NbdRequest { offset, length, .. } = *self.request;
        if self.structured {
            self.data_chunk(offset, length, chunk::DONE);
        } else {
            self.simple(0);
        }
    }

    fn pieces(&mut self, pieces: Vec<ReadPiece>) {
        let total: u64 = pieces.iter().map(|piece| u64::from(piece.length())).sum();
        assert_eq!(total, u64::from(self.request.length), "a read is answered whole");
        if self.tells_failures_late() && pieces.len() <= EXTENTS_MAX {
            return self.chunks(pieces);
        }
        self.whole();
        for piece in pieces {
            self.out.put_payload(match piece {
                ReadPiece::Data(data) => data,
                ReadPiece::Hole(length) => vec![0; length as usize],
            });
        }
    }

    fn chunks(&mut self, pieces: Vec<ReadPiece>) {
        let mut offset = self.request.offset;
        let last = pieces.len() - 1;
        for (index, piece) in pieces.into_iter().enumerate() {
            let length = piece.length();
            assert!(length > 0, "a piece of a read is not empty");
            let done = if index == last { chunk::DONE } else { 0 };
            match piece {
                ReadPiece::Data(data) => {
                    self.data_chunk(offset, length, done);
                    self.out.put_payload(data);
                }
                ReadPiece::Hole(_) => {
                    self.chunk(chunk::OFFSET_HOLE, done, 12);
                    self.out.put(&offset.to_be_bytes());
                    self.out.put(&length.to_be_bytes());
                }
            }
            offset += u64::from(length);
        }
    }

    /// Stretches with their states, in order.
    fn extents(&mut self, extents: impl ExactSizeIterator<Item = (u32, u32)>) {
        let most = if self.request.has(flag::REQ_ONE) { 1 } else { EXTENTS_MAX };
        let mut left = self.request.length;
        let mut descriptors = Vec::with_capacity(extents.len().min(most) * 8);
        for (length, state) in extents.take(most) {
            assert!(length > 0, "an extent is not empty");
            let length = length.min(left);
            if length == 0 {
                break;
            }
            left -= length;
            descriptors.extend_from_slice(&length.to_be_bytes());
            descriptors.extend_from_slice(&state.to_be_bytes());
        }
        assert!(!descriptors.is_empty(), "a block status has at least one extent");
        self.chunk(chunk::BLOCK_STATUS, chunk::DONE, 4 + descriptors.len() as u32);
        self.out.put(&CONTEXT_ID.to_be_bytes());
        self.out.put_payload(descriptors);
    }

    fn simple(&mut self, error: u32) {
        let mut head = [0; 16];
        head[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        head[4..8].copy_from_slice(&error.to_be_bytes());
        head[8..].copy_from_slice(&self.request.cookie.to_be_bytes());
        self.out.put(&head);
    }

    fn data_chunk(&mut self, offset: u64, length: u32, done: u16) {
        self.chunk(chunk::OFFSET_DATA, done, 8 + length);
        self.out.put(&offset.to_be_bytes());
    }

    /// The head of a chunk with `length` bytes of payload.
    fn chunk(&mut self, kind: u16, done: u16, length: u32) {
        let mut head = [0; 20];
        head[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        head[4..6].copy_from_slice(&done.to_be_bytes());
        head[6..8].copy_from_slice(&kind.to_be_bytes());
        head[8..16].copy_from_slice(&self.request.cookie.to_be_bytes());
        head[16..].copy_from_slice(&length.to_be_bytes());
        self.out.put(&head);
    }
}

/// An extent's state in `base:allocation`.
fn allocation(extent: &StatusExtent) -> u32 {
    let hole = if extent.hole { state::HOLE } else { 0 };
    let zero = if extent.zero { state::ZERO } else { 0 };
    hole | zero
}

impl ReadPiece {
    fn length(&self) -> u32 {
        match self {
            ReadPiece::Data(data) => u32::try_from(data.len()).expect("a piece lies inside a read"),
            ReadPiece::Hole(length) => *length,
        }
    }
}
