//! CSV files: one line per second of each setup, and one table of all setups.

use crate::column::COLUMNS;
use loadline_study::{SetupResult, SetupSeries, StudyResult};
use std::fmt::Write;

/// The course of one setup; a value that does not exist is an empty field.
pub(crate) fn series_csv(series: &SetupSeries) -> String {
    let mut out =
        "t_s,client_iops,clat_mean_ms,clat_p99_ms,objects_left,objects_per_s\n".to_owned();
    for (row, t_s) in series.t_s.iter().enumerate() {
        let cells = [
            series.client_iops.get(row).copied(),
            series.clat_mean_ms.get(row).copied().flatten(),
            series.clat_p99_ms.get(row).copied().flatten(),
            series.objects_left.get(row).copied(),
            series.objects_per_s.get(row).copied(),
        ];
        let cells = cells.map(|cell| cell.map_or_else(String::new, |value| value.to_string()));
        writeln!(out, "{t_s},{}", cells.join(",")).expect("writing to a string");
    }
    out
}

/// All setups: each column of the result table, ours and published.
pub(crate) fn results_csv(result: &StudyResult) -> String {
    let mut out = "setup,preset".to_owned();
    for column in COLUMNS {
        let name = format!("{} {}", column.name, column.unit).replace([' ', '/', '.'], "_");
        write!(out, ",{name},{name}_published").expect("writing to a string");
    }
    out.push('\n');
    for setup in &result.setups {
        write_setup(&mut out, setup);
    }
    out
}

fn write_setup(out: &mut String, setup: &SetupResult) {
    write!(out, "{},{}", quoted(&setup.name), quoted(&setup.preset)).expect("writing to a string");
    for column in COLUMNS {
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let theirs = column.published(setup).map(|figure| figure.value);
        write!(out, ",{},{}", text(column.ours(setup)), text(theirs)).expect("writing to a string");
    }
    out.push('\n');
}

pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A setup's name as part of a file name: `WPQ(Def)` becomes `wpq-def`.
pub(crate) fn file_stem(name: &str) -> String {
    let lower = name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
    lower.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        assert_eq!(file_stem("WPQ(Def)"), "wpq-def");
        assert_eq!(file_stem("high_client_ops / reef"), "high_client_ops-reef");
    }

    #[test]
    fn a_second_without_completions_is_an_empty_field() {
        let series = SetupSeries {
            t_s: vec![0.0, 1.0],
            client_iops: vec![100.0, 0.0],
            clat_mean_ms: vec![Some(5.5), None],
            clat_p99_ms: vec![Some(9.0), None],
            ..Default::default()
        };
        let lines: Vec<String> = series_csv(&series).lines().map(str::to_owned).collect();
        assert_eq!(lines[1..], ["0,100,5.5,9,,", "1,0,,,,"]);
    }
}
