//! The plots of a benchmark's folder: those of `cdl_plots.sh` under the same names, as drawings, as pixels if the feature
//! `png` is built in, and all of them in one page (cdl.md 3.7).
//!
//! A folder of the original scripts serves as well as our own. What a folder lacks is named, and the rest is drawn.

mod answer;
mod chart;
mod charts;
mod data;
mod groups;
mod ink;
mod page;
#[cfg(feature = "png")]
mod png;
mod sentences;
mod tables;

pub use answer::{BenchAnswer, QUESTION};
pub use chart::Size;

use crate::folder::{BenchFolder, BenchFolderError, LAT_LOG, make_own, unusable, write};
use crate::workload::FOLDERS;
use loadline_host::check_own_file;
use std::path::{Path, PathBuf};

/// The page's name in the benchmark's folder.
pub const PAGE: &str = "report.html";

/// The size of a plot in a file of its own, as the script has it.
pub const SIZE_DEFAULT: Size = Size { width: 860, height: 600 };

/// Plots in files of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Save {
    /// The size of each.
    pub size: Size,
    /// A PNG file beside each drawing. Refused where the feature `png` is not built in.
    pub png: bool,
}

/// Makes a PNG file of a drawing.
type Rasterize = fn(&str) -> Vec<u8>;

/// Only a build with the feature has one: it brings 41 crates with it, and the page needs none.
#[cfg(feature = "png")]
const RASTERIZE: Option<Rasterize> = Some(png::png);
#[cfg(not(feature = "png"))]
const RASTERIZE: Option<Rasterize> = None;

/// Plots cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// Pixels are asked for, and nothing here makes them.
    #[error(
        "this build draws no PNG files; build it with \
         `cargo build --release --locked --package loadline --features png`"
    )]
    NoPixels,
    /// Nothing is there to be plotted.
    #[error(
        "{}: no results to plot; looked for latency logs ({LAT_LOG}) by queue depth below {}{}",
        path.display(),
        FOLDERS.join(", "),
        because(notes)
    )]
    Nothing {
        /// The folder.
        path: PathBuf,
        /// What was found instead.
        notes: Vec<String>,
    },
    /// Logs are there, and none has figures.
    #[error("{}: none of its latency logs can be plotted; {why}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The first log, and what is wrong with it.
        why: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Folder(#[from] BenchFolderError),
    /// The page cannot be put together.
    #[error("cannot put the page together: {0}")]
    Page(#[from] askama::Error),
}

fn because(notes: &[String]) -> String {
    notes.first().map_or_else(String::new, |note| format!(" ({note})"))
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plotted {
    /// The page.
    pub page: PathBuf,
    /// Drawings and pixels, if they were asked for.
    pub files: Vec<PathBuf>,
    /// What is missing in the folder.
    pub notes: Vec<String>,
    /// What the page says first.
    pub answer: BenchAnswer,
}

/// What a folder answers; nothing where it has no results.
pub fn answer_of(folder: &BenchFolder) -> BenchAnswer {
    answer::answer(&data::read(folder))
}

/// Plots a folder: the tables that the script makes and the page, and each plot in files of its own if that is asked for.
/// `progress` hears what the script would print.
pub fn plot(
    root: &Path,
    save: Option<Save>,
    progress: &mut dyn FnMut(&str),
) -> Result<Plotted, PlotError> {
    let rasterize = match save {
        Some(Save { png: true, .. }) => Some(RASTERIZE.ok_or(PlotError::NoPixels)?),
        _ => None,
    };
    let folder = BenchFolder::at(root);
    let results = data::read(&folder);
    if results.workloads.is_empty() {
        let path = root.to_owned();
        return Err(match results.refused {
            Some(why) => PlotError::Unusable { path, why },
            None => PlotError::Nothing { path, notes: results.notes },
        });
    }
    let page = root.join(PAGE);
    check_own_file(&page, page::KICKER).map_err(|source| unusable(&page, source))?;
    let charts = charts::charts(&results);
    let mut files = Vec::new();
    for workload in &charts {
        progress(&workload.workload.announcement());
        tables::write_tables(&folder, workload.workload)?;
        let Some(Save { size, .. }) = save else { continue };
        make_own(&folder.plots())?;
        for (chart, said) in workload.all().zip(workload.announcements()) {
            progress(&format!("  Plotting {said}"));
            files.extend(write_chart(&folder.plots(), chart, size, rasterize)?);
        }
    }
    let answer = answer::answer(&results);
    write(&page, page::page(&results, &charts, &answer)?)?;
    Ok(Plotted { page, files, notes: results.notes, answer })
}

fn write_chart(
    plots: &Path,
    chart: &chart::CurveChart,
    size: Size,
    rasterize: Option<Rasterize>,
) -> Result<Vec<PathBuf>, BenchFolderError> {
    let svg = chart.file(size);
    let path = |ending: &str| plots.join(format!("{}.{ending}", chart.stem));
    let mut files = vec![path("svg")];
    write(&files[0], &svg)?;
    if let Some(rasterize) = rasterize {
        files.push(path("png"));
        write(&files[1], rasterize(&svg))?;
    }
    Ok(files)
}
