//! A minimum queue for keys that mostly come in order: a sorted line in front of a heap.
//!
//! Classes of equal weight and cost get their start tags in rising order, so each goes to the end of the line and comes
//! out at its front, in constant time and in the order of memory. Whatever is out of order goes to the heap.

use super::heap::{KeyedIndex, PlainHeap};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Lineup {
    line: VecDeque<KeyedIndex>,
    heap: PlainHeap,
}

impl Lineup {
    pub(super) fn new() -> Lineup {
        Lineup { line: VecDeque::new(), heap: PlainHeap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    /// The first entry.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<KeyedIndex> {
        match (self.line.front(), self.heap.peek()) {
            (Some(front), Some(top)) if top < *front => Some(top),
            (Some(front), _) => Some(*front),
            (None, top) => top,
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: KeyedIndex) {
        if self.continues_line(entry) {
            self.line.push_back(entry);
        } else {
            self.heap.push(entry);
        }
    }

    /// Takes the first entry out.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.line_is_first() {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
    }

    /// Puts `entry`, which is not before the first, in its place.
    #[inline(always)]
    pub(super) fn replace_top(&mut self, entry: KeyedIndex) {
        if !self.line_is_first() && !self.continues_line(entry) {
            self.heap.replace_top(entry);
        } else {
            self.pop();
            self.push(entry);
        }
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyedIndex> {
        self.line.iter().copied().chain(self.heap.iter())
    }

    /// Replaces all entries by those that `keep` returns: all of them stand in line then.
    pub(super) fn rebuild(&mut self, keep: impl FnMut(KeyedIndex) -> Option<KeyedIndex>) {
        let mut kept: Vec<KeyedIndex> = self.iter().filter_map(keep).collect();
        kept.sort_unstable();
        *self = Lineup { line: kept.into(), heap: PlainHeap::new() };
    }

    #[inline(always)]
    fn line_is_first(&self) -> bool {
        match (self.line.front(), self.heap.peek()) {
            (Some(front), Some(top)) => *front < top,
            (front, _) => front.is_some(),
        }
    }

    #[inline(always)]
    fn continues_line(&self, entry: KeyedIndex) -> bool {
        self.line.back().is_none_or(|back| *back < entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;
    use std::collections::BTreeSet;

    /// Random rising and falling keys against an ordered set of the same pairs.
    #[test]
    fn the_lineup_agrees_with_an_ordered_set() {
        let (mut rng, mut lineup, mut model) = (Rng::new(3), Lineup::new(), BTreeSet::new());
        for step in 0..100_000u32 {
            let first = model.first().copied();
            assert_eq!(lineup.peek(), first.map(|(key, index)| KeyedIndex::new(key, index)));
            assert_eq!(lineup.len(), model.len());
            if step % 9_999 == 0 {
                lineup.rebuild(|entry| (entry.index() % 3 > 0).then_some(entry));
                model.retain(|(_, index): &(u64, u32)| index % 3 > 0);
                continue;
            }
            let key = u64::from(step) + rng.below(1 + u64::from(step / 1_000));
            match (rng.below(5), first) {
                (0, Some(first)) => {
                    lineup.pop();
                    model.remove(&first);
                }
                (1..4, Some(first)) => {
                    let key = key.max(first.0 + 1);
                    lineup.replace_top(KeyedIndex::new(key, first.1));
                    model.remove(&first);
                    model.insert((key, first.1));
                }
                _ => {
                    lineup.push(KeyedIndex::new(key, step));
                    model.insert((key, step));
                }
            }
        }
    }
}
