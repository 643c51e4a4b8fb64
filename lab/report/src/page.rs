//! The page: everything a reader needs, in one file that refers to nothing outside itself.

use crate::charts::{Chart, study_charts, wait_charts, waits_of};
use crate::column::{COLUMNS, Column};
use crate::headline::{Verdict, sentences, verdicts};
use crate::palette::{self, looks};
use crate::repeats::{self, PairRow};
use crate::reservation::{self, ReservationRow};
use askama::Template;
use loadline_draw::number::{self, plain};
use loadline_study::{
    ClassWaits, ClientResult, PlacementSpread, RecoveryResult, RunFacts, SettingRow, SetupResult,
    Spread, StudyResult,
};

/// Widths at which charts are drawn: half the page, the whole page, and a phone.
const HALF: f64 = 500.0;
const WHOLE: f64 = 900.0;
const PHONE: f64 = 350.0;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    result: &'a StudyResult,
    facts: &'a RunFacts,
    style: Style,
    sentences: Vec<String>,
    verdicts: Vec<Verdict>,
    setups: Vec<SetupView<'a>>,
    columns: &'a [Column],
    charts: Vec<ChartView>,
    reservation: ReservationView,
    wait_charts: Vec<ChartView>,
    waits: Vec<WaitRow>,
    /// Whether somebody published figures of a setup.
    compares: bool,
    /// Runs of each setup.
    repeats: usize,
    pairs: Vec<PairRow>,
    variants: Vec<VariantRow>,
    spreads: Vec<SpreadRow>,
    run: Vec<(&'static str, String)>,
    is_real: bool,
}

/// How clients' reservations were kept.
struct ReservationView {
    sentences: Vec<String>,
    heads: &'static [(&'static str, &'static str)],
    rows: Vec<ReservationRow>,
    charts: Vec<ChartView>,
}

/// Style sheet parts that are computed.
pub(crate) struct Style {
    pub(crate) light: String,
    pub(crate) dark: String,
    pub(crate) rules: String,
    pub(crate) shapes: &'static str,
}

struct SetupView<'a> {
    name: &'a str,
    preset: &'a str,
    classes: String,
    cells: Vec<CellView>,
    settings: &'a [SettingRow],
}

/// One cell of the result table, ready to be shown.
struct CellView {
    ours: String,
    interval: String,
    published: String,
    mark: String,
    difference: String,
}

/// A chart at the widths of a screen and of a phone.
pub(crate) struct ChartView {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) wide: bool,
    pub(crate) screen: String,
    pub(crate) phone: String,
}

struct WaitRow {
    setup: String,
    class: String,
    items: String,
    mib: String,
    stages: Vec<(String, String)>,
    total: String,
}

struct VariantRow {
    setup: String,
    name: String,
    why: String,
    figures: Vec<(String, String)>,
}

struct SpreadRow {
    setup: String,
    placements: String,
    figures: Vec<(String, String)>,
}

/// The whole page as text.
pub(crate) fn page(result: &StudyResult, facts: &RunFacts) -> Result<String, askama::Error> {
    let views = |charts: Vec<Chart>| charts.iter().map(chart_view).collect::<Vec<_>>();
    let page = Page {
        result,
        facts,
        style: Style::new(),
        sentences: sentences(result),
        verdicts: verdicts(result),
        setups: setup_views(result),
        columns: &COLUMNS,
        charts: views(study_charts(result)),
        reservation: ReservationView {
            sentences: reservation::reservation_sentences(result),
            heads: &reservation::HEADS,
            rows: reservation::reservation_rows(result),
            charts: views(reservation::reservation_charts(result)),
        },
        wait_charts: views(wait_charts(&waits_of(result))),
        waits: wait_rows(result),
        compares: compares(result),
        repeats: runs_of_each(result),
        pairs: repeats::pairs(result),
        variants: variant_rows(result),
        spreads: spread_rows(result),
        run: run_rows(result, facts),
        is_real: is_real(result),
    };
    page.render()
}

impl Style {
    pub(crate) fn new() -> Style {
        Style {
            light: palette::variables(&palette::HUES_LIGHT, &palette::STAGES_LIGHT),
            dark: palette::variables(&palette::HUES_DARK, &palette::STAGES_DARK),
            rules: palette::variable_rules(),
            shapes: crate::svg::SHAPES,
        }
    }
}

pub(crate) fn chart_view(chart: &Chart) -> ChartView {
    ChartView {
        title: chart.title.clone(),
        caption: chart.caption.clone(),
        wide: chart.is_wide(),
        screen: chart.svg(if chart.is_wide() { WHOLE } else { HALF }),
        phone: chart.svg(PHONE),
    }
}

fn setup_views(result: &StudyResult) -> Vec<SetupView<'_>> {
    let views = result.setups.iter().zip(looks(result)).map(|(setup, look)| SetupView {
        name: &setup.name,
        preset: &setup.preset,
        classes: look.classes(),
        cells: COLUMNS.iter().map(|column| cell(column, setup)).collect(),
        settings: &setup.settings,
    });
    views.collect()
}

fn cell(column: &Column, setup: &SetupResult) -> CellView {
    let ours = column.ours(setup);
    let figure = column.published(setup);
    let interval = repeats::interval(column, setup);
    CellView {
        ours: ours.map_or_else(|| "–".to_owned(), column.print),
        interval: interval.map_or_else(String::new, |i| format!("± {}", plain(i.half_width))),
        published: figure.map_or_else(String::new, |figure| (column.print)(figure.value)),
        mark: figure.and_then(|figure| figure.mark.clone()).unwrap_or_default(),
        difference: match (ours, figure) {
            (Some(ours), Some(figure)) => number::difference(ours, figure.value),
            _ => String::new(),
        },
    }
}

