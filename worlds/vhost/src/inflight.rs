//! What is under way, in memory that outlives this process: the machine keeps it, and hands it to whoever serves it next.
//!
//! The layout is vhost-user's for split rings: for each ring its features, version, size, the head that was answered last and the index of
//! the used ring after that; then for each descriptor whether it is under way, and when it was taken. A head is noted before anything is done
//! about it; that it was answered is noted in three steps, so that whatever is missing of them can be told from the used ring.

use loadline_wire::vhost::InflightArea;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thiserror::Error;
use vm_memory::mmap::FromRangesError;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

/// Bytes of a ring's head, and of each descriptor's entry.
const HEAD_BYTES: u64 = 16;
const ENTRY_BYTES: u64 = 16;

/// Rings begin at multiples of it.
const ALIGNMENT: u64 = 64;

/// The version of the layout; 0 is memory that nobody has written yet.
const VERSION: u16 = 1;

mod place {
    pub(super) const VERSION: u64 = 8;
    pub(super) const SIZE: u64 = 10;
    pub(super) const LAST_HEAD: u64 = 12;
    pub(super) const USED: u64 = 14;
    /// In an entry: one byte whether it is under way, and at which place in the order it was taken.
    pub(super) const UNDER_WAY: u64 = 0;
    pub(super) const COUNTER: u64 = 8;
}

