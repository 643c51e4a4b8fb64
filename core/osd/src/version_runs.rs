//! Versions that grow, as the runs in which each is one more than the one before it: a log of ten thousand writes is a few of them.

use loadline_store::Version;
use std::collections::VecDeque;
use std::ops::{RangeFrom, RangeInclusive};

/// Versions in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionRuns {
    /// As few as there can be, so that equal versions are equal runs.
    runs: VecDeque<RangeInclusive<u64>>,
}

impl VersionRuns {
    /// Adds one that is greater than all.
    pub(crate) fn push(&mut self, version: Version) {
        debug_assert!(self.last().is_none_or(|last| last < version), "versions grow");
        match self.runs.back_mut() {
            Some(run) if run.end() + 1 == version.0 => *run = *run.start()..=version.0,
            _ => self.runs.push_back(version.0..=version.0),
        }
    }

    /// Takes the first one.
    pub(crate) fn pop_first(&mut self) -> Option<Version> {
        let run = self.runs.front_mut()?;
        let first = *run.start();
        match first == *run.end() {
            true => drop(self.runs.pop_front()),
            false => *run = first + 1..=*run.end(),
        }
        Some(Version(first))
    }

    /// The greatest one.
    pub(crate) fn last(&self) -> Option<Version> {
        self.runs.back().map(|run| Version(*run.end()))
    }

    /// How many are not greater than `version`.
    pub(crate) fn count_to(&self, version: Version) -> usize {
        let of = |run: &RangeInclusive<u64>| (version.0.min(*run.end()) + 1 - run.start()) as usize;
        self.runs.iter().take_while(|run| *run.start() <= version.0).map(of).sum()
    }

    /// How many come before this one, if it is here.
    pub(crate) fn place_of(&self, version: Version) -> Option<usize> {
        let is_here = self.runs.iter().any(|run| run.contains(&version.0));
        is_here.then(|| self.count_to(version) - 1)
    }

    /// Those from this place on, in order.
    pub(crate) fn range(
        &self,
        places: RangeFrom<usize>,
    ) -> impl DoubleEndedIterator<Item = Version> {
        let mut left_out = places.start as u64;
        let reaches = |run: &RangeInclusive<u64>| {
            let versions = run.end() + 1 - run.start();
            let is_left_out = left_out >= versions;
            left_out -= if is_left_out { versions } else { 0 };
            !is_left_out
        };
        let first = self.runs.iter().position(reaches).unwrap_or(self.runs.len());
        let from = move |at| if at == 0 { left_out } else { 0 };
        let runs = self.runs.range(first..).enumerate();
        runs.flat_map(move |(at, run)| run.start() + from(at)..=*run.end()).map(Version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;

    /// Against a list of the same versions, whatever is added and taken.
    #[test]
    fn runs_tell_what_a_list_of_the_versions_tells() {
        let mut rng = Rng::new(11);
        let (mut runs, mut list) = (VersionRuns::default(), VecDeque::new());
        let mut next = 5;
        for _ in 0..3_000 {
            match rng.below(5) {
                0 | 1 => assert_eq!(runs.pop_first(), list.pop_front()),
                kind => {
                    next += if kind == 2 { 1 + rng.below(3) } else { 1 };
                    runs.push(Version(next));
                    list.push_back(Version(next));
                }
            }
            assert_eq!(runs.last(), list.back().copied());
            for version in (next.saturating_sub(40)..next + 3).map(Version) {
                assert_eq!(runs.count_to(version), list.partition_point(|it| *it <= version));
                assert_eq!(runs.place_of(version), list.binary_search(&version).ok());
            }
            let place = rng.below(list.len() as u64 + 1) as usize;
            let expected: Vec<Version> = list.range(place..).copied().collect();
            assert_eq!(runs.range(place..).collect::<Vec<_>>(), expected);
            assert!(runs.range(0..).rev().eq(list.iter().rev().copied()));
            let mut again = VersionRuns::default();
            list.iter().for_each(|version| again.push(*version));
            assert_eq!(runs, again, "equal versions are equal runs");
        }
    }
}
