//! The page: everything a reader needs, in one file that refers to nothing outside itself. One page serves every kind of study;
//! a section that a result has nothing for is left out.

use crate::admission::admission;
use crate::answer::{FindingKind, StudyAnswer, answer};
use crate::beside_table::{BesideTable, beside_table};
use crate::charts::{Chart, study_charts, wait_charts};
use crate::frontier::{answer_chart, beaten, trade_charts};
use crate::named::marked;
use crate::palette::{self, looks};
use crate::repeats::{self, PairRow};
use crate::reservation::{self, ReservationRow};
use crate::sheet::{Sheet, Verdict, compared_with};
use crate::terminal::print;
use askama::Template;
use loadline_draw::number::{self, plain};
use loadline_stats::{CompareVerdict as Found, compare};
use loadline_study::{
    ClassWaits, ComparedRatio, Configuration, Figure, Figures, NamedValue, PlacementSpread, Print,
    RunFacts, SettingRow, SetupResult, ShownIn, Spread, StudyResult, Variant,
};

/// Widths at which charts are drawn: half the page, the whole page, and a phone.
const HALF: f64 = 500.0;
const WHOLE: f64 = 900.0;
const PHONE: f64 = 350.0;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    admission: Option<String>,
    result: &'a StudyResult,
    facts: &'a RunFacts,
    style: Style,
    answer: AnswerView,
    warnings: Vec<String>,
    setups: Vec<SetupView<'a>>,
    columns: Vec<&'static Figure>,
    /// Figures that the table has no room for.
    more: Vec<&'static Figure>,
    ratios: Vec<RatioRow<'a>>,
    /// The setup that others are compared with, if nothing was published.
    first: Option<&'a str>,
    charts: Vec<ChartView>,
    reservation: ReservationView,
    wait_charts: Vec<ChartView>,
    waits: Vec<WaitRow>,
    /// The heads of its columns that are stages.
    stages: Vec<&'static str>,
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

/// The first screen, and why it is so.
struct AnswerView {
    /// Whom to take, or what the figures say.
    lead: Vec<String>,
    picture: Option<ChartView>,
    /// What a reader must know at once, what does not hold first.
    findings: Vec<String>,
    /// What else the figures say.
    others: Vec<String>,
    beside: Option<BesideTable>,
    why: Vec<String>,
    cards: Vec<Verdict>,
    /// The others, where all are too many: first those that another beats in both figures of the picture.
    more: Vec<Verdict>,
}

/// More sentences than this are not read before everything else.
const FINDINGS_MAX: usize = 3;

/// More cards than this are not read.
const CARDS_MAX: usize = 8;

/// How clients' reservations were kept.
struct ReservationView {
    sentences: Vec<String>,
    heads: &'static [(&'static str, &'static str)],
    rows: Vec<ReservationRow>,
    charts: Vec<ChartView>,
}

/// Style sheet parts that are computed.
struct Style {
    light: String,
    dark: String,
    rules: String,
    shapes: &'static str,
}

struct SetupView<'a> {
    name: &'a str,
    /// Text with marks.
    about: String,
    preset: &'a str,
    classes: String,
    cells: Vec<CellView>,
    more: Vec<CellView>,
    traits: &'a [NamedValue],
    settings: &'a [SettingRow],
}

/// One cell of the result table, ready to be shown.
struct CellView {
    ours: String,
    interval: String,
    published: String,
    mark: String,
    difference: String,
    /// Whether the repeats show no difference from the first setup.
    same: bool,
}

struct RatioRow<'a> {
    text: &'a str,
    ours: String,
    published: String,
    difference: String,
}

/// A chart at the widths of a screen and of a phone.
struct ChartView {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) wide: bool,
    /// Whether it is printed, too.
    pub(crate) on_paper: bool,
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
    let found = answer(result);
    let charts: Vec<Chart> = trade_charts(result).into_iter().chain(study_charts(result)).collect();
    let printed = printed_preset(result, &found, &charts);
    let view = |chart: &Chart| chart_view(chart, printed.as_deref());
    let views = |charts: Vec<Chart>| charts.iter().map(view).collect();
    let page = Page {
        admission: admission(result).map(|text| marked(&text, result)),
        result,
        facts,
        style: Style::new(),
        answer: answer_view(result, found),
        warnings: marked_all(&result.warnings, result),
        setups: setup_views(result),
        columns: columns(result, ShownIn::Table),
        more: columns(result, ShownIn::Page),
        ratios: result.ratios.iter().map(ratio_row).collect(),
        first: compared_with(result).map(SetupResult::name),
        charts: views(charts),
        reservation: ReservationView {
            sentences: marked_all(&reservation::reservation_sentences(result), result),
            heads: &reservation::HEADS,
            rows: reservation::reservation_rows(result),
            charts: views(reservation::reservation_charts(result)),
        },
        wait_charts: views(wait_charts(result)),
        waits: wait_rows(result),
        stages: ClassWaits::default().stages().iter().map(|(name, _)| *name).collect(),
        compares: result.compares(),
        repeats: runs_of_each(result),
        pairs: repeats::pairs(result),
        variants: variant_rows(result),
        spreads: spread_rows(result),
        run: run_rows(result, facts),
        is_real: result.is_real(),
    };
    page.render()
}

