//! Studies of duration limits: both loads' rates, and the client's latency and its course.

use super::parts::{Course, PlannedChart, Sheet};
use super::trades;
use loadline_draw::number::{difference, plain};
use loadline_study::{SetupResult, StudyResult, quoted};

pub(super) const SHEET: Sheet = Sheet {
    charts: &CHARTS,
    columns: &["client_iops", "clat_mean_ms", "clat_p99_ms", "background_iops"],
    background: None,
    trades: &trades::LIMITS,
    sentences,
    verdicts: |_| Vec::new(),
};

const CHARTS: [PlannedChart; 8] = [
    PlannedChart::Bars {
        id: "client-iops",
        title: "Client throughput",
        figure: "client/iops",
        note: "",
    },
    PlannedChart::Bars {
        id: "background-rate",
        title: "Background rate",
        figure: "background/mib_per_s",
        note: "What the client's tail costs.",
    },
    PlannedChart::Bars {
        id: "clat-mean",
        title: "Mean client latency",
        figure: "client/clat_ms/mean",
        note: "",
    },
    PlannedChart::Bars {
        id: "clat-p99",
        title: "99th percentile of client latency",
        figure: "client/clat_ms/p99",
        note: "",
    },
    PlannedChart::Percentiles {
        id: "clat-percentiles",
        title: "Client latency percentiles",
        note: "",
    },
    PlannedChart::Course(Course {
        id: "iops-over-time",
        title: "Client throughput over time",
        caption: "Operations completed in each second.",
        log: false,
        steps: false,
        values: |series| series.column("client_iops").to_vec(),
        column: "client_iops",
    }),
    PlannedChart::Course(Course {
        id: "p99-over-time",
        title: "99th percentile of client latency over time",
        caption: "Of each second's operations, in milliseconds; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.column("clat_p99_ms").to_vec(),
        column: "clat_p99_ms",
    }),
    PlannedChart::Course(Course {
        id: "background-over-time",
        title: "Background throughput over time",
        caption: "Operations completed in each second.",
        log: false,
        steps: false,
        values: |series| series.column("background_iops").to_vec(),
        column: "background_iops",
    }),
];

/// The answer in a few sentences: the shortest tail, what it costs the background work, and what each setup did.
fn sentences(result: &StudyResult) -> Vec<String> {
    const P99: &str = "client/clat_ms/p99";
    let Some((first, others)) = result.setups.split_first() else { return Vec::new() };
    // Under who has none the client was served nothing.
    let tail = |setup: &'_ SetupResult| Some((setup.figure(P99)?, quoted(setup.name())));
    let mut by_tail: Vec<(f64, String)> = result.setups.iter().filter_map(tail).collect();
    by_tail.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut sentences = Vec::new();
    if let (Some((least, best)), Some((most, worst))) = (by_tail.first(), by_tail.last()) {
        sentences.push(format!(
            "The client's 99th percentile is shortest under {best}, {} ms, and longest under {worst}, {} ms.",
            plain(*least),
            plain(*most)
        ));
    }
    for setup in others {
        let change = |figure: &str| {
            let both = setup.figure(figure).zip(first.figure(figure));
            let change = both.and_then(|(ours, firsts)| difference(ours, firsts));
            change.unwrap_or_else(|| "not to be compared".to_owned())
        };
        sentences.push(format!(
            "{} against {}: client IOPS {}, 99th percentile {}, background rate {}.",
            quoted(setup.name()),
            quoted(first.name()),
            change("client/iops"),
            change(P99),
            change("background/mib_per_s")
        ));
    }
    sentences
}
