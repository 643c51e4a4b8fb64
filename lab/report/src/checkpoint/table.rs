//! The result table of a checkpoint study, and its ratios, in a terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use loadline_draw::number;
use loadline_study::{CheckpointFigure, CheckpointResult, CheckpointSetupResult, ComparedRatio};
use std::fmt::Write;

/// What a terminal has room for; the page shows every figure.
const COLUMNS: [CheckpointFigure; 11] = [
    CheckpointFigure::PutsPerS,
    CheckpointFigure::ClatMeanMs,
    CheckpointFigure::ClatP99Ms,
    CheckpointFigure::ClatP999Ms,
    CheckpointFigure::LowestSecondShare,
    CheckpointFigure::LogBytesPerPut,
    CheckpointFigure::RecoveryBytesPerPage,
    CheckpointFigure::ShareInCheckpoints,
    CheckpointFigure::CopiedOnWriteShare,
    CheckpointFigure::BufferMaxShare,
    CheckpointFigure::CheckpointMs,
];

/// A figure as people read it.
pub(super) fn print(figure: CheckpointFigure, value: f64) -> String {
    match figure {
        CheckpointFigure::LowestSecondShare
        | CheckpointFigure::ShareInCheckpoints
        | CheckpointFigure::CopiedOnWriteShare
        | CheckpointFigure::RecoveryShareOfCheckpoint
        | CheckpointFigure::BufferMaxShare => number::percent(value),
        _ => number::plain(value),
    }
}

/// The result as a table of at most `width` characters: ours, and below it the published value and our difference from
/// it; then published ratios beside ours. A terminal too narrow for the columns gets one short list per setup.
pub fn checkpoint_table(result: &CheckpointResult, width: usize) -> String {
    let wide = wide_table(result);
    let table = match wide.lines().map(|line| line.chars().count()).max() {
        Some(needed) if needed <= width => wide,
        _ => result.setups.iter().map(narrow_block).collect::<Vec<_>>().join("\n"),
    };
    table + &ratios(&result.ratios)
}

fn wide_table(result: &CheckpointResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heads = COLUMNS.iter().map(|figure| {
        let (name, unit) = figure.name();
        right(format!("{name}\n{unit}"))
    });
    table.set_header(std::iter::once(Cell::new("setup")).chain(heads));
    for setup in &result.setups {
        let cells = COLUMNS.iter().map(|figure| right(cell(setup, *figure, '\n')));
        table.add_row(std::iter::once(Cell::new(&setup.name)).chain(cells));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let legend = " Below ours: the published value and our difference from it.";
    format!("{}\n{legend}\n", lines.join("\n"))
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn cell(setup: &CheckpointSetupResult, figure: CheckpointFigure, separator: char) -> String {
    let Some(&ours) = setup.figures.get(&figure) else { return "–".to_owned() };
    let text = print(figure, ours);
    match setup.published.get(&figure) {
        Some(published) => {
            let (theirs, value) = (print(figure, published.value), published.value);
            format!("{text}{separator}{theirs} {}", number::difference(ours, value))
        }
        None => text,
    }
}

fn narrow_block(setup: &CheckpointSetupResult) -> String {
    let mut out = format!("{}\n", setup.name);
    for figure in COLUMNS.iter().filter(|figure| setup.figures.contains_key(figure)) {
        let (name, unit) = figure.name();
        let name = format!("{name} {unit}");
        let text = cell(setup, *figure, '\n');
        let (ours, published) = text.split_once('\n').unwrap_or((&text, ""));
        let published =
            if published.is_empty() { String::new() } else { format!("  ({published})") };
        writeln!(out, "  {name:<24}{ours:>9}{published}").expect("writing to a string");
    }
    out
}

fn ratios(ratios: &[ComparedRatio]) -> String {
    let mut out = String::new();
    if ratios.is_empty() {
        return out;
    }
    out.push_str("\n    ours  published  ratio\n");
    for ratio in ratios {
        let ours = ratio.ours.map_or_else(|| "–".to_owned(), |ours| format!("{ours:.2}"));
        writeln!(out, "{ours:>8}  {:>9.2}  {}", ratio.published, ratio.text)
            .expect("writing to a string");
    }
    out
}
