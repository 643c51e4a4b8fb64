//! The protocol's numbers, by the names that its document gives them.

/// The first eight bytes of a server: `NBDMAGIC`.
pub(super) const INIT_PASSWD: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// The second eight, and the first of each option: `IHAVEOPT`.
pub(super) const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(super) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// What is allocated, and the name space that this metadata context stands in.
pub(super) const BASE_ALLOCATION: &str = "base:allocation";
pub(super) const BASE: &str = "base:";
/// What has changed since something, by whose name that goes on; QEMU's name for it, and the name spaces that it stands in.
pub(super) const DIRTY_BITMAP: &str = "qemu:dirty-bitmap:";
pub(super) const QEMU: &str = "qemu:";
/// What the context is called in replies; the protocol lets the server choose. A connection has one.
pub(super) const CONTEXT_ID: u32 = 1;

/// Handshake flags; the client's have the same bits.
pub(super) mod handshake {
    pub(crate) const FIXED_NEWSTYLE: u16 = 1;
    pub(crate) const NO_ZEROES: u16 = 1 << 1;
}

/// Options of the negotiation.
pub(super) mod opt {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

/// Kinds of replies to an option.
pub(super) mod rep {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub(crate) const ERR_UNSUP: u32 = ERROR + 1;
    pub(crate) const ERR_INVALID: u32 = ERROR + 3;
    pub(crate) const ERR_TLS_REQD: u32 = ERROR + 5;
    pub(crate) const ERR_UNKNOWN: u32 = ERROR + 6;
    pub(crate) const ERR_TOO_BIG: u32 = ERROR + 9;
}

/// What a client may ask about an export.
pub(super) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub(super) mod transmission {
    pub(crate) const HAS_FLAGS: u16 = 1;
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    pub(crate) const SEND_FLUSH: u16 = 1 << 2;
    pub(crate) const SEND_FUA: u16 = 1 << 3;
    pub(crate) const ROTATIONAL: u16 = 1 << 4;
    pub(crate) const SEND_TRIM: u16 = 1 << 5;
    pub(crate) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(crate) const SEND_DF: u16 = 1 << 7;
    pub(crate) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(crate) const SEND_CACHE: u16 = 1 << 10;
    pub(crate) const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Commands.
pub(super) mod cmd {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISC: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const CACHE: u16 = 5;
    pub(crate) const WRITE_ZEROES: u16 = 6;
    pub(crate) const BLOCK_STATUS: u16 = 7;
}

/// Flags of a command.
pub(super) mod flag {
    pub(crate) const FUA: u16 = 1;
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    pub(crate) const DF: u16 = 1 << 2;
    pub(crate) const REQ_ONE: u16 = 1 << 3;
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

/// Kinds of chunks of a structured reply, and their only flag.
pub(super) mod chunk {
    pub(crate) const DONE: u16 = 1;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const OFFSET_HOLE: u16 = 2;
    pub(crate) const BLOCK_STATUS: u16 = 5;
    pub(crate) const ERROR: u16 = (1 << 15) + 1;
}

/// States of an extent in `base:allocation`.
pub(super) mod state {
    pub(crate) const HOLE: u32 = 1;
    pub(crate) const ZERO: u32 = 1 << 1;
    /// In a dirty bitmap: it may be other.
    pub(crate) const DIRTY: u32 = 1;
}
