//! What a report shows of a kind of study beside its figures: charts, courses and the answer in sentences, as data. A new kind
//! costs one file here.

mod checkpoint;
mod clients;
mod limits;
mod parts;
mod recovery;
mod services;
mod trades;

pub(crate) use parts::{Course, FigurePart, MARGIN, PlannedChart, Sheet, Trade, Verdict};

use loadline_study::{SetupResult, StudyKind, StudyResult};

impl Sheet {
    /// The sheet of a kind.
    pub(crate) fn of(kind: StudyKind) -> &'static Sheet {
        match kind {
            StudyKind::Recovery => &recovery::SHEET,
            StudyKind::Checkpoint => &checkpoint::SHEET,
            StudyKind::Limits => &limits::SHEET,
            StudyKind::Services => &services::SHEET,
        }
    }
}

/// The setup that all others are compared with, where neither a baseline nor published figures are.
pub(crate) fn compared_with(result: &StudyResult) -> Option<&SetupResult> {
    let alone = Sheet::of(result.kind).background.is_none() && !result.compares();
    result.setups.first().filter(|_| alone)
}