/// The preset whose charts are printed, where there is one for each preset: that of the recommended setup, or the first.
fn printed_preset(result: &StudyResult, found: &StudyAnswer, charts: &[Chart]) -> Option<String> {
    let presets = || charts.iter().filter_map(|chart| chart.preset.as_deref());
    let chosen = found.chosen.map(|place| result.setups[place].setup.preset.as_str());
    let chosen = chosen.filter(|chosen| presets().any(|preset| preset == *chosen));
    chosen.or_else(|| presets().next()).map(str::to_owned)
}

fn answer_view(result: &StudyResult, found: StudyAnswer) -> AnswerView {
    // A setup beside services is a row of the table.
    let findings = found.findings.iter().filter(|finding| finding.kind != FindingKind::Beside);
    let mut findings: Vec<String> = findings.map(|of| marked(&of.text, result)).collect();
    let others = findings.split_off(findings.len().min(FINDINGS_MAX));
    let (cards, more) = cards((Sheet::of(result.kind).verdicts)(result), &beaten(result));
    AnswerView {
        lead: marked_all(&found.lead, result),
        picture: answer_chart(result).as_ref().map(|chart| chart_view(chart, None)),
        findings,
        others,
        beside: beside_table(result),
        why: marked_all(&found.why, result),
        cards,
        more,
    }
}

/// The cards that are shown at once, and the others where all are too many: those that are beaten, with a mark, and what is still too many.
fn cards(all: Vec<Verdict>, is_beaten: &[bool]) -> (Vec<Verdict>, Vec<Verdict>) {
    if all.len() <= CARDS_MAX {
        return (all, Vec::new());
    }
    let marked = all.into_iter().map(|of| Verdict { is_beaten: is_beaten[of.setup], ..of });
    let (mut more, mut cards): (Vec<Verdict>, Vec<Verdict>) = marked.partition(|of| of.is_beaten);
    more.extend(cards.split_off(cards.len().min(CARDS_MAX)));
    (cards, more)
}

impl Page<'_> {
    /// A text as the page shows it.
    fn marked(&self, text: &str) -> String {
        marked(text, self.result)
    }
}

fn marked_all(texts: &[String], result: &StudyResult) -> Vec<String> {
    texts.iter().map(|text| marked(text, result)).collect()
}

/// The figures that are shown in such a place and that some setup has: first the one that the picture of the answer has across.
fn columns(result: &StudyResult, seen: ShownIn) -> Vec<&'static Figure> {
    let has = |figure: &&Figure| {
        seen == ShownIn::Table && !figure.optional
            || result.setups.iter().any(|s| s.figure(figure.key).is_some())
    };
    let figures = result.kind.figures().iter().filter(|figure| figure.seen == seen);
    let mut columns: Vec<&Figure> = figures.filter(has).collect();
    let weighed = Sheet::of(result.kind).trade(result).map(|trade| trade.beside.0);
    columns.sort_by_key(|figure| Some(figure.key) != weighed);
    columns
}

impl Style {
    fn new() -> Style {
        Style {
            light: palette::variables(&palette::HUES_LIGHT, &palette::STAGES_LIGHT),
            dark: palette::variables(&palette::HUES_DARK, &palette::STAGES_DARK),
            rules: palette::variable_rules(),
            shapes: crate::svg::SHAPES,
        }
    }
}

fn chart_view(chart: &Chart, printed: Option<&str>) -> ChartView {
    ChartView {
        title: chart.title.clone(),
        caption: chart.caption.clone(),
        wide: chart.is_wide(),
        on_paper: chart.preset.is_none() || chart.preset.as_deref() == printed,
        screen: chart.svg(if chart.is_wide() { WHOLE } else { HALF }),
        phone: chart.svg(PHONE),
    }
}

