//! A minimum queue as a tournament: entries stand in the leaves of a binary tree, and each inner node holds the lesser of its
//! two. Only the winner is ever replaced, so the way up from its leaf is known before anything is compared: the loads of all
//! levels run side by side, and no branch depends on who is less. In a heap each level waits for the one above.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hint::select_unpredictable;

/// A key above an index. Equal keys come out in the order of their indices.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedIndex {
    key: u64,
    /// The index above the leaf where it stands, which differs for entries that are equal otherwise.
    index_and_leaf: u64,
}

impl KeyedIndex {
    /// After every entry.
    pub(super) const BLANK: KeyedIndex = KeyedIndex { key: u64::MAX, index_and_leaf: u64::MAX };

    #[inline(always)]
    pub(super) const fn new(key: u64, index: u32) -> KeyedIndex {
        KeyedIndex { key, index_and_leaf: (index as u64) << 32 }
    }

    #[inline(always)]
    pub(super) fn key(self) -> u64 {
        self.key
    }

    #[inline(always)]
    pub(super) fn index(self) -> u32 {
        (self.index_and_leaf >> 32) as u32
    }

    #[inline(always)]
    pub(super) fn is_before(self, other: KeyedIndex) -> bool {
        self.wide() < other.wide()
    }

    /// The one that comes first, by conditional moves: which one that is cannot be predicted.
    #[inline(always)]
    pub(super) fn first_of(self, other: KeyedIndex) -> KeyedIndex {
        let is_before = self.is_before(other);
        KeyedIndex {
            key: select_unpredictable(is_before, self.key, other.key),
            index_and_leaf: select_unpredictable(
                is_before,
                self.index_and_leaf,
                other.index_and_leaf,
            ),
        }
    }

    #[inline(always)]
    pub(super) fn is_blank(self) -> bool {
        self.index_and_leaf == KeyedIndex::BLANK.index_and_leaf
    }

    #[inline(always)]
    fn leaf(self) -> u32 {
        self.index_and_leaf as u32
    }

    #[inline(always)]
    fn in_leaf(self, leaf: u32) -> KeyedIndex {
        KeyedIndex { index_and_leaf: self.index_and_leaf & !0xffff_ffff | u64::from(leaf), ..self }
    }

    #[inline(always)]
    fn wide(self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.index_and_leaf)
    }
}

/// The tournament. Node 1 is the root, the children of node `n` are `2 n` and `2 n + 1`, and the leaves are the second half.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    winner: KeyedIndex,
    /// The nodes, after none or one that is left out.
    nodes: Vec<KeyedIndex>,
    /// How many are left out, so that two siblings never lie in two lines of cache: allocators align to 16 bytes.
    left_out: usize,
    /// Leaves without an entry, the one that was left last at the end.
    free: Vec<u32>,
}

const ENTRY_BYTES: usize = size_of::<KeyedIndex>();

/// The leaves of a tournament that has had an entry.
const LEAVES_MIN: usize = 4;

impl Tournament {
    pub(super) const fn new() -> Tournament {
        Tournament { winner: KeyedIndex::BLANK, nodes: Vec::new(), left_out: 0, free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.leaves() - self.free.len()
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The first entry; [`KeyedIndex::BLANK`] if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> KeyedIndex {
        self.winner
    }

    /// The first entry, if there is one.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<KeyedIndex> {
        (!self.winner.is_blank()).then_some(self.winner)
    }

    /// Puts an entry into a leaf that is empty, so that all above the place where it loses stays as it is.
    pub(super) fn push(&mut self, entry: KeyedIndex) {
        debug_assert!(!entry.is_blank());
        if self.free.is_empty() {
            self.grow((2 * self.leaves()).max(LEAVES_MIN));
        }
        let Some(leaf) = self.free.pop() else { return };
        let entry = entry.in_leaf(leaf);
        let leaves = self.leaves();
        let nodes = &mut self.nodes[self.left_out..];
        let mut node = leaves + leaf as usize;
        while node > 1 {
            nodes[node] = entry;
            if nodes[node ^ 1].is_before(entry) {
                return;
            }
            node /= 2;
        }
        self.winner = entry;
    }

    /// Puts `entry` in the place of the first.
    #[inline(always)]
    pub(super) fn replace_top(&mut self, entry: KeyedIndex) {
        debug_assert!(self.peek().is_some());
        let leaf = self.winner.leaf();
        self.play(leaf, entry.in_leaf(leaf));
    }

    /// Takes the first entry out.
    pub(super) fn pop(&mut self) -> Option<KeyedIndex> {
        let first = self.peek()?;
        self.play(first.leaf(), KeyedIndex::BLANK);
        self.free.push(first.leaf());
        Some(first)
    }

    /// The entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyedIndex> {
        self.nodes[self.left_out + self.leaves()..]
            .iter()
            .copied()
            .filter(|entry| !entry.is_blank())
    }

