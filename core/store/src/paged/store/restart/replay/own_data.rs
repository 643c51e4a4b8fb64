//! What the log's records have placed beside it.

use crate::paged::bounds::RUNS_COMPARED;
use crate::paged::change::FilledRun;
use crate::paged::contents::Carried;
use crate::paged::ids::Lsn;
use crate::paged::layout::Layout;
use crate::paged::space::Allocator;
use std::collections::VecDeque;

/// A run of a record that is compared.
pub(super) struct Compared {
    pub(super) record: Lsn,
    pub(super) run: FilledRun,
}

/// What stands beside the log: what was taken, and runs of the tail that are compared with their checksums.
#[derive(Default)]
pub(super) struct OwnData {
    /// Where the first reading ended.
    pub(super) scanned: Lsn,
    /// The first run whose pages are somebody's already. What comes behind it in the log is not taken.
    pub(super) refused: Option<(Lsn, Carried)>,
    /// Runs of the record at hand that nobody has asked the device for.
    pub(super) next: VecDeque<Compared>,
    /// Those on their way.
    pub(super) reads: [Option<Compared>; RUNS_COMPARED],
}

impl OwnData {
    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        let runs = self.next.iter().chain(self.reads.iter().flatten());
        let sums: usize = runs.map(|compared| compared.run.sums.capacity() * 4).sum();
        (sums + self.next.capacity() * size_of::<Compared>()) as u64
    }
}

/// Where the first reading takes what it finds placed.
pub(super) struct Places<'a> {
    pub(super) layout: &'a Layout,
    pub(super) allocator: &'a mut Allocator,
}
