//! A disk of this machine: what one asks for when opening it, what one gets, and what may be wrong.

mod facts;
mod holding;
mod open;
mod problem;
mod store_files;

pub use facts::DriveFacts;
pub use holding::{Holding, wipe_ends};
use loadline_base::Bytes;
pub use open::{DiskClaim, read_disk};
pub use problem::{DiskOpenError, DiskProblem};
use rustix::fs::{FlockOperation, flock};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use store_files::StoreFiles;

/// Whether requests shall pass the page cache by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// Pass it by where the file system can; [`OpenedDisk::mode`] tells.
    #[default]
    Auto,
    /// Pass it by, or refuse to open.
    Yes,
    /// Use the page cache.
    No,
}

/// What becomes of a file's blocks when their contents are discarded. Blocks of a device are its own matter: it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// The file keeps them, and gets back those that it lacks when it is opened: what others put beside it never takes the
    /// room that its writes need.
    #[default]
    Keep,
    /// The file system gets them back, and may have no room when the file needs some again.
    GiveBack,
}

/// How to open a disk.
#[derive(Clone, Debug)]
pub struct DiskOpen {
    /// A regular file or a block device.
    pub path: PathBuf,
    /// Creates a missing file with all its blocks allocated, of this size. A file that is there is left as it is.
    pub create: Option<Bytes>,
    /// The size that it must have. Without it any size will do.
    pub size: Option<Bytes>,
    /// Whether to pass the page cache by.
    pub direct: Direct,
    /// What becomes of a file's blocks when their contents are discarded.
    pub discards: Discards,
    /// Locks the file against every other process that opens it so, and a block device against being mounted.
    pub exclusive: bool,
}

impl DiskOpen {
    /// An existing disk of any size, direct where possible, exclusive. Its file has the blocks that it has.
    pub fn existing(path: impl Into<PathBuf>) -> DiskOpen {
        DiskOpen {
            path: path.into(),
            create: None,
            size: None,
            direct: Direct::Auto,
            discards: Discards::GiveBack,
            exclusive: true,
        }
    }

    /// As [`existing`](Self::existing), but a missing file is created with this size, a multiple of 4 KiB.
    pub fn or_create(path: impl Into<PathBuf>, size: Bytes) -> DiskOpen {
        DiskOpen { create: Some(size), ..DiskOpen::existing(path) }
    }

    /// Opens the disk, creating it if that is asked for and it is missing.
    pub fn open(&self) -> Result<OpenedDisk, DiskOpenError> {
        open::open(self).map_err(|problem| DiskOpenError { path: self.path.clone(), problem })
    }
}

/// What stands behind the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
}

/// How requests reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMode {
    /// Past the page cache.
    pub direct: bool,
}

impl fmt::Display for DiskMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.direct { "direct" } else { "buffered" })
    }
}

/// An open disk, not yet part of a loop. Dropping it closes it and gives its lock back.
#[derive(Debug)]
pub struct OpenedDisk {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    size: Bytes,
    sector: u32,
    mode: DiskMode,
    kind: DiskKind,
    created: bool,
    discards: Discards,
    /// What its file lacks of its size in blocks, because the file system had no room for them.
    lacks: Bytes,
    /// Up to where they were set aside since.
    set_aside: u64,
}

impl OpenedDisk {
    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size, a multiple of the sector.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Requests are multiples of this many bytes: a power of two, at least 512.
    pub fn sector(&self) -> u32 {
        self.sector
    }

    /// How requests reach it.
    pub fn mode(&self) -> DiskMode {
        self.mode
    }

    /// What it is.
    pub fn kind(&self) -> DiskKind {
        self.kind
    }

    /// Whether opening created it, so that it holds nothing yet.
    pub fn was_created(&self) -> bool {
        self.created
    }

    /// How many bytes of it had no blocks when it was opened although its file is to keep them, because its file system had no room, as
    /// long as not all were set aside since. Writes there may have to wait for room.
    pub fn lacks(&self) -> Bytes {
        self.lacks
    }

    /// Whether a discard is passed on: not to a file that keeps its blocks.
    pub(crate) fn takes_discards(&self) -> bool {
        self.kind == DiskKind::BlockDevice || self.discards == Discards::GiveBack
    }

    /// Device and inode of what is open, whatever its path leads to by now.
    pub(crate) fn identity(&self) -> (u64, u64) {
        let facts = rustix::fs::fstat(&self.fd).expect("an open descriptor has facts");
        (facts.st_dev, facts.st_ino)
    }

    /// Takes the file away if opening it made it. One that cannot be removed is refused at the next start.
    pub(crate) fn unmake(self) {
        if self.created {
            let _ = rustix::fs::unlink(&self.path);
        }
    }

    /// The descriptor, which calls in flight share.
    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }
}

impl Drop for OpenedDisk {
    /// Closing gives the lock back as well, but only with the last use of the descriptor, and a ring may lag behind.
    fn drop(&mut self) {
        let _ = flock(&self.fd, FlockOperation::Unlock);
    }
}
