//! The durable form of the map: everything about a cluster that must survive a restart, as one record of bytes.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | `LOADLMAP` |
//! | 8 | 4 | format version: 7; 1 to 6 are read |
//! | 12 | 4 | bytes of the whole record |
//! | 16 | 16 | cluster id |
//! | 32 | 8 | term of the owner that wrote it |
//! | 40 | 4 | epoch |
//! | 44 | 8 | its holders: bit n is osd.n |
//! | 52 | 8 | holders of the last committed map before it |
//! | 60 | 8 | placement seed |
//! | 68 | 4 | next pool's number |
//! | 72 | 4 | next placement group's number |
//! | 76 | | OSDs, pools, settings ([`record`]), families, images, jobs ([`images`]) |
//! | -4 | 4 | CRC-32C of everything before |
//!
//! Integers are little-endian; a text has its length before it, in base 128. A list is its length (4 bytes) and its
//! entries, sorted by their numbers, so equal maps give equal bytes. Magic, version, length and checksum stay where they
//! are in every version: so damage can be told from a newer format.

mod error;
mod fields;
mod images;
mod record;
mod types;

pub use error::MapError;
pub use types::{MapRecord, OsdRecord, OwnStores, PgRecord, PoolRecord};

use crate::quorum::{Stamp, Summary};
use loadline_osd::OsdId;
use std::collections::BTreeSet;

impl MapRecord {
    /// The record's bytes.
    ///
    /// # Panics
    /// If the record is not sound: what could not be read again must not be written.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.is_sound(), "a map that could not be read again is not written");
        self.to_bytes(types::VERSION)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`MapError`] for anything that [`MapRecord::encode`] has not made.
    pub fn decode(bytes: &[u8]) -> Result<MapRecord, MapError> {
        let (record, version, is_all) = record::read(bytes)?;
        if !record.is_sound() {
            return Err(MapError::Contradiction);
        }
        if !is_all {
            return Ok(record);
        }
        // Sorted lists, shortest lengths, flags without stray bits: whatever differs is in the first byte that differs.
        let again = record.to_bytes(version);
        match again.iter().zip(bytes).position(|(ours, theirs)| ours != theirs) {
            Some(at) => Err(MapError::Malformed { at }),
            None if again.len() != bytes.len() => Err(MapError::Malformed { at: again.len() }),
            None => Ok(record),
        }
    }

    /// What is to be known of the record to compare it with others.
    pub fn summary(&self) -> Summary {
        let stamp = Stamp { term: self.term, epoch: self.epoch };
        Summary { stamp, holders: self.holders }
    }

    /// Whether the parts fit each other. It says nothing about who is a member of what: peering copes with any.
    fn is_sound(&self) -> bool {
        let pool_exists = |pool| self.pools.contains_key(&pool);
        self.pools.keys().all(|pool| *pool < self.next_pool)
            && self.pools.values().all(PoolRecord::is_sound)
            && self.are_apart()
            && self.images.is_sound()
            && self.images.pools().all(pool_exists)
    }

    /// Whether the placement groups' numbers of two pools never meet, and all are given.
    fn are_apart(&self) -> bool {
        let mut ranges: Vec<(u64, u64)> = self.pools.values().map(PoolRecord::numbers).collect();
        ranges.sort_unstable();
        ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
            && ranges.last().is_none_or(|last| last.1 <= u64::from(self.next_pg.get()))
    }
}

impl PoolRecord {
    /// Its placement groups' numbers, from the first to one past the last.
    fn numbers(&self) -> (u64, u64) {
        let first = u64::from(self.first_pg.get());
        (first, first + self.pgs.len() as u64)
    }

    fn is_sound(&self) -> bool {
        self.pgs.len() == self.spec.pgs as usize && self.pgs.iter().all(PgRecord::is_sound)
    }
}

impl PgRecord {
    fn is_sound(&self) -> bool {
        let is_set = |osds: &[OsdId]| osds.iter().collect::<BTreeSet<_>>().len() == osds.len();
        is_set(&self.acting)
            && is_set(&self.backfill)
            && self.served.interval.epoch <= self.interval
    }
}