    /// Replaces all entries by those that `keep` returns, with memory for no more.
    pub(super) fn rebuild(&mut self, keep: impl FnMut(KeyedIndex) -> Option<KeyedIndex>) {
        let kept: Vec<KeyedIndex> = self.iter().filter_map(keep).collect();
        *self = Tournament::new();
        if !kept.is_empty() {
            self.grow(kept.len().max(LEAVES_MIN));
        }
        kept.into_iter().for_each(|entry| self.push(entry));
    }

    /// Makes room for this many entries.
    #[cold]
    fn grow(&mut self, leaves: usize) {
        let before = self.leaves();
        let mut with_left_out = vec![KeyedIndex::BLANK; 2 * leaves + 1];
        let left_out = usize::from(!with_left_out.as_ptr().addr().is_multiple_of(2 * ENTRY_BYTES));
        let nodes = &mut with_left_out[left_out..];
        nodes[leaves..leaves + before]
            .copy_from_slice(&self.nodes[self.left_out + before..][..before]);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].first_of(nodes[2 * node + 1]);
        }
        (self.nodes, self.left_out) = (with_left_out, left_out);
        self.free = (before..leaves).rev().map(|leaf| leaf as u32).collect();
    }

    /// Puts an entry into a leaf and brings the nodes above it up to date. What a node is compared with is loaded one round
    /// before: the compiler makes branches of the conditional moves where they have to wait for a load.
    #[inline(always)]
    fn play(&mut self, leaf: u32, mut entry: KeyedIndex) {
        let mut node = self.leaves() + leaf as usize;
        let nodes = &mut self.nodes[self.left_out..];
        let mut sibling = KeyedIndex::BLANK;
        while node > 1 {
            let next = nodes[node ^ 1];
            entry = entry.first_of(sibling);
            nodes[node] = entry;
            sibling = next;
            node /= 2;
        }
        self.winner = entry.first_of(sibling);
    }
}

impl PartialEq for KeyedIndex {
    fn eq(&self, other: &KeyedIndex) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyedIndex {}

impl PartialOrd for KeyedIndex {
    fn partial_cmp(&self, other: &KeyedIndex) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyedIndex {
    fn cmp(&self, other: &KeyedIndex) -> Ordering {
        (self.key, self.index()).cmp(&(other.key, other.index()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use loadline_base::Rng;

    /// A class without weight that uses what nobody else wants, with the last start tag that there is, has the
    /// greatest key: it was taken for a blank place, and lost.
    #[test]
    fn the_greatest_key_is_not_a_blank() {
        let mut queue = Tournament::new();
        queue.push(KeyedIndex::new(u64::MAX, 7));
        queue.push(KeyedIndex::new(3, 8));
        assert_eq!(queue.pop().map(KeyedIndex::index), Some(8));
        assert_eq!(queue.pop().map(KeyedIndex::index), Some(7));
        assert_eq!(queue.pop(), None);
    }

    /// Random operations against an ordered set of the same entries.
    #[test]
    fn the_tournament_agrees_with_an_ordered_set() {
        let (mut rng, mut queue, mut model) = (Rng::new(5), Tournament::new(), BTreeSet::new());
        for step in 0..200_000u32 {
            let entry = KeyedIndex::new(rng.below(1 << 20), step);
            match rng.below(20) {
                0..8 => {
                    queue.push(entry);
                    model.insert(entry);
                }
                8..15 => assert_eq!(queue.pop(), model.pop_first()),
                19 if step % 1_000 == 0 => {
                    queue.rebuild(|entry| (entry.index() % 2 == 0).then_some(entry));
                    model.retain(|entry| entry.index() % 2 == 0);
                }
                _ => {
                    if queue.peek().is_some() {
                        queue.replace_top(entry);
                        model.pop_first();
                        model.insert(entry);
                    }
                }
            }
            assert_eq!(queue.len(), model.len());
            assert_eq!(queue.peek(), model.first().copied());
        }
        assert_eq!(queue.iter().collect::<BTreeSet<KeyedIndex>>(), model);
    }
}
