//! CSV files of a limits study: one line per second of each setup, and one table of all setups.

use super::figure::FIGURES;
use crate::csv::{file_stem, quoted};
use loadline_study::{LimitsResult, LimitsSeries};
use std::fmt::Write;

/// Every file with its name.
pub(super) fn files(result: &LimitsResult) -> Vec<(String, String)> {
    let mut files = vec![("results.csv".to_owned(), results(result))];
    for (place, setup) in result.setups.iter().enumerate() {
        let name = format!("{place:02}-{}.csv", file_stem(&setup.name));
        files.push((name, seconds(&setup.series)));
    }
    files
}

fn seconds(series: &LimitsSeries) -> String {
    let mut out = "t_s,client_iops,clat_mean_ms,clat_p99_ms,background_iops\n".to_owned();
    for (row, t_s) in series.t_s.iter().enumerate() {
        let cells = [
            series.client_iops.get(row).copied(),
            series.clat_mean_ms.get(row).copied().flatten(),
            series.clat_p99_ms.get(row).copied().flatten(),
            series.background_iops.get(row).copied(),
        ];
        let cells = cells.map(|cell| cell.map_or_else(String::new, |value| value.to_string()));
        writeln!(out, "{t_s},{}", cells.join(",")).expect("writing to a string");
    }
    out
}

fn results(result: &LimitsResult) -> String {
    let mut out = "setup".to_owned();
    for figure in &FIGURES {
        let name = format!("{} {}", figure.name, figure.unit).replace([' ', '/', '.'], "_");
        write!(out, ",{name}").expect("writing to a string");
    }
    out.push_str(",over_limit_per_s\n");
    for setup in &result.setups {
        out.push_str(&quoted(&setup.name));
        for figure in &FIGURES {
            write!(out, ",{}", figure.value(setup)).expect("writing to a string");
        }
        writeln!(out, ",{}", setup.over_limit_per_s).expect("writing to a string");
    }
    out
}
