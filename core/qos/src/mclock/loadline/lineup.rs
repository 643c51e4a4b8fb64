//! A minimum queue for keys that mostly come in order, of the parties of a level.
//!
//! The first eight parties of a level have a key each in a *table*, which is searched from end to end: most levels have no more. With
//! more, entries stand in a sorted line in front of a tournament. Classes of equal weight and cost get their start tags in rising order,
//! and those of equal reservations their due times, so each goes to the end of the line and comes out at its front, in constant time
//! and in the order of memory. Whoever is before the front, as one that wakes mostly is, goes there. The others play in the tournament.
//!
//! A party has one entry that counts. One that it had before is replaced in the table, and stands beside the new one in the line and in
//! the tournament.

use super::tournament::{KeyedIndex, Tournament};
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// So many parties have a place in the table.
const TABLED: usize = 8;

/// In the table, of a party that is not in the queue; after every key.
pub(super) const ABSENT: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Lineup {
    /// The key of the first of all entries, and whose it is; the key is [`ABSENT`] if there are none.
    first: Tabled,
    /// By party.
    table: [u64; TABLED],
    size: LineupSize,
    /// The first in line; blank if the line is empty.
    front: KeyedIndex,
    /// The last that came into the line at its end; before every entry if the line is empty.
    back: KeyedIndex,
    /// The line; its first stands at `at`, and those before have left.
    line: Vec<KeyedIndex>,
    at: usize,
    others: Tournament,
}

/// Which parties have been in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineupSize {
    /// None but those of the first half of the table.
    Half,
    /// None but those of the table.
    Table,
    /// Others too: all stand in the line and in the tournament since then.
    Crowd,
}

/// Before every entry.
const NOBODY: KeyedIndex = KeyedIndex::new(0, 0);

/// The fewest places that a line has once it has had an entry, so that it seldom moves in its memory.
const PLACES_MIN: usize = 32;

impl Lineup {
    pub(super) fn new() -> Lineup {
        Lineup {
            first: (ABSENT, u32::MAX),
            table: [ABSENT; TABLED],
            size: LineupSize::Half,
            front: KeyedIndex::BLANK,
            back: NOBODY,
            line: Vec::new(),
            at: 0,
            others: Tournament::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.iter_table().count() + self.line.len() - self.at + self.others.len()
    }

    #[inline(always)]
    fn is_crowd(&self) -> bool {
        self.size == LineupSize::Crowd
    }

    /// The first entry; one with the last of all keys if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> KeyedIndex {
        KeyedIndex::new(self.first.0, self.first.1)
    }

    #[inline(always)]
    fn set_first(&mut self, first: KeyedIndex) {
        self.first = (first.key(), first.index());
    }

