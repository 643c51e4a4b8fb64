//! What is on the drive: a sparse file, or nothing, which reads as zeros.

use loadline_base::Bytes;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use thiserror::Error;

/// Why a file cannot hold a drive's contents.
#[derive(Debug, Error)]
pub enum ContentsError {
    /// It cannot be opened or made.
    #[error("it cannot be opened: {0}")]
    Open(io::Error),
    /// What is there has no length that could be set, as a device has none.
    #[error("it is no regular file, which a drive's contents take; name another")]
    NoFile,
    /// The file system has no files of that length.
    #[error(
        "its file system holds no file of {capacity}, even a sparse one ({error}); use one that does (XFS, Btrfs, tmpfs) or a smaller drive"
    )]
    Large {
        /// How long it would have to be.
        capacity: Bytes,
        /// What was said.
        error: io::Error,
    },
    /// It is a drive's of another size.
    #[error(
        "it has {found}, and the drive {capacity}; name another file, or the drive that it was made for"
    )]
    OtherDrive {
        /// How long it is.
        found: Bytes,
        /// How long it would have to be.
        capacity: Bytes,
    },
}

/// The bytes of a drive.
#[derive(Debug)]
pub enum DriveContents {
    /// Zeros, whatever is written.
    Zeros,
    /// A file as long as the drive, sparse where nothing was written.
    File(File),
}

impl DriveContents {
    /// Opens a file, or makes one, of which nothing is left where it cannot be as long as the drive.
    ///
    /// # Errors
    /// [`ContentsError`].
    pub fn open(path: &Path, capacity: Bytes) -> Result<DriveContents, ContentsError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let made = options.clone().create_new(true).open(path);
        let is_new = made.is_ok();
        // What a link leads to is made as well, and stays: the link is somebody's.
        let file = made.or_else(|_| options.create(true).truncate(false).open(path));
        let file = file.map_err(ContentsError::Open)?;
        let facts = file.metadata().map_err(ContentsError::Open)?;
        let found = Bytes::new(facts.len());
        if !facts.is_file() {
            return Err(ContentsError::NoFile);
        }
        if found > Bytes::ZERO && found != capacity {
            return Err(ContentsError::OtherDrive { found, capacity });
        }
        let sized = file.set_len(capacity.get()).inspect_err(|_| {
            if is_new {
                // Why there is none is told.
                let _ = fs::remove_file(path);
            }
        });
        sized.map_err(|error| ContentsError::Large { capacity, error })?;
        Ok(DriveContents::File(file))
    }

    /// Reads bytes inside the drive.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            DriveContents::Zeros => {
                into.fill(0);
                Ok(())
            }
            DriveContents::File(file) => file.read_exact_at(into, offset),
        }
    }

    /// Writes bytes inside the drive.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        match self {
            DriveContents::Zeros => Ok(()),
            DriveContents::File(file) => file.write_all_at(from, offset),
        }
    }
}
