//! Typed indices: an id is not a number, and per-id data is indexed only by that id.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// Defines a dense index type around `u32` with `new`, `get` and `From` for `usize`.
#[macro_export]
macro_rules! define_id {
    ($(#[$meta:meta])* $vis:vis struct $name:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(u32);

        impl $name {
            /// The id with this index.
            pub const fn new(index: u32) -> $name {
                $name(index)
            }

            /// The index behind the id.
            #[inline]
            pub const fn get(self) -> u32 {
                self.0
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> $name {
                $name(u32::try_from(index).expect("an id fits 32 bits"))
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(id: $name) -> usize {
                id.0 as usize
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// A vector that only its own kind of id can index.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: From<usize> + Into<usize> + Copy, T> IdVec<I, T> {
    /// An empty vector.
    pub const fn new() -> IdVec<I, T> {
        IdVec { items: Vec::new(), id: PhantomData }
    }

    /// Appends `item` and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from(self.items.len() - 1)
    }

    /// Takes the last item out, if there is one.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// How many items there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item of `id`, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.into())
    }

    /// The item of `id`, to be changed. Where the vector does not reach so far, it is filled up to there.
    #[inline]
    pub fn get_or_default(&mut self, id: I) -> &mut T
    where
        T: Default,
    {
        let at = id.into();
        if at >= self.items.len() {
            self.items.resize_with(at + 1, T::default);
        }
        &mut self.items[at]
    }

    /// The ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from)
    }

    /// Ids and items, in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::from(index), item))
    }

    /// Ids and items to change, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.items.iter_mut().enumerate().map(|(index, item)| (I::from(index), item))
    }

    /// The items in order, without their vector.
    pub fn into_values(self) -> alloc::vec::IntoIter<T> {
        self.items.into_iter()
    }

    /// The items, in order.
    pub fn values(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }
}

impl<I: From<usize> + Into<usize> + Copy, T> Default for IdVec<I, T> {
    fn default() -> Self {
        IdVec::new()
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(items: S) -> Self {
        IdVec { items: items.into_iter().collect(), id: PhantomData }
    }
}

impl<I: Into<usize>, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.into()]
    }
}

impl<I: Into<usize>, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.into()]
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotId;

    #[test]
    fn an_item_is_found_under_the_id_that_it_was_given() {
        let mut letters: IdVec<SlotId, char> = IdVec::new();
        let (first, second) = (letters.push('a'), letters.push('b'));
        letters[first] = 'c';
        assert_eq!((letters[first], letters.get(second)), ('c', Some(&'b')));
        assert!(letters.ids().eq([first, second]));
        assert_eq!(letters.get(SlotId::new(2)), None);
    }

    #[test]
    fn a_vector_reaches_as_far_as_it_is_asked() {
        let mut counts: IdVec<SlotId, u32> = IdVec::new();
        *counts.get_or_default(SlotId::new(2)) += 7;
        *counts.get_or_default(SlotId::new(0)) += 1;
        assert!(counts.values().eq(&[1, 0, 7]));
    }
}
