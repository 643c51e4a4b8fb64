//! The tables that the script leaves beside its plots: `randread.csv`, the sorted latencies, and their columns.

use super::charts::total_title;
use super::data::{DepthResult, WorkloadResult};
use super::groups::ReadGroup;
use crate::figures::ReadFigures;
use crate::folder::{BenchFolder, BenchFolderError, create, unusable, write};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes them into the workload's folder.
pub(super) fn write_tables(
    folder: &BenchFolder,
    workload: &WorkloadResult,
) -> Result<(), BenchFolderError> {
    let place = folder.workload(workload.folder);
    write(&place.join("randread.csv"), randread_csv(workload))?;
    for depth in &workload.depths {
        for figures in &depth.figures {
            let path = folder.step(workload.folder, depth.depth).join(figures.latency_file());
            fill(&path, |out| figures.latencies().try_for_each(|ms| writeln!(out, "{ms}")))?;
        }
    }
    for group in &workload.groups {
        let path = place.join(format!("lat_pdf{}.csv", group.csv_suffix));
        fill(&path, |out| write_columns(out, workload, group))?;
    }
    Ok(())
}

fn fill(
    path: &Path,
    lines: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), BenchFolderError> {
    let mut out = BufWriter::new(create(path)?);
    let written = lines(&mut out).and_then(|()| out.flush());
    written.map_err(|source| unusable(path, source))
}

/// The figures of every depth in blocks, which two blank lines divide. The first line of a block is its title.
fn randread_csv(workload: &WorkloadResult) -> String {
    let mut out = String::new();
    if workload.is_baseline() {
        out += "Baseline\n";
        for depth in &workload.depths {
            depth.figures.iter().for_each(|figures| add_line(&mut out, depth, figures));
        }
        return out;
    }
    writeln!(out, "{}", total_title(workload)).expect("writing to a string");
    for DepthResult { depth, total, .. } in &workload.depths {
        writeln!(out, "{depth},ALL,0,0,{total}").expect("writing to a string");
    }
    out += "\n\n";
    for group in &workload.groups {
        out += &group.title;
        out.push('\n');
        for depth in &workload.depths {
            depth.of(group).into_iter().for_each(|figures| add_line(&mut out, depth, figures));
        }
        out += "\n\n";
    }
    out
}

fn add_line(out: &mut String, depth: &DepthResult, figures: &ReadFigures) {
    writeln!(out, "{},{}", depth.depth, figures.terse).expect("writing to a string");
}

/// A column of sorted latencies for each depth; shorter columns end in empty fields.
fn write_columns(
    out: &mut impl Write,
    workload: &WorkloadResult,
    group: &ReadGroup,
) -> io::Result<()> {
    let none = ReadFigures::default();
    let depths = workload.depths.iter().map(|depth| depth.of(group).unwrap_or(&none));
    let mut columns: Vec<_> = depths.map(ReadFigures::latencies).collect();
    loop {
        let row: Vec<Option<u64>> = columns.iter_mut().map(Iterator::next).collect();
        if row.iter().all(Option::is_none) {
            return Ok(());
        }
        for (place, field) in row.into_iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            if let Some(ms) = field {
                write!(out, "{ms}")?;
            }
        }
        out.write_all(b"\n")?;
    }
}
