//! The log as a stream: read in large pieces, a few at a time, handed on in order.

use crate::paged::api::IoDone;
use crate::paged::bounds::{REPLAY_READ, REPLAY_READS};
use crate::paged::ids::Lsn;
use crate::paged::log::{LogRing, ProofFound, ProofSearch, Scan, ScanFound};
use crate::paged::store::requests::RestartRequest;
use loadline_device::Outcome;
use std::collections::BTreeMap;

/// A log being read.
pub(super) struct Stream {
    ring: LogRing,
    /// Tells its reads from those of a stream before it.
    number: u32,
    scan: Scan,
    window: Vec<u8>,
    window_start: Lsn,
    arrived: BTreeMap<Lsn, Vec<u8>>,
    in_flight: usize,
    next: Lsn,
    limit: Lsn,
    /// Blocks that the scan has left behind, where somebody wants them.
    passed: Option<Vec<(Lsn, Vec<u8>)>>,
}

/// What a stream wants or has.
pub(super) enum StreamProgress {
    /// Wait for reads.
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
            in_flight: 0,
            next: start,
            limit: Lsn(start.0 + ring.bytes),
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
        let all = self.arrived.values().chain(passed).chain([&self.window]);
        all.map(|bytes| bytes.capacity() as u64).sum()
    }

    /// The next read to be made: what it is for, where on the device, how long.
    pub(super) fn next_read(&mut self) -> Option<(RestartRequest, u64, u64)> {
        let waiting = self.in_flight + self.arrived.len();
        if waiting >= REPLAY_READS || self.next >= self.limit {
            return None;
        }
        let place = self.ring.place(self.next);
        let to_end = self.ring.offset + self.ring.bytes - place;
        let length = REPLAY_READ.min(to_end).min(self.limit.0 - self.next.0);
        let request = RestartRequest::Stream(self.number, self.next);
        self.next = Lsn(self.next.0 + length);
        self.in_flight += 1;
        Some((request, place, length))
    }

    /// The measures of the log.
    pub(super) fn ring(&self) -> &LogRing {
        &self.ring
    }

    /// Whether it would make another read now.
    pub(super) fn wants_reads(&self) -> bool {
        self.in_flight + self.arrived.len() < REPLAY_READS && self.next < self.limit
    }

    /// A read is answered. False if it failed.
    pub(super) fn answered(&mut self, number: u32, position: Lsn, done: IoDone) -> bool {
        if number != self.number {
            return true;
        }
        self.in_flight -= 1;
        self.arrived.insert(position, done.data);
        done.outcome == Outcome::Done
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
                    if !self.take_arrived(self.scan.position()) {
                        let all_read = self.in_flight == 0 && self.next >= self.limit;
                        return Some(if all_read {
                            StreamProgress::End
                        } else {
                            StreamProgress::Wait
                        });
                    }
                }
            }
        }
    }

    /// Adds the next piece to the window, and drops what stands before the block of `needed`.
    fn take_arrived(&mut self, needed: Lsn) -> bool {
        let end = Lsn(self.window_start.0 + self.window.len() as u64);
        let Some(piece) = self.arrived.remove(&end) else { return false };
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

    /// Looks behind the end of the log for what shows that it was damaged. Nothing if more must be read before.
    pub(super) fn is_damaged(&mut self, search: &mut ProofSearch) -> Option<bool> {
        loop {
            match search.go_on(self.window_start, &self.window) {
                ProofFound::Yes => return Some(true),
                ProofFound::No => return Some(false),
                ProofFound::More if self.take_arrived(search.position()) => {}
                ProofFound::More => {
                    let all_read = self.in_flight == 0 && self.next >= self.limit;
                    return all_read.then_some(false);
                }
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
