//! Reading the log from a known position on, up to the first thing that is no record.

use super::{LogRing, RECORD_HEADER, RecordKind};
use crate::paged::ids::Lsn;

/// Where a record's kind stands in it.
const KIND_AT: usize = 20;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it begins.
    pub position: Lsn,
    /// Where it ends.
    pub end: Lsn,
    /// What it is chained to.
    pub before: u32,
    /// Its CRC: what the next record is chained to.
    pub chain: u32,
    /// What it says.
    pub kind: RecordKind,
    /// The rest of it.
    pub body: &'a [u8],
}

/// What a scan found next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFound<'a> {
    /// A record other than a pad.
    Record(Record<'a>),
    /// The bytes given do not suffice; go on with those from [`Scan::position`] on.
    More,
    /// The log ends here.
    End,
}

/// A scan. It is fed with the log's bytes and keeps where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    ring: LogRing,
    at: u64,
    chain: u32,
    /// The ring holds nothing beyond.
    limit: u64,
}

/// Looks behind the end of a log for a record that says that it was durable beyond: then what ends it is rot, and not a write
/// that a power cut has torn. Such records stand so close to each other ([`LogRing::sign_gap`]) that the search ends soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofSearch {
    ring: LogRing,
    end: Lsn,
    /// Nothing before is such a record.
    at: Lsn,
    /// Behind the last record that says anything about what is durable.
    sign: Lsn,
}

/// What the search has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofFound {
    /// There is one.
    Yes,
    /// There is none.
    No,
    /// The bytes given do not suffice; go on with those from [`ProofSearch::position`] on.
    More,
}

impl ProofSearch {
    /// Begins behind `end`.
    pub fn new(ring: &LogRing, end: Lsn) -> ProofSearch {
        // What is left of a block and too short for a record counts as written with what stands before it.
        let end = ring.next_record(end);
        ProofSearch { ring: *ring, end, at: end, sign: end }
    }

    /// Where it stands.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// Goes on, if `bytes` are the log from `start` on, which is not behind [`ProofSearch::position`].
    pub fn go_on(&mut self, start: Lsn, bytes: &[u8]) -> ProofFound {
        while self.at.0 < self.sign.0 + self.ring.sign_gap() {
            let rest = bytes.get((self.at.0 - start.0) as usize..).unwrap_or_default();
            let Some(last) = rest.len().checked_sub(RECORD_HEADER + 8) else {
                return ProofFound::More;
            };
            let passed = bytes_before_kind(&rest[KIND_AT..=KIND_AT + last]);
            if passed > 0 {
                self.at = Lsn(self.at.0 + passed as u64);
                continue;
            }
            match durable_at(&self.ring, self.at, rest) {
                Some(through) if through > self.end => return ProofFound::Yes,
                Some(_) => self.sign = self.at,
                None => {}
            }
            self.at = Lsn(self.at.0 + 1);
        }
        ProofFound::No
    }
}

/// How many bytes stand before the first that may be the kind of a [`RecordKind::Durable`] record: most of what is searched, which is why
/// many are compared at once.
fn bytes_before_kind(bytes: &[u8]) -> usize {
    const KIND: u8 = RecordKind::Durable as u8;
    let (chunks, _) = bytes.as_chunks::<64>();
    // Every byte of a chunk is looked at, found or not: only so is it one comparison of many.
    let holds = |chunk: &[u8; 64]| chunk.iter().fold(false, |found, byte| found | (*byte == KIND));
    let at = chunks.iter().position(holds).unwrap_or(chunks.len()) * 64;
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| *byte == KIND).unwrap_or(rest.len())
}

