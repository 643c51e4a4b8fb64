//! The log: a ring of segments, written in whole blocks, each record chained to the one before it.
//!
//! A record's position is inside it, so leftovers of the ring's earlier round are not records; its predecessor's checksum
//! is inside it too, and so is the life that wrote it, so leftovers of an earlier *life* are not either: after a restart has cut a torn tail, what lay
//! behind the cut can never follow the new records, even where these say the same as those that were cut. And the checksum begins with the store's id ([`Seed`]), so leftovers of
//! another store that was in the same place are not even leftovers. The first record that does not fit ends the log; that
//! is how a log ends after every crash.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the store's id, bytes 4..24 and the body; of a [`RecordKind::Pad`], without the body |
//! | 4 | 4 | length of the body |
//! | 8 | 8 | position of this record |
//! | 16 | 4 | CRC of the record before it |
//! | 20 | 1 | kind |
//! | 21 | 3 | the life that wrote it: the low bits of the superblock's number with which it began |
//! | 24 | | body |
//!
//! No record crosses the end of its segment, and each segment begins with a [`RecordKind::Segment`]. Where fewer than 24 bytes of
//! a block are left, they are zeros and the next record begins with the next block.

mod group;
mod reader;
pub mod witness;
mod writer;

pub use group::{CommitGroups, GroupSettings};
pub use reader::{ProofFound, ProofSearch, Record, Scan, ScanFound};
pub use witness::Witness;
pub use writer::{Log, LogWrite};

use super::ids::Lsn;
use super::seed::Seed;
use super::superblock::Superblock;

/// Bytes before a record's body.
pub const RECORD_HEADER: usize = 24;
/// Bytes of a whole segment record.
pub const SEGMENT_RECORD: u64 = RECORD_HEADER as u64 + 16;
/// So far apart are records that say how far the log is durable, at most: whoever looks for one behind a damaged place knows
/// when to stop.
const SIGN_SPACING: u64 = 1 << 20;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// Nothing up to its end; its body is not stored.
    Pad = 1,
    /// First in each segment: store id (8), segment number (8).
    Segment = 2,
    /// A transaction: changes of keys and objects ([`super::change`]). The record is whole or not there; so is the
    /// transaction.
    Transaction = 3,
    /// A page as it became with its first change after an instant: page (8), form (1), raw (1), stored bytes.
    Image = 4,
    /// Later edits of pages: repeatedly page (8) and a [`PageEdit`](super::edit::PageEdit).
    Edits = 5,
    /// An instant: checkpoint (8).
    Instant = 6,
    /// A transaction that was carried out in part at the instant before: as [`RecordKind::Transaction`]. A restart that begins here goes on
    /// with it; one that has come from an earlier instant has carried it out.
    Again = 8,
    /// Everything before this position was made durable, data written beside the log included: position (8). One follows each
    /// flush, and one comes before any record when the last is a MiB away, so that damage inside the durable log can be told
    /// from its torn end: behind the damage stands one that says that the log was durable beyond it.
    Durable = 7,
}

impl RecordKind {
    /// The kind with this number.
    pub const fn from_u8(kind: u8) -> Option<RecordKind> {
        match kind {
            1 => Some(RecordKind::Pad),
            2 => Some(RecordKind::Segment),
            3 => Some(RecordKind::Transaction),
            4 => Some(RecordKind::Image),
            5 => Some(RecordKind::Edits),
            6 => Some(RecordKind::Instant),
            7 => Some(RecordKind::Durable),
            8 => Some(RecordKind::Again),
            _ => None,
        }
    }
}

/// The measures of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRing {
    /// First byte on the device.
    pub offset: u64,
    /// Bytes of the ring.
    pub bytes: u64,
    /// Bytes of a segment; the ring is a multiple.
    pub segment: u64,
    /// Bytes of a block; a segment is a multiple.
    pub block: u64,
    /// Which store it belongs to.
    pub store_id: u64,
    /// What the store's checksums begin with.
    pub seed: Seed,
    /// Records from here on have a seeded checksum; those before are of format 1.
    pub seeded_from: Lsn,
}

impl LogRing {
    /// The ring of a store.
    pub fn new(superblock: &Superblock) -> LogRing {
        let layout = &superblock.layout;
        LogRing {
            offset: layout.log_offset,
            bytes: layout.log_bytes,
            segment: layout.segment_bytes,
            block: layout.block_bytes,
            store_id: superblock.store_id,
            seed: superblock.seed(),
            seeded_from: superblock.seeded_from,
        }
    }

    /// The checksum of a record at `position` with this header and body.
    fn sum(&self, position: u64, header: &[u8; RECORD_HEADER], body: &[u8]) -> u32 {
        let seed = if position >= self.seeded_from.0 { self.seed } else { Seed::NONE };
        crc32c::crc32c_append(seed.sum(&header[4..]), body)
    }

    /// Where a position stands on the device.
    pub fn place(&self, position: Lsn) -> u64 {
        self.offset + position.0 % self.bytes
    }

    /// Where the first record at or after `position` begins, if there is one.
    pub fn next_record(&self, position: Lsn) -> Lsn {
        Lsn(self.record_start(position.0))
    }

    /// Where the block begins that holds `position`.
    pub fn block_start(&self, position: u64) -> u64 {
        position / self.block * self.block
    }

    /// Where the block ends that holds `position`, or `position` itself if a block begins there.
    pub fn block_end(&self, position: u64) -> u64 {
        position.next_multiple_of(self.block)
    }

    /// Where a record may begin at or after `position`: not in the last bytes of a block that no header fits into.
    fn record_start(&self, position: u64) -> u64 {
        let left = self.block - position % self.block;
        if left < RECORD_HEADER as u64 { position + left } else { position }
    }

    /// Bytes from `position` to the end of its segment.
    fn segment_left(&self, position: u64) -> u64 {
        self.segment - position % self.segment
    }

    /// The largest body that [`Log::append`] takes.
    pub fn body_max(&self) -> usize {
        (self.segment - SEGMENT_RECORD) as usize - RECORD_HEADER
    }

    /// The most bytes between a [`RecordKind::Durable`] record and the next: the spacing, a record, and as much again where a segment
    /// ended early because the record did not fit.
    fn sign_gap(&self) -> u64 {
        SIGN_SPACING + 2 * self.segment
    }
}

/// The ring of the tests of the log.
#[cfg(test)]
const RING: LogRing = LogRing {
    offset: 4096,
    bytes: 1 << 20,
    segment: 64 << 10,
    block: 512,
    store_id: 9,
    seed: Seed::of(9),
    seeded_from: Lsn(0),
};

#[cfg(test)]
mod tests;
