//! A set of owners by rank, which answers "who is next from here" in two steps.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Bits per word.
const WORD: usize = u64::BITS as usize;

/// A set of ranks below a length that only newcomers change.
///
/// A summary bit per word of 64 ranks lets the search skip empty stretches: 100,000 owners need 25 summary
/// words.
#[derive(Clone, Debug, Default)]
pub(super) struct RankSet {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl RankSet {
    /// Makes room for ranks below `len`.
    pub(super) fn grow(&mut self, len: usize) {
        self.words.resize(len.div_ceil(WORD), 0);
        self.summary.resize(self.words.len().div_ceil(WORD), 0);
    }

    /// Puts a rank in. Writes even if it is in, because whether it is may be as random as the lottery.
    #[inline(always)]
    pub(super) fn insert(&mut self, rank: u32) {
        let word = rank as usize / WORD;
        let before = self.words[word];
        self.words[word] = before | 1 << (rank as usize % WORD);
        if before == 0 {
            self.summary[word / WORD] |= 1 << (word % WORD);
        }
    }

    /// Takes a rank out.
    pub(super) fn remove(&mut self, rank: u32) {
        let word = rank as usize / WORD;
        self.words[word] &= !(1 << (rank as usize % WORD));
        if self.words[word] == 0 {
            self.summary[word / WORD] &= !(1 << (word % WORD));
        }
    }

    /// The smallest rank at or above `rank`, else the smallest of all; `None` if the set is empty.
    #[inline(always)]
    pub(super) fn next_from(&self, rank: u32) -> Option<u32> {
        if let [word] = self.words[..] {
            // Among few owners the wrap comes often, and under the lottery at random: no branch for it.
            let above = word & (u64::MAX << (rank as usize % WORD));
            let word = select_unpredictable(above == 0, word, above);
            return (word != 0).then(|| word.trailing_zeros());
        }
        self.at_or_above(rank as usize).or_else(|| self.at_or_above(0))
    }

    #[inline(always)]
    fn at_or_above(&self, rank: usize) -> Option<u32> {
        let word = rank / WORD;
        let here = self.words.get(word)? & (u64::MAX << (rank % WORD));
        if here != 0 {
            return Some((word * WORD) as u32 + here.trailing_zeros());
        }
        let word = first_set(&self.summary, word + 1)?;
        Some((word * WORD) as u32 + self.words[word].trailing_zeros())
    }
}

/// The index of the first set bit at or above `bit`.
fn first_set(words: &[u64], bit: usize) -> Option<usize> {
    let start = bit / WORD;
    let mut mask = u64::MAX << (bit % WORD);
    for (index, word) in words.iter().enumerate().skip(start) {
        let word = word & mask;
        if word != 0 {
            return Some(index * WORD + word.trailing_zeros() as usize);
        }
        mask = u64::MAX;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on both sides of word (64) and summary (4096) borders.
    #[test]
    fn the_next_rank_is_found_across_words_and_wraps() {
        let mut set = RankSet::default();
        set.grow(10_000);
        assert_eq!(set.next_from(5), None);
        for rank in [3, 63, 64, 4095, 4096, 9_999] {
            set.insert(rank);
        }
        let check = |set: &RankSet, from, found| assert_eq!(set.next_from(from), Some(found));
        check(&set, 0, 3);
        check(&set, 4, 63);
        check(&set, 64, 64);
        check(&set, 65, 4095);
        check(&set, 4097, 9_999);
        check(&set, 10_000, 3);
        set.remove(4095);
        set.remove(4096);
        check(&set, 65, 9_999);
        set.remove(9_999);
        check(&set, 65, 3);
    }
}
