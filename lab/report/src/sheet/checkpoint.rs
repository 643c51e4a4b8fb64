//! Checkpoint studies: throughput, latency, buffer, checkpoints and throttle over time, and bytes by kind.

use super::parts::{Course, PlannedChart, Sheet};
use super::trades;
use loadline_draw::number::{percent, plain};
use loadline_study::{Figures, Series, StudyResult, quoted};

pub(super) const SHEET: Sheet = Sheet {
    charts: &CHARTS,
    columns: &[
        "puts_per_s",
        "clat_mean_ms",
        "clat_p99_ms",
        "dirty_pages",
        "buffer_share",
        "throttle_us_per_put",
        "log_mib_per_s",
        "recovery_mib_per_s",
        "home_mib_per_s",
    ],
    background: None,
    trades: &trades::CHECKPOINT,
    sentences,
    verdicts: |_| Vec::new(),
};

const CHARTS: [PlannedChart; 17] = [
    PlannedChart::Bars {
        id: "throughput",
        title: "Throughput",
        figure: "client/puts_per_s",
        note: "",
    },
    PlannedChart::Bars {
        id: "the-lowest-second",
        title: "The lowest second",
        figure: "client/lowest_second_share",
        note: "Puts of the second with the fewest over those of the median second: 1 is a steady store, 0 one that stood still.",
    },
    PlannedChart::Bars {
        id: "log-bytes-per-put",
        title: "Log bytes per put",
        figure: "checkpoint/log_bytes_per_put",
        note: "Images and edits included.",
    },
    PlannedChart::Bars {
        id: "recovery-data-per-page",
        title: "Recovery data per page",
        figure: "checkpoint/recovery_bytes_per_page",
        note: "Bytes of image that a checkpoint writes per page.",
    },
    PlannedChart::Percentiles { id: "latency-percentiles", title: "Latency percentiles", note: "" },
    PlannedChart::Stacks {
        id: "disk-bytes",
        title: "Bytes at the drive, by kind",
        caption: "Bytes per put: records of puts, images and edits in the log, its blocks that were written again as they filled, \
                  recovery data, pages written home, and pages read back.",
        unit: "bytes per put",
        parts: &[
            ("puts in the log", |of| {
                per_put(of, count(of, "log_bytes") - count(of, "log_physical_bytes"))
            }),
            ("images and edits", |of| per_put(of, count(of, "log_physical_bytes"))),
            ("blocks again", |of| {
                per_put(of, (count(of, "log_device_bytes") - count(of, "log_bytes")).max(0.0))
            }),
            ("recovery data", |of| per_put(of, count(of, "recovery_data_bytes"))),
            ("pages", |of| per_put(of, count(of, "page_bytes"))),
            ("reads", |of| per_put(of, count(of, "read_bytes"))),
        ],
    },
    PlannedChart::Stacks {
        id: "checkpoint-steps",
        title: "Steps of a checkpoint",
        caption: "Mean over the checkpoints of the window, in milliseconds of the world's time.",
        unit: "ms",
        parts: &[
            ("log", |of| step(of, "log_sync")),
            ("recovery data", |of| step(of, "recovery_data_write")),
            ("begin marker", |of| step(of, "write_entry")),
            ("pages", |of| step(of, "pages_write")),
            ("sync and end", |of| step(of, "sync")),
        ],
    },
    PlannedChart::Course(Course {
        id: "puts-over-time",
        title: "Throughput over time",
        caption: "Puts answered per second, in each second; in the simulated world a second of the published node.",
        log: false,
        steps: false,
        values: |series| series.column("puts_per_s").to_vec(),
        column: "puts_per_s",
    }),
    PlannedChart::Course(Course {
        id: "latency-over-time",
        title: "Mean latency over time",
        caption: "Mean completion latency of each second in milliseconds; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.column("clat_mean_ms").to_vec(),
        column: "clat_mean_ms",
    }),
    PlannedChart::Course(Course {
        id: "p99-over-time",
        title: "99th percentile of latency over time",
        caption: "Of each second's puts, in milliseconds; logarithmic axis.",
        log: true,
        steps: false,
        values: |series| series.column("clat_p99_ms").to_vec(),
        column: "clat_p99_ms",
    }),
    PlannedChart::Course(Course {
        id: "buffer-over-time",
        title: "Old versions in their buffer",
        caption: "Percent of the slots in use at the end of each second. At 100 puts that need one wait.",
        log: false,
        steps: false,
        values: |series| {
            let shares = series.column("buffer_share").iter();
            shares.map(|share| share.map(|share| share * 100.0)).collect()
        },
        column: "",
    }),
    PlannedChart::Course(Course {
        id: "dirty-pages-over-time",
        title: "Dirty pages",
        caption: "Pages that have changed since the last checkpoint's instant, at the end of each second.",
        log: false,
        steps: false,
        values: |series| series.column("dirty_pages").to_vec(),
        column: "dirty_pages",
    }),
    PlannedChart::Course(Course {
        id: "pages-per-checkpoint",
        title: "Pages per checkpoint",
        caption: "Pages of the checkpoint that began last. Each step is a checkpoint.",
        log: false,
        steps: true,
        values: pages_per_checkpoint,
        column: "",
    }),
    PlannedChart::Course(Course {
        id: "throttle-over-time",
        title: "Time given to the throttle",
        caption: "Microseconds of sleep handed out per put, in each second.",
        log: false,
        steps: false,
        values: |series| series.column("throttle_us_per_put").to_vec(),
        column: "throttle_us_per_put",
    }),
    PlannedChart::Course(Course {
        id: "log-over-time",
        title: "Log over time",
        caption: "MiB of log records in each second, images and edits included.",
        log: false,
        steps: false,
        values: |series| series.column("log_mib_per_s").to_vec(),
        column: "log_mib_per_s",
    }),
    PlannedChart::Course(Course {
        id: "recovery-data-over-time",
        title: "Recovery data over time",
        caption: "MiB of images that checkpoints wrote in each second.",
        log: false,
        steps: false,
        values: |series| series.column("recovery_mib_per_s").to_vec(),
        column: "recovery_mib_per_s",
    }),
    PlannedChart::Course(Course {
        id: "pages-home-over-time",
        title: "Pages written home over time",
        caption: "MiB of pages that checkpoints wrote home in each second.",
        log: false,
        steps: false,
        values: |series| series.column("home_mib_per_s").to_vec(),
        column: "home_mib_per_s",
    }),
];

