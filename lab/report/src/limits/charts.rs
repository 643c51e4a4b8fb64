//! The charts of a limits study: both loads' rates, the client's latency, its course, and where work waited.

use super::figure::{BACKGROUND_RATE, CLAT_MEAN, Figure, IOPS, P99};
use crate::charts::{Chart, Drawing, wait_charts};
use crate::palette::{Look, looks_in_order};
use crate::svg::{Bar, BarChart, DotChart, DotRow, Line, LineChart};
use loadline_draw::number::plain;
use loadline_stats::mean_interval;
use loadline_study::{LimitsResult, LimitsSeries, LimitsSetupResult};

/// Every chart, in the order of the page.
pub(super) fn charts(result: &LimitsResult) -> Vec<Chart> {
    let looks = looks_in_order(result.setups.len());
    let mut charts = vec![
        bars(result, &looks, ("client-iops", "Client throughput", "Longer is better."), &IOPS),
        bars(
            result,
            &looks,
            ("background-rate", "Background rate", "What the client's tail costs."),
            &BACKGROUND_RATE,
        ),
        bars(
            result,
            &looks,
            ("clat-mean", "Mean client latency", "Shorter is better."),
            &CLAT_MEAN,
        ),
        bars(
            result,
            &looks,
            ("clat-p99", "99th percentile of client latency", "Shorter is better."),
            &P99,
        ),
        percentiles(result, &looks),
    ];
    charts.extend(COURSES.iter().map(|course| course_chart(result, &looks, course)));
    let waits: Vec<_> =
        result.setups.iter().map(|setup| (setup.name.as_str(), setup.waits.as_slice())).collect();
    charts.extend(wait_charts(&waits));
    charts
}

fn bars(
    result: &LimitsResult,
    looks: &[Look],
    (id, title, reading): (&str, &str, &str),
    figure: &Figure,
) -> Chart {
    let bar = |(setup, look): (&LimitsSetupResult, &Look)| {
        let value = figure.value(setup);
        let interval = mean_interval(&figure.repeats(setup));
        Bar {
            label: setup.name.clone(),
            look: *look,
            value,
            text: plain(value),
            interval: interval.map(|i| (i.mean - i.half_width, i.mean + i.half_width)),
            published: None,
        }
    };
    let bars: Vec<Bar> = result.setups.iter().zip(looks).map(bar).collect();
    let repeats = match bars.iter().any(|bar| bar.interval.is_some()) {
        true => " Whiskers are 95 % intervals over the repeats.",
        false => "",
    };
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: format!("{reading}{repeats}"),
        drawing: Drawing::Bars(BarChart { title: title.to_owned(), unit: figure.unit, bars }),
    }
}

fn percentiles(result: &LimitsResult, looks: &[Look]) -> Chart {
    let rows = result.setups.iter().zip(looks).map(|(setup, look)| {
        let clat = &setup.client.clat_ms;
        let values = vec![clat.p50, clat.p95, clat.p99, clat.p99_5, clat.p99_9];
        DotRow { label: setup.name.clone(), look: *look, values }
    });
    let title = "Client latency percentiles".to_owned();
    Chart {
        id: "clat-percentiles".to_owned(),
        caption: format!(
            "{}. Each row runs from the median to the 99.9th percentile; logarithmic axis.",
            result.client
        ),
        drawing: Drawing::Dots(DotChart {
            title: title.clone(),
            unit: "ms",
            names: vec!["p50", "p95", "p99", "p99.5", "p99.9"],
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
    values: fn(&LimitsSeries) -> Vec<Option<f64>>,
}

const COURSES: [Course; 3] = [
    Course {
        id: "iops-over-time",
        title: "Client throughput over time",
        caption: "Operations completed in each second.",
        log: false,
        values: |series| series.client_iops.iter().copied().map(Some).collect(),
    },
    Course {
        id: "p99-over-time",
        title: "99th percentile of client latency over time",
        caption: "Of each second's operations, in milliseconds; logarithmic axis.",
        log: true,
        values: |series| series.clat_p99_ms.clone(),
    },
    Course {
        id: "background-over-time",
        title: "Background throughput over time",
        caption: "Operations completed in each second.",
        log: false,
        values: |series| series.background_iops.iter().copied().map(Some).collect(),
    },
];

fn course_chart(result: &LimitsResult, looks: &[Look], course: &Course) -> Chart {
    let line = |(setup, look): (&LimitsSetupResult, &Look)| Line {
        label: setup.name.clone(),
        look: *look,
        values: (course.values)(&setup.series),
    };
    let lines = result.setups.iter().zip(looks).map(line).collect();
    let title = course.title.to_owned();
    let chart = LineChart { title: title.clone(), log: course.log, steps: false, lines };
    Chart {
        id: course.id.to_owned(),
        caption: course.caption.to_owned(),
        drawing: Drawing::Lines(chart),
        title,
    }
}
