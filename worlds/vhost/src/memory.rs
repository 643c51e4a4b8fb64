//! The machine's memory, as far as it has handed it over.

use loadline_wire::vhost::MemoryRegion;
use rustix::fs::fstat;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use thiserror::Error;
use vm_memory::mmap::FromRangesError;
use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    GuestRegionCollectionError, GuestRegionMmap,
};

/// Why a machine's memory cannot be had.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// It cannot be mapped.
    #[error("the machine's memory cannot be mapped: {0}")]
    Map(#[from] FromRangesError),
    /// Its regions lie on each other.
    #[error("the machine's memory makes no sense: {0}")]
    Regions(#[from] GuestRegionCollectionError),
    /// A file of it is not as long as is said, or not a file at all.
    #[error("a file of the machine's memory is shorter than the region that is said to lie in it")]
    Short,
    /// A file of it cannot be looked at.
    #[error("a file of the machine's memory cannot be looked at: {0}")]
    File(#[from] io::Error),
}

/// The machine's memory: mapped, and known by the addresses of the process that runs the machine.
#[derive(Clone, Debug)]
pub struct MachineMemory {
    mapped: Arc<GuestMemoryMmap>,
    regions: Arc<[MemoryRegion]>,
}

impl MachineMemory {
    /// Maps regions, each of which lies in a file of its own or in the same.
    pub(crate) fn map(
        regions: Vec<MemoryRegion>,
        files: Vec<OwnedFd>,
    ) -> Result<MachineMemory, MemoryError> {
        let mapped = regions.iter().zip(files).map(|(region, file)| {
            let there = fstat(&file).map_err(io::Error::from)?.st_size as u64;
            let end = region.file_offset.checked_add(region.bytes);
            if end.is_none_or(|end| end > there) {
                return Err(MemoryError::Short);
            }
            let file = FileOffset::new(File::from(file), region.file_offset);
            let address = GuestAddress(region.guest_address);
            Ok(GuestRegionMmap::from_range(address, region.bytes as usize, Some(file))?)
        });
        let mut mapped: Vec<GuestRegionMmap> = mapped.collect::<Result<_, MemoryError>>()?;
        mapped.sort_by_key(GuestMemoryRegion::start_addr);
        debug_assert!(mapped.iter().all(|region| region.len() > 0), "a mapping of nothing fails");
        let mapped = Arc::new(GuestMemoryMmap::from_regions(mapped)?);
        Ok(MachineMemory { mapped, regions: regions.into() })
    }

    pub(crate) fn mapped(&self) -> &GuestMemoryMmap {
        &self.mapped
    }

    /// The machine's address of what the process that runs it has at `user`.
    pub(crate) fn guest_address(&self, user: u64) -> Option<GuestAddress> {
        let inside = |region: &&MemoryRegion| {
            user.checked_sub(region.user_address).is_some_and(|offset| offset < region.bytes)
        };
        let region = self.regions.iter().find(inside)?;
        region.guest_address.checked_add(user - region.user_address).map(GuestAddress)
    }
}

/// Pieces of the machine's memory that follow each other in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    pieces: Vec<(GuestAddress, u32)>,
}

/// A piece lies outside the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideMemory;

impl Segments {
    pub(crate) fn push(&mut self, address: GuestAddress, bytes: u32) {
        self.pieces.push((address, bytes));
    }

    /// How many pieces it is in.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// Whether all of it is memory that the machine has handed over.
    pub fn lies_in(&self, memory: &MachineMemory) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.all(|(address, bytes)| memory.mapped.check_range(*address, *bytes as usize))
    }

    /// Reads what stands from byte `start` on; there must be as much.
    pub fn read(
        &self,
        memory: &MachineMemory,
        start: u64,
        into: &mut [u8],
    ) -> Result<(), OutsideMemory> {
        let mut done = 0;
        self.each(start, into.len(), |address, bytes| {
            let part = &mut into[done..done + bytes];
            done += bytes;
            memory.mapped.read_slice(part, address).map_err(|_| OutsideMemory)
        })
    }

    /// Writes from byte `start` on; there must be room for it.
    pub fn write(
        &self,
        memory: &MachineMemory,
        start: u64,
        from: &[u8],
    ) -> Result<(), OutsideMemory> {
        let mut done = 0;
        self.each(start, from.len(), |address, bytes| {
            let part = &from[done..done + bytes];
            done += bytes;
            memory.mapped.write_slice(part, address).map_err(|_| OutsideMemory)
        })
    }

    /// Calls for each piece of a range, in order.
    fn each(
        &self,
        mut start: u64,
        mut bytes: usize,
        mut visit: impl FnMut(GuestAddress, usize) -> Result<(), OutsideMemory>,
    ) -> Result<(), OutsideMemory> {
        for (address, length) in &self.pieces {
            let length = u64::from(*length);
            if start >= length {
                start -= length;
                continue;
            }
            let part = bytes.min((length - start) as usize);
            if part == 0 {
                return Ok(());
            }
            let address = address.0.checked_add(start).ok_or(OutsideMemory)?;
            visit(GuestAddress(address), part)?;
            (start, bytes) = (0, bytes - part);
        }
        if bytes == 0 { Ok(()) } else { Err(OutsideMemory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    #[test]
    fn a_piece_that_is_not_there_is_known_before_anything_is_read() {
        let file = memfd_create("machine", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 1 << 16).unwrap();
        let region =
            MemoryRegion { guest_address: 0, bytes: 1 << 16, user_address: 0, file_offset: 0 };
        let memory = MachineMemory::map(vec![region], vec![file]).unwrap();
        for (address, bytes, is_there) in [
            (0, 1 << 16, true),
            (1, 1 << 16, false),
            (1 << 40, 1, false),
            (u64::MAX, 2, false),
            (1 << 40, 0, true),
        ] {
            let mut segments = Segments::default();
            segments.push(GuestAddress(0), 512);
            segments.push(GuestAddress(address), bytes);
            assert_eq!(segments.lies_in(&memory), is_there, "{bytes} at {address}");
        }
    }
}
