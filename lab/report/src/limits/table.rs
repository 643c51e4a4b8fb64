//! The result table of a limits study in a terminal.

use super::figure::{FIGURES, Figure};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use loadline_draw::number;
use loadline_study::{LimitsResult, LimitsSetupResult};
use std::fmt::Write;

/// The result as a table of at most `width` characters: each figure, and below it its difference from the first setup's. A
/// terminal too narrow for the columns gets one short list per setup.
pub fn limits_table(result: &LimitsResult, width: usize) -> String {
    let wide = wide_table(result);
    match wide.lines().map(|line| line.chars().count()).max() {
        Some(needed) if needed <= width => wide,
        _ => {
            let blocks = result.setups.iter().map(|setup| narrow_block(result, setup));
            blocks.collect::<Vec<_>>().join("\n")
        }
    }
}

fn wide_table(result: &LimitsResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heads = FIGURES.iter().map(|figure| right(format!("{}\n{}", figure.name, figure.unit)));
    table.set_header(std::iter::once(Cell::new("setup")).chain(heads));
    for setup in &result.setups {
        let cells = FIGURES.iter().map(|figure| {
            let (ours, difference) = cell(result, setup, figure);
            right(format!("{ours}\n{difference}"))
        });
        table.add_row(std::iter::once(Cell::new(&setup.name)).chain(cells));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let first = result.setups.first().map_or("", |setup| &setup.name);
    format!("{}\n Below each figure: its difference from {first}.\n", lines.join("\n"))
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// A figure, and its difference from the first setup's.
pub(super) fn cell(
    result: &LimitsResult,
    setup: &LimitsSetupResult,
    figure: &Figure,
) -> (String, String) {
    let ours = figure.value(setup);
    let difference = match result.setups.first() {
        Some(first) if first.name != setup.name => number::difference(ours, figure.value(first)),
        _ => String::new(),
    };
    (number::plain(ours), difference)
}

fn narrow_block(result: &LimitsResult, setup: &LimitsSetupResult) -> String {
    let mut out = format!("{}\n", setup.name);
    for figure in &FIGURES {
        let (ours, difference) = cell(result, setup, figure);
        let name = format!("{} {}", figure.name, figure.unit);
        writeln!(out, "  {name:<20}{ours:>9}  {difference}").expect("writing to a string");
    }
    out
}
