//! The report of a checkpoint study: table, charts, files and page.

mod charts;
mod csv;
mod page;
mod table;

pub use table::checkpoint_table;

use crate::write::{ReportError, write_files};
use charts::charts;
use loadline_study::{CheckpointResult, RunFacts};
use std::path::Path;

/// Writes `report.html`, `plots/*.svg` and `csv/*.csv` into `folder`, over what stood there before.
///
/// # Errors
/// [`ReportError`] if a file cannot be written.
pub fn write_checkpoint_report(
    folder: &Path,
    result: &CheckpointResult,
    facts: &RunFacts,
) -> Result<(), ReportError> {
    let page = page::page(result, facts)?;
    write_files(folder, &charts(result), &csv::files(result), &page)
}
