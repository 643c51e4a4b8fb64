//! A 4-ary minimum heap of records: key inline beside the index, the four children of a node in one cache line.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// What a heap holds: a key and the index of its record.
pub(super) trait HeapEntry: Copy {
    /// Fills the unused places of a line.
    const BLANK: Self;

    /// The record.
    fn index(self) -> u32;

    /// Whether it comes out before `other`; equal keys come out in the order of their records.
    fn is_before(self, other: Self) -> bool;
}

/// A 96-bit key above a 32-bit index. Keys are compared by the sign of their difference, so they may wrap as
/// long as all keys of one heap lie within 2^95 of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed(u128);

impl Packed {
    /// The entry of a key (its low 96 bits) and an index.
    #[inline]
    pub(super) fn new(key: u128, index: u32) -> Packed {
        Packed(key << 32 | u128::from(index))
    }

    /// The low 96 bits of the key.
    #[inline]
    pub(super) fn key(self) -> u128 {
        self.0 >> 32
    }
}

impl HeapEntry for Packed {
    const BLANK: Packed = Packed(0);

    #[inline]
    fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn is_before(self, other: Packed) -> bool {
        (self.0.wrapping_sub(other.0) as i128) < 0
    }
}

/// A full 128-bit key beside an index, for ledgers that run far ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    pub(super) key: i128,
    pub(super) index: u32,
}

impl HeapEntry for Wide {
    const BLANK: Wide = Wide { key: 0, index: 0 };

    #[inline]
    fn index(self) -> u32 {
        self.index
    }

    #[inline]
    fn is_before(self, other: Wide) -> bool {
        (self.key, self.index) < (other.key, other.index)
    }
}

/// Four siblings.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct FourSiblings<E>([E; 4]);

/// The root stands at place 3; the children of place `p` are line `p - 2`, so siblings share a line.
const ROOT: usize = 3;

/// The place of a record that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// The heap. A `TRACKED` heap knows each record's place, so that any record can be moved or removed;
/// an untracked one only works at its top and is faster.
#[derive(Clone, Debug)]
pub(super) struct Heap<E, const TRACKED: bool> {
    lines: Vec<FourSiblings<E>>,
    /// One past the last place in use.
    end: usize,
    places: Vec<u32>,
}

impl<E: HeapEntry, const TRACKED: bool> Heap<E, TRACKED> {
    pub(super) fn new() -> Self {
        Heap { lines: vec![FourSiblings([E::BLANK; 4])], end: ROOT, places: Vec::new() }
    }

    /// How many records are in it.
    pub(super) fn len(&self) -> usize {
        self.end - ROOT
    }

    /// The first entry.
    #[inline]
    pub(super) fn peek(&self) -> Option<E> {
        (self.end > ROOT).then(|| self.lines[0].0[ROOT])
    }

    /// Adds an entry whose record is not in the heap.
    pub(super) fn push(&mut self, entry: E) {
        let place = self.end;
        self.end += 1;
        if place / 4 == self.lines.len() {
            self.lines.push(FourSiblings([E::BLANK; 4]));
        }
        self.sift_up(place, entry);
    }

    /// Puts `entry` in the place of the first.
    #[inline]
    pub(super) fn replace_top(&mut self, entry: E) {
        debug_assert!(self.end > ROOT);
        if TRACKED {
            self.forget(self.at(ROOT));
        }
        self.sift_down(ROOT, entry);
    }

    /// Takes the first entry out.
    pub(super) fn pop(&mut self) -> Option<E> {
        let first = self.peek()?;
        self.vacate(ROOT, first);
        Some(first)
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = E> {
        (ROOT..self.end).map(|place| self.at(place))
    }

    /// Keeps the entries that satisfy `keep`, in linear time.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(E) -> bool) {
        let kept: Vec<E> = self.iter().filter(|entry| keep(*entry)).collect();
        self.clear();
        kept.into_iter().for_each(|entry| self.push(entry));
    }

    /// Takes everything out.
    fn clear(&mut self) {
        self.end = ROOT;
        self.places.fill(ABSENT);
    }

    #[inline]
    fn at(&self, place: usize) -> E {
        self.lines[place / 4].0[place % 4]
    }

    #[inline]
    fn set(&mut self, place: usize, entry: E) {
        self.lines[place / 4].0[place % 4] = entry;
        if TRACKED {
            self.places[entry.index() as usize] = place as u32;
        }
    }

    fn forget(&mut self, entry: E) {
        if TRACKED {
            self.places[entry.index() as usize] = ABSENT;
        }
    }

    /// Removes `entry` from `place` and fills the place with the last entry.
    fn vacate(&mut self, place: usize, entry: E) {
        self.forget(entry);
        self.end -= 1;
        if place < self.end {
            let last = self.at(self.end);
            self.settle(place, last);
        }
    }

