//! Appending: records into blocks, blocks into requests.

use super::{Kind, RECORD_HEADER, Ring};
use crate::paged::ids::Lsn;
use std::collections::VecDeque;

/// A request's size at most: large enough for a device's full speed, small enough not to hold up others.
const WRITE_MAX: usize = 1 << 20;
/// Full requests in flight.
const WRITES_MAX: usize = 4;

/// A piece of the log to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWrite {
    /// Where it begins.
    pub position: Lsn,
    /// First byte on the device.
    pub offset: u64,
    /// Whole blocks.
    pub data: Vec<u8>,
}

/// The appending end of the log.
#[derive(Clone, Debug)]
pub struct Log {
    ring: Ring,
    /// Oldest position that is still needed.
    start: Lsn,
    /// Where the next record goes.
    head: Lsn,
    /// CRC of the newest record.
    chain: u32,
    /// What has been appended and not yet been cut into a request; it begins with a block.
    buffer: Vec<u8>,
    buffer_start: Lsn,
    sealed: VecDeque<(Lsn, Vec<u8>)>,
    /// Ends of the requests in flight, in order, and whether each is done.
    writing: VecDeque<(Lsn, bool)>,
    written: Lsn,
    spare: Vec<Vec<u8>>,
}

impl Log {
    /// Goes on at `head`, after the record whose CRC is `chain`. `block_prefix` is what the block of `head` holds before
    /// it: that block is written once more, with the same bytes in front.
    pub fn resume(ring: Ring, start: Lsn, head: Lsn, chain: u32, block_prefix: Vec<u8>) -> Log {
        assert_eq!(head.0 % ring.block, block_prefix.len() as u64, "the prefix ends at the head");
        let buffer_start = Lsn(head.0 - block_prefix.len() as u64);
        Log {
            ring,
            start,
            head,
            chain,
            buffer: block_prefix,
            buffer_start,
            sealed: VecDeque::new(),
            writing: VecDeque::new(),
            written: head,
            spare: Vec::new(),
        }
    }

    /// Where the next record goes.
    pub fn head(&self) -> Lsn {
        self.head
    }

    /// CRC of the newest record: what the next one will be chained to.
    pub fn chain(&self) -> u32 {
        self.chain
    }

    /// Everything before is on the device, flushed or not.
    pub fn written(&self) -> Lsn {
        self.written
    }

    /// The measures of the ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Bytes in use: from the oldest needed position on.
    pub fn used(&self) -> u64 {
        self.head.0 - self.start.0
    }

    /// Bytes that may be appended, with the worst case of padding taken off.
    pub fn room(&self) -> u64 {
        // The block of the head may not meet the block of the start, and ending a segment early may cost all of it.
        (self.ring.bytes - self.used()).saturating_sub(2 * self.ring.segment)
    }

    /// Gives everything before `start` back to the ring.
    pub fn release(&mut self, start: Lsn) {
        assert!(start >= self.start && start <= self.head, "the log is released forwards");
        self.start = start;
    }

    /// Appends a record and returns the position after it.
    pub fn append(&mut self, kind: Kind, body: &[u8]) -> Lsn {
        let total = (RECORD_HEADER + body.len()) as u64;
        assert!(body.len() <= self.ring.body_max(), "a record fits a segment");
        self.zero_to(self.ring.record_start(self.head.0));
        if !self.head.0.is_multiple_of(self.ring.segment)
            && total > self.ring.segment_left(self.head.0)
        {
            self.end_segment();
        }
        if self.head.0.is_multiple_of(self.ring.segment) {
            self.seal();
            let mut segment = [0; 16];
            segment[..8].copy_from_slice(&self.ring.store_id.to_le_bytes());
            segment[8..].copy_from_slice(&(self.head.0 / self.ring.segment).to_le_bytes());
            self.push(Kind::Segment, 16, &segment);
            self.zero_to(self.ring.record_start(self.head.0));
        }
        self.push(kind, body.len(), body);
        if self.buffer.len() >= WRITE_MAX {
            self.seal_whole_blocks();
        }
        self.head
    }

