//! Bytes of a store's devices, wherever they come from.

use crate::paged::api::StoreDevice;

/// Devices that can be read and do not change meanwhile.
pub trait ReadAt {
    /// Bytes of a device, or `None` if there is no such device.
    fn size(&self, target: StoreDevice) -> Option<u64>;

    /// Fills `buffer` from `offset` on. False if that reaches beyond the device or cannot be read.
    fn read_at(&self, target: StoreDevice, offset: u64, buffer: &mut [u8]) -> bool;
}

/// Devices whose bytes are in memory.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'a> {
    /// The data device.
    pub data: &'a [u8],
    /// The log device, if the log has its own.
    pub log: Option<&'a [u8]>,
}

impl ReadAt for InMemory<'_> {
    fn size(&self, target: StoreDevice) -> Option<u64> {
        self.of(target).map(|bytes| bytes.len() as u64)
    }

    fn read_at(&self, target: StoreDevice, offset: u64, buffer: &mut [u8]) -> bool {
        let bytes = usize::try_from(offset).ok().and_then(|from| self.of(target)?.get(from..));
        match bytes.and_then(|bytes| bytes.get(..buffer.len())) {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }
}

impl InMemory<'_> {
    fn of(&self, target: StoreDevice) -> Option<&[u8]> {
        match target {
            StoreDevice::Data => Some(self.data),
            StoreDevice::Log => self.log,
        }
    }
}
