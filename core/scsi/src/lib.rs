//! A SCSI disk with duration limits, as bytes: a command descriptor block (CDB) and its data in, an answer out.
//!
//! [`ScsiDisk`] is what a host sees of a disk beside its sectors: who it is, which commands it knows, the mode pages that it
//! holds. Reads, writes and flushes come out of it as [`MediumCommand`]s, whose data and time are somebody else's. So this
//! crate may not know sockets, queues, contents, clocks or worlds; whatever a host sends, it neither panics nor takes more
//! memory than the longest answer. `docs/virtual-drive.md` has the byte tables.

mod cdb;
mod disk;
mod fields;
mod identity;
mod mode;
mod opcodes;
mod select;
mod sense;
mod vpd;

pub use cdb::{CDB_BYTES, Cdb, MediumCommand, MediumKind};
pub use disk::{Capability, DiskAnswer, ScsiDisk};
pub use identity::DiskIdentity;
pub use opcodes::{COMMANDS, DurationLimitPage, SupportedCommand};
pub use sense::{FIXED_SENSE_BYTES, SenseCode, SenseKey};

/// Bytes of a logical block.
pub const BLOCK_BYTES: u64 = 512;

/// Most blocks that one command may transfer (8 MiB); VPD page B0h says so.
pub const TRANSFER_BLOCKS_MAX: u64 = 16_384;
