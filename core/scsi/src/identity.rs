//! Who a disk is.

/// What a disk says of itself, whatever a host does to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskIdentity {
    /// Who makes it: 8 characters at most.
    pub vendor: String,
    /// What it is: 16 characters at most.
    pub product: String,
    /// Which revision: 4 characters at most.
    pub revision: String,
    /// Its serial number, of which 32 characters count.
    pub serial: String,
    /// Its number in the world, locally assigned: 60 bits.
    pub world_wide: u64,
    /// How many blocks of 512 bytes it has.
    pub blocks: u64,
    /// Turns per minute.
    pub rpm: u16,
    /// Whether it answers writes from a volatile cache.
    pub write_cache: bool,
}

impl DiskIdentity {
    /// The last block.
    pub(crate) fn last_block(&self) -> u64 {
        self.blocks - 1
    }
}
