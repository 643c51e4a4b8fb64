//! Writing an empty store onto files or block devices.

use crate::{DiskOpen, DiskOpenError, why};
use loadline_base::Bytes;
use loadline_store::paged::ids::StoreId;
use loadline_store::paged::{
    Format, FormatError, FormatPiece, Formatting, Protection, StoreDevice, format,
};
use rustix::fs::{Advice, fadvise};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a disk could not be made a store.
#[derive(Debug, thiserror::Error)]
pub enum NewStoreError {
    /// It cannot be opened.
    #[error(transparent)]
    Disk(#[from] DiskOpenError),
    /// It cannot be written.
    #[error("{0}: a new store cannot be written there: {why}", why = why(.1))]
    Write(PathBuf, io::Error),
    /// It is too small.
    #[error("{0}: {1} leave no room for a store; it takes some 16 MiB at least, and an OSD 64 MiB")]
    TooSmall(PathBuf, Bytes),
    /// Randomness cannot be had.
    #[error("no random number for the new store: {0}")]
    Random(io::Error),
}

impl NewStoreError {
    /// The system's kind for it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            NewStoreError::Disk(error) => error.problem.kind(),
            NewStoreError::TooSmall(..) => io::ErrorKind::InvalidInput,
            NewStoreError::Write(_, error) | NewStoreError::Random(error) => error.kind(),
        }
    }
}

/// Writes an empty store over whatever a disk holds. It is locked meanwhile, so that nobody else's is destroyed.
///
/// # Errors
/// [`NewStoreError`] with one sentence.
pub fn write_empty_store(path: &Path, protection: Protection) -> Result<(), NewStoreError> {
    let held = DiskOpen::existing(path).open()?;
    write_store(path, held.size(), protection)
}

/// Writes an empty store that nobody has seen before over whatever a disk holds, which the caller has opened for itself.
///
/// # Errors
/// [`NewStoreError`] with one sentence.
pub fn write_store(path: &Path, size: Bytes, protection: Protection) -> Result<(), NewStoreError> {
    write_store_as(new_store_id()?, path, size, protection)
}

/// Writes this store, empty.
pub(crate) fn write_store_as(
    id: StoreId,
    path: &Path,
    size: Bytes,
    protection: Protection,
) -> Result<(), NewStoreError> {
    let cannot = |error| NewStoreError::Write(path.to_owned(), error);
    let store = format(&Format::of_disk(id.get(), size), protection)
        .map_err(|_: FormatError| NewStoreError::TooSmall(path.to_owned(), size))?;
    let file = OpenOptions::new().write(true).open(path).map_err(cannot)?;
    write_new_store(&store, &file, None).map_err(cannot)
}

/// A number for a store that is to be written.
///
/// # Errors
/// [`NewStoreError::Random`].
pub fn new_store_id() -> Result<StoreId, NewStoreError> {
    let drawn = random_u128().map_err(NewStoreError::Random)?;
    Ok(StoreId::new(drawn as u64).expect("64 random bits are not all zero"))
}

/// 128 random bits of the system's.
pub(crate) fn random_u128() -> io::Result<u128> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

/// Writes an empty store onto a data device, and a log device if the store has one, stage by stage: what one stage wrote is
/// durable before the next begins, so that a crash leaves what was there, or nothing, or the new store.
///
/// # Errors
/// A device refuses a write or a flush.
pub fn write_new_store(store: &Formatting, data: &File, log: Option<&File>) -> io::Result<()> {
    let on = |target| match target {
        StoreDevice::Data => data,
        StoreDevice::Log => log.expect("a store with a log device is written onto two"),
    };
    let [before, contents, superblocks] = store.stages();
    write(before, on)?;
    flush(data, log)?;
    let (target, region) = store.log();
    touch_blocks(on(target), region)?;
    for stage in [contents, superblocks] {
        write(stage, on)?;
        flush(data, log)?;
    }
    Ok(())
}

fn write<'a>(stage: &[FormatPiece], on: impl Fn(StoreDevice) -> &'a File) -> io::Result<()> {
    stage.iter().try_for_each(|(target, offset, bytes)| on(*target).write_all_at(bytes, *offset))
}

fn flush(data: &File, log: Option<&File>) -> io::Result<()> {
    [Some(data), log].into_iter().flatten().try_for_each(File::sync_all)
}

/// Writes zeros over a region of a file that has its blocks. Blocks that are allocated and were never written are of a second
/// kind: a file system refuses to write blocks of both kinds at once without waiting, so each record of the log, which
/// begins in the block of the one before, would take a worker thread's turn and the file's lock until the ring has come round.
/// A sparse file stays sparse.
fn touch_blocks(file: &File, region: Range<u64>) -> io::Result<()> {
    const PIECE: u64 = 1 << 20;
    if !has_its_blocks(&file.metadata()?) {
        return Ok(());
    }
    let zeros = vec![0; PIECE as usize];
    for at in region.clone().step_by(PIECE as usize) {
        let piece = PIECE.min(region.end - at) as usize;
        file.write_all_at(&zeros[..piece], at)?;
    }
    file.sync_data()?;
    // What the page cache holds would make each direct write wait as well.
    let length = std::num::NonZeroU64::new(region.end - region.start);
    Ok(fadvise(file, region.start, length, Advice::DontNeed)?)
}

fn has_its_blocks(facts: &Metadata) -> bool {
    /// What `blocks` counts in.
    const BLOCK: u64 = 512;
    facts.is_file() && facts.blocks() * BLOCK >= facts.size()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_store::paged::ids::PageSize;
    use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};

    const SIZE: u64 = 16 << 20;

    fn store() -> Formatting {
        let store = Format {
            store_id: 1,
            data_bytes: Bytes::new(SIZE),
            log_device_bytes: None,
            log_bytes: Bytes::from_mib(4),
            segment_bytes: Bytes::from_kib(256),
            block_bytes: 4096,
            recovery_bytes: Bytes::from_mib(1),
            page: PageSize::new(4096).expect("4 KiB is a page size"),
        };
        format(&store, Protection::Checkpoint).expect("the store fits")
    }

    // Each record of a fresh log went through a worker thread, since its block was written and the next one only allocated: half
    // of a node's writes, and on a busy machine a third of its speed.
    #[test]
    fn the_log_of_an_allocated_file_has_one_kind_of_blocks() {
        let file = tempfile::tempfile().expect("a file");
        fallocate(&file, FallocateFlags::empty(), 0, SIZE).expect("its blocks");
        write_new_store(&store(), &file, None).expect("the store is written");
        let (_, log) = store().log();
        // What is allocated and was never written is a hole to this question.
        let hole = seek(&file, SeekFrom::Hole(log.start)).expect("a file has an end");
        assert!(hole >= log.end, "a block that was never written at {hole}, the log is {log:?}");
    }

    #[test]
    fn a_sparse_file_stays_sparse() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(SIZE).expect("a size");
        write_new_store(&store(), &file, None).expect("the store is written");
        let blocks = file.metadata().expect("facts").blocks() * 512;
        assert!(blocks < 1 << 20, "{blocks} bytes are used");
    }
}
