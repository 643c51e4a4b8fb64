//! Files and block devices as a store's devices, to read.

use crate::failure::Failure;
use loadline_store::paged::StoreDevice;
use loadline_store::paged::check::ReadAt;
use loadline_study::why;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A store's devices.
pub(crate) struct Files {
    data: (File, u64),
    log: Option<(File, u64)>,
}

impl Files {
    /// Opens them for reading.
    pub(crate) fn open(data: &Path, log: Option<&Path>) -> Result<Files, Failure> {
        Ok(Files { data: open(data)?, log: log.map(open).transpose()? })
    }

    fn of(&self, target: StoreDevice) -> Option<&(File, u64)> {
        match target {
            StoreDevice::Data => Some(&self.data),
            StoreDevice::Log => self.log.as_ref(),
        }
    }
}

impl ReadAt for Files {
    fn size(&self, target: StoreDevice) -> Option<u64> {
        self.of(target).map(|(_, size)| *size)
    }

    fn read_at(&self, target: StoreDevice, offset: u64, buffer: &mut [u8]) -> bool {
        let Some((file, size)) = self.of(target) else { return false };
        let end = offset.checked_add(buffer.len() as u64);
        end.is_some_and(|end| end <= *size) && file.read_exact_at(buffer, offset).is_ok()
    }
}

/// The file and its size; a block device's size is where its end is.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Failure> {
    let cannot =
        |error| Failure::Input(format!("{}: cannot be read: {}", path.display(), why(&error)));
    let mut file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(Failure::Input(format!("{}: is a folder", path.display())));
    }
    let size = file.seek(SeekFrom::End(0)).map_err(cannot)?;
    Ok((file, size))
}