    /// The first entry, if there is one.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<KeyedIndex> {
        (self.first.0 != ABSENT).then_some(self.first())
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: KeyedIndex) {
        if self.is_crowd() {
            return self.push_to_crowd(entry);
        }
        if entry.index() as usize >= TABLED {
            return self.become_crowd(entry);
        }
        self.come(entry);
    }

    /// Gives a party this key in place of any that it has, or takes it out by [`ABSENT`]; only in the table, or else nothing happens.
    #[inline(always)]
    pub(super) fn put(&mut self, index: u32, key: u64) -> bool {
        let is_tabled = !self.is_crowd() && (index as usize) < TABLED;
        if is_tabled {
            let entry = KeyedIndex::new(key, index);
            if self.table[index as usize] == ABSENT {
                self.come(entry);
            } else {
                self.seat(entry);
                self.search();
            }
        }
        is_tabled
    }

    /// A party gets a place in the table, or an earlier one: it is the first now, or the first stays. Which is no branch, since it
    /// would be taken at random.
    #[inline(always)]
    fn come(&mut self, entry: KeyedIndex) {
        self.seat(entry);
        self.set_first(self.first().first_of(entry));
    }

    /// Takes the first entry out.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.is_crowd() {
            return self.pop_from_crowd();
        }
        self.table[self.first.1 as usize % TABLED] = ABSENT;
        self.search();
    }

    /// Gives the first party a later key.
    #[inline(always)]
    pub(super) fn put_back(&mut self, key: u64) {
        let index = self.first.1;
        if self.size == LineupSize::Half {
            self.table[index as usize % TABLED] = key;
            self.first = self.first_of_half();
        } else if self.is_crowd() {
            self.replace_in_crowd(KeyedIndex::new(key, index));
        } else {
            self.table[index as usize % TABLED] = key;
            self.search();
        }
    }

    /// Puts an entry of another party in the place of the first.
    #[inline(always)]
    pub(super) fn replace_first(&mut self, entry: KeyedIndex) {
        if self.is_crowd() {
            return self.replace_in_crowd(entry);
        }
        self.table[self.first.1 as usize % TABLED] = ABSENT;
        if entry.index() as usize >= TABLED {
            return self.become_crowd(entry);
        }
        self.seat(entry);
        self.search();
    }

    #[inline(always)]
    fn seat(&mut self, entry: KeyedIndex) {
        let place = entry.index() as usize % TABLED;
        self.table[place] = entry.key();
        if place >= TABLED / 2 {
            self.size = LineupSize::Table;
        }
    }

    /// Finds the first entry of the table.
    #[inline(always)]
    fn search(&mut self) {
        let half = self.first_of_half();
        self.first = if self.size == LineupSize::Half {
            half
        } else {
            let [.., first, second, third, fourth] = self.table;
            first_of(half, lesser((first, 4), (second, 5), (third, 6), (fourth, 7)))
        };
    }

    /// The first of the first half of the table: of equal keys the first, by conditional moves, since which one it is cannot be predicted.
    #[inline(always)]
    fn first_of_half(&self) -> Tabled {
        let [first, second, third, fourth, ..] = self.table;
        lesser((first, 0), (second, 1), (third, 2), (fourth, 3))
    }

    /// All that stand in the table go to the line and the tournament, and this one beside them.
    #[cold]
    fn become_crowd(&mut self, entry: KeyedIndex) {
        let tabled: Vec<KeyedIndex> = self.iter_table().collect();
        self.table = [ABSENT; TABLED];
        self.size = LineupSize::Crowd;
        tabled.into_iter().chain([entry]).for_each(|entry| self.push_to_crowd(entry));
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
        self.set_first(self.front.first_of(self.others.first()));
    }

    #[inline(always)]
    fn pop_from_crowd(&mut self) {
        if self.front.is_before(self.others.first()) {
            self.leave();
        } else {
            self.others.pop();
        }
        self.set_first(self.front.first_of(self.others.first()));
    }

    #[inline(always)]
    fn replace_in_crowd(&mut self, entry: KeyedIndex) {
        if self.others.first().is_blank() && self.back.is_before(entry) {
            self.lengthen(entry);
            self.at += 1;
            self.front = self.line[self.at];
            self.set_first(self.front);
        } else {
            self.replace_out_of_order(entry);
        }
    }

    #[inline(always)]
    fn replace_out_of_order(&mut self, entry: KeyedIndex) {
        if self.front.is_before(self.others.first()) {
            self.leave();
            self.push_to_crowd(entry);
        } else if entry.is_before(self.back) {
            self.others.replace_top(entry);
            self.set_first(self.front.first_of(self.others.first()));
        } else {
            self.others.pop();
            self.push_to_crowd(entry);
        }
    }

    fn iter_table(&self) -> impl Iterator<Item = KeyedIndex> {
        let entries = (0..).zip(self.table).filter(|(_, key)| *key != ABSENT);
        entries.map(|(index, key)| KeyedIndex::new(key, index))
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyedIndex> {
        self.iter_table().chain(self.line[self.at..].iter().copied()).chain(self.others.iter())
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
        self.front = self.front.first_of(entry);
        self.lengthen(entry);
    }

    #[inline(always)]
    fn lengthen(&mut self, entry: KeyedIndex) {
        self.back = entry;
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

/// A key, and whose it is.
type Tabled = (u64, u32);

/// The first of two, in the order of the table.
#[inline(always)]
fn first_of(one: Tabled, other: Tabled) -> Tabled {
    let is_other = other.0 < one.0;
    (select_unpredictable(is_other, other.0, one.0), select_unpredictable(is_other, other.1, one.1))
}

/// The first of half a table.
#[inline(always)]
fn lesser(first: Tabled, second: Tabled, third: Tabled, fourth: Tabled) -> Tabled {
    first_of(first_of(first, second), first_of(third, fourth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;
    use loadline_base::Rng;

    /// Random rising and falling keys of so many parties against an ordered set of the same pairs.
    fn check(parties: u32, steps: u32) {
        let (mut rng, mut lineup, mut model) = (Rng::new(3), Lineup::new(), BTreeSet::new());
        let mut keys = vec![None; parties as usize];
        for step in 0..steps {
            let first = model.first().copied();
            assert_eq!(lineup.peek(), first.map(|(key, index)| KeyedIndex::new(key, index)));
            assert_eq!(lineup.len(), model.len());
            if step % 9_999 == 0 {
                lineup.rebuild(|entry| (entry.index() % 3 > 0).then_some(entry));
                model.retain(|(_, index): &(u64, u32)| index % 3 > 0);
                keys.iter_mut().step_by(3).for_each(|key| *key = None);
                continue;
            }
            let key = u64::from(step / 4) + rng.below(1 + u64::from(step / 1_000));
            let party = rng.below(u64::from(parties)) as u32;
            match (rng.below(6), first) {
                // Whether it is there or not, and whether it moves forwards, back or out.
                (5, _) if parties as usize <= TABLED => {
                    let key = if rng.below(4) == 0 { ABSENT } else { key };
                    assert!(lineup.put(party, key));
                    model.retain(|(_, index): &(u64, u32)| *index != party);
                    keys[party as usize] = (key != ABSENT).then_some(key);
                    model.extend(keys[party as usize].map(|key| (key, party)));
                }
                (0, Some(first)) => {
                    lineup.pop();
                    model.remove(&first);
                    keys[first.1 as usize] = None;
                }
                (1..=3, Some(first)) => {
                    let key = key.max(first.0);
                    lineup.put_back(key);
                    model.remove(&first);
                    model.insert((key, first.1));
                    keys[first.1 as usize] = Some(key);
                }
                _ if keys[party as usize].is_none() => {
                    lineup.push(KeyedIndex::new(key, party));
                    model.insert((key, party));
                    keys[party as usize] = Some(key);
                }
                // A second entry of a party comes before its first one, and takes its place in the table.
                _ if parties as usize <= TABLED && keys[party as usize] > Some(key) => {
                    lineup.push(KeyedIndex::new(key, party));
                    model.remove(&(keys[party as usize].unwrap(), party));
                    model.insert((key, party));
                    keys[party as usize] = Some(key);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_lineup_agrees_with_an_ordered_set() {
        for parties in [1, 3, 4, 5, 8, 9, 20, 1_000, 100_000] {
            check(parties, 50_000);
        }
    }
}
