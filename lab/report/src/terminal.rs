//! The result table in a terminal.

use crate::admission::admission;
use crate::sheet::compared_with;
use crate::wrap::wrapped;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use loadline_draw::number;
use loadline_study::{
    ComparedRatio, Figure, Figures, Print, SetupResult, ShownIn, StudyResult, quoted,
};
use std::fmt::Write;

/// A figure as people read it.
pub(crate) fn print(figure: &Figure, value: f64) -> String {
    match figure.print {
        Print::Plain | Print::Count => number::plain(value),
        Print::Percent => number::percent(value),
        Print::Seconds => number::seconds(value),
    }
}

/// A figure with its name, in a line that tells a run: `client 21,493 IOPS`.
pub fn told(figure: &Figure, of: &Figures) -> Option<String> {
    let value = print(figure, of.get(figure.key)?);
    Some(match figure.print {
        Print::Plain => format!("{} {value} {}", figure.name, figure.unit),
        Print::Count | Print::Percent | Print::Seconds => format!("{} {value}", figure.name),
    })
}

/// The result as a table of at most `width` characters: ours, and below it the published value and our difference from it, or
/// the difference from the first setup; then published ratios beside ours. A terminal too narrow for the columns gets one
/// short list per setup.
pub fn terminal_table(result: &StudyResult, width: usize) -> String {
    let wide = wide_table(result);
    let table = match wide.lines().map(|line| line.chars().count()).max() {
        Some(needed) if needed <= width => wide,
        _ => {
            let blocks = result.setups.iter().map(|setup| narrow_block(result, setup));
            blocks.collect::<Vec<_>>().join("\n")
        }
    };
    let head = admission(result).map_or_else(String::new, |text| wrapped(&text, width));
    head + &table + &ratios(&result.ratios)
}

fn shown(result: &StudyResult) -> impl Iterator<Item = &'static Figure> {
    let has = |figure: &Figure| result.setups.iter().any(|of| of.figure(figure.key).is_some());
    let figures = result.kind.figures().iter();
    figures.filter(move |it| it.seen == ShownIn::Table && (!it.optional || has(it)))
}

fn wide_table(result: &StudyResult) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heads = shown(result).map(|figure| right(format!("{}\n{}", figure.name, figure.unit)));
    table.set_header(std::iter::once(Cell::new("setup")).chain(heads));
    for setup in &result.setups {
        let cells = shown(result).map(|figure| {
            let (ours, below) = cell(result, setup, figure);
            right(if below.is_empty() { ours } else { format!("{ours}\n{below}") })
        });
        table.add_row(std::iter::once(Cell::new(setup.name())).chain(cells));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n{}\n", lines.join("\n"), legend(result))
}

fn legend(result: &StudyResult) -> String {
    if let Some(first) = compared_with(result) {
        return format!(" Below each figure: its difference from {}.", quoted(first.name()));
    }
    let real = match result.world.as_str() {
        "ceph" => " A Ceph cluster.",
        _ => " Real files.",
    };
    match (result.is_real(), result.compares()) {
        (true, true) => format!(
            "{real} Below ours: the published value, from other hardware and software, and our difference from it."
        ),
        (true, false) => real.to_owned(),
        (false, true) => " Below ours: the published value and our difference from it.".to_owned(),
        (false, false) => String::new(),
    }
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Ours, and what stands below it.
fn cell(result: &StudyResult, setup: &SetupResult, figure: &Figure) -> (String, String) {
    let Some(ours) = setup.figure(figure.key) else { return ("–".to_owned(), String::new()) };
    let first = compared_with(result).filter(|first| first.name() != setup.name());
    let below = match (setup.published.get(figure.key), first) {
        (Some(theirs), _) => {
            let difference = number::difference(ours, theirs.value).unwrap_or_default();
            format!("{} {difference}", print(figure, theirs.value))
        }
        (None, Some(first)) => first
            .figure(figure.key)
            .and_then(|first| number::difference(ours, first))
            .unwrap_or_default(),
        (None, None) => String::new(),
    };
    (print(figure, ours), below)
}

fn narrow_block(result: &StudyResult, setup: &SetupResult) -> String {
    let mut out = format!("{}\n", setup.name());
    let widest = shown(result).map(|figure| figure.label().len()).max().unwrap_or(0) + 1;
    for figure in shown(result).filter(|figure| setup.figure(figure.key).is_some()) {
        let (ours, below) = cell(result, setup, figure);
        let below = if below.is_empty() { below } else { format!("  ({below})") };
        writeln!(out, "  {:<widest$}{ours:>8}{below}", figure.label())
            .expect("writing to a string");
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

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, StudyKind};

    #[test]
    fn a_setup_is_not_compared_with_itself() {
        let setup = |name: &str, puts: f64| SetupResult {
            setup: Configuration { name: name.into(), ..Default::default() },
            figures: Figures::default().with([("client/puts_per_s", puts)]),
            ..Default::default()
        };
        let setups = vec![setup("a", 100.0), setup("b", 150.0)];
        let result = StudyResult { kind: StudyKind::Checkpoint, setups, ..Default::default() };
        let puts = result.kind.figure("client/puts_per_s").unwrap();
        let cells: Vec<_> = result.setups.iter().map(|setup| cell(&result, setup, puts)).collect();
        let wanted = [("100", ""), ("150", "+50 %")];
        assert_eq!(cells, wanted.map(|(ours, below)| (ours.to_owned(), below.to_owned())));
        assert!(legend(&result).ends_with("its difference from “a”."));
    }
}
