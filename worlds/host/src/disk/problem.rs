//! Why a disk cannot be opened, one sentence each.

use crate::{LoopError, why};
use loadline_base::Bytes;
use std::io;
use std::path::PathBuf;

/// A disk could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct DiskOpenError {
    /// Which disk.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: DiskProblem,
}

/// What is wrong with a disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskProblem {
    /// Nothing is there, and it was not to be created.
    #[error("there is no such file or device")]
    Missing,
    /// A folder, a socket, or the like.
    #[error("this is a {0}; a disk is a regular file or a block device")]
    NotADisk(&'static str),
    /// The process may not open it for reading and writing.
    #[error("no permission to read and write it")]
    NoPermission,
    /// Another process has it open, or has the device mounted.
    #[error("another process uses it; a disk has one owner at a time")]
    InUse,
    /// Less than one page, so it can hold nothing.
    #[error("it holds {is}, and a disk has at least 1 MiB")]
    TooSmall {
        /// Its size.
        is: Bytes,
    },
    /// Not the size that was asked for.
    #[error(
        "it holds {is} ({} bytes) instead of {wanted} ({} bytes); it was cut or is another's, or else its size is to be left out",
        is.get(),
        wanted.get()
    )]
    WrongSize {
        /// Its size.
        is: Bytes,
        /// The size that was asked for.
        wanted: Bytes,
    },
    /// The end is not at the end of a page.
    #[error("its {} bytes are not a multiple of 4096; it was cut or was never a disk", is.get())]
    PartOfAPage {
        /// Its size.
        is: Bytes,
    },
    /// No new disk has that size.
    #[error("a new disk of {wanted:#} is none; it takes at least {least}, in whole pages of 4 KiB")]
    NewSize {
        /// The size that was asked for.
        wanted: Bytes,
        /// The least that would do.
        least: Bytes,
    },
    /// Direct I/O was asked for and the file system has none.
    #[error("its file system has no direct I/O; allow buffered I/O or choose another place")]
    NoDirect,
    /// The file system has too little room for a new file.
    #[error("its file system has no room for {wanted}")]
    NoRoom {
        /// The size that was to be allocated.
        wanted: Bytes,
    },
    /// A new file's blocks could not be allocated.
    #[error("its {wanted} cannot be allocated beforehand: {}", why(error))]
    NotAllocated {
        /// The size that was to be allocated.
        wanted: Bytes,
        /// The system's answer.
        error: io::Error,
    },
    /// The loop has no place for it.
    #[error("{0}")]
    NotAdded(LoopError),
    /// Any other refusal of the system.
    #[error("it cannot be opened: {}", why(.0))]
    System(io::Error),
}

impl DiskProblem {
    /// The system's kind for it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            DiskProblem::Missing => io::ErrorKind::NotFound,
            DiskProblem::NoPermission => io::ErrorKind::PermissionDenied,
            DiskProblem::InUse => io::ErrorKind::ResourceBusy,
            DiskProblem::NoRoom { .. } => io::ErrorKind::StorageFull,
            DiskProblem::NotADisk(_)
            | DiskProblem::TooSmall { .. }
            | DiskProblem::WrongSize { .. }
            | DiskProblem::PartOfAPage { .. } => io::ErrorKind::InvalidData,
            DiskProblem::NewSize { .. } | DiskProblem::NoDirect => io::ErrorKind::InvalidInput,
            DiskProblem::NotAdded(_) => io::ErrorKind::Other,
            DiskProblem::NotAllocated { error, .. } | DiskProblem::System(error) => error.kind(),
        }
    }
}
