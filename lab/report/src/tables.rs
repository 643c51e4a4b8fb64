//! What a result holds as plain tables: all setups in one, and the seconds, the service and the checkpoints of each. CSV files and
//! Parquet files are written of the same.

use crate::sheet::Sheet;
use loadline_study::{Reserved, Series, SetupResult, ShownIn, StudyResult};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableCell {
    /// A name.
    Text(String),
    /// A figure in its column's unit.
    Number(f64),
    /// There is no such value.
    Nothing,
}

impl From<Option<f64>> for TableCell {
    fn from(value: Option<f64>) -> TableCell {
        value.map_or(TableCell::Nothing, TableCell::Number)
    }
}

/// Rows under named columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DataTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<TableCell>>,
}

/// The tables of a result.
pub(crate) struct ResultTables {
    /// Each figure of the table and the page, ours and published, a row for each setup.
    pub results: DataTable,
    /// In the result's order.
    pub setups: Vec<SetupTables>,
}

/// The course of one setup.
pub(crate) struct SetupTables {
    pub setup: String,
    /// A row for each second.
    pub seconds: DataTable,
    /// A row for each class on each OSD in each second, if the schedulers were watched.
    pub service: Option<DataTable>,
    /// A row for each checkpoint, if there were any.
    pub checkpoints: Option<DataTable>,
}

impl ResultTables {
    pub(crate) fn of(result: &StudyResult) -> ResultTables {
        let columns = Sheet::of(result.kind).columns;
        let setup = |of: &SetupResult| SetupTables {
            setup: of.name().to_owned(),
            seconds: seconds(columns, &of.series),
            service: (!of.series.service.is_empty()).then(|| service_rows(&of.series)),
            checkpoints: (!of.series.checkpoints.is_empty()).then(|| checkpoints(&of.series)),
        };
        ResultTables { results: results(result), setups: result.setups.iter().map(setup).collect() }
    }
}

impl DataTable {
    pub(crate) fn of(columns: &[&str], rows: Vec<Vec<TableCell>>) -> DataTable {
        DataTable { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows }
    }
}

/// The course of one setup.
fn seconds(columns: &[&str], series: &Series) -> DataTable {
    let row = |(row, t_s): (usize, &f64)| {
        let value = |column: &&str| series.column(column).get(row).copied().flatten().into();
        let values = columns.iter().map(value);
        std::iter::once(TableCell::Number(*t_s)).chain(values).collect()
    };
    let rows = series.t_s.iter().enumerate().map(row).collect();
    DataTable::of(&[&["t_s"], columns].concat(), rows)
}

/// Every class on every OSD in every second.
fn service_rows(series: &Series) -> DataTable {
    let number = TableCell::Number;
    let mut rows = Vec::new();
    for of in &series.service {
        for (second, (iops, units)) in of.iops.iter().zip(&of.units).enumerate() {
            let reserved = match &of.reserved {
                None => vec![TableCell::Nothing; 4],
                Some(Reserved { units, wanted, owed, short }) => {
                    [*units, wanted[second], owed[second], short[second]].map(number).to_vec()
                }
            };
            let (second, osd) = (number(second as f64), number(f64::from(of.osd)));
            let class = TableCell::Text(of.class.clone());
            rows.push([vec![second, class, osd, number(*iops), number(*units)], reserved].concat());
        }
    }
    let columns = [
        "t_s",
        "class",
        "osd",
        "iops",
        "cost_units",
        "reserved_units",
        "wanted_units",
        "owed_units",
        "short_units",
    ];
    DataTable::of(&columns, rows)
}

fn checkpoints(series: &Series) -> DataTable {
    let number = TableCell::Number;
    let rows = series.checkpoints.iter().map(|point| {
        let reason = TableCell::Text(point.reason.clone());
        vec![number(point.t_s), reason, number(point.pages as f64), number(point.duration_ms)]
    });
    DataTable::of(&["t_s", "reason", "pages", "duration_ms"], rows.collect())
}

/// All setups: each figure of the table and the page, ours and published.
fn results(result: &StudyResult) -> DataTable {
    let figures = || result.kind.figures().iter().filter(|figure| figure.seen != ShownIn::Data);
    let mut columns = vec!["setup".to_owned(), "preset".to_owned()];
    for figure in figures() {
        let name = figure.label().replace([' ', '/', '.', ',', '+'], "_");
        columns.extend([name.clone(), format!("{name}_published")]);
    }
    let row = |setup: &SetupResult| {
        let names = [setup.name(), &setup.setup.preset];
        let mut row = names.map(|name| TableCell::Text(name.to_owned())).to_vec();
        for figure in figures() {
            let theirs = setup.published.get(figure.key).map(|figure| figure.value);
            row.extend([setup.figure(figure.key).into(), theirs.into()]);
        }
        row
    };
    DataTable { columns, rows: result.setups.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::ClassService;

    #[test]
    fn a_second_without_completions_has_no_latency() {
        let mut series = Series { t_s: vec![0.0, 1.0], ..Default::default() };
        series.put("iops", [100.0, 0.0]);
        series.columns.insert("mean".to_owned(), vec![Some(5.5), None]);
        series.put("left", [3.0]);
        let table = seconds(&["iops", "mean", "left", "rate"], &series);
        let (number, nothing) = (TableCell::Number, || TableCell::Nothing);
        assert_eq!(table.columns, ["t_s", "iops", "mean", "left", "rate"]);
        assert_eq!(
            table.rows,
            [
                vec![number(0.0), number(100.0), number(5.5), number(3.0), nothing()],
                vec![number(1.0), number(0.0), nothing(), nothing(), nothing()],
            ]
        );
    }

    #[test]
    fn a_class_without_a_reservation_leaves_its_fields_empty() {
        let row = |class: &str, reserved| ClassService {
            class: class.to_owned(),
            osd: 1,
            iops: vec![10.0],
            units: vec![20.5],
            reserved,
        };
        let reserved =
            Reserved { units: 100.0, wanted: vec![50.0], owed: vec![25.0], short: vec![4.0] };
        let service = vec![row("client", Some(reserved)), row("background_recovery", None)];
        let table = service_rows(&Series { service, ..Default::default() });
        let class = |name: &str| TableCell::Text(name.to_owned());
        let number = TableCell::Number;
        assert_eq!(table.columns.len(), 9);
        let counted = [number(1.0), number(10.0), number(20.5)];
        let told = [number(100.0), number(50.0), number(25.0), number(4.0)];
        let row =
            |name, told: &[TableCell]| [&[number(0.0), class(name)], &counted[..], told].concat();
        let untold = vec![TableCell::Nothing; 4];
        assert_eq!(table.rows, [row("client", &told), row("background_recovery", &untold)]);
    }
}
