//! The result table in a terminal.

use crate::column::{COLUMNS, Column};
use crate::page::{compares, is_real};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use loadline_draw::number;
use loadline_study::{SetupResult, StudyResult};
use std::fmt::Write;

/// The result as a table of at most `width` characters: ours, and below it the published value and
/// our difference from it. A terminal too narrow for the columns gets one short list per setup.
pub fn terminal_table(result: &StudyResult, width: usize) -> String {
    let table = wide_table(result);
    match table.lines().map(|line| line.chars().count()).max() {
        Some(needed) if needed <= width => table,
        _ => result.setups.iter().map(narrow_block).collect::<Vec<_>>().join("\n"),
    }
}

fn wide_table(result: &StudyResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heads = COLUMNS.iter().map(|column| right(format!("{}\n{}", column.name, column.unit)));
    table.set_header(std::iter::once(Cell::new("setup")).chain(heads));
    for setup in &result.setups {
        let cells = COLUMNS.iter().map(|column| right(cell_text(column, setup, '\n')));
        table.add_row(std::iter::once(Cell::new(&setup.name)).chain(cells));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let legend = match (is_real(result), compares(result)) {
        (true, true) => {
            " Real files. Below ours: the published value, from other hardware and software, and our \
             difference from it."
        }
        (true, false) => " Real files.",
        (false, true) => " Below ours: the published value and our difference from it.",
        (false, false) => "",
    };
    format!("{}\n{legend}\n", lines.join("\n"))
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn cell_text(column: &Column, setup: &SetupResult, separator: char) -> String {
    let Some(ours) = column.ours(setup) else { return "–".to_owned() };
    let text = (column.print)(ours);
    match column.published(setup) {
        Some(figure) => {
            let theirs = (column.print)(figure.value);
            format!("{text}{separator}{theirs} {}", number::difference(ours, figure.value))
        }
        None => text,
    }
}

fn narrow_block(setup: &SetupResult) -> String {
    let mut out = format!("{}\n", setup.name);
    for column in COLUMNS.iter().filter(|column| column.ours(setup).is_some()) {
        let name = format!("{} {}", column.name, column.unit);
        let text = cell_text(column, setup, '\n');
        let (ours, published) = text.split_once('\n').unwrap_or((&text, ""));
        let published =
            if published.is_empty() { String::new() } else { format!("  ({published})") };
        writeln!(out, "  {name:<19}{ours:>8}{published}").expect("writing to a string");
    }
    out
}
