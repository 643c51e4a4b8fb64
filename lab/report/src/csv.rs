//! CSV files: one line per second of each setup, one per checkpoint, and one table of all setups.

use crate::tables::{DataTable, ResultTables, TableCell};
use loadline_study::StudyResult;

/// Every file with its name.
pub(crate) fn files(result: &StudyResult) -> Vec<(String, String)> {
    let ResultTables { results, setups } = ResultTables::of(result);
    let mut files = vec![("results.csv".to_owned(), text(&results))];
    for (place, setup) in setups.iter().enumerate() {
        let name = format!("{place:02}-{}", file_stem(&setup.setup));
        let parts =
            [("-service", setup.service.as_ref()), ("-checkpoints", setup.checkpoints.as_ref())];
        files.push((format!("{name}.csv"), text(&setup.seconds)));
        for (part, table) in parts {
            files.extend(table.map(|table| (format!("{name}{part}.csv"), text(table))));
        }
    }
    files
}

/// A value that does not exist is an empty field.
fn text(table: &DataTable) -> String {
    let mut out = table.columns.join(",") + "\n";
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        out += &(cells.join(",") + "\n");
    }
    out
}

fn cell(cell: &TableCell) -> String {
    match cell {
        TableCell::Text(text) => quoted(text),
        TableCell::Number(value) => value.to_string(),
        TableCell::Nothing => String::new(),
    }
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
    use loadline_study::{Configuration, Figures, SetupResult};

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
        let result = StudyResult { setups: vec![setup], ..Default::default() };
        let (name, text) = files(&result).remove(0);
        assert_eq!(name, "results.csv");
        let [head, row] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(head.starts_with("setup,preset,client_IOPS,client_IOPS_published,"), "{head}");
        assert!(head.ends_with(",first_rate_objects_s_published"), "{head}");
        assert!(row.starts_with("\"a, \"\"b\"\"\",reef,5,,,,"), "{row}");
        let heads = head.split(',').count();
        assert_eq!(row.split(',').count() - 1, heads, "the name has a comma of its own");
    }

    /// Every class in every second, and what a class is not told of is an empty field.
    #[test]
    fn a_value_that_does_not_exist_is_an_empty_field() {
        let number = TableCell::Number;
        let rows = vec![
            vec![number(0.0), number(5.5), TableCell::Text("log".to_owned())],
            vec![number(1.0), TableCell::Nothing, TableCell::Text("a,b".to_owned())],
        ];
        assert_eq!(
            text(&DataTable::of(&["t_s", "mean_ms", "reason"], rows)),
            "t_s,mean_ms,reason\n0,5.5,log\n1,,\"a,b\"\n"
        );
    }
}
