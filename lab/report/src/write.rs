//! Writes a study's report into its folder.

use crate::charts::{Chart, study_charts, wait_charts, waits_of};
use crate::csv::{file_stem, results_csv, series_csv};
use crate::page::page;
use crate::reservation::{reservation_charts, service_csv};
use crate::svg::standalone;
use loadline_study::{RunFacts, StudyResult};
use std::fs;
use std::path::{Path, PathBuf};

/// Width of a chart in a file of its own, in pixels.
const FILE_WIDTH: f64 = 860.0;

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file or folder of the report could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The reason given by the system.
        source: std::io::Error,
    },
    /// The page could not be put together.
    #[error("cannot put the page together: {0}")]
    Page(#[from] askama::Error),
}

/// Writes `report.html`, `plots/*.svg` and `csv/*.csv` into `folder`, over what stood there before.
pub fn write_report(
    folder: &Path,
    result: &StudyResult,
    facts: &RunFacts,
) -> Result<(), ReportError> {
    let mut charts: Vec<Chart> = study_charts(result);
    charts.extend(reservation_charts(result));
    charts.extend(wait_charts(&waits_of(result)));
    let mut csv = vec![("results.csv".to_owned(), results_csv(result))];
    for (place, setup) in result.setups.iter().enumerate() {
        let name = format!("{place:02}-{}", file_stem(&setup.name));
        csv.push((format!("{name}.csv"), series_csv(&setup.series)));
        if !setup.series.service.is_empty() {
            csv.push((format!("{name}-service.csv"), service_csv(&setup.series)));
        }
    }
    write_files(folder, &charts, &csv, &page(result, facts)?)
}

/// Writes the parts of a report: each chart as a file, tables by name, and the page.
pub(crate) fn write_files(
    folder: &Path,
    charts: &[Chart],
    csv_files: &[(String, String)],
    page: &str,
) -> Result<(), ReportError> {
    let (plots, csv) = (folder.join("plots"), folder.join("csv"));
    for part in [&plots, &csv] {
        fs::create_dir_all(part).map_err(|source| unwritable(part, source))?;
    }
    for chart in charts {
        let svg = standalone(&chart.svg(FILE_WIDTH));
        write(&plots.join(format!("{}.svg", chart.id)), &svg)?;
    }
    for (name, text) in csv_files {
        write(&csv.join(name), text)?;
    }
    write(&folder.join("report.html"), page)
}

fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    fs::write(path, text).map_err(|source| unwritable(path, source))
}

fn unwritable(path: &Path, source: std::io::Error) -> ReportError {
    ReportError::Unwritable { path: path.to_owned(), source }
}
