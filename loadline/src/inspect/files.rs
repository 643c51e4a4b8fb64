//! Files and block devices as a store's devices, to read.

use crate::failure::Failure;
use loadline_host::{StoreFiles, open_named, why};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// Opens a store's devices for reading.
pub(crate) fn open_store(data: &Path, log: Option<&Path>) -> Result<StoreFiles, Failure> {
    Ok(StoreFiles::new(open(data)?, log.map(open).transpose()?))
}

/// The file and its size; a block device's size is where its end is.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Failure> {
    let cannot =
        |error| Failure::Input(format!("{}: cannot be read: {}", path.display(), why(&error)));
    let mut file = open_named(path).map_err(cannot)?;
    let size = file.seek(SeekFrom::End(0)).map_err(cannot)?;
    Ok((file, size))
}
