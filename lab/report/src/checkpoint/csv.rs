//! CSV files of a checkpoint study: one line per second and per checkpoint of each setup, and one table of all setups.

use crate::csv::{file_stem, quoted};
use loadline_study::{CheckpointFigure, CheckpointResult, CheckpointSeries};
use std::fmt::Write;

/// Every file with its name.
pub(super) fn files(result: &CheckpointResult) -> Vec<(String, String)> {
    let mut files = vec![("results.csv".to_owned(), results(result))];
    for (place, setup) in result.setups.iter().enumerate() {
        let stem = file_stem(&setup.name);
        files.push((format!("{place:02}-{stem}.csv"), seconds(&setup.series)));
        files.push((format!("{place:02}-{stem}-checkpoints.csv"), checkpoints(&setup.series)));
    }
    files
}

fn seconds(series: &CheckpointSeries) -> String {
    let mut out =
        "t_s,puts_per_s,clat_mean_ms,clat_p99_ms,buffer_share,throttle_us_per_put\n".to_owned();
    for (row, t_s) in series.t_s.iter().enumerate() {
        let cells = [
            series.puts_per_s.get(row).copied(),
            series.clat_mean_ms.get(row).copied().flatten(),
            series.clat_p99_ms.get(row).copied().flatten(),
            series.buffer_share.get(row).copied(),
            series.throttle_us_per_put.get(row).copied(),
        ];
        let cells = cells.map(|cell| cell.map_or_else(String::new, |value| value.to_string()));
        writeln!(out, "{t_s},{}", cells.join(",")).expect("writing to a string");
    }
    out
}

fn checkpoints(series: &CheckpointSeries) -> String {
    let mut out = "t_s,reason,pages,duration_ms\n".to_owned();
    for point in &series.checkpoints {
        let (t_s, reason) = (point.t_s, &point.reason);
        writeln!(out, "{t_s},{reason},{},{}", point.pages, point.duration_ms)
            .expect("writing to a string");
    }
    out
}

fn results(result: &CheckpointResult) -> String {
    let mut out = "setup".to_owned();
    for figure in CheckpointFigure::ALL {
        let (name, unit) = figure.name();
        let name = format!("{name} {unit}").replace([' ', '/', '.', ',', '+'], "_");
        write!(out, ",{name},{name}_published").expect("writing to a string");
    }
    out.push('\n');
    for setup in &result.setups {
        out.push_str(&quoted(&setup.name));
        for figure in CheckpointFigure::ALL {
            let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
            let ours = text(setup.figures.get(&figure).copied());
            let theirs = text(setup.published.get(&figure).map(|published| published.value));
            write!(out, ",{ours},{theirs}").expect("writing to a string");
        }
        out.push('\n');
    }
    out
}
