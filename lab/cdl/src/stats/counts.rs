//! Latencies in whole milliseconds, counted.

use std::collections::BTreeMap;

/// Latencies below this have a place of their own in a table; longer ones are rare enough for a tree. A minute is twice
/// the time after which the kernel gives a command up.
const DENSE_MS: usize = 60_000;

/// How often each latency occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MillisecondCounts {
    /// By millisecond, as long as the longest that occurred.
    dense: Vec<u64>,
    /// From [`DENSE_MS`] on.
    sparse: BTreeMap<u64, u64>,
}

impl MillisecondCounts {
    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, millis: u64) {
        match self.dense.get_mut(millis as usize) {
            Some(count) => *count += 1,
            None => self.add(millis, 1),
        }
    }

    /// Counts one latency so many times.
    #[cold]
    pub(super) fn add(&mut self, millis: u64, times: u64) {
        if millis >= DENSE_MS as u64 {
            *self.sparse.entry(millis).or_default() += times;
            return;
        }
        let place = millis as usize;
        if place >= self.dense.len() {
            self.dense.resize(place + 1, 0);
        }
        self.dense[place] += times;
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &MillisecondCounts) {
        other.iter().for_each(|(millis, times)| self.add(millis, times));
    }

    /// Latencies that occurred and how often, the shortest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        let dense = self.dense.iter().enumerate().filter(|(_, times)| **times > 0);
        let dense = dense.map(|(millis, times)| (millis as u64, *times));
        dense.chain(self.sparse.iter().map(|(millis, times)| (*millis, *times)))
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.iter().map(|(_, times)| times).sum()
    }

    /// The shortest; `None` if nothing was counted.
    pub fn min(&self) -> Option<u64> {
        self.iter().next().map(|(millis, _)| millis)
    }

    /// The longest.
    pub fn max(&self) -> Option<u64> {
        self.iter().next_back().map(|(millis, _)| millis)
    }

    /// Sum of all latencies.
    pub fn sum(&self) -> u128 {
        self.iter().map(|(millis, times)| u128::from(millis) * u128::from(times)).sum()
    }

    /// The mean; `None` if nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum() as f64 / count as f64)
    }

    /// The deviation of all from their mean.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let square = |(millis, times)| (millis as f64 - mean).powi(2) * times as f64;
        let squares: f64 = self.iter().map(square).sum();
        Some((squares / self.count() as f64).sqrt())
    }

    /// The `rank`-th shortest latency, counted from 1; `None` for rank 0 and beyond the last.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut passed = 0;
        let mut latencies = self.iter().filter(|_| rank > 0);
        let found = latencies.find(|(_, times)| {
            passed += times;
            passed >= rank
        });
        found.map(|(millis, _)| millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_a_sorted_list() {
        let list = [3, 0, 70_000, 3, 59_999, 60_000, 3, u64::MAX];
        let mut counts = MillisecondCounts::default();
        list.iter().for_each(|millis| counts.record(*millis));
        let mut sorted = list;
        sorted.sort_unstable();
        for (rank, millis) in (1..).zip(sorted) {
            assert_eq!(counts.at_rank(rank), Some(millis), "rank {rank}");
        }
        assert_eq!((counts.at_rank(0), counts.at_rank(9)), (None, None));
        assert_eq!((counts.min(), counts.max(), counts.count()), (Some(0), Some(u64::MAX), 8));
        let small: u128 = 3 + 3 + 3 + 70_000 + 59_999 + 60_000;
        assert_eq!(counts.sum(), small + u128::from(u64::MAX));
    }

    #[test]
    fn parts_merge_into_the_whole() {
        let of = |list: &[u64]| {
            let mut counts = MillisecondCounts::default();
            list.iter().for_each(|millis| counts.record(*millis));
            counts
        };
        let mut merged = of(&[1, 5, 80_000]);
        merged.merge(&of(&[5, 7, 80_000, 90_000]));
        assert_eq!(merged, of(&[1, 5, 5, 7, 80_000, 80_000, 90_000]));
        assert_eq!((of(&[]).at_rank(1), of(&[]).mean(), of(&[]).deviation()), (None, None, None));
        assert_eq!(
            (of(&[1, 3, 3, 5]).mean(), of(&[1, 3, 3, 5]).deviation()),
            (Some(3.0), Some(2f64.sqrt()))
        );
    }
}
