//! Sectors that are slow or cannot be read.

use std::ops::Range;

/// The bad sectors of a drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    slow: Vec<(Range<u64>, u32)>,
    unreadable: Vec<Range<u64>>,
}

/// What a command finds on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finds {
    /// Its sectors, in one pass.
    Good,
    /// Its sectors, after so many more turns.
    Slow(u32),
    /// A sector that cannot be read.
    Unreadable,
}

impl Faults {
    pub(super) fn make_slow(&mut self, sectors: Range<u64>, turns: u32) {
        self.slow.push((sectors, turns));
    }

    pub(super) fn make_unreadable(&mut self, sectors: Range<u64>) {
        self.unreadable.push(sectors);
    }

    /// What a read of these sectors finds.
    pub(super) fn read(&self, sectors: &Range<u64>) -> Finds {
        if self.unreadable.iter().any(|bad| overlap(bad, sectors)) {
            return Finds::Unreadable;
        }
        let slow = self.slow.iter().filter(|(range, _)| overlap(range, sectors));
        slow.map(|(_, turns)| *turns).max().map_or(Finds::Good, Finds::Slow)
    }

    /// Sectors were written: they can be read again, from new places if need be.
    pub(super) fn written(&mut self, sectors: &Range<u64>) {
        if self.unreadable.is_empty() {
            return;
        }
        let rest = self.unreadable.iter().flat_map(|bad| {
            [bad.start..bad.end.min(sectors.start), bad.start.max(sectors.end)..bad.end]
        });
        self.unreadable = rest.filter(|range| !range.is_empty()).collect();
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
