//! The paged store: one disk's keys and objects, safe against a power cut at any moment.
//!
//! Reading order: [`api`] is what one may ask; [`store`] is the owner whom every event passes; [`contents`] says what the
//! pages mean, [`space`] keeps them; [`log`] makes ops durable; `store/checkpoint` takes pages home; `store/restart`
//! is what happens after a crash. `docs/disk-format.md` has every byte.

pub mod api;
pub mod bounds;
pub mod cache;
pub mod change;
pub mod check;
pub mod codec;
pub mod contents;
pub mod edit;
pub mod exceeded;
pub mod extent;
mod format;
pub mod ids;
pub mod image;
pub mod image_set;
pub mod inspect;
pub mod keys;
pub mod layout;
pub mod log;
mod memory;
pub mod metrics;
pub mod node;
pub mod options;
pub mod page;
pub mod seed;
pub mod space;
pub mod store;
pub mod superblock;
pub mod throttle;
pub mod tree;
mod wait;
pub mod word;

pub use api::{
    Answer, Ask, Cause, Completion, Damage, Doubt, Edit, Io, IoDone, IoId, LossNote, LostEnds,
    NOTE, ObjectDigest, ObjectId, Op, OpError, OpLane, Outbox, OwnPages, PastDamage, Payload,
    Ranges, Reread, RoomClaim, ScanBounds, Stages, StoreDevice,
};
pub use bounds::StoreLimits;
pub use exceeded::{Bound, Exceeded};
pub use format::{FormatPiece, Formatting, format};
pub use layout::{Format, FormatError};
pub use options::{Classes, LogMode, Options, Protection};
pub use store::{CheckpointStep, DIGEST_PIECE, Fault, PagedStore, REREAD_PAGES, RestartFault};
pub use wait::{LongestWait, Wait};

use ids::PageSize;
use loadline_base::Bytes;

/// How many pages fit into so much memory, at least one.
pub(crate) fn cache_frames(memory: Bytes, page: PageSize) -> u32 {
    u32::try_from(memory.get() / page.bytes() as u64).unwrap_or(u32::MAX).max(1)
}