fn setup_views(result: &StudyResult) -> Vec<SetupView<'_>> {
    let cells = |setup: &SetupResult, seen| -> Vec<CellView> {
        columns(result, seen).into_iter().map(|figure| cell(result, setup, figure)).collect()
    };
    let views = result.setups.iter().zip(looks(result)).map(|(setup, look)| {
        let Configuration { name, about, preset, traits, settings, .. } = &setup.setup;
        SetupView {
            name,
            about: marked(about, result),
            preset,
            classes: look.classes(),
            cells: cells(setup, ShownIn::Table),
            more: cells(setup, ShownIn::Page),
            traits,
            settings,
        }
    });
    views.collect()
}

fn cell(result: &StudyResult, setup: &SetupResult, figure: &Figure) -> CellView {
    let ours = setup.figure(figure.key);
    let theirs = setup.published.get(figure.key);
    let interval = repeats::interval(figure, setup);
    let first = compared_with(result).filter(|first| first.name() != setup.name());
    let than =
        theirs.map(|theirs| theirs.value).or_else(|| first.and_then(|s| s.figure(figure.key)));
    let found = first.and_then(|s| compare(&s.in_repeats(figure), &setup.in_repeats(figure)));
    CellView {
        ours: ours.map_or_else(|| "–".to_owned(), |value| print(figure, value)),
        interval: interval.map_or_else(String::new, |i| match figure.print {
            Print::Percent => format!("± {}", number::percent(i.half_width)),
            _ => format!("± {}", plain(i.half_width)),
        }),
        published: theirs.map_or_else(String::new, |theirs| print(figure, theirs.value)),
        mark: theirs.and_then(|theirs| theirs.mark.clone()).unwrap_or_default(),
        difference: match (ours, than) {
            (Some(ours), Some(than)) => number::difference(ours, than).unwrap_or_default(),
            _ => String::new(),
        },
        same: found.is_some_and(|found| found.verdict == Found::NoDifferenceShown),
    }
}

fn ratio_row(ratio: &ComparedRatio) -> RatioRow<'_> {
    let difference = ratio.ours.and_then(|ours| number::difference(ours, ratio.published));
    RatioRow {
        text: &ratio.text,
        ours: ratio.ours.map_or_else(|| "–".to_owned(), |ours| format!("{ours:.2}")),
        published: format!("{:.2}", ratio.published),
        difference: difference.unwrap_or_default(),
    }
}

