//! Which charts a result becomes: every chart of the published study, and who waited where.

use crate::column::{CLAT_MEAN, Column, IOPS, OBJECTS_PER_S, SECONDS};
use crate::csv::file_stem;
use crate::palette::{Look, looks};
use crate::repeats;
use crate::svg::{Bar, BarChart, DotChart, DotRow, Line, LineChart, Mark, StackChart, StackRow};
use loadline_study::{ClassWaits, SetupResult, SetupSeries, StudyResult};

/// One chart with its words.
pub(crate) struct Chart {
    /// Name of its file, without the ending.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What is shown and how to read it.
    pub(crate) caption: String,
    pub(crate) drawing: Drawing,
}

/// The kinds of chart.
pub(crate) enum Drawing {
    Bars(BarChart),
    Dots(DotChart),
    Lines(LineChart),
    /// The same, half the page wide: a course of one setup.
    Course(LineChart),
    Stacks(StackChart),
}

impl Chart {
    /// The chart `width` pixels wide.
    pub(crate) fn svg(&self, width: f64) -> String {
        match &self.drawing {
            Drawing::Bars(chart) => chart.svg(width),
            Drawing::Dots(chart) => chart.svg(width),
            Drawing::Lines(chart) | Drawing::Course(chart) => chart.svg(width),
            Drawing::Stacks(chart) => chart.svg(width),
        }
    }

    /// Whether the chart wants the page's whole width.
    pub(crate) fn is_wide(&self) -> bool {
        !matches!(self.drawing, Drawing::Bars(_) | Drawing::Course(_))
    }
}

/// The charts of the published study that this result has data for, in its order.
pub(crate) fn study_charts(result: &StudyResult) -> Vec<Chart> {
    let mut charts = vec![
        bars(result, "client-iops", IOPS, "Mean client throughput", "Longer is better."),
        bars(result, "clat-mean", CLAT_MEAN, "Mean client latency", "Shorter is better."),
        percentiles(result),
    ];
    if result.setups.iter().any(|setup| setup.recovery.is_some()) {
        charts.extend([
            bars(result, "recovery-rate", OBJECTS_PER_S, "Mean recovery rate", "Longer is better."),
            bars(result, "recovery-time", SECONDS, "Time to finish", "Shorter is better."),
        ]);
    }
    charts.extend(courses(result));
    charts
}

fn bars(result: &StudyResult, id: &str, column: Column, title: &str, reading: &str) -> Chart {
    let rows = result.setups.iter().zip(looks(result));
    let bars: Vec<Bar> = rows.filter_map(|(setup, look)| bar(setup, look, &column)).collect();
    let published = match bars.iter().filter(|bar| bar.published.is_some()).count() {
        0 => "",
        n if n == bars.len() => " Diamonds are the published values.",
        _ => " Diamonds are the published values, where they exist.",
    };
    let repeats = match bars.iter().any(|bar| bar.interval.is_some()) {
        true => " Whiskers are 95 % intervals over the repeats.",
        false => "",
    };
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: format!("{reading}{published}{repeats}"),
        drawing: Drawing::Bars(BarChart { title: title.to_owned(), unit: column.axis(), bars }),
    }
}

fn bar(setup: &SetupResult, look: Look, column: &Column) -> Option<Bar> {
    let value = column.ours(setup)?;
    Some(Bar {
        label: setup.name.clone(),
        look,
        value,
        text: (column.print)(value),
        interval: repeats::interval(column, setup).map(|found| (found.low(), found.high())),
        published: column.published(setup).map(|figure| Mark {
            value: figure.value,
            text: figure.mark.clone().unwrap_or_else(|| (column.print)(figure.value)),
        }),
    })
}

fn percentiles(result: &StudyResult) -> Chart {
    let rows = result.setups.iter().zip(looks(result)).map(|(setup, look)| {
        let clat = &setup.client.clat_ms;
        let values = vec![clat.p50, clat.p95, clat.p99, clat.p99_5, clat.p99_9];
        DotRow { label: setup.name.clone(), look, values }
    });
    let title = "Client latency percentiles".to_owned();
    let names = vec!["p50", "p95", "p99", "p99.5", "p99.9"];
    Chart {
        id: "clat-percentiles".to_owned(),
        caption: format!(
            "{}. Each row runs from the median to the 99.9th percentile; logarithmic axis. The \
             published percentiles exist only as charts.",
            result.load
        ),
        drawing: Drawing::Dots(DotChart {
            title: title.clone(),
            unit: "ms",
            names,
            rows: rows.collect(),
        }),
        title,
    }
}

/// A chart over time: which column of the series, and how it is drawn.
struct Course {
    id: &'static str,
    title: &'static str,
    caption: &'static str,
    log: bool,
    steps: bool,
    values: fn(&SetupSeries) -> Vec<Option<f64>>,
}

