//! What transactions of the log have placed beside it, and the pages of the tree do not hold yet.

use super::step::Carried;
use crate::paged::change::{Change, FilledRun, decode_each};
use crate::paged::ids::Lsn;
use crate::paged::log::{Record, RecordKind};

/// The runs that a record's transaction has placed, and how far it is before each, but for those that the pages of the tree hold already: where it is the first one, and the checkpoint that wrote them began
/// while it was carried out. False if it is no transaction.
pub fn each_run(
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
