//! Writes a study's report into its folder.

use crate::charts::{study_charts, wait_charts};
use crate::csv::files;
use crate::frontier::{answer_chart, trade_charts};
use crate::page::page;
use crate::reservation::reservation_charts;
use crate::svg::{GROUND, standalone};
use loadline_host::{check_own_place, make_own_folder, why, write_whole};
use loadline_study::{RunFacts, StudyResult};
use std::ffi::OsStr;
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

/// Writes `report.html`, `plots/*.svg` and `csv/*.csv` into `folder`, over what stood there before, of which nothing stays.
pub fn write_report(
    folder: &Path,
    result: &StudyResult,
    facts: &RunFacts,
) -> Result<(), ReportError> {
    let (plots, csv) = (folder.join("plots"), folder.join("csv"));
    for part in [&plots, &csv] {
        make_own_folder(part).map_err(|source| unwritable(part, source))?;
    }
    let charts = [
        answer_chart(result).into_iter().collect(),
        trade_charts(result),
        study_charts(result),
        reservation_charts(result),
        wait_charts(result),
    ];
    let drawings = charts.iter().flatten();
    let drawings: Vec<(String, String)> = drawings
        .map(|chart| (format!("{}.svg", chart.id), standalone(&chart.svg(FILE_WIDTH))))
        .collect();
    replace_all(&plots, &drawings, is_own_drawing)?;
    replace_all(&csv, &files(result), is_own_table)?;
    write(&folder.join("report.html"), &page(result, facts)?)
}

/// Writes these files, and takes away what an earlier report had beyond them: figures of other runs.
fn replace_all(
    folder: &Path,
    files: &[(String, String)],
    is_own: fn(&Path) -> bool,
) -> Result<(), ReportError> {
    for (name, text) in files {
        write(&folder.join(name), text)?;
    }
    let entries = fs::read_dir(folder).map_err(|source| unwritable(folder, source))?;
    for entry in entries {
        let path = entry.map_err(|source| unwritable(folder, source))?.path();
        let is_written = files.iter().any(|(name, _)| path == folder.join(name));
        if !is_written && check_own_place(&path).is_ok() && is_own(&path) {
            fs::remove_file(&path).map_err(|source| unwritable(&path, source))?;
        }
    }
    Ok(())
}

/// A table of a setup begins with the place that it has in the study, and inside with the time.
fn is_own_table(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let place = name.bytes().take_while(u8::is_ascii_digit).count();
    let is_named = place >= 2 && name[place..].starts_with('-') && name.ends_with(".csv");
    is_named && fs::read_to_string(path).is_ok_and(|text| text.starts_with("t_s,"))
}

fn is_own_drawing(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "svg")
        && fs::read_to_string(path).is_ok_and(|text| text.contains(GROUND))
}

fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    write_whole(path, text).map_err(|source| unwritable(path, source))
}

fn unwritable(path: &Path, source: std::io::Error) -> ReportError {
    ReportError::Unwritable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of somebody's that begins with a year was taken away with those of earlier reports.
    #[test]
    fn what_an_earlier_report_had_goes_and_what_somebody_has_put_there_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("01-balanced.csv"), "t_s,iops\n0,5\n").unwrap();
        fs::write(at("2024-costs.csv"), "month,euros\n1,5\n").unwrap();
        fs::write(at("notes.csv"), "t_s,iops\n").unwrap();
        let new = [("00-baseline.csv".to_owned(), "t_s,iops\n".to_owned())];
        replace_all(place.path(), &new, is_own_table).unwrap();
        assert!(!at("01-balanced.csv").exists() && at("00-baseline.csv").exists());
        assert!(at("2024-costs.csv").exists() && at("notes.csv").exists());
    }
}
