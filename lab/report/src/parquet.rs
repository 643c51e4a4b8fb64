//! Parquet files: the same tables as the CSV files, those of all setups in one file with the setup's name in front.

use crate::tables::{DataTable, ResultTables, SetupTables, TableCell};
use crate::write::ReportError;
use loadline_study::StudyResult;
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// `results.parquet`, `seconds.parquet` and, where the result has them, `service.parquet` and `checkpoints.parquet`: each name with what
/// the file holds.
///
/// # Errors
/// [`ReportError::Table`] if a table does not fit into the form.
pub fn parquet_files(result: &StudyResult) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let named = |(name, table): (&str, DataTable)| Ok((format!("{name}.parquet"), file(&table)?));
    tables(result).into_iter().map(named).collect()
}

fn tables(result: &StudyResult) -> Vec<(&'static str, DataTable)> {
    let ResultTables { results, setups } = ResultTables::of(result);
    let of = |part: fn(&SetupTables) -> Option<&DataTable>| {
        let tables: Vec<(&str, &DataTable)> =
            setups.iter().filter_map(|of| Some((of.setup.as_str(), part(of)?))).collect();
        one_of_all(&tables)
    };
    let parts = [
        ("seconds", of(|setup| Some(&setup.seconds))),
        ("service", of(|setup| setup.service.as_ref())),
        ("checkpoints", of(|setup| setup.checkpoints.as_ref())),
    ];
    let parts = parts.into_iter().filter_map(|(name, table)| Some((name, table?)));
    std::iter::once(("results", results)).chain(parts).collect()
}

/// Tables of one shape under each other, each row with its setup's name in front; nothing of none.
fn one_of_all(tables: &[(&str, &DataTable)]) -> Option<DataTable> {
    let (_, first) = tables.first()?;
    let columns = std::iter::once("setup".to_owned()).chain(first.columns.iter().cloned());
    let rows = tables.iter().flat_map(|(setup, table)| {
        table.rows.iter().map(|row| {
            let setup = TableCell::Text((*setup).to_owned());
            std::iter::once(setup).chain(row.iter().cloned()).collect()
        })
    });
    Some(DataTable { columns: columns.collect(), rows: rows.collect() })
}

/// A file of one row group. A column with a name in it is of names, any other of figures; each row may lack a value.
fn file(table: &DataTable) -> Result<Vec<u8>, ParquetError> {
    let mut file = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut file, schema(table)?, properties)?;
    let mut rows = writer.next_row_group()?;
    let mut place = 0;
    while let Some(column) = rows.next_column()? {
        write_column(column, table, place)?;
        place += 1;
    }
    rows.close()?;
    writer.close()?;
    Ok(file)
}

fn schema(table: &DataTable) -> Result<TypePtr, ParquetError> {
    let field = |(place, name): (usize, &String)| {
        let (physical, converted) = match is_of_names(table, place) {
            true => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
            false => (PhysicalType::DOUBLE, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL).with_converted_type(converted);
        field.build().map(Arc::new)
    };
    let fields: Vec<TypePtr> =
        table.columns.iter().enumerate().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("loadline").with_fields(fields).build().map(Arc::new)
}

fn is_of_names(table: &DataTable, place: usize) -> bool {
    table.rows.iter().any(|row| matches!(row[place], TableCell::Text(_)))
}

fn write_column(
    mut column: SerializedColumnWriter<'_>,
    table: &DataTable,
    place: usize,
) -> Result<(), ParquetError> {
    let cells = || table.rows.iter().map(|row| &row[place]);
    let levels: Vec<i16> = cells().map(|cell| i16::from(*cell != TableCell::Nothing)).collect();
    if is_of_names(table, place) {
        let names = cells().filter_map(|cell| match cell {
            TableCell::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        });
        let names: Vec<ByteArray> = names.collect();
        column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None)?;
    } else {
        let figures = cells().filter_map(|cell| match cell {
            TableCell::Number(value) => Some(*value),
            _ => None,
        });
        let figures: Vec<f64> = figures.collect();
        column.typed::<DoubleType>().write_batch(&figures, Some(&levels), None)?;
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, Series, SetupResult};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::io::Write;

    fn setup(name: &str, iops: [f64; 2], mean: Option<f64>) -> SetupResult {
        let mut series = Series { t_s: vec![0.0, 1.0], ..Series::default() };
        series.put("client_iops", iops);
        series.columns.insert("clat_mean_ms".to_owned(), vec![Some(4.25), mean]);
        SetupResult {
            setup: Configuration { name: name.to_owned(), ..Configuration::default() },
            figures: Figures::default().with([("client/iops", iops[0])]),
            series,
            ..SetupResult::default()
        }
    }

    fn read((_, file): &(String, Vec<u8>)) -> Vec<Vec<(String, Field)>> {
        let mut written = tempfile::tempfile().unwrap();
        written.write_all(file).unwrap();
        let file = SerializedFileReader::new(written).unwrap();
        let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
        rows.map(|row| row.into_columns()).collect()
    }

    /// Written and read again by the library's reader: every row, names as text, and what does not exist as null.
    #[test]
    fn what_is_written_is_read_again() {
        let setups = vec![setup("a, \"b\"", [100.5, 0.0], None), setup("c", [7.0, 8.0], Some(1.5))];
        let result = StudyResult { setups, ..StudyResult::default() };
        let files = parquet_files(&result).unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["results.parquet", "seconds.parquet"]);
        let seconds = read(&files[1]);
        assert_eq!(seconds.len(), 4);
        let field = |row: &[(String, Field)], name: &str| {
            row.iter().find(|(column, _)| column == name).map(|(_, field)| field.clone()).unwrap()
        };
        assert_eq!(field(&seconds[1], "setup"), Field::Str("a, \"b\"".to_owned()));
        assert_eq!(field(&seconds[1], "t_s"), Field::Double(1.0));
        assert_eq!(field(&seconds[1], "clat_mean_ms"), Field::Null);
        assert_eq!(field(&seconds[3], "clat_mean_ms"), Field::Double(1.5));
        let results = read(&files[0]);
        assert_eq!(results.len(), 2);
        assert_eq!(field(&results[0], "client_IOPS"), Field::Double(100.5));
        assert_eq!(field(&results[1], "client_IOPS_published"), Field::Null);
    }
}
