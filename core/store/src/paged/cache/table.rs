//! Page number to a small number: an open table of fixed size, linear probing, removal by shifting back.
//!
//! A lookup is one multiplication and, nearly always, one cache line. Removal leaves no marks, so the table is as fast
//! after a year as on its first day.

use crate::paged::ids::PageNo;
use crate::paged::memory::{NoMemory, collected};

/// Marks an empty slot; no device has so many pages.
const EMPTY: PageNo = PageNo(u64::MAX);

/// 2^64 divided by the golden ratio, made odd (Knuth, TAOCP 6.4): neighbouring pages land far apart, and every stride is
/// spread.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A table for up to a stated number of pages, at most two thirds full.
pub(super) struct PageTable {
    slots: Vec<(PageNo, u32)>,
    /// How far a product is shifted to become a slot.
    shift: u32,
    len: u32,
    capacity: u32,
}

impl PageTable {
    /// Room for `capacity` pages.
    pub(super) fn new(capacity: u32) -> Result<PageTable, NoMemory> {
        let slots = (u64::from(capacity) * 3 / 2 + 1).next_power_of_two().max(2);
        let shift = 64 - slots.trailing_zeros();
        let slots = collected((0..slots as usize).map(|_| (EMPTY, 0)))?;
        Ok(PageTable { slots, shift, len: 0, capacity })
    }

    /// The number of `page`.
    #[inline]
    pub(super) fn find(&self, page: PageNo) -> Option<u32> {
        let mut slot = self.home(page);
        loop {
            let (key, value) = self.slots[slot];
            if key == EMPTY {
                return None;
            }
            if key == page {
                return Some(value);
            }
            slot = self.after(slot);
        }
    }

    /// Adds a page that is not there.
    pub(super) fn insert(&mut self, page: PageNo, value: u32) {
        assert!(page != EMPTY && self.len < self.capacity, "a table has the room it was made with");
        let mut slot = self.home(page);
        while self.slots[slot].0 != EMPTY {
            assert!(self.slots[slot].0 != page, "a page has one number");
            slot = self.after(slot);
        }
        self.slots[slot] = (page, value);
        self.len += 1;
    }

    /// Takes a page out and returns its number.
    pub(super) fn remove(&mut self, page: PageNo) -> Option<u32> {
        let mut slot = self.home(page);
        let value = loop {
            let (key, value) = self.slots[slot];
            if key == EMPTY {
                return None;
            }
            if key == page {
                break value;
            }
            slot = self.after(slot);
        };
        self.close(slot);
        self.len -= 1;
        Some(value)
    }

    /// Fills the hole at `hole` with entries behind it that may stand there, so that no lookup stops too early.
    fn close(&mut self, mut hole: usize) {
        let mut slot = self.after(hole);
        while self.slots[slot].0 != EMPTY {
            let home = self.home(self.slots[slot].0);
            if self.distance(home, slot) >= self.distance(hole, slot) {
                self.slots[hole] = self.slots[slot];
                hole = slot;
            }
            slot = self.after(slot);
        }
        self.slots[hole] = (EMPTY, 0);
    }

    #[inline]
    fn home(&self, page: PageNo) -> usize {
        (page.0.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Steps from `from` on to `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64, u32),
        Remove(u64),
    }

    /// Few distinct pages, some with the same home slot, in a small table: chains wrap and close all the time.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let page = prop_oneof![0..40u64, (0..40u64).prop_map(|n| n << 60), Just(u64::MAX - 1)];
        let step = prop_oneof![
            (page.clone(), any::<u32>()).prop_map(|(page, value)| Step::Insert(page, value)),
            page.prop_map(Step::Remove),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in steps()) {
            let mut table = PageTable::new(20).expect("it is small");
            let mut model = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Insert(page, value) if model.len() < 20 && !model.contains_key(&page) => {
                        table.insert(PageNo(page), value);
                        model.insert(page, value);
                    }
                    Step::Insert(page, _) => {
                        prop_assert_eq!(table.find(PageNo(page)), model.get(&page).copied());
                    }
                    Step::Remove(page) => {
                        prop_assert_eq!(table.remove(PageNo(page)), model.remove(&page));
                    }
                }
                for (&page, &value) in &model {
                    prop_assert_eq!(table.find(PageNo(page)), Some(value));
                }
            }
            prop_assert_eq!(table.len as usize, model.len());
        }
    }
}
