//! Fixed slots: things in flight are acquired and released, and keep their address meanwhile.

use alloc::vec::Vec;

crate::define_id! {
    /// Where an item of [`Slots`] stands until it is released.
    pub struct SlotId, "slot "
}

/// A slab: acquiring reuses the slot that was released last, so the steady state allocates nothing.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<SlotId>,
}

impl<T> Slots<T> {
    /// No slots yet.
    pub const fn new() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    /// Puts `item` into a free slot.
    #[inline]
    pub fn acquire(&mut self, item: T) -> SlotId {
        match self.free.pop() {
            Some(id) => {
                self.slots[usize::from(id)] = Some(item);
                id
            }
            None => {
                self.slots.push(Some(item));
                SlotId::from(self.slots.len() - 1)
            }
        }
    }

    /// Takes the item out of its slot. Releasing an empty slot is a bug of the caller.
    #[inline]
    pub fn release(&mut self, id: SlotId) -> T {
        let item = self.slots[usize::from(id)].take().expect("a slot is released once");
        self.free.push(id);
        item
    }

    /// The item in `id`. Asking for an empty slot is a bug of the caller.
    #[inline]
    pub fn at(&self, id: SlotId) -> &T {
        self.slots[usize::from(id)].as_ref().expect("the slot is in use")
    }

    /// The item in `id`, to change. Asking for an empty slot is a bug of the caller.
    #[inline]
    pub fn at_mut(&mut self, id: SlotId) -> &mut T {
        self.slots[usize::from(id)].as_mut().expect("the slot is in use")
    }

    /// The item in `id`, if the slot is in use.
    #[inline]
    pub fn get(&self, id: SlotId) -> Option<&T> {
        self.slots.get(usize::from(id)).and_then(Option::as_ref)
    }

    /// How many slots are in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in use, in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (SlotId, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| Some((SlotId::from(index), slot.as_ref()?)))
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused() {
        let mut slots = Slots::new();
        let first = slots.acquire("a");
        let second = slots.acquire("b");
        assert_eq!(slots.release(first), "a");
        assert_eq!(slots.acquire("c"), first);
        assert_eq!((slots.len(), *slots.at(second)), (2, "b"));
        assert_eq!(slots.get(SlotId::new(9)), None);
        slots.release(first);
        assert_eq!((slots.len(), slots.get(first)), (1, None));
        assert!(slots.iter().eq([(second, &"b")]));
        slots.release(second);
        assert!(slots.is_empty());
    }
}