fn count(of: &Figures, name: &str) -> f64 {
    of.get(&format!("checkpoint/{name}")).unwrap_or(0.0)
}

fn per_put(of: &Figures, bytes: f64) -> Option<f64> {
    let puts = count(of, "puts");
    (puts > 0.0).then(|| bytes / puts)
}

fn step(of: &Figures, name: &str) -> Option<f64> {
    (count(of, "checkpoints") > 0.0).then(|| count(of, &format!("durations_ms/{name}")))
}

fn pages_per_checkpoint(series: &Series) -> Vec<Option<f64>> {
    let of = |second: &f64| {
        let begun = series.checkpoints.iter().take_while(|point| point.t_s < second + 1.0);
        begun.last().map(|point| point.pages as f64)
    };
    series.t_s.iter().map(of).collect()
}

/// The answer in a few sentences: who is fastest, who is steadiest, who writes least.
fn sentences(result: &StudyResult) -> Vec<String> {
    let of = |figure: &str| -> Vec<(String, f64)> {
        let setups = result.setups.iter();
        let mut found: Vec<(String, f64)> =
            setups.filter_map(|it| Some((quoted(it.name()), it.figure(figure)?))).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    };
    let mut sentences = Vec::new();
    let puts = of("client/puts_per_s");
    if let (Some(first), Some(last)) = (puts.first(), puts.last())
        && first.1 > last.1 * 1.01
    {
        let (most, least) = (plain(first.1), plain(last.1));
        sentences.push(format!(
            "Most puts per second: {most} under {}; fewest: {least} under {}.",
            first.0, last.0
        ));
    }
    let lowest = of("client/lowest_second_share");
    if let (Some(first), Some(last)) = (lowest.first(), lowest.last()) {
        sentences.push(format!(
            "The slowest second keeps {} of the median under {} and {} under {}.",
            percent(first.1),
            first.0,
            percent(last.1),
            last.0
        ));
    }
    let bytes = of("checkpoint/log_and_recovery_bytes_per_put");
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
