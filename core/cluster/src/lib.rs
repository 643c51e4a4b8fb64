//! The map of one host's OSDs and their owner: pools, placement, peering, client routing, settings in levels.
//!
//! This crate may not know worlds, load, sockets or wire formats, and no OSD but by what it tells ([`Cluster::heard`]) and is told
//! ([`OwnerEffects`]). Nothing here goes by the time.

mod administer;
mod cluster;
pub mod codec;
mod crush;
mod debts;
mod durable;
mod fullness;
mod give_up;
mod grow;
mod heal;
mod healing;
pub mod images;
mod intervals;
mod kept_images;
mod loss;
mod lost;
mod map;
mod map_change;
mod osds;
mod outage;
mod peering;
mod placement;
mod pool;
mod pools;
pub mod quorum;
mod report;
mod router;
mod saving;
mod scrub;
mod seats;
mod seeking;
mod sent;
mod served;
pub mod settings;
mod start;
mod stores;
mod sync;
mod syncs;

pub use cluster::{Cluster, Config, OwnerEffects};
pub use grow::RemoveError;
pub use heal::NotHealed;
pub use loss::Loss;
pub use lost::NotLost;
pub use map::{Map, OsdState, PgState, Pool};
pub use map_change::MapChange;
pub use outage::Outage;
pub use placement::Placement;
pub use pool::{PGS_PER_OSD_MAX, PoolId, PoolSpec};
pub use pools::PoolInUse;
pub use router::{IssuedOp, Target};
pub use served::LastServed;
pub use start::StartError;
pub use syncs::{SyncEnd, SyncOf};
