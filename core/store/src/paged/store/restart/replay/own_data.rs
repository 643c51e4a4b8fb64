//! What the log's records have placed beside it.

use crate::paged::bounds::RUNS_COMPARED;
use crate::paged::change::{Change, FilledRun, decode_each};
use crate::paged::contents::Carried;
use crate::paged::ids::Lsn;
use crate::paged::layout::Layout;
use crate::paged::log::{Record, RecordKind};
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

/// The runs that a record's transaction has placed, and how far it is before each, but for those that the pages of the tree hold already: where it is the first one, and the checkpoint that wrote them began
/// while it was carried out. False if it is no transaction.
pub(super) fn each_run(
    first: Option<(Lsn, bool)>,
    progress: Option<Carried>,
    record: &Record<'_>,
    mut f: impl FnMut(Carried, FilledRun),
) -> bool {
    let is_again = record.kind == RecordKind::Again;
    let is_first = first.is_some_and(|(position, _)| position == record.position);
    if !matches!(record.kind, RecordKind::Transaction | RecordKind::Again) || is_again && !is_first
    {
        return true;
    }
    let is_done = |at: Carried| is_first && progress.map_or(is_again, |progress| at < progress);
    for (change, number) in decode_each(record.body).zip(0..) {
        let Some(change) = change else { return false };
        if let Change::Place { runs, .. } = change {
            for (run, inside) in runs.into_iter().zip(0..) {
                let at = Carried { change: number, inside };
                if !is_done(at) {
                    f(at, run);
                }
            }
        }
    }
    true
}