/// Why memory for what is under way cannot be had.
#[derive(Debug, Error)]
pub enum InflightError {
    /// It cannot be made.
    #[error("memory for requests under way cannot be made: {0}")]
    Make(#[from] io::Error),
    /// It cannot be mapped.
    #[error("memory for requests under way cannot be mapped: {0}")]
    Map(#[from] FromRangesError),
    /// It is not what was made.
    #[error("memory for requests under way makes no sense")]
    Nonsense,
}

fn ring_bytes(size: u16) -> u64 {
    (HEAD_BYTES + ENTRY_BYTES * u64::from(size)).next_multiple_of(ALIGNMENT)
}

/// The memory of all rings.
#[derive(Clone, Debug)]
pub(crate) struct InflightTable {
    mapped: Arc<GuestMemoryMmap>,
    area: InflightArea,
}

impl InflightTable {
    /// Makes it, and the file by which the machine keeps it.
    pub(crate) fn make(rings: u16, size: u16) -> Result<(InflightArea, OwnedFd), InflightError> {
        let bytes = ring_bytes(size) * u64::from(rings);
        if bytes == 0 {
            return Err(InflightError::Nonsense);
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("loadline-inflight", flags).map_err(io::Error::from)?;
        ftruncate(&file, bytes).map_err(io::Error::from)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(io::Error::from)?;
        Ok((InflightArea { bytes, offset: 0, rings, size }, file))
    }

    /// Takes it back from the machine.
    pub(crate) fn map(area: InflightArea, file: OwnedFd) -> Result<InflightTable, InflightError> {
        let needed = ring_bytes(area.size) * u64::from(area.rings);
        let there = fstat(file.as_fd()).map_err(io::Error::from)?.st_size as u64;
        let end = area.offset.checked_add(area.bytes);
        if needed == 0 || area.bytes < needed || end.is_none_or(|end| end > there) {
            return Err(InflightError::Nonsense);
        }
        let shared = FileOffset::new(File::from(file), area.offset);
        let range = (GuestAddress(0), needed as usize, Some(shared));
        let mapped = Arc::new(GuestMemoryMmap::from_ranges_with_files([range])?);
        Ok(InflightTable { mapped, area })
    }

    /// The part of one ring of so many descriptors; memory that nobody has written yet is made ready.
    pub(crate) fn ring(&self, ring: usize, size: u16) -> Result<InflightRing, InflightError> {
        if ring >= usize::from(self.area.rings) || size > self.area.size {
            return Err(InflightError::Nonsense);
        }
        let base = ring_bytes(self.area.size) * ring as u64;
        let part = InflightRing { mapped: self.mapped.clone(), base, size, counter: 0 };
        match (part.half(place::VERSION), part.half(place::SIZE)) {
            (0, _) => {
                part.set_half(place::SIZE, size);
                part.set_half(place::VERSION, VERSION);
            }
            (VERSION, known) if known == size => {}
            _ => return Err(InflightError::Nonsense),
        }
        Ok(part)
    }
}

/// The memory of one ring.
#[derive(Debug)]
pub(crate) struct InflightRing {
    mapped: Arc<GuestMemoryMmap>,
    base: u64,
    size: u16,
    /// At which place in the order the next one is taken.
    counter: u64,
}

/// Why access to the memory cannot fail: it is as long as its rings.
const INSIDE: &str = "a ring's part lies inside the memory";

impl InflightRing {
    /// What was under way when the last session ended, in the order in which it was taken. The used ring stands at `used`: an answer that
    /// got there was given, whatever else is noted about it.
    pub(crate) fn left(&mut self, used: u16) -> Vec<u16> {
        if self.half(place::USED) != used {
            let last = self.half(place::LAST_HEAD);
            if last < self.size {
                self.set_under_way(last, false);
            }
            self.set_half(place::USED, used);
        }
        let heads = (0..self.size).filter(|head| self.is_under_way(*head));
        let mut left: Vec<(u64, u16)> = heads.map(|head| (self.counter_of(head), head)).collect();
        left.sort_unstable();
        self.counter = left.last().map_or(0, |(counter, _)| counter.wrapping_add(1));
        left.into_iter().map(|(_, head)| head).collect()
    }

    /// A head is taken.
    pub(crate) fn taken(&mut self, head: u16) -> Result<(), InflightError> {
        self.has(head)?;
        let counter = self.entry(head) + place::COUNTER;
        self.mapped.write_obj(self.counter, GuestAddress(counter)).expect(INSIDE);
        self.counter = self.counter.wrapping_add(1);
        self.set_under_way(head, true);
        Ok(())
    }

    /// A head is about to be put into the used ring.
    pub(crate) fn answers(&self, head: u16) -> Result<(), InflightError> {
        self.has(head)?;
        self.set_half(place::LAST_HEAD, head);
        Ok(())
    }

    /// It is there, and the used ring stands at `used`.
    pub(crate) fn answered(&self, head: u16, used: u16) -> Result<(), InflightError> {
        self.has(head)?;
        self.set_under_way(head, false);
        self.set_half(place::USED, used);
        Ok(())
    }

    /// A ring may have become longer than its part of the memory.
    fn has(&self, head: u16) -> Result<(), InflightError> {
        if head < self.size { Ok(()) } else { Err(InflightError::Nonsense) }
    }

    fn entry(&self, head: u16) -> u64 {
        self.base + HEAD_BYTES + u64::from(head) * ENTRY_BYTES
    }

    fn counter_of(&self, head: u16) -> u64 {
        let place = GuestAddress(self.entry(head) + place::COUNTER);
        self.mapped.read_obj(place).expect(INSIDE)
    }

    fn is_under_way(&self, head: u16) -> bool {
        let place = GuestAddress(self.entry(head) + place::UNDER_WAY);
        self.mapped.load::<u8>(place, Ordering::Acquire).expect(INSIDE) == 1
    }

    fn set_under_way(&self, head: u16, under_way: bool) {
        let place = GuestAddress(self.entry(head) + place::UNDER_WAY);
        self.mapped.store(u8::from(under_way), place, Ordering::SeqCst).expect(INSIDE);
    }

    fn half(&self, at: u64) -> u16 {
        self.mapped.load(GuestAddress(self.base + at), Ordering::Acquire).expect(INSIDE)
    }

    fn set_half(&self, at: u64, value: u16) {
        self.mapped.store(value, GuestAddress(self.base + at), Ordering::SeqCst).expect(INSIDE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(area: InflightArea, file: &OwnedFd) -> InflightRing {
        let table = InflightTable::map(area, file.try_clone().unwrap()).unwrap();
        table.ring(1, 8).unwrap()
    }

    /// The process may end between any two of the steps by which an answer is noted.
    #[test]
    fn what_was_under_way_is_known_whenever_the_process_ends() {
        let (area, file) = InflightTable::make(2, 8).unwrap();
        let mut ring = again(area, &file);
        assert!(ring.left(0).is_empty());
        for head in [5, 2, 7] {
            ring.taken(head).unwrap();
        }
        assert_eq!(again(area, &file).left(0), [5, 2, 7], "in the order in which they came");
        ring.answers(2).unwrap();
        assert_eq!(again(area, &file).left(0), [5, 2, 7], "it is not in the used ring yet");
        assert_eq!(again(area, &file).left(1), [5, 7], "it is there, and that was not noted");
        ring.answered(2, 1).unwrap();
        let mut next = again(area, &file);
        assert_eq!(next.left(1), [5, 7]);
        next.taken(2).unwrap();
        assert_eq!(again(area, &file).left(1), [5, 7, 2], "a new one comes behind those");
        let outside = [next.taken(8), next.answers(8), next.answered(8, 2)];
        assert!(outside.iter().all(Result::is_err), "no number of a guest's leaves the part");
        assert_eq!(again(area, &file).left(1), [5, 7, 2]);
    }

    #[test]
    fn memory_that_is_too_short_or_another_rings_is_refused() {
        let (area, file) = InflightTable::make(2, 8).unwrap();
        let map = |area| InflightTable::map(area, file.try_clone().unwrap());
        assert!(map(InflightArea { rings: 3, ..area }).is_err());
        assert!(map(InflightArea { offset: u64::MAX, ..area }).is_err());
        assert!(map(InflightArea { offset: 64, ..area }).is_err());
        let table = map(area).unwrap();
        assert!(table.ring(0, 8).is_ok() && table.ring(0, 4).is_err() && table.ring(2, 8).is_err());
        assert!(InflightTable::make(0, 8).is_err());
    }
}
