//! The page of a limits study, in one file that refers to nothing outside itself.

use super::charts::charts;
use super::figure::{BACKGROUND_RATE, FIGURES, Figure, IOPS, P99};
use super::table::cell;
use crate::page::{ChartView, Style, chart_view, machine_rows};
use crate::palette::looks_in_order;
use askama::Template;
use loadline_draw::number::{self, plain};
use loadline_stats::{Verdict, compare};
use loadline_study::{LimitsResult, LimitsSetupResult, RunFacts, SettingRow};

#[derive(Template)]
#[template(path = "limits.html")]
struct Page<'a> {
    result: &'a LimitsResult,
    facts: &'a RunFacts,
    style: Style,
    sentences: Vec<String>,
    setups: Vec<SetupView<'a>>,
    rows: Vec<FigureRow>,
    charts: Vec<ChartView>,
    run: Vec<(&'static str, String)>,
}

struct SetupView<'a> {
    name: &'a str,
    classes: String,
    scheduler: String,
    limit: &'a str,
    window: u32,
    over_limit: String,
    settings: &'a [SettingRow],
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
    difference: String,
    /// What the repeats allow to say of the difference; empty for a single run.
    verdict: &'static str,
}

/// The whole page as text.
pub(super) fn page(result: &LimitsResult, facts: &RunFacts) -> Result<String, askama::Error> {
    let looks = looks_in_order(result.setups.len());
    let setups = result.setups.iter().zip(looks).map(|(setup, look)| SetupView {
        name: &setup.name,
        classes: look.classes(),
        scheduler: scheduler(setup),
        limit: setup.limit.as_deref().unwrap_or("none"),
        window: setup.window,
        over_limit: plain(setup.over_limit_per_s),
        settings: &setup.settings,
    });
    let page = Page {
        result,
        facts,
        style: Style::new(),
        sentences: sentences(result),
        setups: setups.collect(),
        rows: FIGURES.iter().map(|figure| figure_row(result, figure)).collect(),
        charts: charts(result).iter().map(chart_view).collect(),
        run: machine_rows(facts),
    };
    page.render()
}

fn scheduler(setup: &LimitsSetupResult) -> String {
    match &setup.profile {
        Some(profile) => format!("{}, {profile}, preset {}", setup.scheduler, setup.preset),
        None => setup.scheduler.clone(),
    }
}

fn figure_row(result: &LimitsResult, figure: &Figure) -> FigureRow {
    let cell = |setup: &LimitsSetupResult| {
        let (ours, difference) = cell(result, setup, figure);
        CellView { ours, difference, verdict: verdict(result, setup, figure) }
    };
    FigureRow {
        name: figure.name,
        unit: figure.unit,
        formula: figure.formula,
        cells: result.setups.iter().map(cell).collect(),
    }
}

fn verdict(result: &LimitsResult, setup: &LimitsSetupResult, figure: &Figure) -> &'static str {
    let Some(first) = result.setups.first().filter(|first| first.name != setup.name) else {
        return "";
    };
    match compare(&figure.repeats(first), &figure.repeats(setup)).map(|found| found.verdict) {
        Some(Verdict::NoDifferenceShown) => "no difference shown",
        _ => "",
    }
}

/// The answer in a few sentences: the shortest tail, what it costs the background work, and what each setup did.
fn sentences(result: &LimitsResult) -> Vec<String> {
    let Some((first, others)) = result.setups.split_first() else { return Vec::new() };
    let ordered = |figure: &Figure| {
        let mut setups: Vec<_> = result.setups.iter().collect();
        setups.sort_by(|a, b| figure.value(a).total_cmp(&figure.value(b)));
        setups
    };
    let by_tail = ordered(&P99);
    let (best, worst) = (by_tail[0], by_tail[by_tail.len() - 1]);
    let mut sentences = vec![format!(
        "The client's 99th percentile is shortest under {}, {} ms, and longest under {}, {} ms.",
        best.name,
        plain(P99.value(best)),
        worst.name,
        plain(P99.value(worst))
    )];
    for setup in others {
        let change = |figure: &Figure| number::difference(figure.value(setup), figure.value(first));
        sentences.push(format!(
            "{} against {}: client IOPS {}, 99th percentile {}, background rate {}.",
            setup.name,
            first.name,
            change(&IOPS),
            change(&P99),
            change(&BACKGROUND_RATE)
        ));
    }
    sentences
}
