//! The log as a stream: read in large pieces, a few at a time, handed on in order.
//!
//! It is read ahead of what anybody needs, to where the ring may hold what was never written or is long given up. So a piece that the device does not read is
//! read again in halves, down to single blocks, and a block that cannot be read stops nobody but who needs what stands there.

use crate::paged::api::IoDone;
use crate::paged::bounds::{REPLAY_READ, REPLAY_READS};
use crate::paged::ids::Lsn;
use crate::paged::log::{LogRing, ProofFound, ProofSearch, Scan, ScanFound};
use crate::paged::store::requests::RestartRequest;
use loadline_device::Outcome;
use std::collections::BTreeMap;

/// So many blocks are looked for one by one that the device does not read. Where it has more of them it may take seconds for each.
const BAD_BLOCKS_MAX: u32 = 64;

/// A piece of the log that was asked for.
enum StreamPiece {
    /// It has come.
    Bytes(Vec<u8>),
    /// The device does not read these bytes.
    Hole(u64),
}

impl StreamPiece {
    fn capacity(&self) -> usize {
        match self {
            StreamPiece::Bytes(bytes) => bytes.capacity(),
            StreamPiece::Hole(_) => 0,
        }
    }
}

/// A log being read.
pub(super) struct Stream {
    ring: LogRing,
    /// Tells its reads from those of a stream before it.
    number: u32,
    scan: Scan,
    window: Vec<u8>,
    window_start: Lsn,
    arrived: BTreeMap<Lsn, StreamPiece>,
    /// Bytes of the reads that are on their way, by where they begin.
    in_flight: BTreeMap<Lsn, u64>,
    reading: StreamReading,
    limit: Lsn,
    /// The first block that somebody needs and that cannot be read.
    unreadable: Option<Lsn>,
    /// Blocks that the scan has left behind, where somebody wants them.
    passed: Option<Vec<(Lsn, Vec<u8>)>>,
}

/// What is still to be read.
struct StreamReading {
    /// Behind all that was asked for.
    next: Lsn,
    /// Parts of what could not be read as a whole, with their bytes.
    parts: BTreeMap<Lsn, u64>,
    bad_blocks: u32,
}

/// What a stream wants or has.
pub(super) enum StreamProgress {
    /// Wait for reads; for ever, if what is needed [cannot be read](Stream::unreadable).
    Wait,
    /// The log ends where the scan stands.
    End,
}

impl Stream {
    /// A stream from `position` on.
    pub(super) fn new(ring: LogRing, number: u32, position: Lsn, chain: u32) -> Stream {
        let start = Lsn(ring.block_start(position.0));
        Stream {
            ring,
            number,
            scan: Scan::new(ring, position, chain),
            window: Vec::new(),
            window_start: start,
            arrived: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            reading: StreamReading { next: start, parts: BTreeMap::new(), bad_blocks: 0 },
            limit: Lsn(start.0 + ring.bytes),
            unreadable: None,
            passed: None,
        }
    }

    /// The same, and it keeps the blocks that it passes for [`take_passed`](Self::take_passed).
    pub(super) fn keeping(self) -> Stream {
        Stream { passed: Some(Vec::new()), ..self }
    }

    /// The blocks before that in which the scan stands, in their order.
    pub(super) fn take_passed(&mut self) -> Vec<(Lsn, Vec<u8>)> {
        self.passed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The blocks behind those, as far as they are read, to that in which `end` stands.
    pub(super) fn blocks_to(&self, end: Lsn) -> (Lsn, &[u8]) {
        let wanted = self.ring.block_end(end.0).saturating_sub(self.window_start.0);
        (self.window_start, &self.window[..self.window.len().min(wanted as usize)])
    }

    /// Where the scan stands.
    pub(super) fn scan(&self) -> Scan {
        self.scan
    }

    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        let passed = self.passed.iter().flatten().map(|(_, blocks)| blocks);
        let read = passed.chain([&self.window]).map(Vec::capacity);
        read.chain(self.arrived.values().map(StreamPiece::capacity)).sum::<usize>() as u64
    }

    /// The next read to be made: what it is for, where on the device, how long.
    pub(super) fn next_read(&mut self) -> Option<(RestartRequest, u64, u64)> {
        if !self.wants_reads() {
            return None;
        }
        let (position, length) = match self.reading.parts.pop_first() {
            Some(part) => part,
            None => {
                let next = self.reading.next;
                let to_end = self.ring.offset + self.ring.bytes - self.ring.place(next);
                let length = REPLAY_READ.min(to_end).min(self.limit.0 - next.0);
                self.reading.next = Lsn(next.0 + length);
                (next, length)
            }
        };
        self.in_flight.insert(position, length);
        let request = RestartRequest::Stream(self.number, position);
        Some((request, self.ring.place(position), length))
    }

    /// The measures of the log.
    pub(super) fn ring(&self) -> &LogRing {
        &self.ring
    }