fn known(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

const COURSES: [Course; 5] = [
    Course {
        id: "clat-mean-over-time",
        title: "Mean latency over time",
        caption: "Mean completion latency of each second; logarithmic axis. A line ends where its \
                  recovery ends.",
        log: true,
        steps: false,
        values: |series| series.clat_mean_ms.clone(),
    },
    Course {
        id: "clat-p99-over-time",
        title: "99th percentile of latency over time",
        caption: "99th percentile of each second's completions; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.clat_p99_ms.clone(),
    },
    Course {
        id: "client-iops-over-time",
        title: "Client throughput over time",
        caption: "Client operations completed in each second.",
        log: false,
        steps: false,
        values: |series| known(&series.client_iops),
    },
    Course {
        id: "objects-left-over-time",
        title: "Objects left to recover",
        caption: "Misplaced objects at the end of each second. The steeper, the faster the recovery; \
                  a bend means that some shards have finished before others.",
        log: false,
        steps: true,
        values: |series| known(&series.objects_left),
    },
    Course {
        id: "recovery-rate-over-time",
        title: "Recovery rate over time",
        caption: "Objects recovered per second, as the mean of ten seconds.",
        log: false,
        steps: false,
        values: |series| ten_second_means(&series.objects_per_s),
    },
];

/// Recovery proceeds in bursts of whole objects; each second shows the mean of the ten around it.
fn ten_second_means(values: &[f64]) -> Vec<Option<f64>> {
    let around = |at: usize| &values[at.saturating_sub(5)..(at + 5).min(values.len())];
    (0..values.len()).map(|at| loadline_stats::mean(around(at))).collect()
}

/// More lines than this in one chart cannot be told apart.
const LINES_MAX: usize = 7;

/// Every course; where the setups are too many for one chart, a chart per preset, each with the
/// baseline.
fn courses(result: &StudyResult) -> Vec<Chart> {
    let mut presets: Vec<Option<&str>> = vec![None];
    if result.setups.len() > LINES_MAX {
        presets.clear();
        for setup in &result.setups {
            if !presets.contains(&Some(&setup.preset)) {
                presets.push(Some(&setup.preset));
            }
        }
    }
    let all = COURSES.iter().flat_map(|course| presets.iter().map(move |preset| (course, *preset)));
    all.filter_map(|(course, preset)| course_chart(result, course, preset)).collect()
}

fn course_chart(result: &StudyResult, course: &Course, preset: Option<&str>) -> Option<Chart> {
    let baseline = result.baseline().map(|setup| setup.name.as_str());
    let mut lines = Vec::new();
    for (setup, look) in result.setups.iter().zip(looks(result)) {
        let shown = preset.is_none_or(|preset| setup.preset == preset)
            || baseline == Some(setup.name.as_str());
        let values = (course.values)(&setup.series);
        if shown && values.iter().any(Option::is_some) {
            lines.push(Line { label: setup.name.clone(), look, values });
        }
    }
    let (id, title) = match preset {
        Some(preset) => (
            format!("{}-{}", course.id, file_stem(preset)),
            format!("{}, preset {preset}", course.title),
        ),
        None => (course.id.to_owned(), course.title.to_owned()),
    };
    let (log, steps) = (course.log, course.steps);
    (!lines.is_empty()).then(|| Chart {
        id,
        caption: course.caption.to_owned(),
        drawing: Drawing::Lines(LineChart { title: title.clone(), log, steps, lines }),
        title,
    })
}

/// One chart per class: where its items spent their time under each setup.
pub(crate) fn wait_charts(setups: &[NamedWaits<'_>]) -> Vec<Chart> {
    classes(setups).into_iter().map(|class| wait_chart(setups, &class)).collect()
}

/// A setup's name, and where its work spent its time.
pub(crate) type NamedWaits<'a> = (&'a str, &'a [ClassWaits]);

/// The setups of a recovery study.
pub(crate) fn waits_of(result: &StudyResult) -> Vec<NamedWaits<'_>> {
    result.setups.iter().map(|setup| (setup.name.as_str(), setup.waits.as_slice())).collect()
}

/// The classes that did any work, in the order of their first appearance.
fn classes(setups: &[NamedWaits<'_>]) -> Vec<String> {
    let mut classes: Vec<String> = Vec::new();
    for waits in setups.iter().flat_map(|(_, waits)| *waits) {
        if waits.items > 0 && !classes.contains(&waits.class) {
            classes.push(waits.class.clone());
        }
    }
    classes
}

fn wait_chart(setups: &[NamedWaits<'_>], class: &str) -> Chart {
    let mut rows = Vec::new();
    for (setup, (name, waits)) in setups.iter().enumerate() {
        let waits = waits.iter().find(|waits| waits.class == class && waits.items > 0);
        if let Some(waits) = waits {
            let parts = waits.stages().iter().map(|(_, stage)| stage.mean).collect();
            rows.push(StackRow { label: (*name).to_owned(), setup, parts });
        }
    }
    let names = ClassWaits::default().stages().map(|(name, _)| name).to_vec();
    let title = format!("Where {} work spent its time", class.replace('_', " "));
    Chart {
        id: format!("waits-{}", class.replace('_', "-")),
        caption: "Mean time per item in each stage, from arrival to completion.".to_owned(),
        drawing: Drawing::Stacks(StackChart { title: title.clone(), unit: "ms", names, rows }),
        title,
    }
}
