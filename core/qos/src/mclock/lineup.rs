//! A minimum queue for keys that mostly come in order: a sorted line in front of a heap.
//!
//! Classes of equal weight and cost get their start tags in rising order, so each goes to the end of the line and comes
//! out at its front, in constant time and in the order of memory. Whatever is out of order goes to the heap.

use super::heap::{Entry, Heap, Packed};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Lineup {
    line: VecDeque<Packed>,
    heap: Heap<Packed, false>,
}

impl Lineup {
    pub(super) fn new() -> Lineup {
        Lineup { line: VecDeque::new(), heap: Heap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    /// The first entry.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<Packed> {
        match (self.line.front(), self.heap.peek()) {
            (Some(front), Some(top)) if top.is_before(*front) => Some(top),
            (Some(front), _) => Some(*front),
            (None, top) => top,
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: Packed) {
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
    pub(super) fn replace_top(&mut self, entry: Packed) {
        if !self.line_is_first() && !self.continues_line(entry) {
            self.heap.replace_top(entry);
        } else {
            self.pop();
            self.push(entry);
        }
    }

    #[inline(always)]
    fn line_is_first(&self) -> bool {
        match (self.line.front(), self.heap.peek()) {
            (Some(front), Some(top)) => front.is_before(top),
            (front, _) => front.is_some(),
        }
    }

    #[inline(always)]
    fn continues_line(&self, entry: Packed) -> bool {
        self.line.back().is_none_or(|back| back.is_before(entry))
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
            assert_eq!(lineup.peek(), first.map(|(key, index)| Packed::new(key, index)));
            assert_eq!(lineup.len(), model.len());
            let key = u128::from(step) + u128::from(rng.below(1 + u64::from(step / 1_000)));
            match (rng.below(5), first) {
                (0, Some(first)) => {
                    lineup.pop();
                    model.remove(&first);
                }
                (1..4, Some(first)) => {
                    let key = key.max(first.0 + 1);
                    lineup.replace_top(Packed::new(key, first.1));
                    model.remove(&first);
                    model.insert((key, first.1));
                }
                _ => {
                    lineup.push(Packed::new(key, step));
                    model.insert((key, step));
                }
            }
        }
    }
}