    /// Whether it would make another read now.
    pub(super) fn wants_reads(&self) -> bool {
        let waiting = self.in_flight.len() + self.arrived.len();
        let may_go_on = waiting < REPLAY_READS && self.reading.next < self.limit;
        may_go_on || self.in_flight.len() < REPLAY_READS && !self.reading.parts.is_empty()
    }

    /// A read is answered.
    pub(super) fn answered(&mut self, number: u32, position: Lsn, done: IoDone) {
        if number != self.number {
            return;
        }
        let length = self.in_flight.remove(&position).expect("the read is on its way");
        let StreamReading { parts, bad_blocks, .. } = &mut self.reading;
        let is_block = length <= self.ring.block;
        if done.outcome == Outcome::Done {
            self.arrived.insert(position, StreamPiece::Bytes(done.data));
        } else if is_block || *bad_blocks >= BAD_BLOCKS_MAX {
            *bad_blocks += u32::from(is_block);
            self.arrived.insert(position, StreamPiece::Hole(length));
        } else {
            let half = (length / 2).next_multiple_of(self.ring.block);
            parts.insert(position, half);
            parts.insert(Lsn(position.0 + half), length - half);
        }
    }

    /// The byte of the device that somebody needs and that it does not read, if there is one.
    pub(super) fn unreadable(&self) -> Option<u64> {
        self.unreadable.map(|position| self.ring.place(position))
    }

    /// Hands on what can be handed on: `f` sees the scan before each record, the record, and says whether to go on. It
    /// is asked again about a record that it stopped at.
    pub(super) fn pump(
        &mut self,
        mut f: impl FnMut(Scan, crate::paged::log::Record<'_>) -> bool,
    ) -> Option<StreamProgress> {
        loop {
            match self.scan.next(self.window_start, &self.window) {
                ScanFound::Record(record) => {
                    // Padding is passed: it may be durable, and who goes on here writes none of it again.
                    let before = self.scan.before(&record);
                    if !f(before, record) {
                        self.scan = before;
                        return None;
                    }
                }
                ScanFound::End => return Some(StreamProgress::End),
                ScanFound::More => {
                    if !self.take_arrived(self.scan.position(), 0) {
                        return Some(match self.is_all_read() {
                            true => StreamProgress::End,
                            false => StreamProgress::Wait,
                        });
                    }
                }
            }
        }
    }

    /// Whether the ring has no more.
    fn is_all_read(&self) -> bool {
        let StreamReading { next, parts, .. } = &self.reading;
        self.in_flight.is_empty()
            && parts.is_empty()
            && self.arrived.is_empty()
            && *next >= self.limit
    }

    /// Adds the next piece to the window, and drops what stands before the block of `needed`. A piece that cannot be read counts as zeros, if it has no more
    /// than so many bytes, and else is not taken.
    fn take_arrived(&mut self, needed: Lsn, unread_max: u64) -> bool {
        let end = Lsn(self.window_start.0 + self.window.len() as u64);
        let Some(piece) = self.arrived.remove(&end) else { return false };
        let piece = match piece {
            StreamPiece::Bytes(bytes) => bytes,
            StreamPiece::Hole(length) if length <= unread_max => vec![0; length as usize],
            StreamPiece::Hole(_) => {
                self.unreadable = Some(end);
                self.arrived.insert(end, piece);
                return false;
            }
        };
        let block = self.ring.block_start(needed.0);
        let done = (block.saturating_sub(self.window_start.0) as usize).min(self.window.len());
        let passed = self.window.drain(..done);
        match self.passed.as_mut().filter(|_| done > 0) {
            Some(kept) => kept.push((self.window_start, passed.collect())),
            None => drop(passed),
        }
        self.window_start = Lsn(self.window_start.0 + done as u64);
        self.window.extend_from_slice(&piece);
        true
    }

    /// Looks behind the end of the log for what shows that it was damaged. Nothing if more must be read before. A block that cannot be read shows nothing, as one
    /// that has rotted does not: there is the witness as well.
    pub(super) fn is_damaged(&mut self, search: &mut ProofSearch) -> Option<bool> {
        loop {
            match search.go_on(self.window_start, &self.window) {
                ProofFound::Yes => return Some(true),
                ProofFound::No => return Some(false),
                ProofFound::More if self.take_arrived(search.position(), self.ring.block) => {}
                ProofFound::More => return self.is_all_read().then_some(false),
            }
        }
    }

    /// What the block of `position` holds before it.
    pub(super) fn block_prefix(&self, position: Lsn) -> Vec<u8> {
        let block = self.ring.block_start(position.0);
        let at = |lsn: u64| (lsn - self.window_start.0) as usize;
        if block == position.0 {
            Vec::new()
        } else {
            self.window[at(block)..at(position.0)].to_vec()
        }
    }
}
