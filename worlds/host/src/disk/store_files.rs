//! A store's devices as files that are only read: for the checker and for whoever looks at a store as it lies there.

use loadline_store::paged::StoreDevice;
use loadline_store::paged::check::ReadAt;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Files or block devices, each with its size.
#[derive(Debug)]
pub struct StoreFiles {
    data: (File, u64),
    log: Option<(File, u64)>,
}

impl StoreFiles {
    /// The devices of a store: its data, and its log if that has its own.
    pub fn new(data: (File, u64), log: Option<(File, u64)>) -> StoreFiles {
        StoreFiles { data, log }
    }

    fn of(&self, target: StoreDevice) -> Option<&(File, u64)> {
        match target {
            StoreDevice::Data => Some(&self.data),
            StoreDevice::Log => self.log.as_ref(),
        }
    }
}

impl ReadAt for StoreFiles {
    fn size(&self, target: StoreDevice) -> Option<u64> {
        self.of(target).map(|(_, size)| *size)
    }

    fn read_at(&self, target: StoreDevice, offset: u64, buffer: &mut [u8]) -> bool {
        let Some((file, size)) = self.of(target) else { return false };
        let end = offset.checked_add(buffer.len() as u64);
        end.is_some_and(|end| end <= *size) && file.read_exact_at(buffer, offset).is_ok()
    }
}
