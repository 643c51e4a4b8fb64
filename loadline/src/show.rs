//! Output: text for people, one JSON object for programs.

use crate::failure::Failure;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use loadline_host::{in_words, why};
use serde_json::Value;
use std::io::{self, Write};

/// Prints text as it is. Where whoever reads it has gone, that is no failure, and no success either: what the command found
/// out decides its exit code.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    is_read(text.as_bytes()).map(drop)
}

/// Prints bytes as they are. False where whoever reads them has gone: nothing more needs to be made for them.
///
/// # Errors
///
/// [`Failure::Environment`] if they cannot be written for another reason, such as a full disk.
pub(crate) fn is_read(bytes: &[u8]) -> Result<bool, Failure> {
    taken(io::stdout().write_all(bytes))
}

/// Whether what was written to the output has come through.
///
/// # Errors
///
/// As [`is_read`].
pub(crate) fn taken(written: io::Result<()>) -> Result<bool, Failure> {
    match written.and_then(|()| io::stdout().flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::Environment(format!("cannot write the output: {}", why(&error))))
        }
    }
}

/// Prints a line beside the output: how far something is, or a warning. Where nobody reads that, the work goes on.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", in_words(line));
}

/// Prints one JSON object.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value prints");
    self::text(&(text + "\n"))
}

/// A table without frames; the first column is text, the others are figures unless `left` says otherwise.
pub(crate) fn table<'a>(
    head: impl AsRef<[&'a str]>,
    left: &[usize],
    rows: &[impl AsRef<[String]>],
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let cell = |column: usize, text: &str| {
        let at_left = column == 0 || left.contains(&column);
        let alignment = if at_left { CellAlignment::Left } else { CellAlignment::Right };
        Cell::new(text).set_alignment(alignment)
    };
    table.set_header(head.as_ref().iter().enumerate().map(|(column, text)| cell(column, text)));
    for row in rows {
        table.add_row(row.as_ref().iter().enumerate().map(|(column, text)| cell(column, text)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}
