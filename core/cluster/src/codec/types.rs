//! What the record of the map says.

use crate::images::Images;
use crate::pool::{PoolId, PoolSpec};
use crate::quorum::{Holders, Term};
use crate::served::LastServed;
use crate::settings::Scope;
use loadline_base::Bytes;
use loadline_osd::{OsdId, PgId};
use loadline_store::paged::ids::StoreId;
use std::collections::BTreeMap;

/// The format that this program writes.
pub(super) const VERSION: u32 = 7;

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
    /// It was taken out because it was away for long, and is used again as soon as it is up.
    pub taken_out: bool,
    /// It was removed; the number waits for another disk.
    pub lost: bool,
    /// Its disk's size.
    pub size: Bytes,
    /// The last term of an owner that its disk is known to have durably; 0 before the first.
    pub promised: Term,
    /// A number for the drive that its capacity was measured on, given by the world; 0 if none was, or none is known.
    pub measured_on: u64,
    /// The stores that its disk may hold.
    pub stores: OwnStores,
}

/// The stores that an OSD's disk may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnStores {
    /// The last one that was told that it is this OSD's; not known of an OSD that has not served since its map has told of stores.
    pub now: Option<StoreId>,
    /// The one that takes its place, while a disk is being replaced or healed.
    pub next: Option<StoreId>,
}

impl OwnStores {
    /// Whether this is one of them.
    pub(crate) fn contains(&self, store: StoreId) -> bool {
        [self.now, self.next].contains(&Some(store))
    }
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
    /// The last interval in which somebody served it.
    pub served: LastServed,
}
