//! The page: summary, charts and tables in one file that refers to nothing outside itself.

use super::answer::{BenchAnswer, QUESTION};
use super::chart::{Across, CurveChart, SHAPES, Size};
use super::charts::{WorkloadCharts, total_title};
use super::data::{DepthResult, Results, WorkloadResult};
use super::groups::ReadGroup;
use super::ink::{self, Ink};
use super::sentences::sentences;
use crate::figures::ReadFigures;
use askama::Template;
use loadline_draw::number::plain;
use serde_json::{Map, Value, json};

/// What stands above the title of every such page, and tells it from somebody else's.
pub(super) const KICKER: &str = "Command duration limits benchmark";

/// Sizes at which charts are drawn: half the page, and a phone.
const SCREEN: Size = Size { width: 520, height: 350 };
const PHONE: Size = Size { width: 338, height: 300 };

#[derive(Template)]
#[template(path = "page.html")]
struct PlotPage<'a> {
    kicker: &'static str,
    device: &'a str,
    how: String,
    light: String,
    dark: String,
    shapes: &'static str,
    rules: String,
    question: &'static str,
    answer: &'a [String],
    sentences: Vec<String>,
    summary: DepthSummary,
    notes: &'a [String],
    sections: Vec<WorkloadSection>,
    points: String,
    version: &'static str,
}

/// All kinds of reads at the greatest depth.
struct DepthSummary {
    depth: u32,
    parts: Vec<RowGroup>,
}

/// Rows that belong together.
struct RowGroup {
    name: &'static str,
    rows: Vec<DepthRow>,
}

/// One kind of reads at one depth.
struct DepthRow {
    classes: String,
    name: String,
    depth: u32,
    cells: Vec<String>,
}

/// One workload.
struct WorkloadSection {
    id: &'static str,
    name: &'static str,
    charts: Vec<CurveView>,
    parts: Vec<RowGroup>,
}

struct CurveView {
    id: String,
    title: &'static str,
    subtitle: String,
    screen: String,
    phone: String,
}

/// The whole page as text.
pub(super) fn page(
    results: &Results,
    charts: &[WorkloadCharts<'_>],
    answer: &BenchAnswer,
) -> Result<String, askama::Error> {
    let page = PlotPage {
        kicker: KICKER,
        device: &results.facts.device,
        how: how(results),
        light: ink::light_variables(),
        dark: ink::dark_variables(),
        shapes: SHAPES,
        rules: ink::variable_rules(),
        question: QUESTION,
        answer: &answer.sentences,
        sentences: sentences(results),
        summary: summary(results),
        notes: &results.notes,
        sections: charts.iter().map(section).collect(),
        points: points(charts),
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render()
}

/// How the runs were made.
fn how(results: &Results) -> String {
    let facts = &results.facts;
    let seconds = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    let bytes = facts.block.parse::<u64>().ok().filter(|bytes| bytes.is_multiple_of(1024));
    let block = bytes.map_or_else(|| facts.block.clone(), |bytes| format!("{} KiB", bytes >> 10));
    format!(
        "Random reads of {block} in a closed loop; {} s per queue depth after a ramp of {} s",
        seconds(&facts.runtime),
        seconds(&facts.ramp)
    )
}

fn summary(results: &Results) -> DepthSummary {
    let depth = results.depth_max();
    let part = |workload: &WorkloadResult| {
        let found = workload.at(depth)?;
        Some(RowGroup { name: workload.heading(), rows: rows(workload, found) })
    };
    DepthSummary { depth, parts: results.workloads.iter().filter_map(part).collect() }
}

fn section(charts: &WorkloadCharts<'_>) -> WorkloadSection {
    let workload = charts.workload;
    let part = |depth: &DepthResult| RowGroup { name: "", rows: rows(workload, depth) };
    WorkloadSection {
        id: workload.folder,
        name: workload.heading(),
        charts: charts.all().map(view).collect(),
        parts: workload.depths.iter().map(part).collect(),
    }
}

fn view(chart: &CurveChart) -> CurveView {
    CurveView {
        id: chart.stem.clone(),
        title: chart.title,
        subtitle: chart.subtitle.clone(),
        screen: chart.svg(SCREEN),
        phone: chart.svg(PHONE),
    }
}

/// All reads of a depth, unless there is only one kind, and each kind.
fn rows(workload: &WorkloadResult, depth: &DepthResult) -> Vec<DepthRow> {
    let all: u64 = depth.figures.iter().map(|figures| figures.reads).sum();
    let kind = |group: &ReadGroup| {
        let figures = depth.of(group)?;
        let name =
            if workload.is_baseline() { "All reads".to_owned() } else { group.title.clone() };
        let classes = group.ink.classes();
        Some(DepthRow { classes, name, depth: depth.depth, cells: cells(group, figures, all) })
    };
    let mut rows: Vec<DepthRow> = workload.groups.iter().filter_map(kind).collect();
    if !workload.is_baseline() {
        let mut cells = vec!["100".to_owned(), plain(depth.rate)];
        cells.push(plain(depth.figures.iter().map(|figures| figures.mb_per_s).sum()));
        cells.resize(9, String::new());
        let (classes, name) = (Ink::Total.classes(), total_title(workload).to_owned());
        rows.insert(0, DepthRow { classes, name, depth: depth.depth, cells });
    }
    rows
}

fn cells(group: &ReadGroup, figures: &ReadFigures, all: u64) -> Vec<String> {
    let within = group.limit.and_then(|limit| limit.share_within(figures));
    vec![
        format!("{:.1}", figures.reads as f64 * 100.0 / all as f64),
        format!("{:.1}", figures.iops),
        format!("{:.1}", figures.mb_per_s),
        format!("{:.1}", figures.mean_ms),
        figures.percentile(0.5).to_string(),
        figures.percentile(0.99).to_string(),
        figures.percentile(0.999).to_string(),
        figures.max_ms.to_string(),
        within.map_or_else(String::new, |share| format!("{:.1}", share * 100.0)),
    ]
}

/// The points of every curve, for the reading under the pointer.
fn points(charts: &[WorkloadCharts<'_>]) -> String {
    let of_chart = |chart: &CurveChart| {
        let (across, unit) = match chart.across {
            Across::Depth if chart.up == "IOPS" => ("depth", "IOPS"),
            Across::Depth => ("depth", "ms"),
            Across::Latency => ("latency", "%"),
        };
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        let curve = |points: &[(f64, f64)]| -> Value {
            points.iter().map(|(x, y)| json!([x, rounded(*y)])).collect()
        };
        let curves: Vec<Value> = chart.curves.iter().map(|line| curve(&line.points)).collect();
        (chart.stem.clone(), json!({ "across": across, "unit": unit, "curves": curves }))
    };
    let all: Map<String, Value> =
        charts.iter().flat_map(WorkloadCharts::all).map(of_chart).collect();
    // A name can hold no tag: only numbers and names of files are in it.
    Value::Object(all).to_string()
}
