//! Appending: records into blocks, blocks into requests.

use super::{LogRing, RECORD_HEADER, RecordKind, SIGN_SPACING};
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

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Writing {
    /// Where its first block begins.
    start: Lsn,
    /// Up to where it holds whole records: of one that goes on in the next request nobody may say that it is there.
    end: Lsn,
    done: bool,
}

/// The appending end of the log.
///
/// A block that is not full when somebody waits for it is written as it is, and written again when it has more, with the
/// same bytes in front; but what would reach from it into the next one begins with the next. Two requests that hold the same block are never in flight together.
#[derive(Clone, Debug)]
pub struct Log {
    ring: LogRing,
    /// Oldest position that is still needed.
    start: Lsn,
    /// Where it went on.
    began: Lsn,
    end: LogTip,
    open: OpenBlocks,
    /// Requests to be made: where each begins, up to where it holds whole records, and its blocks.
    sealed: VecDeque<(Lsn, Lsn, Vec<u8>)>,
    /// Requests in flight, in order.
    writing: VecDeque<Writing>,
    written: Lsn,
    spare: Vec<Vec<u8>>,
    pace: AppendPace,
    /// What every record says of who wrote it.
    life: [u8; 3],
}

/// Where the log ends.
#[derive(Clone, Copy, Debug)]
struct LogTip {
    /// Where the next record goes.
    head: Lsn,
    /// CRC of the newest record.
    chain: u32,
    /// Behind the last record that ends before the block of the head.
    whole: Lsn,
    /// Behind the last record that says how far the log is durable.
    signed: Lsn,
}

/// What has been appended and not yet been cut into a request.
#[derive(Clone, Debug)]
struct OpenBlocks {
    /// Where it begins: with a block.
    start: Lsn,
    bytes: Vec<u8>,
    /// Of its first block, what a request has held already.
    sent: usize,
}

/// How fast the log grows.
#[derive(Clone, Copy, Debug)]
struct AppendPace {
    /// The head when everything was last put into requests.
    sent_to: Lsn,
    /// How much that had been.
    taken_before: u64,
}

impl Log {
    /// Goes on at `head`, after the record whose CRC is `chain`. `block_prefix` is what the block of `head` holds before
    /// it: that block is written once more, with the same bytes in front.
    pub fn resume(ring: LogRing, start: Lsn, head: Lsn, chain: u32, block_prefix: Vec<u8>) -> Log {
        assert_eq!(head.0 % ring.block, block_prefix.len() as u64, "the prefix ends at the head");
        let open_from = Lsn(head.0 - block_prefix.len() as u64);
        Log {
            ring,
            start,
            began: head,
            end: LogTip { head, chain, whole: head, signed: head },
            open: OpenBlocks { start: open_from, sent: block_prefix.len(), bytes: block_prefix },
            sealed: VecDeque::new(),
            writing: VecDeque::new(),
            written: head,
            spare: Vec::new(),
            pace: AppendPace { sent_to: head, taken_before: 0 },
            life: [0; 3],
        }
    }

    /// The same, written by the life that began with the superblock of this number. Without it the first record of a life, which says how far the log is
    /// durable, could be byte for byte the one that a power cut has taken from the life before, and what had followed that would follow again.
    pub fn of_life(self, sequence: u64) -> Log {
        let [low, middle, high, ..] = sequence.to_le_bytes();
        Log { life: [low, middle, high], ..self }
    }

    /// Where the next record goes.
    pub fn head(&self) -> Lsn {
        self.end.head
    }

    /// CRC of the newest record: what the next one will be chained to.
    pub fn chain(&self) -> u32 {
        self.end.chain
    }

    /// Everything before is on the device, flushed or not; a record ends there.
    pub fn written(&self) -> Lsn {
        self.written
    }

    /// The measures of the ring.
    pub fn ring(&self) -> &LogRing {
        &self.ring
    }

    /// Bytes of the ring taken since it went on, padding included.
    pub fn taken(&self) -> u64 {
        self.end.head.0 - self.began.0
    }

    /// Bytes in use: from the oldest needed position on.
    pub fn used(&self) -> u64 {
        self.end.head.0 - self.start.0
    }

    /// Bytes that may be appended, with the worst case of padding taken off.
    pub fn room(&self) -> u64 {
        // The block of the head may not meet the block of the start, and ending a segment early may cost all of it.
        (self.ring.bytes - self.used()).saturating_sub(2 * self.ring.segment)
    }