/// What a [`RecordKind::Durable`] record at `position` says, or at the same place in a later round of the ring, if there is one at the beginning
/// of `bytes`. Nothing is asked about what it is chained to: its own checksum and position show that this store wrote it there. That of a
/// later round stands only on the log of a store whose other device is from the past.
fn durable_at(ring: &LogRing, position: Lsn, bytes: &[u8]) -> Option<Lsn> {
    if bytes.get(KIND_AT) != Some(&(RecordKind::Durable as u8)) {
        return None;
    }
    let (header, rest) = bytes.split_first_chunk::<RECORD_HEADER>()?;
    let body = rest.get(..8)?;
    let own = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
    let rounds = own.checked_sub(position.0)?;
    let is_one = header[4..8] == 8u32.to_le_bytes() && rounds.is_multiple_of(ring.bytes);
    let is_whole = is_one && ring.sum(own, header, body).to_le_bytes() == header[..4];
    is_whole.then(|| Lsn(u64::from_le_bytes(body.try_into().expect("eight bytes"))))
}

impl Scan {
    /// A scan from `position` on, whose record is chained to `chain`.
    pub fn new(ring: LogRing, position: Lsn, chain: u32) -> Scan {
        Scan { ring, at: position.0, chain, limit: position.0 + ring.bytes }
    }

    /// Where it stands: after the last record that it gave out, or further on where no record can begin.
    pub fn position(&self) -> Lsn {
        Lsn(self.at)
    }

    /// The same, where this record is the next one: what stands before it as padding has been passed.
    pub fn before(&self, record: &Record<'_>) -> Scan {
        Scan { at: record.position.0, chain: record.before, ..*self }
    }

    /// CRC of the last record.
    pub fn chain(&self) -> u32 {
        self.chain
    }

    /// What comes next, if `bytes` are the log from `start` on.
    pub fn next<'a>(&mut self, start: Lsn, bytes: &'a [u8]) -> ScanFound<'a> {
        loop {
            let at = self.ring.record_start(self.at);
            if at + RECORD_HEADER as u64 > self.limit {
                return ScanFound::End;
            }
            let Some(rest) = at.checked_sub(start.0).and_then(|skip| bytes.get(skip as usize..))
            else {
                return ScanFound::More;
            };
            let Some(header) = rest.first_chunk::<RECORD_HEADER>() else { return ScanFound::More };
            let Some((kind, length)) = self.read_header(at, header) else { return ScanFound::End };
            let stored = if kind == RecordKind::Pad { 0 } else { length };
            let Some(body) = rest.get(RECORD_HEADER..RECORD_HEADER + stored) else {
                return ScanFound::More;
            };
            let crc = self.ring.sum(at, header, body);
            if crc.to_le_bytes() != header[..4] || !self.fits_segment(at, kind, body) {
                return ScanFound::End;
            }
            let before = std::mem::replace(&mut self.chain, crc);
            self.at = at + (RECORD_HEADER + length) as u64;
            if kind != RecordKind::Pad {
                let (position, end) = (Lsn(at), Lsn(self.at));
                return ScanFound::Record(Record { position, end, before, chain: crc, kind, body });
            }
        }
    }

    /// Kind and length of the body, if a record of this place and chain may begin like that.
    fn read_header(&self, at: u64, header: &[u8]) -> Option<(RecordKind, usize)> {
        let u32_at =
            |i: usize| u32::from_le_bytes(header[i..i + 4].try_into().expect("four bytes"));
        let position = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
        let length = u32_at(4) as usize;
        let fits = (RECORD_HEADER + length) as u64 <= self.ring.segment_left(at);
        let follows = position == at && u32_at(16) == self.chain && fits;
        RecordKind::from_u8(header[20]).filter(|_| follows).map(|kind| (kind, length))
    }

    /// A segment record stands first in its own segment, and nothing else does.
    fn fits_segment(&self, at: u64, kind: RecordKind, body: &[u8]) -> bool {
        let is_first = at.is_multiple_of(self.ring.segment);
        match kind {
            RecordKind::Segment => {
                is_first
                    && body.len() == 16
                    && body[..8] == self.ring.store_id.to_le_bytes()
                    && body[8..] == (at / self.ring.segment).to_le_bytes()
            }
            _ => !is_first,
        }
    }
}
