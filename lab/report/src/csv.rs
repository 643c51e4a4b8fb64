//! CSV files: one line per second of each setup, one per checkpoint, and one table of all setups.

use crate::reservation::service_csv;
use crate::sheet::Sheet;
use loadline_study::{Series, SetupResult, ShownIn, StudyResult};
use std::fmt::Write;

/// Every file with its name.
pub(crate) fn files(result: &StudyResult) -> Vec<(String, String)> {
    let columns = Sheet::of(result.kind).columns;
    let mut files = vec![("results.csv".to_owned(), results_csv(result))];
    for (place, setup) in result.setups.iter().enumerate() {
        let name = format!("{place:02}-{}", file_stem(setup.name()));
        files.push((format!("{name}.csv"), series_csv(columns, &setup.series)));
        if !setup.series.service.is_empty() {
            files.push((format!("{name}-service.csv"), service_csv(&setup.series)));
        }
        if !setup.series.checkpoints.is_empty() {
            files.push((format!("{name}-checkpoints.csv"), checkpoints_csv(&setup.series)));
        }
    }
    files
}

/// The course of one setup; a value that does not exist is an empty field.
fn series_csv(columns: &[&str], series: &Series) -> String {
    let mut out = format!("t_s,{}\n", columns.join(","));
    for (row, t_s) in series.t_s.iter().enumerate() {
        let cell = |column: &&str| text(series.column(column).get(row).copied().flatten());
        let cells: Vec<String> = columns.iter().map(cell).collect();
        writeln!(out, "{t_s},{}", cells.join(",")).expect("writing to a string");
    }
    out
}

fn checkpoints_csv(series: &Series) -> String {
    let mut out = "t_s,reason,pages,duration_ms\n".to_owned();
    for point in &series.checkpoints {
        let (t_s, reason) = (point.t_s, &point.reason);
        writeln!(out, "{t_s},{reason},{},{}", point.pages, point.duration_ms)
            .expect("writing to a string");
    }
    out
}

/// All setups: each figure of the table and the page, ours and published.
fn results_csv(result: &StudyResult) -> String {
    let figures = || result.kind.figures().iter().filter(|figure| figure.seen != ShownIn::Data);
    let mut out = "setup,preset".to_owned();
    for figure in figures() {
        let name = figure.label().replace([' ', '/', '.', ',', '+'], "_");
        write!(out, ",{name},{name}_published").expect("writing to a string");
    }
    out.push('\n');
    let cells = |setup: &SetupResult, out: &mut String| {
        for figure in figures() {
            let theirs = setup.published.get(figure.key).map(|figure| figure.value);
            let ours = text(setup.figure(figure.key));
            write!(out, ",{ours},{}", text(theirs)).expect("writing to a string");
        }
    };
    for setup in &result.setups {
        write!(out, "{},{}", quoted(setup.name()), quoted(&setup.setup.preset))
            .expect("writing to a string");
        cells(setup, &mut out);
        out.push('\n');
    }
    out
}

fn text(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn quoted(text: &str) -> String {
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
    use loadline_study::{Configuration, Figures};

    #[test]
    fn names_become_file_names() {
        assert_eq!(file_stem("WPQ(Def)"), "wpq-def");
        assert_eq!(file_stem("high_client_ops / reef"), "high_client_ops-reef");
    }

    #[test]
    fn a_table_has_two_columns_for_each_figure_that_people_see() {
        let setup = SetupResult {
            setup: Configuration {
                name: "a, \"b\"".into(),
                preset: "reef".into(),
                ..Default::default()
            },
            figures: Figures::default().with([("client/iops", 5.0), ("client/clat_ms/max", 9.0)]),
            ..Default::default()
        };
        let text = results_csv(&StudyResult { setups: vec![setup], ..Default::default() });
        let [head, row] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(head.starts_with("setup,preset,client_IOPS,client_IOPS_published,"), "{head}");
        assert!(head.ends_with(",first_rate_objects_s_published"), "{head}");
        assert!(row.starts_with("\"a, \"\"b\"\"\",reef,5,,,,"), "{row}");
        let heads = head.split(',').count();
        assert_eq!(row.split(',').count() - 1, heads, "the name has a comma of its own");
    }

    #[test]
    fn a_second_without_completions_is_an_empty_field() {
        let mut series = Series { t_s: vec![0.0, 1.0], ..Default::default() };
        series.put("iops", [100.0, 0.0]);
        series.columns.insert("mean".to_owned(), vec![Some(5.5), None]);
        series.put("left", [3.0]);
        let text = series_csv(&["iops", "mean", "left", "rate"], &series);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..], ["0,100,5.5,3,", "1,0,,,"]);
    }
}
