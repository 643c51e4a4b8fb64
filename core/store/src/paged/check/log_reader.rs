//! The log from the last completed checkpoint to its end, read in pieces.

use super::ReadAt;
use crate::paged::api::StoreDevice;
use crate::paged::ids::Lsn;
use crate::paged::log::{LogRing, ProofFound, ProofSearch, Record, Scan, ScanFound, witness};
use crate::paged::superblock::Superblock;

/// Bytes of the first read; each one after it is twice as long, because most logs are short.
const PIECE_MIN: u64 = 64 << 10;
/// Bytes of a read at most.
const PIECE_MAX: u64 = 1 << 20;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// What follows is no record: the log ends here.
    NoRecord,
    /// Whoever was shown a record wanted no more.
    Stopped,
    /// The device cannot be read from this byte on.
    Unreadable(u64),
}

/// Reads the log of a store.
pub struct LogReader<'a> {
    devices: &'a dyn ReadAt,
    target: StoreDevice,
    ring: LogRing,
    scan: Scan,
    /// The log's bytes from `start` on.
    window: Vec<u8>,
    start: Lsn,
    limit: Lsn,
    piece: u64,
    /// What each place of the witness says.
    witnesses: [Option<Lsn>; 2],
}

impl<'a> LogReader<'a> {
    /// A reader that begins where a restart would. A superblock that passed [`check`](super::check) names a place that
    /// a log can have.
    pub fn new(devices: &'a dyn ReadAt, superblock: &Superblock) -> LogReader<'a> {
        let ring = LogRing::new(superblock);
        let from = superblock.completed;
        let start = Lsn(ring.block_start(from.position.0));
        LogReader {
            devices,
            target: superblock.layout.log_target,
            ring,
            scan: Scan::new(ring, from.position, from.chain),
            window: Vec::new(),
            start,
            limit: Lsn(start.0 + ring.bytes),
            piece: PIECE_MIN,
            witnesses: read_witnesses(devices, superblock),
        }
    }

    /// Shows every record, until `visit` says that it is enough.
    pub fn read(&mut self, mut visit: impl FnMut(Record<'_>) -> bool) -> LogEnd {
        loop {
            match self.scan.next(self.start, &self.window) {
                ScanFound::Record(record) if visit(record) => {}
                ScanFound::Record(_) => return LogEnd::Stopped,
                ScanFound::End => return LogEnd::NoRecord,
                ScanFound::More => match self.read_on(self.scan.position()) {
                    Ok(true) => {}
                    Ok(false) => return LogEnd::NoRecord,
                    Err(offset) => return LogEnd::Unreadable(offset),
                },
            }
        }
    }

    /// Whether the witness, or something behind the end, once it has been reached, says that the log was durable beyond. An
    /// error is the byte of the device from which on it cannot be read.
    pub fn is_damaged(&mut self) -> Result<bool, u64> {
        if self.witnessed() > self.ring.next_record(self.scan.position()) {
            return Ok(true);
        }
        let mut search = ProofSearch::new(&self.ring, self.scan.position());
        loop {
            match search.go_on(self.start, &self.window) {
                ProofFound::Yes => return Ok(true),
                ProofFound::No => return Ok(false),
                ProofFound::More if self.read_on(search.position())? => {}
                ProofFound::More => return Ok(false),
            }
        }
    }

    /// What each place of the log's witness says about how far the log is durable, if it says anything.
    pub fn witnesses(&self) -> [Option<Lsn>; 2] {
        self.witnesses
    }

    /// Up to where the log is durable, as its witness says.
    pub(super) fn witnessed(&self) -> Lsn {
        self.witnesses.into_iter().flatten().max().unwrap_or_default()
    }

    /// Where it stands: after the last record, once it has reached the end.
    pub fn position(&self) -> Lsn {
        self.scan.position()
    }

    /// Where a position of the log stands on its device.
    pub fn place(&self, position: Lsn) -> u64 {
        self.ring.place(position)
    }

    /// Drops what was read before `needed` and adds the next piece. False if the ring has no more.
    fn read_on(&mut self, needed: Lsn) -> Result<bool, u64> {
        let done = self.ring.block_start(needed.0);
        let drop = (done.saturating_sub(self.start.0) as usize).min(self.window.len());
        self.window.drain(..drop);
        self.start = Lsn(self.start.0 + drop as u64);
        let next = Lsn(self.start.0 + self.window.len() as u64);
        if next >= self.limit {
            return Ok(false);
        }
        let place = self.ring.place(next);
        let ring_left = self.ring.offset + self.ring.bytes - place;
        let length = self.piece.min(ring_left).min(self.limit.0 - next.0) as usize;
        self.piece = (2 * self.piece).min(PIECE_MAX);
        let old = self.window.len();
        self.window.resize(old + length, 0);
        if self.devices.read_at(self.target, place, &mut self.window[old..]) {
            Ok(true)
        } else {
            Err(place)
        }
    }
}

/// One that cannot be read says as little as one that is damaged.
fn read_witnesses(devices: &dyn ReadAt, superblock: &Superblock) -> [Option<Lsn>; 2] {
    let Some(places) = superblock.layout.witness_offsets() else { return [None; 2] };
    places.map(|offset| {
        let mut bytes = vec![0; superblock.layout.block_bytes as usize];
        devices
            .read_at(StoreDevice::Data, offset, &mut bytes)
            .then(|| witness::decode(superblock.store_id, &bytes))
            .flatten()
    })
}
