//! Writes a study's report into its folder.

use crate::charts::{study_charts, wait_charts};
use crate::csv::files;
use crate::frontier::{answer_chart, trade_charts};
use crate::page::page;
use crate::reservation::reservation_charts;
use crate::svg::standalone;
use loadline_study::{RunFacts, StudyResult, why, write_whole};
use std::fs;
use std::path::{Path, PathBuf};

/// Width of a chart in a file of its own, in pixels.
const FILE_WIDTH: f64 = 860.0;

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file or folder of the report could not be written.
    #[error("cannot write {}: {}", path.display(), why(source))]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The reason given by the system.
        source: std::io::Error,
    },
    /// The page could not be put together.
    #[error("cannot put the page together: {0}")]
    Page(#[from] askama::Error),
    /// A table could not be put into a file for programs.
    #[cfg(feature = "parquet")]
    #[error("cannot put a table into a Parquet file: {0}")]
    Table(#[from] parquet::errors::ParquetError),
}

/// Writes `report.html`, `plots/*.svg` and `csv/*.csv` into `folder`, over what stood there before.
pub fn write_report(
    folder: &Path,
    result: &StudyResult,
    facts: &RunFacts,
) -> Result<(), ReportError> {
    let (plots, csv) = (folder.join("plots"), folder.join("csv"));
    for part in [&plots, &csv] {
        fs::create_dir_all(part).map_err(|source| unwritable(part, source))?;
    }
    let charts = [
        answer_chart(result).into_iter().collect(),
        trade_charts(result),
        study_charts(result),
        reservation_charts(result),
        wait_charts(result),
    ];
    for chart in charts.iter().flatten() {
        let svg = standalone(&chart.svg(FILE_WIDTH));
        write(&plots.join(format!("{}.svg", chart.id)), &svg)?;
    }
    for (name, text) in files(result) {
        write(&csv.join(name), &text)?;
    }
    write(&folder.join("report.html"), &page(result, facts)?)
}

fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    write_whole(path, text).map_err(|source| unwritable(path, source))
}

fn unwritable(path: &Path, source: std::io::Error) -> ReportError {
    ReportError::Unwritable { path: path.to_owned(), source }
}
