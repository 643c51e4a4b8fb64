//! Charts of clients on an image, the same on the sheet of every study that has them.

use super::parts::{Course, PlannedChart};

pub(super) const IOPS: PlannedChart = PlannedChart::Bars {
    id: "client-iops",
    title: "Mean client throughput",
    figure: "client/iops",
    note: "",
};

pub(super) const MEAN: PlannedChart = PlannedChart::Bars {
    id: "clat-mean",
    title: "Mean client latency",
    figure: "client/clat_ms/mean",
    note: "",
};

pub(super) const MEAN_OVER_TIME: PlannedChart = PlannedChart::Course(Course {
    id: "clat-mean-over-time",
    title: "Mean latency over time",
    caption: "Mean completion latency of each second; logarithmic axis. A line ends where its \
              clients end.",
    log: true,
    steps: false,
    values: |series| series.column("clat_mean_ms").to_vec(),
    column: "clat_mean_ms",
});

pub(super) const P99_OVER_TIME: PlannedChart = PlannedChart::Course(Course {
    id: "clat-p99-over-time",
    title: "99th percentile of latency over time",
    caption: "99th percentile of each second's completions; logarithmic axis.",
    log: true,
    steps: false,
    values: |series| series.column("clat_p99_ms").to_vec(),
    column: "clat_p99_ms",
});

pub(super) const IOPS_OVER_TIME: PlannedChart = PlannedChart::Course(Course {
    id: "client-iops-over-time",
    title: "Client throughput over time",
    caption: "Client operations completed in each second.",
    log: false,
    steps: false,
    values: |series| series.column("client_iops").to_vec(),
    column: "client_iops",
});