    /// Puts `entry` at `place` or wherever the order wants it from there.
    fn settle(&mut self, place: usize, entry: E) {
        if place > ROOT && entry.is_before(self.at(parent(place))) {
            self.sift_up(place, entry);
        } else {
            self.sift_down(place, entry);
        }
    }

    fn sift_up(&mut self, mut place: usize, entry: E) {
        while place > ROOT {
            let above = self.at(parent(place));
            if !entry.is_before(above) {
                break;
            }
            self.set(place, above);
            place = parent(place);
        }
        self.set(place, entry);
    }

    #[inline]
    fn sift_down(&mut self, mut place: usize, entry: E) {
        loop {
            let line = place - 2;
            let first = line * 4;
            if first >= self.end {
                break;
            }
            let siblings = &self.lines[line].0;
            let (child, least) = match self.end - first {
                4.. => least_of_four(siblings),
                rest => least_of(&siblings[..rest]),
            };
            if !least.is_before(entry) {
                break;
            }
            self.set(place, least);
            place = first + child;
        }
        self.set(place, entry);
    }
}

impl<E: HeapEntry> Heap<E, true> {
    /// Makes room for the places of records below `records`.
    pub(super) fn cover(&mut self, records: usize) {
        if self.places.len() < records {
            self.places.resize(records, ABSENT);
        }
    }

    /// Whether the record is in the heap.
    #[inline]
    pub(super) fn contains(&self, index: u32) -> bool {
        self.places[index as usize] != ABSENT
    }

    /// Gives a record this entry, whether or not it is in the heap.
    pub(super) fn put(&mut self, entry: E) {
        match self.places[entry.index() as usize] {
            ABSENT => self.push(entry),
            place => self.settle(place as usize, entry),
        }
    }

    /// Removes a record, if it is in the heap.
    pub(super) fn remove(&mut self, index: u32) {
        let place = self.places[index as usize];
        if place != ABSENT {
            let entry = self.at(place as usize);
            self.vacate(place as usize, entry);
        }
    }
}

fn parent(place: usize) -> usize {
    place / 4 + 2
}

/// The place of the least of a full line and the least itself; both come from conditional moves, since which sibling
/// is least cannot be predicted.
#[inline(always)]
fn least_of_four<E: HeapEntry>(line: &[E; 4]) -> (usize, E) {
    let [a, b, c, d] = *line;
    let (left, right) = (b.is_before(a), d.is_before(c));
    let left = (usize::from(left), select_unpredictable(left, b, a));
    let right = (2 + usize::from(right), select_unpredictable(right, d, c));
    let is_right = right.1.is_before(left.1);
    (
        select_unpredictable(is_right, right.0, left.0),
        select_unpredictable(is_right, right.1, left.1),
    )
}

fn least_of<E: HeapEntry>(siblings: &[E]) -> (usize, E) {
    (1..siblings.len()).fold((0, siblings[0]), |least, place| {
        if siblings[place].is_before(least.1) { (place, siblings[place]) } else { least }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use loadline_base::Rng;

    /// Random operations against an ordered map of the same entries; keys wrap around 2^96 on the way.
    #[test]
    fn the_heap_agrees_with_an_ordered_set() {
        let mut rng = Rng::new(5);
        let mut heap: Heap<Packed, true> = Heap::new();
        let mut model: BTreeMap<u32, u128> = BTreeMap::new();
        heap.cover(64);
        for step in 0..200_000u128 {
            let base = (1u128 << 96) - (1 << 40) + step * (1 << 24);
            let index = rng.below(64) as u32;
            let key = base + u128::from(rng.below(1 << 26));
            match rng.below(4) {
                0 => {
                    heap.put(Packed::new(key, index));
                    model.insert(index, key);
                }
                1 => {
                    heap.remove(index);
                    model.remove(&index);
                }
                2 => {
                    let popped = heap.pop().map(HeapEntry::index);
                    let least = least(&model);
                    assert_eq!(popped, least);
                    least.map(|index| model.remove(&index));
                }
                _ => {
                    if let Some(first) = heap.peek() {
                        heap.replace_top(Packed::new(key, first.index()));
                        model.insert(first.index(), key);
                    }
                }
            }
            assert_eq!(heap.len(), model.len());
            assert_eq!(heap.peek().map(HeapEntry::index), least(&model));
            assert_eq!(heap.contains(index), model.contains_key(&index));
        }
    }

    fn least(model: &BTreeMap<u32, u128>) -> Option<u32> {
        model.iter().min_by_key(|(index, key)| (**key, **index)).map(|(index, _)| *index)
    }
}
