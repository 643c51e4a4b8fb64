//! Why something failed: a small list for ops, another for opening.

use loadline_base::Bytes;
use loadline_host::{DiskOpenError, LoopError, NewStoreError, why};
use loadline_store::paged::{Exceeded, Fault, OpError};
use std::io;
use std::path::PathBuf;

/// Bytes of values that an update's keys may hold together, and those of all updates whose keys are being read; but one whose keys hold 128 KiB at most is
/// carried out beside any others.
pub const UPDATE_BYTES_MAX: usize = 32 << 20;

/// Why an op failed. Nothing of it was carried out, but where it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// Somebody else changed what the transaction had read. Carried out again it may go through.
    #[error("another transaction changed the key {:?} of keyspace {:?} meanwhile",
        String::from_utf8_lossy(.key), String::from_utf8_lossy(.keyspace))]
    Conflict {
        /// The key's keyspace.
        keyspace: Vec<u8>,
        /// The key that was changed.
        key: Vec<u8>,
    },
    /// The database's file has no room for it. Reads and removals go on; `grow` makes room.
    #[error("the database is full")]
    Full,
    /// The snapshot's memory for former values is used up by what others have written since ([`DbOptions::versions`](crate::DbOptions)).
    #[error("the snapshot is too old: what it sees would take more memory than it may")]
    SnapshotTooOld,
    /// What was asked is larger than the database takes.
    #[error("{}", .0)]
    Exceeds(Exceeded),
    /// A keyspace's name has 1 to 32 bytes.
    #[error("a keyspace's name has 1 to 32 bytes")]
    KeyspaceName,
    /// What is to be read is damaged on the disk.
    #[error("a page of the database is damaged; restore it from a backup")]
    Damaged,
    /// The disk could not read, or could not write this op's own data.
    #[error("the disk does not carry the request out")]
    DeviceFailed,
    /// What an update's keys hold is more than it may read, or what those of all updates hold that are being read.
    #[error(
        "the keys of an update hold more than {UPDATE_BYTES_MAX} bytes, or those of all that are under way do"
    )]
    UpdateBytes,
    /// The value is longer than was asked for.
    #[error("the value has {bytes} bytes, which is more than was asked for")]
    Longer {
        /// How long it is.
        bytes: usize,
    },
    /// The function of an update has waited for something of the database that carries it out, which nobody would have answered.
    #[error("an update's function cannot wait for the database that carries it out")]
    WaitsForItself,
    /// The function of an update has panicked.
    #[error("the update's function has panicked; nothing was changed")]
    Panicked,
    /// The store has stopped. Whether the op was carried out is known after the next opening.
    #[error("the database has stopped: {0}")]
    Stopped(Fault),
    /// The database was closed before this was answered.
    #[error("the database is closed")]
    Closed,
}

impl DbError {
    /// What a store's error means here; `fault` is why it has stopped, if it has.
    pub(crate) fn of(error: OpError, fault: Option<Fault>) -> DbError {
        match error {
            OpError::NoSpace => DbError::Full,
            OpError::Exceeds(exceeded) => DbError::Exceeds(exceeded),
            OpError::Damaged(_) => DbError::Damaged,
            OpError::Unreadable | OpError::Unwritable => DbError::DeviceFailed,
            OpError::Stopped => fault.map_or(DbError::Closed, DbError::Stopped),
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DbOpenError {
    /// The folder or the file in it cannot be made or looked at.
    #[error("{}: {}", path.display(), why(error))]
    Folder {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// The file cannot be opened; another process may have it.
    #[error(transparent)]
    Disk(#[from] DiskOpenError),
    /// An empty store could not be written.
    #[error(transparent)]
    Format(#[from] NewStoreError),
    /// The file's blocks are missing, and the file system has no room for them.
    #[error("{}: {lacks} of the file have no blocks, and its file system has no room for them", path.display())]
    NoRoom {
        /// Which file.
        path: PathBuf,
        /// How much is missing.
        lacks: Bytes,
    },
    /// The owner's thread or its loop could not be set up.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The store could not be opened: it is no store, it is damaged, or the cache is too small for it.
    #[error("{}: {fault}", path.display())]
    Store {
        /// Which file.
        path: PathBuf,
        /// Why.
        fault: Fault,
    },
    /// There is no database here, and none was to be made.
    #[error("{}: there is no database", path.display())]
    Missing {
        /// Which file it would be.
        path: PathBuf,
    },
    /// The file is no database any more: where its superblocks stood there are zeros. It is left as it is.
    #[error("{}: holds no database: its beginning and its end, where it is told what the file is, are empty; put a backup in its place, or remove it to begin anew", path.display())]
    Lost {
        /// Which file.
        path: PathBuf,
    },
    /// There is something already where a new database was to be made.
    #[error("{}: there is a database already", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// A larger file was wanted, and it has that size already.
    #[error("{}: holds {is}, which is not less than {wanted:#}", path.display())]
    NotLarger {
        /// Which file.
        path: PathBuf,
        /// Its size.
        is: Bytes,
        /// The size that was asked for.
        wanted: Bytes,
    },
    /// Somebody has said to stop before it was whole. Nothing of it is left.
    #[error("interrupted: nothing was made, and what was there is as it was")]
    Interrupted,
}
