//! The charts of a checkpoint study: throughput, latency, buffer, checkpoints and throttle over time, and bytes by kind.

use super::table::print;
use crate::charts::{Chart, Drawing};
use crate::palette::{Look, looks_in_order};
use crate::svg::{Bar, BarChart, DotChart, DotRow, Line, LineChart, Mark, StackChart, StackRow};
use loadline_study::{
    CheckpointFigure, CheckpointResult, CheckpointSeries, CheckpointSetupResult, StoreFigures,
};

/// Every chart, in the order of the page.
pub(super) fn charts(result: &CheckpointResult) -> Vec<Chart> {
    let looks = looks_in_order(result.setups.len());
    let mut charts = vec![
        bars(result, &looks, CheckpointFigure::PutsPerS, "Throughput", "Longer is better."),
        bars(
            result,
            &looks,
            CheckpointFigure::LowestSecondShare,
            "The lowest second",
            "Puts of the second with the fewest over those of the median second: 1 is a steady store, 0 one that stood still.",
        ),
        bars(
            result,
            &looks,
            CheckpointFigure::LogBytesPerPut,
            "Log bytes per put",
            "Images and edits included. Shorter is better.",
        ),
        bars(
            result,
            &looks,
            CheckpointFigure::RecoveryBytesPerPage,
            "Recovery data per page",
            "Bytes of image that a checkpoint writes per page. Shorter is better.",
        ),
        percentiles(result, &looks),
        disk_bytes(result),
        steps(result),
    ];
    charts.retain(has_data);
    charts.extend(COURSES.iter().filter_map(|course| course_chart(result, &looks, course)));
    charts
}

fn has_data(chart: &Chart) -> bool {
    match &chart.drawing {
        Drawing::Bars(chart) => !chart.bars.is_empty(),
        Drawing::Stacks(chart) => !chart.rows.is_empty(),
        Drawing::Dots(_) | Drawing::Lines(_) | Drawing::Course(_) => true,
    }
}

fn bars(
    result: &CheckpointResult,
    looks: &[Look],
    figure: CheckpointFigure,
    title: &str,
    reading: &str,
) -> Chart {
    let bar = |(setup, look): (&CheckpointSetupResult, &Look)| {
        let value = *setup.figures.get(&figure)?;
        Some(Bar {
            label: setup.name.clone(),
            look: *look,
            value,
            text: print(figure, value),
            interval: None,
            published: setup.published.get(&figure).map(|published| Mark {
                value: published.value,
                text: published.mark.clone().unwrap_or_else(|| print(figure, published.value)),
            }),
        })
    };
    let bars: Vec<Bar> = result.setups.iter().zip(looks).filter_map(bar).collect();
    let marks = bars.iter().any(|bar| bar.published.is_some());
    let marks = if marks { " Diamonds are published values, where they exist." } else { "" };
    Chart {
        id: title.to_lowercase().replace(' ', "-"),
        title: title.to_owned(),
        caption: format!("{reading}{marks}"),
        drawing: Drawing::Bars(BarChart { title: title.to_owned(), unit: figure.name().1, bars }),
    }
}

