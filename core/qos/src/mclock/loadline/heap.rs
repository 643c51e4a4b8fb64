//! A 4-ary minimum heap of lines: the key inline beside the index, four siblings in one cache line, blank places that
//! lose every comparison, so that no level asks how many siblings there are.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// A key above an index. Equal keys come out in the order of their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyedIndex(u128);

impl KeyedIndex {
    /// After every entry.
    pub(super) const BLANK: KeyedIndex = KeyedIndex(u128::MAX);

    #[inline(always)]
    pub(super) fn new(key: u64, index: u32) -> KeyedIndex {
        KeyedIndex(u128::from(key) << 64 | u128::from(index))
    }

    #[inline(always)]
    pub(super) fn key(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline(always)]
    pub(super) fn index(self) -> u32 {
        self.0 as u32
    }
}

/// Four siblings.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Siblings([KeyedIndex; 4]);

/// The first entry stands apart, so that to look at it is one load. Its children are row 0; those of place `p` of the rows
/// are row `p + 1`.
#[derive(Clone, Debug)]
pub(super) struct PlainHeap {
    first: KeyedIndex,
    rows: Vec<Siblings>,
    len: usize,
}

impl PlainHeap {
    pub(super) fn new() -> PlainHeap {
        PlainHeap { first: KeyedIndex::BLANK, rows: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first entry; [`KeyedIndex::BLANK`] if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> KeyedIndex {
        self.first
    }

    /// The first entry, if there is one.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<KeyedIndex> {
        (self.len > 0).then_some(self.first)
    }

    pub(super) fn push(&mut self, entry: KeyedIndex) {
        let Some(place) = self.len.checked_sub(1) else {
            (self.first, self.len) = (entry, 1);
            return;
        };
        self.len += 1;
        if place / 4 == self.rows.len() {
            self.rows.push(Siblings([KeyedIndex::BLANK; 4]));
        }
        self.sift_up(place, entry);
    }

    /// Puts `entry` in the place of the first.
    #[inline(always)]
    pub(super) fn replace_top(&mut self, entry: KeyedIndex) {
        debug_assert!(self.len > 0);
        self.sift_down(entry);
    }

    /// Takes the first entry out.
    pub(super) fn pop(&mut self) -> Option<KeyedIndex> {
        let first = self.peek()?;
        self.len -= 1;
        match self.len.checked_sub(1) {
            None => self.first = KeyedIndex::BLANK,
            Some(last) => {
                let place = &mut self.rows[last / 4].0[last % 4];
                let last = core::mem::replace(place, KeyedIndex::BLANK);
                self.sift_down(last);
            }
        }
        Some(first)
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyedIndex> {
        let others = (1..self.len).map(|at| self.rows[(at - 1) / 4].0[(at - 1) % 4]);
        self.peek().into_iter().chain(others)
    }

    /// Replaces all entries by those that `keep` returns, in linear time and with memory for no more.
    pub(super) fn rebuild(&mut self, keep: impl FnMut(KeyedIndex) -> Option<KeyedIndex>) {
        let mut kept: Vec<KeyedIndex> = self.iter().filter_map(keep).collect();
        kept.sort_unstable();
        *self = PlainHeap::new();
        kept.into_iter().for_each(|entry| self.push(entry));
    }

    fn sift_up(&mut self, mut place: usize, entry: KeyedIndex) {
        while let Some(parent) = (place / 4).checked_sub(1) {
            let above = self.rows[parent / 4].0[parent % 4];
            if entry >= above {
                self.rows[place / 4].0[place % 4] = entry;
                return;
            }
            self.rows[place / 4].0[place % 4] = above;
            place = parent;
        }
        self.rows[0].0[place % 4] = self.first.max(entry);
        self.first = self.first.min(entry);
    }

    #[inline(always)]
    fn sift_down(&mut self, entry: KeyedIndex) {
        let mut row = 0;
        // Where the entry would stand: a place of the rows, or the first.
        let mut hole = None;
        while let Some(siblings) = self.rows.get(row) {
            let (child, least) = least_of_four(&siblings.0);
            if least >= entry {
                break;
            }
            self.fill(hole, least);
            let place = row * 4 + child;
            (hole, row) = (Some(place), place + 1);
        }
        self.fill(hole, entry);
    }

    #[inline(always)]
    fn fill(&mut self, hole: Option<usize>, entry: KeyedIndex) {
        match hole {
            None => self.first = entry,
            Some(place) => self.rows[place / 4].0[place % 4] = entry,
        }
    }
}

/// The least of four siblings and which it is; by conditional moves, since which one is least cannot be predicted.
#[inline(always)]
fn least_of_four(row: &[KeyedIndex; 4]) -> (usize, KeyedIndex) {
    let [a, b, c, d] = *row;
    let (left, right) = (b < a, d < c);
    let left = (usize::from(left), select_unpredictable(left, b, a));
    let right = (2 + usize::from(right), select_unpredictable(right, d, c));
    let is_right = right.1 < left.1;
    (
        select_unpredictable(is_right, right.0, left.0),
        select_unpredictable(is_right, right.1, left.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use loadline_base::Rng;

    /// Random operations against an ordered set of the same entries.
    #[test]
    fn the_heap_agrees_with_an_ordered_set() {
        let (mut rng, mut heap, mut model) = (Rng::new(5), PlainHeap::new(), BTreeSet::new());
        for step in 0..200_000u32 {
            let entry = KeyedIndex::new(rng.below(1 << 20), step);
            match rng.below(20) {
                0..8 => {
                    heap.push(entry);
                    model.insert(entry);
                }
                8..15 => assert_eq!(heap.pop(), model.pop_first()),
                19 if step % 1_000 == 0 => {
                    heap.rebuild(|entry| (entry.index() % 2 == 0).then_some(entry));
                    model.retain(|entry| entry.index() % 2 == 0);
                }
                _ => {
                    if heap.peek().is_some() {
                        heap.replace_top(entry);
                        model.pop_first();
                        model.insert(entry);
                    }
                }
            }
            assert_eq!(heap.len(), model.len());
            assert_eq!(heap.peek(), model.first().copied());
        }
        assert_eq!(heap.iter().collect::<BTreeSet<KeyedIndex>>(), model);
    }
}
