//! The bounded buffer of old versions: pages as of the running checkpoint's instant that were changed since.

use crate::paged::ids::PageSize;
use crate::paged::memory::{AnonymousMemory, NoMemory, collected};

/// Fixed slots of one page each.
pub struct OldVersions {
    memory: AnonymousMemory,
    page: PageSize,
    free: Vec<u32>,
    slots: u32,
}

impl OldVersions {
    /// A buffer of `slots` pages in memory of that size, which is only touched as slots are taken.
    pub(super) fn new(
        memory: AnonymousMemory,
        slots: u32,
        page: PageSize,
    ) -> Result<OldVersions, NoMemory> {
        assert_eq!(memory.len(), slots as usize * page.bytes(), "each slot has its place");
        let free = collected((0..slots).rev())?;
        Ok(OldVersions { memory, page, free, slots })
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// How many are taken.
    pub fn used(&self) -> u32 {
        self.slots - self.free.len() as u32
    }

    /// Keeps a copy. Whoever changes a page has made sure that there is room.
    pub fn keep(&mut self, bytes: &[u8]) -> u32 {
        let slot = self.free.pop().expect("room for an old version was planned");
        let at = slot as usize * self.page.bytes();
        self.memory[at..at + self.page.bytes()].copy_from_slice(bytes);
        slot
    }

    /// What is kept in `slot`.
    pub fn bytes(&self, slot: u32) -> &[u8] {
        let at = slot as usize * self.page.bytes();
        &self.memory[at..at + self.page.bytes()]
    }

    /// Gives a slot back.
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }
}
