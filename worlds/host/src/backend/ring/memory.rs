//! A disk's memory for what is in flight: one mapping, aligned for direct I/O, handed out in owned blocks.

use crate::backend::room::FreeParts;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::{io, ptr, slice};

/// Anonymous memory of this process, until the last block of it is dropped.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to no thread, and its bytes are reached through blocks only, which never overlap.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared mapping gives away nothing but its address.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the range that `mmap` gave, and no block is left that could reach it.
        unsafe { munmap(self.base.as_ptr().cast(), self.length) }.expect("the mapping is ours");
    }
}

/// Gives blocks out and takes them back.
#[derive(Debug)]
pub(crate) struct Arena {
    mapping: Arc<Mapping>,
    room: FreeParts,
}

/// A part of an arena's memory with one owner. A dropped block is lost to its arena, but never given out twice.
#[derive(Debug)]
pub(crate) struct ArenaBlock {
    mapping: Arc<Mapping>,
    at: usize,
    length: usize,
}

impl Arena {
    /// Maps `length` bytes, a power of two. Large pages spare the processor translations where the system has some.
    pub(crate) fn new(length: usize) -> io::Result<Arena> {
        let room = FreeParts::new(length);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let base =
            unsafe { mmap_anonymous(ptr::null_mut(), length, protection, MapFlags::PRIVATE) }?;
        // SAFETY: the range was mapped above. The advice changes no contents; a system without large pages
        // refuses it, which costs nothing but speed.
        let _ = unsafe { madvise(base, length, Advice::LinuxHugepage) };
        let base = NonNull::new(base.cast()).expect("the system maps nothing at zero");
        Ok(Arena { mapping: Arc::new(Mapping { base, length }), room })
    }

    /// The longest block that a request gets, so that a few long ones never take everything.
    pub(crate) fn longest(&self) -> usize {
        self.mapping.length / 4
    }

    /// A block of at least `length` bytes, if there is room now.
    pub(crate) fn take(&mut self, length: usize) -> Option<ArenaBlock> {
        let (at, length) = self.room.take(length)?;
        Some(ArenaBlock { mapping: self.mapping.clone(), at, length })
    }

    /// Takes a block back.
    pub(crate) fn give(&mut self, block: ArenaBlock) {
        assert!(Arc::ptr_eq(&self.mapping, &block.mapping), "a block returns to its own arena");
        self.room.give(block.at, block.length);
    }

    /// The whole memory, for the ring to register.
    pub(super) fn as_iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.mapping.base.as_ptr().cast(), iov_len: self.mapping.length }
    }
}

impl ArenaBlock {
    /// Its first byte, for the kernel to read or write while the block is owned by a call in flight.
    pub(super) fn address(&self) -> *mut u8 {
        // SAFETY: `at` lies inside the mapping, since `Room` divides exactly its length.
        unsafe { self.mapping.base.as_ptr().add(self.at) }
    }
}

impl Deref for ArenaBlock {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the range lies inside the mapping, which is zeroed at first, lives as long as this block, and
        // is given to no other block while this one exists.
        unsafe { slice::from_raw_parts(self.address(), self.length) }
    }
}

impl DerefMut for ArenaBlock {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the block is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.address(), self.length) }
    }
}