fn percentiles(result: &CheckpointResult, looks: &[Look]) -> Chart {
    let rows = result.setups.iter().zip(looks).map(|(setup, look)| {
        let clat = &setup.client.clat_ms;
        let values = vec![clat.p50, clat.p95, clat.p99, clat.p99_5, clat.p99_9];
        DotRow { label: setup.name.clone(), look: *look, values }
    });
    let title = "Latency percentiles".to_owned();
    Chart {
        id: "latency-percentiles".to_owned(),
        caption: format!(
            "{}. Each row runs from the median to the 99.9th percentile; logarithmic axis.",
            result.load
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

/// One stacked row per setup.
fn stacks(
    result: &CheckpointResult,
    chart: (&str, &str, &str),
    unit: &'static str,
    names: Vec<&'static str>,
    parts: impl Fn(&StoreFigures) -> Option<Vec<f64>>,
) -> Chart {
    let (id, title, caption) = chart;
    let row = |(setup, found): (usize, &CheckpointSetupResult)| {
        let parts = parts(&found.store)?;
        Some(StackRow { label: found.name.clone(), setup, parts })
    };
    let rows = result.setups.iter().enumerate().filter_map(row).collect();
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        drawing: Drawing::Stacks(StackChart { title: title.to_owned(), unit, names, rows }),
    }
}

fn disk_bytes(result: &CheckpointResult) -> Chart {
    let chart = (
        "disk-bytes",
        "Bytes at the drive, by kind",
        "Bytes per put: records of puts, images and edits in the log, its blocks that were written again as they filled, \
         recovery data, pages written home, and pages read back.",
    );
    let names = vec![
        "puts in the log",
        "images and edits",
        "blocks again",
        "recovery data",
        "pages",
        "reads",
    ];
    stacks(result, chart, "bytes per put", names, |store| {
        let parts = vec![
            store.log_bytes - store.log_physical_bytes,
            store.log_physical_bytes,
            (store.log_device_bytes - store.log_bytes).max(0.0),
            store.recovery_data_bytes,
            store.page_bytes,
            store.read_bytes,
        ];
        (store.puts > 0.0).then(|| parts.into_iter().map(|bytes| bytes / store.puts).collect())
    })
}

fn steps(result: &CheckpointResult) -> Chart {
    let chart = (
        "checkpoint-steps",
        "Steps of a checkpoint",
        "Mean over the checkpoints of the window, in milliseconds of the world's time.",
    );
    let names = vec!["log", "recovery data", "begin marker", "pages", "sync and end"];
    stacks(result, chart, "ms", names, |store| {
        let steps = &store.durations_ms;
        let all = [
            steps.log_sync,
            steps.recovery_data_write,
            steps.write_entry,
            steps.pages_write,
            steps.sync,
        ];
        (store.checkpoints > 0.0).then(|| all.to_vec())
    })
}

/// A chart over time: which column of the series, and how it is drawn.
struct Course {
    id: &'static str,
    title: &'static str,
    caption: &'static str,
    log: bool,
    steps: bool,
    values: fn(&CheckpointSeries) -> Vec<Option<f64>>,
}

fn known(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

const COURSES: [Course; 6] = [
    Course {
        id: "puts-over-time",
        title: "Throughput over time",
        caption: "Puts answered per second, in each second of the published node.",
        log: false,
        steps: false,
        values: |series| known(&series.puts_per_s),
    },
    Course {
        id: "latency-over-time",
        title: "Mean latency over time",
        caption: "Mean completion latency of each second in milliseconds; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.clat_mean_ms.clone(),
    },
    Course {
        id: "p99-over-time",
        title: "99th percentile of latency over time",
        caption: "Of each second's puts, in milliseconds; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.clat_p99_ms.clone(),
    },
    Course {
        id: "buffer-over-time",
        title: "Old versions in their buffer",
        caption: "Percent of the slots in use at the end of each second. At 100 puts that need one wait.",
        log: false,
        steps: false,
        values: |series| series.buffer_share.iter().map(|share| Some(share * 100.0)).collect(),
    },
    Course {
        id: "pages-per-checkpoint",
        title: "Pages per checkpoint",
        caption: "Pages of the checkpoint that began last. Each step is a checkpoint.",
        log: false,
        steps: true,
        values: pages_per_checkpoint,
    },
    Course {
        id: "throttle-over-time",
        title: "Time given to the throttle",
        caption: "Microseconds of sleep handed out per put, in each second.",
        log: false,
        steps: false,
        values: |series| known(&series.throttle_us_per_put),
    },
];

fn pages_per_checkpoint(series: &CheckpointSeries) -> Vec<Option<f64>> {
    let of = |second: &f64| {
        let begun = series.checkpoints.iter().take_while(|point| point.t_s < second + 1.0);
        begun.last().map(|point| point.pages as f64)
    };
    series.t_s.iter().map(of).collect()
}

fn course_chart(result: &CheckpointResult, looks: &[Look], course: &Course) -> Option<Chart> {
    let mut lines = Vec::new();
    for (setup, look) in result.setups.iter().zip(looks) {
        let values = (course.values)(&setup.series);
        if values.iter().flatten().any(|value| *value > 0.0) {
            lines.push(Line { label: setup.name.clone(), look: *look, values });
        }
    }
    let (log, steps) = (course.log, course.steps);
    let title = course.title.to_owned();
    (!lines.is_empty()).then(|| Chart {
        id: course.id.to_owned(),
        caption: course.caption.to_owned(),
        drawing: Drawing::Lines(LineChart { title: title.clone(), log, steps, lines }),
        title,
    })
}
