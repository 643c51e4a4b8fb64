//! The durable form of the map: everything about a cluster that must survive a restart, as one record of bytes.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | `LOADLMAP` |
//! | 8 | 4 | format version: 3; 1 and 2 are read |
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
mod images;
mod record;

pub use error::MapError;

use crate::images::Images;
use crate::map::{PoolId, PoolSpec};
use crate::quorum::{Holders, Stamp, Summary, Term};
use crate::settings::Scope;
use loadline_base::Bytes;
use loadline_osd::{IntervalId, OsdId, PgId};
use std::collections::{BTreeMap, BTreeSet};

/// Everything about a cluster that must survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRecord {
    /// Tells this cluster from every other one.
    pub cluster_id: u128,
    /// The owner that wrote the record.
    pub term: Term,
    /// The map's epoch.
    pub epoch: u32,
    /// Who is to hold the record.
    pub holders: Holders,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// The OSDs. A number that is not there was never given, or its OSD was removed.
    pub osds: BTreeMap<OsdId, OsdRecord>,
    /// The pools with their placement groups.
    pub pools: BTreeMap<PoolId, PoolRecord>,
    /// The stored settings as text, by where they hold and the option's name.
    pub settings: BTreeMap<(Scope, String), String>,
    /// Images, snapshots and their background jobs.
    pub images: Images,
    /// The next pool's number. Numbers are not used again.
    pub next_pool: PoolId,
    /// The next placement group's number. Numbers are not used again, because disks keep collections under them.
    pub next_pg: PgId,
}

/// An OSD of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsdRecord {
    /// It ran when the map was written.
    pub up: bool,
    /// Placement may use it.
    pub is_in: bool,
    /// It was removed; the number waits for another disk.
    pub lost: bool,
    /// Its disk's size.
    pub size: Bytes,
    /// The last term of an owner that its disk is known to have durably; 0 before the first.
    pub promised: Term,
    /// A number for the drive that its capacity was measured on, given by the world; 0 if none was, or none is known.
    pub measured_on: u64,
}

/// A pool of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRecord {
    /// What it was created with.
    pub spec: PoolSpec,
    /// The number of its first placement group.
    pub first_pg: PgId,
    /// Its placement groups, in order: as many as `spec` says.
    pub pgs: Vec<PgRecord>,
}

/// What peering needs of a placement group after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgRecord {
    /// Who served it, primary first.
    pub acting: Vec<OsdId>,
    /// Who was being filled.
    pub backfill: Vec<OsdId>,
    /// The epoch at which the last interval began; 0 before the first.
    pub interval: u32,
    /// The last interval in which somebody served it; never, if it is new.
    pub active_in: IntervalId,
}

impl MapRecord {
    /// The record's bytes.
    ///
    /// # Panics
    /// If the record is not sound: what could not be read again must not be written.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.is_sound(), "a map that could not be read again is not written");
        self.to_bytes(record::VERSION)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`MapError`] for anything that [`MapRecord::encode`] has not made.
    pub fn decode(bytes: &[u8]) -> Result<MapRecord, MapError> {
        let (record, version) = record::read(bytes)?;
        if !record.is_sound() {
            return Err(MapError::Contradiction);
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
        is_set(&self.acting) && is_set(&self.backfill) && self.active_in.epoch <= self.interval
    }
}
