//! The report of a limits study: table, charts, files and page.

mod charts;
mod csv;
mod figure;
mod page;
mod table;

pub use table::limits_table;

use crate::write::{ReportError, write_files};
use charts::charts;
use loadline_study::{LimitsResult, RunFacts};
use std::path::Path;

/// Writes `report.html`, `plots/*.svg` and `csv/*.csv` into `folder`, over what stood there before.
///
/// # Errors
/// [`ReportError`] if a file cannot be written.
pub fn write_limits_report(
    folder: &Path,
    result: &LimitsResult,
    facts: &RunFacts,
) -> Result<(), ReportError> {
    let page = page::page(result, facts)?;
    write_files(folder, &charts(result), &csv::files(result), &page)
}
