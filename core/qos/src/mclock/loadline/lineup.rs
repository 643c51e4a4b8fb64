//! A minimum queue for keys that mostly come in order: a sorted line in front of a tournament.
//!
//! Classes of equal weight and cost get their start tags in rising order, and those of equal reservations their due times, so
//! each goes to the end of the line and comes out at its front, in constant time and in the order of memory. Whoever is
//! before the front, as one that wakes mostly is, goes there. The others play in the tournament.

use super::tournament::{KeyedIndex, Tournament};
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(super) struct Lineup {
    /// The first of all entries; blank if there are none.
    first: KeyedIndex,
    /// The others in order, and blanks, while there are few.
    few: [KeyedIndex; 3],
    /// Whether there have been more since nobody was left: all stand in the line and in the tournament then.
    is_crowd: bool,
    /// The first in line; blank if the line is empty.
    front: KeyedIndex,
    /// The last that came into the line at its end; before every entry if the line is empty.
    back: KeyedIndex,
    /// The line; its first stands at `at`, and those before have left.
    line: Vec<KeyedIndex>,
    at: usize,
    others: Tournament,
}

/// Before every entry.
const NOBODY: KeyedIndex = KeyedIndex::new(0, 0);

/// The fewest places that a line has once it has had an entry, so that it seldom moves in its memory.
const PLACES_MIN: usize = 32;

impl Lineup {
    pub(super) fn new() -> Lineup {
        let blank = KeyedIndex::BLANK;
        let (line, others) = (Vec::new(), Tournament::new());
        Lineup {
            first: blank,
            few: [blank; 3],
            is_crowd: false,
            front: blank,
            back: NOBODY,
            line,
            at: 0,
            others,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.iter_few().count() + self.line.len() - self.at + self.others.len()
    }

    /// The first entry; [`KeyedIndex::BLANK`] if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> KeyedIndex {
        self.first
    }

    /// The first entry, if there is one.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<KeyedIndex> {
        (!self.first.is_blank()).then_some(self.first)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: KeyedIndex) {
        if self.is_crowd {
            self.push_to_crowd(entry);
        } else if self.few[2].is_blank() {
            let [second, third, _] = self.few;
            let (first, entry) = in_order(self.first, entry);
            let (second, entry) = in_order(second, entry);
            (self.first, self.few[0], self.few[1]) = (first, second, entry);
            if !third.is_blank() {
                (self.few[1], self.few[2]) = in_order(third, entry);
            }
        } else {
            self.become_crowd(entry);
        }
    }

    /// Takes the first entry out.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.is_crowd {
            self.pop_from_crowd();
        } else {
            let [second, third, last] = self.few;
            (self.first, self.few) = (second, [third, last, KeyedIndex::BLANK]);
        }
    }

    /// Puts `entry`, which is not before the first, in its place.
    #[inline(always)]
    pub(super) fn replace_top(&mut self, entry: KeyedIndex) {
        if self.is_crowd {
            self.replace_in_crowd(entry);
        } else {
            let [second, third, last] = self.few;
            let (first, entry) = in_order(second, entry);
            let (second, entry) = in_order(third, entry);
            (self.first, self.few[0], self.few[1]) = (first, second, entry);
            if !last.is_blank() {
                (self.few[1], self.few[2]) = in_order(last, entry);
            }
        }
    }

    #[cold]
    fn become_crowd(&mut self, entry: KeyedIndex) {
        let few: Vec<KeyedIndex> = self.iter_few().collect();
        self.few = [KeyedIndex::BLANK; 3];
        self.is_crowd = true;
        few.into_iter().chain([entry]).for_each(|entry| self.push_to_crowd(entry));
    }

    #[inline(always)]
    fn push_to_crowd(&mut self, entry: KeyedIndex) {
        if self.back.is_before(entry) {
            self.append(entry);
        } else if self.at > 0 && entry.is_before(self.front) {
            self.at -= 1;
            self.line[self.at] = entry;
            self.front = entry;
        } else {
            self.others.push(entry);
        }
        self.first = self.front.first_of(self.others.first());
    }

    #[inline(always)]
    fn pop_from_crowd(&mut self) {
        if self.front.is_before(self.others.first()) {
            self.leave();
        } else {
            self.others.pop();
        }
        self.first = self.front.first_of(self.others.first());
        self.is_crowd = !self.first.is_blank();
    }

    #[inline(always)]
    fn replace_in_crowd(&mut self, entry: KeyedIndex) {
        if self.front.is_before(self.others.first()) {
            self.leave();
            self.push_to_crowd(entry);
        } else if entry.is_before(self.back) {
            self.others.replace_top(entry);
            self.first = self.front.first_of(self.others.first());
        } else {
            self.others.pop();
            self.push_to_crowd(entry);
        }
    }

    fn iter_few(&self) -> impl Iterator<Item = KeyedIndex> {
        let [second, third, last] = self.few;
        let few =
            if self.is_crowd { [KeyedIndex::BLANK; 4] } else { [self.first, second, third, last] };
        few.into_iter().filter(|entry| !entry.is_blank())
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyedIndex> {
        self.iter_few().chain(self.line[self.at..].iter().copied()).chain(self.others.iter())
    }

    /// Replaces all entries by those that `keep` returns: all of them stand in line then.
    pub(super) fn rebuild(&mut self, keep: impl FnMut(KeyedIndex) -> Option<KeyedIndex>) {
        let mut kept: Vec<KeyedIndex> = self.iter().filter_map(keep).collect();
        kept.sort_unstable();
        *self = Lineup::new();
        kept.into_iter().for_each(|entry| self.push(entry));
    }

    #[inline(always)]
    fn append(&mut self, entry: KeyedIndex) {
        self.back = entry;
        self.front = self.front.first_of(entry);
        if self.line.len() == self.line.capacity() {
            self.make_room();
        }
        self.line.push(entry);
    }

    /// Moves the line to the front of its memory, unless it would soon be full again.
    #[cold]
    fn make_room(&mut self) {
        if 2 * self.at >= self.line.len() {
            self.line.drain(..self.at);
            self.at = 0;
        }
        self.line.reserve(PLACES_MIN);
    }

    #[inline(always)]
    fn leave(&mut self) {
        self.at += 1;
        match self.line.get(self.at) {
            Some(front) => self.front = *front,
            None => (self.front, self.back) = (KeyedIndex::BLANK, NOBODY),
        }
    }
}

/// The two, the one that comes first before the other.
#[inline(always)]
fn in_order(one: KeyedIndex, other: KeyedIndex) -> (KeyedIndex, KeyedIndex) {
    (one.first_of(other), one.last_of(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use loadline_base::Rng;

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
