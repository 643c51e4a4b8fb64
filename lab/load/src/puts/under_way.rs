//! Puts that have begun and not ended.

use loadline_base::Time;
use std::collections::BTreeMap;

/// How many there are, by when they were to start.
#[derive(Clone, Debug, Default)]
pub(super) struct PutsUnderWay {
    count: u32,
    by_start: BTreeMap<Time, u32>,
}

impl PutsUnderWay {
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// When the oldest was to start.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.by_start.keys().next().copied()
    }

    /// One that was to start then has begun.
    pub(super) fn begin(&mut self, start: Time) {
        self.count += 1;
        *self.by_start.entry(start).or_insert(0) += 1;
    }

    /// One that was to start then has ended.
    pub(super) fn end(&mut self, start: Time) {
        self.count -= 1;
        let left = self.by_start.get_mut(&start).expect("it has begun");
        *left -= 1;
        if *left == 0 {
            self.by_start.remove(&start);
        }
    }
}
