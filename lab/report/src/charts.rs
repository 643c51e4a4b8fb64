//! Which charts a result becomes: those that its kind plans, and who waited where.

use crate::csv::file_stem;
use crate::palette::{Look, looks};
use crate::repeats;
use crate::sheet::{Course, FigurePart, PlannedChart, Sheet};
use crate::svg::{
    Bar, BarChart, DotChart, DotRow, FrontierChart, LineChart, Mark, SetupLine, StackChart,
    StackRow,
};
use crate::terminal::print;
use loadline_study::{Better, ClassWaits, Figure, PERCENTILES, Print, SetupResult, StudyResult};

/// One chart with its words.
pub(crate) struct Chart {
    /// Name of its file, without the ending.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What is shown and how to read it.
    pub(crate) caption: String,
    /// The preset that it shows alone, where there is one such chart for each.
    pub(crate) preset: Option<String>,
    pub(crate) drawing: Drawing,
}

/// The kinds of chart.
pub(crate) enum Drawing {
    Bars(BarChart),
    Dots(DotChart),
    Frontier(FrontierChart),
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
            Drawing::Frontier(chart) => chart.svg(width),
            Drawing::Lines(chart) | Drawing::Course(chart) => chart.svg(width),
            Drawing::Stacks(chart) => chart.svg(width),
        }
    }

    /// Whether the chart wants the page's whole width.
    pub(crate) fn is_wide(&self) -> bool {
        !matches!(self.drawing, Drawing::Bars(_) | Drawing::Course(_))
    }
}

/// The charts of a result's kind that it has data for, in their order.
pub(crate) fn study_charts(result: &StudyResult) -> Vec<Chart> {
    let looks = looks(result);
    let mut charts = Vec::new();
    for planned in Sheet::of(result.kind).charts {
        match planned {
            PlannedChart::Bars { id, title, figure, note } => {
                let figure = result.kind.figure(figure).expect("a sheet draws its kind's figures");
                charts.extend(bars(result, &looks, (id, title, note), figure));
            }
            PlannedChart::Percentiles { id, title, note } => {
                charts.extend(percentiles(result, &looks, (id, title, note)));
            }
            PlannedChart::Stacks { id, title, caption, unit, parts } => {
                charts.extend(stacks(result, (id, title, caption), unit, parts));
            }
            PlannedChart::Course(course) => charts.extend(courses(result, &looks, course)),
        }
    }
    charts
}

fn bars(
    result: &StudyResult,
    looks: &[Look],
    (id, title, note): (&str, &str, &str),
    figure: &Figure,
) -> Option<Chart> {
    let rows = result.setups.iter().zip(looks);
    let bars: Vec<Bar> = rows.filter_map(|(setup, look)| bar(setup, *look, figure)).collect();
    let published = match bars.iter().filter(|bar| bar.published.is_some()).count() {
        0 => "",
        n if n == bars.len() => "Diamonds are the published values.",
        _ => "Diamonds are the published values, where they exist.",
    };
    let repeats = match bars.iter().any(|bar| bar.interval.is_some()) {
        true => "Whiskers are 95 % intervals over the repeats.",
        false => "",
    };
    let reading = match figure.better {
        Better::Up => "Longer is better.",
        Better::Down => "Shorter is better.",
        Better::Neither => "",
    };
    let caption = [note, reading, published, repeats].into_iter().filter(|text| !text.is_empty());
    let unit = if figure.print == Print::Seconds { "seconds" } else { figure.unit };
    (!bars.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.collect::<Vec<_>>().join(" "),
        preset: None,
        drawing: Drawing::Bars(BarChart { title: title.to_owned(), unit, bars }),
    })
}

fn bar(setup: &SetupResult, look: Look, figure: &Figure) -> Option<Bar> {
    let value = setup.figure(figure.key)?;
    Some(Bar {
        label: setup.name().to_owned(),
        look,
        value,
        text: print(figure, value),
        interval: repeats::interval(figure, setup).map(|found| (found.low(), found.high())),
        published: setup.published.get(figure.key).map(|theirs| Mark {
            value: theirs.value,
            text: theirs.mark.clone().unwrap_or_else(|| print(figure, theirs.value)),
        }),
    })
}

fn percentiles(
    result: &StudyResult,
    looks: &[Look],
    (id, title, note): (&str, &str, &str),
) -> Option<Chart> {
    let row = |(setup, look): (&SetupResult, &Look)| {
        let of = |(name, _)| setup.figure(&format!("client/clat_ms/{name}"));
        let values = PERCENTILES.into_iter().map(of).collect::<Option<Vec<f64>>>()?;
        Some(DotRow { label: setup.name().to_owned(), look: *look, values })
    };
    let rows: Vec<DotRow> = result.setups.iter().zip(looks).filter_map(row).collect();
    let names = PERCENTILES.map(|(name, _)| name).to_vec();
    (!rows.is_empty()).then(|| Chart {
        id: id.to_owned(),
        caption: format!(
            "{}. Each row runs from the median to the 99.9th percentile; logarithmic axis.{note}",
            result.load
        ),
        preset: None,
        drawing: Drawing::Dots(DotChart { title: title.to_owned(), unit: "ms", names, rows }),
        title: title.to_owned(),
    })
}