    /// Puts a record behind the buffer. A pad's body is left out of its checksum and out of the buffer.
    fn push(&mut self, kind: Kind, length: usize, body: &[u8]) {
        let mut header = [0; RECORD_HEADER];
        header[4..8].copy_from_slice(
            &u32::try_from(length).expect("a segment is below 4 GiB").to_le_bytes(),
        );
        header[8..16].copy_from_slice(&self.head.0.to_le_bytes());
        header[16..20].copy_from_slice(&self.chain.to_le_bytes());
        header[20] = kind as u8;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[4..]), body);
        header[..4].copy_from_slice(&crc.to_le_bytes());
        self.buffer.extend_from_slice(&header);
        self.buffer.extend_from_slice(body);
        self.chain = crc;
        self.head = Lsn(self.head.0 + (RECORD_HEADER + body.len()) as u64);
        assert!(kind == Kind::Pad || length == body.len(), "only a pad has no body");
    }

    fn zero_to(&mut self, position: u64) {
        self.buffer.resize(self.buffer.len() + (position - self.head.0) as usize, 0);
        self.head = Lsn(position);
    }

    /// Pads to the end of the segment. Only the blocks that hold records are written.
    fn end_segment(&mut self) {
        let left = self.ring.segment_left(self.head.0) as usize;
        let end = self.head.0 + left as u64;
        self.push(Kind::Pad, left - RECORD_HEADER, &[]);
        self.zero_to(self.ring.block_end(self.head.0));
        self.seal();
        self.head = Lsn(end);
        self.buffer_start = self.head;
    }

    /// Pads the last block, so that it can be written.
    fn end_block(&mut self) {
        let end = self.ring.block_end(self.head.0);
        let left = (end - self.head.0) as usize;
        if left >= RECORD_HEADER {
            self.push(Kind::Pad, left - RECORD_HEADER, &[]);
        }
        self.zero_to(end);
    }

    /// Cuts the buffer, which ends with a block, into a request of its own.
    fn seal(&mut self) {
        if !self.buffer.is_empty() {
            let next = self.spare.pop().unwrap_or_default();
            let data = std::mem::replace(&mut self.buffer, next);
            self.sealed.push_back((self.buffer_start, data));
        }
        self.buffer_start = self.head;
    }

    /// Cuts the buffer's whole blocks into a request of their own.
    fn seal_whole_blocks(&mut self) {
        let whole = self.buffer.len() / self.ring.block as usize * self.ring.block as usize;
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.extend_from_slice(&self.buffer[whole..]);
        self.buffer.truncate(whole);
        let data = std::mem::replace(&mut self.buffer, rest);
        self.sealed.push_back((self.buffer_start, data));
        self.buffer_start = Lsn(self.buffer_start.0 + whole as u64);
    }

    /// Whether the next record begins a new request, and with it a block.
    pub fn begins_request(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether something is appended that no request holds yet.
    pub fn has_unwritten(&self) -> bool {
        !self.sealed.is_empty() || (!self.buffer.is_empty() && self.head > self.written)
    }

    /// Bytes that no request holds yet.
    pub fn unwritten(&self) -> u64 {
        let sealed: usize = self.sealed.iter().map(|(_, data)| data.len()).sum();
        (sealed + self.buffer.len()) as u64
    }

    /// Whether a request is in flight.
    pub fn is_writing(&self) -> bool {
        !self.writing.is_empty()
    }

    /// The next full request, if there is one and few are in flight.
    pub fn next_full_write(&mut self) -> Option<LogWrite> {
        if self.writing.len() >= WRITES_MAX {
            return None;
        }
        let (position, data) = self.sealed.pop_front()?;
        Some(self.begin_write(position, data))
    }

    /// A request with everything that is left, the last block padded. Only after all full ones.
    pub fn next_last_write(&mut self) -> Option<LogWrite> {
        assert!(self.sealed.is_empty(), "full requests go first");
        if !self.has_unwritten() {
            return None;
        }
        self.end_block();
        let position = self.buffer_start;
        let next = self.spare.pop().unwrap_or_default();
        let data = std::mem::replace(&mut self.buffer, next);
        self.buffer_start = self.head;
        Some(self.begin_write(position, data))
    }

    fn begin_write(&mut self, position: Lsn, data: Vec<u8>) -> LogWrite {
        self.writing.push_back((Lsn(position.0 + data.len() as u64), false));
        LogWrite { position, offset: self.ring.place(position), data }
    }

    /// A request that began at `position` is done; its buffer is used again.
    pub fn write_done(&mut self, position: Lsn, mut buffer: Vec<u8>) {
        let end = Lsn(position.0 + buffer.len() as u64);
        buffer.clear();
        self.spare.push(buffer);
        let request = self.writing.iter_mut().find(|(at, _)| *at == end);
        request.expect("the request is in flight").1 = true;
        while let Some(&(end, true)) = self.writing.front() {
            self.written = self.written.max(end);
            self.writing.pop_front();
        }
        // A segment's unwritten rest is as good as written once the blocks before it are.
        if self.writing.is_empty() && self.sealed.is_empty() && self.buffer.is_empty() {
            self.written = self.head;
        }
    }
}
