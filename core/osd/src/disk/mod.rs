//! What an OSD keeps on its disk, and how it gets there: the store under it, the form of what it knows, and how it is
//! read back when the OSD starts.
//!
//! Which objects there are is known in memory for both stores; their bytes, and a placement group's log, are on
//! the disk of the paged one only.

mod backend;
mod group_disk;
mod keys;
mod load;
mod map;
mod paged;
mod persist;
mod requests;
mod room;
mod steps;
mod transfers;

pub(crate) use backend::StoreBackend;
pub(crate) use group_disk::GroupDisk;
pub use keys::Identity;
pub(crate) use keys::{
    keep_history, keep_scrubs, object_id, own_key, pages_of_disk, pages_of_group,
};
pub(crate) use load::{LoadedGroup, NextLoad as LoadNext};
pub(crate) use map::MapEdits;
pub use paged::StoreToken;
pub(crate) use paged::{DoubtedUpdate, OpEnded, OpeningPhase, Paged};
pub(crate) use persist::transactions;
pub(crate) use requests::Sent;
pub(crate) use steps::Whole;