fn wait_rows(result: &StudyResult) -> Vec<WaitRow> {
    let of = |setup: &SetupResult, waits: &ClassWaits| WaitRow {
        setup: setup.name().to_owned(),
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

/// The chief figures of a run, each with its name.
fn chief(result: &StudyResult, of: &Figures) -> Vec<(String, String)> {
    let text = |figure: &Figure| {
        let value = of.get(figure.key);
        value.map_or_else(|| "–".to_owned(), |value| print(figure, value))
    };
    result.kind.chief().map(|figure| (figure.label(), text(figure))).collect()
}

/// Each setup that has variants, followed by them. A switch that several setups have turned says at the first why the reader sees it.
fn variant_rows(result: &StudyResult) -> Vec<VariantRow> {
    let mut rows = Vec::new();
    let mut said = Vec::new();
    let mut why = |variant: &Variant| match said.contains(&variant.why) {
        true => String::new(),
        false => {
            said.push(variant.why.clone());
            variant.why.clone()
        }
    };
    for setup in result.setups.iter().filter(|setup| !setup.variants.is_empty()) {
        rows.push(VariantRow {
            setup: setup.name().to_owned(),
            name: "as in the table above".to_owned(),
            why: String::new(),
            figures: chief(result, &setup.figures),
        });
        rows.extend(setup.variants.iter().map(|variant| VariantRow {
            setup: setup.name().to_owned(),
            name: variant.name.clone(),
            why: why(variant),
            figures: chief(result, &variant.figures),
        }));
    }
    rows
}

fn spread_rows(result: &StudyResult) -> Vec<SpreadRow> {
    let of = |setup: &SetupResult, spread: &PlacementSpread| SpreadRow {
        setup: setup.name().to_owned(),
        placements: format!("{} at scale {}", spread.placements, spread.scale),
        figures: result
            .kind
            .chief()
            .map(|figure| (figure.label(), spread_text(spread.figures.get(figure.key).copied())))
            .collect(),
    };
    result.setups.iter().filter_map(|setup| Some(of(setup, setup.spread.as_ref()?))).collect()
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
        "ceph" => "a Ceph cluster: other machines, in real time".to_owned(),
        other => other.to_owned(),
    };
    let repeats = runs_of_each(result);
    let same = match result.is_real() {
        true => "it decides addresses and placement, and nothing else repeats",
        false => "the same seed gives the same bytes",
    };
    let gib = facts.host.memory_bytes as f64 / f64::from(1 << 30);
    let commit = facts.commit.as_deref().unwrap_or("unknown");
    let requests = plain(facts.simulated_requests as f64);
    let speed = plain(facts.simulated_requests_per_s_per_core);
    vec![
        ("World", world),
        ("Scale", format!("{} of the published amount of work", result.scale)),
        ("Seed", format!("{}; {same}", result.seed)),
        ("Runs per setup", repeats.to_string()),
        ("Clients", result.load.clone()),
        ("Program", format!("loadline {}, commit {commit}", facts.version)),
        ("Command", facts.command.clone()),
        ("Started", facts.started_at.clone()),
        ("Took", format!("{} on {} jobs", number::duration(facts.wall_seconds), facts.jobs)),
        ("Computed by", format!("{}, {} cores, {gib:.0} GiB", facts.host.cpu, facts.host.cores)),
        ("Kernel", facts.host.kernel.clone()),
        match result.is_real() {
            true => ("Device requests", requests),
            false => (
                "Simulator's speed",
                format!("{requests} device requests, {speed} per second and core"),
            ),
        },
    ]
}

fn runs_of_each(result: &StudyResult) -> usize {
    result.setups.iter().map(|setup| setup.repeats.len()).max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cards for which there was no room stood among those that are "each beaten by one of these", though nobody beat them.
    #[test]
    fn who_has_no_room_is_not_beaten_for_that() {
        let of = |setup: usize| Verdict { setup, ..Verdict::default() };
        let all = || (0..11).map(of).collect::<Vec<_>>();
        let is_beaten: Vec<bool> = (0..11).map(|setup| setup == 3).collect();
        let (shown, more) = cards(all(), &is_beaten);
        assert_eq!(shown.iter().map(|of| of.setup).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7, 8]);
        let more: Vec<_> = more.iter().map(|of| (of.setup, of.is_beaten)).collect();
        assert_eq!(more, [(3, true), (9, false), (10, false)]);
        let (shown, more) = cards(all().split_off(3), &is_beaten);
        assert_eq!((shown.len(), more.len()), (8, 0));
    }

    /// Each setup beside services was a long sentence, and the picture stood below all of them.
    #[test]
    fn few_findings_come_first_and_setups_beside_services_are_rows() {
        let statement = |holds| loadline_study::Statement {
            text: "So.".to_owned(),
            holds: Some(holds),
            ..Default::default()
        };
        let setup = SetupResult { beside: Some(Default::default()), ..Default::default() };
        let result = StudyResult {
            setups: vec![setup],
            expected: vec![statement(true), statement(true), statement(true), statement(false)],
            statements: vec![statement(false)],
            ..Default::default()
        };
        let view = answer_view(&result, answer(&result));
        assert_eq!((view.findings.len(), view.others.len()), (FINDINGS_MAX, 2));
        assert!(view.findings[0].starts_with("No, this is not so: So"), "{:?}", view.findings);
        assert!(view.findings[1].starts_with("Does not hold here: So"), "{:?}", view.findings);
        assert_eq!(view.beside.map(|table| table.rows.len()), Some(1));
    }

    /// A page of fourteen setups printed its charts over time three times, and had eight pages on paper.
    #[test]
    fn charts_of_the_recommended_preset_alone_are_printed() {
        let chart = |preset: Option<&str>| Chart {
            id: String::new(),
            title: String::new(),
            caption: String::new(),
            preset: preset.map(str::to_owned),
            drawing: crate::charts::Drawing::Bars(crate::svg::BarChart {
                title: String::new(),
                unit: "",
                bars: Vec::new(),
            }),
        };
        let charts = [chart(None), chart(Some("quincy")), chart(Some("reef"))];
        let setup = |preset: &str| SetupResult {
            setup: Configuration { preset: preset.to_owned(), ..Default::default() },
            ..Default::default()
        };
        let setups = ["quincy", "reef", "loadline"].map(setup).into();
        let result = StudyResult { setups, ..Default::default() };
        let printed = |chosen: Option<usize>| {
            let found =
                StudyAnswer { lead: Vec::new(), why: Vec::new(), chosen, findings: Vec::new() };
            let printed = printed_preset(&result, &found, &charts);
            charts.each_ref().map(|chart| chart_view(chart, printed.as_deref()).on_paper)
        };
        assert_eq!(printed(Some(1)), [true, false, true]);
        assert_eq!(printed(Some(2)), [true, true, false]);
        assert_eq!(printed(None), [true, true, false]);
    }
}