    /// Gives everything before `start` back to the ring.
    pub fn release(&mut self, start: Lsn) {
        assert!(start >= self.start && start <= self.end.head, "the log is released forwards");
        self.start = start;
    }

    /// Appends a record and returns the position after it.
    pub fn append(&mut self, kind: RecordKind, body: &[u8]) -> Lsn {
        let total = (RECORD_HEADER + body.len()) as u64;
        assert!(body.len() <= self.ring.body_max(), "a record fits a segment");
        self.zero_to(self.ring.record_start(self.end.head.0));
        if !self.end.head.0.is_multiple_of(self.ring.segment)
            && total > self.ring.segment_left(self.end.head.0)
        {
            self.end_segment();
        }
        if self.end.head.0.is_multiple_of(self.ring.segment) {
            self.seal();
            let mut segment = [0; 16];
            segment[..8].copy_from_slice(&self.ring.store_id.to_le_bytes());
            segment[8..].copy_from_slice(&(self.end.head.0 / self.ring.segment).to_le_bytes());
            self.push(RecordKind::Segment, 16, &segment);
            self.zero_to(self.ring.record_start(self.end.head.0));
        }
        self.push(kind, body.len(), body);
        if kind == RecordKind::Durable {
            self.end.signed = self.end.head;
        }
        let end = self.ring.block_end(self.end.head.0);
        assert!(end - self.start.0 <= self.ring.bytes, "the log does not run into its beginning");
        if self.open.bytes.len() >= WRITE_MAX {
            self.seal_whole_blocks();
        }
        self.end.head
    }

    /// Whether a record that says how far the log is durable must come before the next one.
    pub fn wants_sign(&self) -> bool {
        self.end.head.0 - self.end.signed.0 >= SIGN_SPACING
    }

    /// Puts a record behind the buffer. A pad's body is left out of its checksum and out of the buffer.
    fn push(&mut self, kind: RecordKind, length: usize, body: &[u8]) {
        let mut header = [0; RECORD_HEADER];
        header[4..8].copy_from_slice(
            &u32::try_from(length).expect("a segment is below 4 GiB").to_le_bytes(),
        );
        header[8..16].copy_from_slice(&self.end.head.0.to_le_bytes());
        header[16..20].copy_from_slice(&self.end.chain.to_le_bytes());
        header[20] = kind as u8;
        header[21..].copy_from_slice(&self.life);
        let crc = self.ring.sum(self.end.head.0, &header, body);
        header[..4].copy_from_slice(&crc.to_le_bytes());
        self.open.bytes.extend_from_slice(&header);
        self.open.bytes.extend_from_slice(body);
        self.end.chain = crc;
        let began = self.end.head;
        self.end.head = Lsn(began.0 + (RECORD_HEADER + body.len()) as u64);
        let block = self.ring.block_start(self.end.head.0);
        if block == self.end.head.0 {
            self.end.whole = self.end.head;
        } else if block >= began.0 {
            self.end.whole = began;
        }
        assert!(kind == RecordKind::Pad || length == body.len(), "only a pad has no body");
    }

    fn zero_to(&mut self, position: u64) {
        self.open.bytes.resize(self.open.bytes.len() + (position - self.end.head.0) as usize, 0);
        self.end.head = Lsn(position);
    }

    /// Pads to the end of the segment. Only the blocks that hold records are written.
    fn end_segment(&mut self) {
        let left = self.ring.segment_left(self.end.head.0) as usize;
        let end = self.end.head.0 + left as u64;
        self.push(RecordKind::Pad, left - RECORD_HEADER, &[]);
        self.zero_to(self.ring.block_end(self.end.head.0));
        self.seal();
        self.end.head = Lsn(end);
        self.open.start = self.end.head;
    }

    /// Cuts the buffer, which ends with a block, into a request of its own, unless a request has held all of it.
    fn seal(&mut self) {
        if self.has_unsent() {
            let next = self.spare.pop().unwrap_or_default();
            let data = std::mem::replace(&mut self.open.bytes, next);
            let end = Lsn(self.open.start.0 + data.len() as u64);
            self.sealed.push_back((self.open.start, end, data));
        }
        self.open.bytes.clear();
        (self.open.start, self.open.sent) = (self.end.head, 0);
    }

