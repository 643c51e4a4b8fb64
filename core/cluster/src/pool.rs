//! What names a pool, and what one is created with: the map and its codec both stand on it.

use loadline_base::define_id;

define_id! {
    /// A pool.
    pub struct PoolId, "pool "
}

/// More placement groups than this per OSD cost more upkeep than they spread.
pub const PGS_PER_OSD_MAX: u32 = 256;

/// What a pool is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// Shown wherever the pool is.
    pub name: String,
    /// Number of placement groups.
    pub pgs: u32,
    /// Copies of each object.
    pub copies: u32,
    /// Size of a full object in bytes.
    pub object_bytes: u64,
    /// Added to the priority of this pool's recovery.
    pub recovery_priority: i8,
}
