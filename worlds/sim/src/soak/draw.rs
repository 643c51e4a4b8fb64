//! Draws that scenarios and faults have in common.

use loadline_base::Rng;

/// What this module draws from a random stream.
pub(super) trait Draw {
    /// A number from `low` to `high`, both included.
    fn between(&mut self, low: u64, high: u64) -> u64;
    /// One of `choices`.
    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T;
    /// True once in `count` times.
    fn one_in(&mut self, count: u64) -> bool;
}

impl Draw for Rng {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