fn wait_rows(result: &StudyResult) -> Vec<WaitRow> {
    let of = |setup: &SetupResult, waits: &ClassWaits| WaitRow {
        setup: setup.name.clone(),
        class: waits.class.clone(),
        items: plain(waits.items as f64),
        mib: plain(waits.bytes as f64 / f64::from(1 << 20)),
        stages: waits.stages().iter().map(|(_, s)| (plain(s.mean), plain(s.p99))).collect(),
        total: plain(waits.mean_total_ms()),
    };
    let setups = result.setups.iter();
    let worked = |setup: &'_ SetupResult| {
        setup.waits.iter().filter(|waits| waits.items > 0).map(|waits| of(setup, waits)).collect()
    };
    setups.flat_map::<Vec<WaitRow>, _>(worked).collect()
}

/// Client and recovery figures of a run, each with its name.
fn figures(client: &ClientResult, recovery: Option<&RecoveryResult>) -> Vec<(String, String)> {
    let mut figures = vec![
        ("client IOPS".to_owned(), plain(client.iops)),
        ("mean ms".to_owned(), plain(client.clat_ms.mean)),
        ("p99 ms".to_owned(), plain(client.clat_ms.p99)),
    ];
    let dash = || "–".to_owned();
    figures.push((
        "objects/s".to_owned(),
        recovery.map_or_else(dash, |recovery| plain(recovery.objects_per_s)),
    ));
    figures.push((
        "time".to_owned(),
        recovery.map_or_else(dash, |recovery| number::seconds(recovery.seconds)),
    ));
    figures
}

/// Each setup that has variants, followed by them.
fn variant_rows(result: &StudyResult) -> Vec<VariantRow> {
    let mut rows = Vec::new();
    for setup in result.setups.iter().filter(|setup| !setup.variants.is_empty()) {
        rows.push(VariantRow {
            setup: setup.name.clone(),
            name: "as in the table above".to_owned(),
            why: String::new(),
            figures: figures(&setup.client, setup.recovery.as_ref()),
        });
        rows.extend(setup.variants.iter().map(|variant| VariantRow {
            setup: setup.name.clone(),
            name: variant.name.clone(),
            why: variant.why.clone(),
            figures: figures(&variant.client, variant.recovery.as_ref()),
        }));
    }
    rows
}

fn spread_rows(result: &StudyResult) -> Vec<SpreadRow> {
    let of = |setup: &SetupResult, spread: PlacementSpread| SpreadRow {
        setup: setup.name.clone(),
        placements: format!("{} at scale {}", spread.placements, spread.scale),
        figures: vec![
            ("client IOPS".to_owned(), spread_text(Some(spread.client_iops))),
            ("mean ms".to_owned(), spread_text(Some(spread.clat_mean_ms))),
            ("objects/s".to_owned(), spread_text(spread.objects_per_s)),
            ("time, s".to_owned(), spread_text(spread.seconds)),
        ],
    };
    result.setups.iter().filter_map(|setup| Some(of(setup, setup.spread?))).collect()
}

fn spread_text(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "–".to_owned(),
        |s| format!("{} ({} to {})", plain(s.median), plain(s.low), plain(s.high)),
    )
}

fn run_rows(result: &StudyResult, facts: &RunFacts) -> Vec<(&'static str, String)> {
    let world = match result.world.as_str() {
        "sim" => "simulated: virtual time, modelled drives".to_owned(),
        "host" => "real files: this machine, in real time".to_owned(),
        other => other.to_owned(),
    };
    let repeats = runs_of_each(result);
    let mut rows = vec![
        ("World", world),
        ("Scale", format!("{} of the published amount of work", result.scale)),
        ("Seed", format!("{}; {}", result.seed, what_repeats(result))),
        ("Runs per setup", repeats.to_string()),
        ("Clients", result.load.clone()),
    ];
    rows.extend(machine_rows(facts));
    if is_real(result) {
        rows.retain(|(name, _)| *name != SPEED);
        rows.push(("Device requests", plain(facts.simulated_requests as f64)));
    }
    rows
}

/// Whether it ran on this machine's disks.
pub(crate) fn is_real(result: &StudyResult) -> bool {
    result.world == "host"
}

/// Whether there are published figures to stand beside ours.
pub(crate) fn compares(result: &StudyResult) -> bool {
    result.setups.iter().any(|setup| setup.published.is_some())
}

fn runs_of_each(result: &StudyResult) -> usize {
    result.setups.iter().map(|setup| setup.repeats.len()).max().unwrap_or(0).max(1)
}

fn what_repeats(result: &StudyResult) -> &'static str {
    match is_real(result) {
        true => "it decides addresses and placement, and nothing else repeats",
        false => "the same seed gives the same bytes",
    }
}

const SPEED: &str = "Simulator's speed";

/// Program, command and machine.
pub(crate) fn machine_rows(facts: &RunFacts) -> Vec<(&'static str, String)> {
    let gib = facts.host.memory_bytes as f64 / f64::from(1 << 30);
    let commit = facts.commit.as_deref().unwrap_or("unknown");
    vec![
        ("Program", format!("loadline {}, commit {commit}", facts.version)),
        ("Command", facts.command.clone()),
        ("Started", facts.started_at.clone()),
        ("Took", format!("{} on {} jobs", number::duration(facts.wall_seconds), facts.jobs)),
        ("Computed by", format!("{}, {} cores, {gib:.0} GiB", facts.host.cpu, facts.host.cores)),
        ("Kernel", facts.host.kernel.clone()),
        (
            SPEED,
            format!(
                "{} device requests, {} per second and core",
                plain(facts.simulated_requests as f64),
                plain(facts.simulated_requests_per_s_per_core)
            ),
        ),
    ]
}
