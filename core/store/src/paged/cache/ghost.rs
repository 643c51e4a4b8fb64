//! The numbers of pages that left the small queue not long ago.

use super::table::PageTable;
use crate::paged::ids::PageNo;
use crate::paged::memory::{NoMemory, reserved};

/// A ring of page numbers with an index. A number that is taken leaves a hole, which the ring overwrites in its turn.
pub(super) struct Ghost {
    ring: Vec<PageNo>,
    capacity: u32,
    next: u32,
    /// Page number to its place in the ring.
    places: PageTable,
}

impl Ghost {
    /// Room for `capacity` numbers.
    pub(super) fn new(capacity: u32) -> Result<Ghost, NoMemory> {
        let (ring, places) = (reserved(capacity as usize)?, PageTable::new(capacity)?);
        Ok(Ghost { ring, capacity, next: 0, places })
    }

    /// Remembers `page`, and forgets the oldest if the ring is full.
    pub(super) fn remember(&mut self, page: PageNo) {
        let place = self.next;
        match self.ring.get_mut(place as usize) {
            None => self.ring.push(page),
            Some(slot) => {
                let oldest = std::mem::replace(slot, page);
                // The page may have been taken and remembered again since, at a later place.
                if self.places.find(oldest) == Some(place) {
                    self.places.remove(oldest);
                }
            }
        }
        self.places.insert(page, place);
        self.next = (place + 1) % self.capacity;
    }

    /// Whether `page` was remembered; it no longer is.
    pub(super) fn take(&mut self, page: PageNo) -> bool {
        self.places.remove(page).is_some()
    }
}