fn stacks(
    result: &StudyResult,
    (id, title, caption): (&str, &str, &str),
    unit: &'static str,
    parts: &[(&'static str, FigurePart)],
) -> Option<Chart> {
    let row = |(setup, found): (usize, &SetupResult)| {
        let of = |(_, part): &(&str, FigurePart)| part(&found.figures);
        let parts = parts.iter().map(of).collect::<Option<Vec<f64>>>()?;
        Some(StackRow { label: found.name().to_owned(), setup, parts })
    };
    let rows: Vec<StackRow> = result.setups.iter().enumerate().filter_map(row).collect();
    let names = parts.iter().map(|(name, _)| *name).collect();
    (!rows.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        preset: None,
        drawing: Drawing::Stacks(StackChart { title: title.to_owned(), unit, names, rows }),
    })
}

/// More lines than this in one chart cannot be told apart.
const LINES_MAX: usize = 7;

/// A course; where the setups are too many for one chart, a chart per preset, each with the baseline.
fn courses(result: &StudyResult, looks: &[Look], course: &Course) -> Vec<Chart> {
    let mut presets: Vec<&str> = Vec::new();
    for setup in &result.setups {
        if !presets.contains(&setup.setup.preset.as_str()) {
            presets.push(&setup.setup.preset);
        }
    }
    if result.setups.len() <= LINES_MAX || presets.len() == 1 {
        return course_chart(result, looks, course, None).into_iter().collect();
    }
    let of = |preset| course_chart(result, looks, course, Some(preset));
    presets.into_iter().filter_map(of).collect()
}

fn course_chart(
    result: &StudyResult,
    looks: &[Look],
    course: &Course,
    preset: Option<&str>,
) -> Option<Chart> {
    let baseline = Sheet::of(result.kind).baseline(result).map(SetupResult::name);
    let mut lines = Vec::new();
    for (setup, look) in result.setups.iter().zip(looks) {
        let shown = preset.is_none_or(|preset| setup.setup.preset == preset)
            || baseline == Some(setup.name());
        let values = (course.values)(&setup.series);
        if shown && values.iter().flatten().any(|value| *value > 0.0) {
            let curves = setup.published_curves.iter();
            let published = curves.filter(|curve| curve.column == course.column);
            let published = published.flat_map(|curve| curve.points.clone()).collect();
            lines.push(SetupLine {
                label: setup.name().to_owned(),
                look: *look,
                values,
                published,
            });
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
        caption: match lines.iter().any(|line| !line.published.is_empty()) {
            true => format!("{} Diamonds are points of the published curves.", course.caption),
            false => course.caption.to_owned(),
        },
        preset: preset.map(str::to_owned),
        drawing: Drawing::Lines(LineChart { title: title.clone(), log, steps, lines }),
        title,
    })
}

/// One chart per class: where its items spent their time under each setup.
pub(crate) fn wait_charts(result: &StudyResult) -> Vec<Chart> {
    let classes = classes(&result.setups);
    classes.into_iter().map(|class| wait_chart(&result.setups, &class)).collect()
}

/// The classes that did any work, in the order of their first appearance.
fn classes(setups: &[SetupResult]) -> Vec<String> {
    let mut classes: Vec<String> = Vec::new();
    for waits in setups.iter().flat_map(|setup| &setup.waits) {
        if waits.items > 0 && !classes.contains(&waits.class) {
            classes.push(waits.class.clone());
        }
    }
    classes
}

fn wait_chart(setups: &[SetupResult], class: &str) -> Chart {
    let mut rows = Vec::new();
    for (place, setup) in setups.iter().enumerate() {
        let waits = setup.waits.iter().find(|waits| waits.class == class && waits.items > 0);
        if let Some(waits) = waits {
            let parts = waits.stages().iter().map(|(_, stage)| stage.mean).collect();
            rows.push(StackRow { label: setup.name().to_owned(), setup: place, parts });
        }
    }
    let names = ClassWaits::default().stages().map(|(name, _)| name).to_vec();
    let title = format!("Where {} work spent its time", class.replace('_', " "));
    Chart {
        id: format!("waits-{}", class.replace('_', "-")),
        caption: "Mean time per item in each stage, from arrival to completion.".to_owned(),
        preset: None,
        drawing: Drawing::Stacks(StackChart { title: title.clone(), unit: "ms", names, rows }),
        title,
    }
}
