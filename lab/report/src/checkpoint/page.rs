//! The page of a checkpoint study, in one file that refers to nothing outside itself.

use super::charts::charts;
use super::table::print;
use crate::charts::Chart;
use crate::page::{ChartView, Style, chart_view, machine_rows};
use crate::palette::looks_in_order;
use askama::Template;
use loadline_draw::number::{self, plain};
use loadline_study::{
    CheckpointFigure, CheckpointResult, CheckpointSetupResult, NamedValue, RunFacts,
};

#[derive(Template)]
#[template(path = "checkpoint.html")]
struct Page<'a> {
    result: &'a CheckpointResult,
    facts: &'a RunFacts,
    style: Style,
    sentences: Vec<String>,
    setups: Vec<SetupView<'a>>,
    rows: Vec<FigureRow>,
    ratios: Vec<RatioRow<'a>>,
    charts: Vec<ChartView>,
    run: Vec<(&'static str, String)>,
}

struct SetupView<'a> {
    name: &'a str,
    classes: String,
    settings: &'a [NamedValue],
}

/// One figure of all setups.
struct FigureRow {
    name: &'static str,
    unit: &'static str,
    formula: &'static str,
    cells: Vec<CellView>,
}

struct CellView {
    ours: String,
    published: String,
    mark: String,
    difference: String,
}

struct RatioRow<'a> {
    text: &'a str,
    ours: String,
    published: String,
    difference: String,
}

/// The whole page as text.
pub(super) fn page(result: &CheckpointResult, facts: &RunFacts) -> Result<String, askama::Error> {
    let looks = looks_in_order(result.setups.len());
    let setups = result.setups.iter().zip(looks).map(|(setup, look)| SetupView {
        name: &setup.name,
        classes: look.classes(),
        settings: &setup.settings,
    });
    let page = Page {
        result,
        facts,
        style: Style::new(),
        sentences: sentences(result),
        setups: setups.collect(),
        rows: figure_rows(result),
        ratios: ratio_rows(result),
        charts: charts(result).iter().map(|chart: &Chart| chart_view(chart)).collect(),
        run: machine_rows(facts),
    };
    page.render()
}

fn figure_rows(result: &CheckpointResult) -> Vec<FigureRow> {
    let shown = |figure: &CheckpointFigure| {
        result.setups.iter().any(|setup| setup.figures.contains_key(figure))
    };
    let row = |figure: CheckpointFigure| FigureRow {
        name: figure.name().0,
        unit: figure.name().1,
        formula: figure.formula(),
        cells: result.setups.iter().map(|setup| cell(setup, figure)).collect(),
    };
    CheckpointFigure::ALL.into_iter().filter(shown).map(row).collect()
}

fn cell(setup: &CheckpointSetupResult, figure: CheckpointFigure) -> CellView {
    let ours = setup.figures.get(&figure).copied();
    let published = setup.published.get(&figure);
    CellView {
        ours: ours.map_or_else(|| "–".to_owned(), |value| print(figure, value)),
        published: published.map_or_else(String::new, |found| print(figure, found.value)),
        mark: published.and_then(|found| found.mark.clone()).unwrap_or_default(),
        difference: match (ours, published) {
            (Some(ours), Some(found)) => number::difference(ours, found.value),
            _ => String::new(),
        },
    }
}

fn ratio_rows(result: &CheckpointResult) -> Vec<RatioRow<'_>> {
    let row = |ratio: &'_ loadline_study::ComparedRatio| {
        let ours = ratio.ours.map_or_else(|| "–".to_owned(), |ours| format!("{ours:.2}"));
        let difference = ratio.ours.map(|ours| number::difference(ours, ratio.published));
        (ours, format!("{:.2}", ratio.published), difference.unwrap_or_default())
    };
    let rows = result.ratios.iter().map(|ratio| {
        let (ours, published, difference) = row(ratio);
        RatioRow { text: &ratio.text, ours, published, difference }
    });
    rows.collect()
}

/// The answer in a few sentences: who is fastest, who is steadiest, who writes least.
fn sentences(result: &CheckpointResult) -> Vec<String> {
    let of = |figure: CheckpointFigure| -> Vec<(&str, f64)> {
        let mut found: Vec<(&str, f64)> = result
            .setups
            .iter()
            .filter_map(|setup| Some((setup.name.as_str(), *setup.figures.get(&figure)?)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    };
    let mut sentences = Vec::new();
    let puts = of(CheckpointFigure::PutsPerS);
    if let (Some(first), Some(last)) = (puts.first(), puts.last())
        && first.1 > last.1 * 1.01
    {
        let (most, least) = (plain(first.1), plain(last.1));
        sentences.push(format!(
            "Most puts per second: {most} under {}; fewest: {least} under {}.",
            first.0, last.0
        ));
    }
    let lowest = of(CheckpointFigure::LowestSecondShare);
    if let (Some(first), Some(last)) = (lowest.first(), lowest.last()) {
        sentences.push(format!(
            "The slowest second keeps {} of the median under {} and {} under {}.",
            number::percent(first.1),
            first.0,
            number::percent(last.1),
            last.0
        ));
    }
    let bytes = of(CheckpointFigure::LogAndRecoveryBytesPerPut);
    if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
        sentences.push(format!(
            "Log and recovery data take between {} bytes per put ({}) and {} ({}).",
            plain(last.1),
            last.0,
            plain(first.1),
            first.0
        ));
    }
    sentences
}