    /// Cuts the buffer's whole blocks into a request of their own.
    fn seal_whole_blocks(&mut self) {
        let whole = self.open.bytes.len() / self.ring.block as usize * self.ring.block as usize;
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.extend_from_slice(&self.open.bytes[whole..]);
        self.open.bytes.truncate(whole);
        let data = std::mem::replace(&mut self.open.bytes, rest);
        self.sealed.push_back((self.open.start, self.end.whole, data));
        (self.open.start, self.open.sent) = (Lsn(self.open.start.0 + whole as u64), 0);
    }

    /// Whether the buffer has more than a request has held.
    fn has_unsent(&self) -> bool {
        self.open.bytes.len() > self.open.sent
    }

    /// Whether something is appended that no request holds yet.
    pub fn has_unwritten(&self) -> bool {
        !self.sealed.is_empty() || self.has_unsent()
    }

    /// Bytes that no request holds yet.
    pub fn unwritten(&self) -> u64 {
        let sealed: usize = self.sealed.iter().map(|(_, _, data)| data.len()).sum();
        (sealed + self.open.bytes.len() - self.open.sent) as u64
    }

    /// Whether a request from `start` on must wait, because one in flight holds the same block.
    fn is_block_in_flight(&self, start: Lsn) -> bool {
        self.writing.back().is_some_and(|last| !last.done && start < last.end)
    }

    /// Whether a request is in flight.
    pub fn is_writing(&self) -> bool {
        !self.writing.is_empty()
    }

    /// The next full request, if there is one and few are in flight.
    pub fn next_full_write(&mut self) -> Option<LogWrite> {
        let start = self.sealed.front()?.0;
        if self.writing.len() >= WRITES_MAX || self.is_block_in_flight(start) {
            return None;
        }
        let (start, end, data) = self.sealed.pop_front()?;
        Some(self.begin_write(start, end, data))
    }

    /// A request with everything that is left, zeros behind it in the last block. Only after all full ones.
    pub fn next_last_write(&mut self) -> Option<LogWrite> {
        assert!(self.sealed.is_empty(), "full requests go first");
        let start = self.open.start;
        if !self.has_unsent() || self.is_block_in_flight(start) {
            return None;
        }
        self.end_block();
        let whole = self.open.bytes.len() / self.ring.block as usize * self.ring.block as usize;
        let mut open = self.spare.pop().unwrap_or_default();
        open.extend_from_slice(&self.open.bytes[whole..]);
        let mut data = std::mem::replace(&mut self.open.bytes, open);
        data.resize(data.len().next_multiple_of(self.ring.block as usize), 0);
        (self.open.start, self.open.sent) = (Lsn(start.0 + whole as u64), self.open.bytes.len());
        Some(self.begin_write(start, self.end.head, data))
    }

    /// Pads the open block to its end if what is written next would not fit behind it, going by what the last two writings took,
    /// and would fit a block of its own: a request then takes one block of the device's time and not two.
    fn end_block(&mut self) {
        let taken = self.end.head.0 - self.pace.sent_to.0;
        let likely = taken.max(self.pace.taken_before);
        self.pace.taken_before = taken;
        let end = self.ring.block_end(self.end.head.0);
        let left = end - self.end.head.0;
        if left < likely && likely <= self.ring.block {
            if left >= RECORD_HEADER as u64 {
                self.push(RecordKind::Pad, left as usize - RECORD_HEADER, &[]);
            }
            self.zero_to(end);
        }
        self.pace.sent_to = self.end.head;
    }

    fn begin_write(&mut self, start: Lsn, end: Lsn, data: Vec<u8>) -> LogWrite {
        self.writing.push_back(Writing { start, end, done: false });
        LogWrite { position: start, offset: self.ring.place(start), data }
    }

    /// A request that began at `position` is done; its buffer is used again.
    pub fn write_done(&mut self, position: Lsn, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare.push(buffer);
        let request = self.writing.iter_mut().find(|one| one.start == position && !one.done);
        request.expect("the request is in flight").done = true;
        while let Some(first) = self.writing.front().filter(|first| first.done) {
            self.written = self.written.max(first.end);
            self.writing.pop_front();
        }
        // A segment's unwritten rest is as good as written once the blocks before it are.
        if self.writing.is_empty() && !self.has_unwritten() {
            self.written = self.end.head;
        }
    }
}
