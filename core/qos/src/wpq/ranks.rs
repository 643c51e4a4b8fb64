//! A set of owners by rank, which answers "who is next from here" in two steps.

/// Bits per word.
const WORD: usize = u64::BITS as usize;

/// A set of ranks below a length that only joins and leaves change.
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

    pub(super) fn insert(&mut self, rank: u32) {
        self.set(rank, true);
    }

    /// Puts a rank in or takes it out. Without a branch on which: that is as random as the lottery.
    #[inline]
    pub(super) fn set(&mut self, rank: u32, member: bool) {
        let word = rank as usize / WORD;
        let before = self.words[word];
        let after =
            before & !(1 << (rank as usize % WORD)) | u64::from(member) << (rank as usize % WORD);
        self.words[word] = after;
        if (before == 0) != (after == 0) {
            self.summary[word / WORD] ^= 1 << (word % WORD);
        }
    }

    /// The smallest rank at or above `rank`, else the smallest of all; `None` if the set is empty.
    #[inline]
    pub(super) fn next_from(&self, rank: u32) -> Option<u32> {
        self.at_or_above(rank as usize).or_else(|| self.at_or_above(0))
    }

    /// The ranks in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rank = self.at_or_above(from)?;
            from = rank as usize + 1;
            Some(rank)
        })
    }

    #[inline]
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
        set.set(4095, false);
        set.set(4096, false);
        check(&set, 65, 9_999);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 9_999]);
    }
}
