//! Which block a read takes and what it carries, as fio draws them.

use crate::workload::PriorityMark;
use loadline_base::Rng;
use loadline_device::Priority;
use std::collections::BTreeSet;

/// Purposes of the random numbers, so that the marks of two workloads never move their blocks.
const BLOCKS: u64 = 1;
const MARKS: u64 = 2;

/// Draws the reads of a job. Every job of a seed draws the same blocks, as fio's does with `randrepeat`.
#[derive(Debug)]
pub(super) struct Reads {
    blocks: u64,
    taken: BTreeSet<u64>,
    marks: Vec<PriorityMark>,
    block_rng: Rng,
    mark_rng: Rng,
}

impl Reads {
    pub(super) fn new(blocks: u64, marks: Vec<PriorityMark>, seed: u64) -> Reads {
        let (block_rng, mark_rng) = (Rng::for_purpose(seed, BLOCKS), Rng::for_purpose(seed, MARKS));
        Reads { blocks, taken: BTreeSet::new(), marks, block_rng, mark_rng }
    }

    /// The next block and the priority of its read; `None` when every block was read once.
    pub(super) fn draw(&mut self) -> Option<(u64, Priority)> {
        if self.taken.len() as u64 == self.blocks {
            return None;
        }
        let mut block = self.block_rng.below(self.blocks);
        // Like fio's map of blocks: what was read gives way to the next one that was not.
        while !self.taken.insert(block) {
            block = (block + 1) % self.blocks;
        }
        Some((block, self.priority()))
    }

    fn priority(&mut self) -> Priority {
        let mut drawn = self.mark_rng.below(100) as u32;
        for mark in &self.marks {
            if drawn < mark.percentage {
                return mark.priority;
            }
            drawn -= mark.percentage;
        }
        Priority::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{ReadPart, ReadWorkload};

    #[test]
    fn every_block_is_read_once_and_the_next_job_reads_the_same() {
        let draw = || {
            let mut reads = Reads::new(1000, Vec::new(), 7);
            std::iter::from_fn(|| reads.draw()).map(|(block, _)| block).collect::<Vec<_>>()
        };
        let blocks = draw();
        assert_eq!(blocks, draw());
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        assert_ne!(blocks, sorted);
    }

    /// Shares of 20,000 draws: the deviation of a share p is sqrt(p (1 - p) / 20000), at most 0.0028 for 20 %; five of
    /// them are 1.4 percentage points.
    #[test]
    fn marks_have_their_shares() {
        let part = |descriptor, percentage| ReadPart { descriptor, percentage };
        let split = vec![part(2, 10), part(4, 20)];
        let mut reads = Reads::new(1 << 40, ReadWorkload::CdlMulti { split }.marks(), 1);
        let mut counts = [0u32; 8];
        for _ in 0..20_000 {
            let (_, priority) = reads.draw().expect("a block is left");
            counts[usize::from(priority.descriptor())] += 1;
        }
        for (descriptor, wanted) in [(0, 70.0), (2, 10.0), (4, 20.0)] {
            let share = f64::from(counts[descriptor]) / 200.0;
            assert!((share - wanted).abs() < 1.4, "descriptor {descriptor}: {share} %");
        }
    }
}
