//! Figures of clients on an image, the same for every study that has them.

use crate::figure::Better::{Down, Up};
use crate::figure::{Figure, Print};

/// A setup's rate beside that of the first without background work.
pub(crate) const SHARE_OF_BASELINE: Figure = Figure::new(
    "share_of_baseline",
    ("share of", "baseline"),
    Up,
    "client IOPS of the setup / client IOPS of the baseline",
)
.printed(Print::Percent)
.concluded();

pub(crate) const MEAN: Figure = Figure::new(
    "client/clat_ms/mean",
    ("mean", "ms"),
    Down,
    "sum of completion latencies / client operations completed; closed loop: from \
     submission to completion, open loop: from the intended start to completion",
);

pub(crate) const P95: Figure = Figure::new(
    "client/clat_ms/p95",
    ("p95", "ms"),
    Down,
    "the smallest latency that at least 95 % of the client operations stayed at or below",
);

pub(crate) const P99: Figure =
    Figure::new("client/clat_ms/p99", ("p99", "ms"), Down, "the same for 99 %");

pub(crate) const P99_5: Figure =
    Figure::new("client/clat_ms/p99.5", ("p99.5", "ms"), Down, "the same for 99.5 %");

pub(crate) const P50: Figure =
    Figure::data("client/clat_ms/p50", "the same as p95 for half of the operations");

pub(crate) const P99_9: Figure = Figure::data("client/clat_ms/p99.9", "the same for 99.9 %");

pub(crate) const MAX: Figure = Figure::data("client/clat_ms/max", "the slowest operation");

/// What the OSDs of a system that is asked from outside tell of their work beside the clients'.
pub(crate) const OSD_QUEUE: Figure = Figure::data(
    "osd/queue_ms",
    "time in the scheduler over its items, of all classes and of what was queued again / ms",
);

pub(crate) const OSD_COMMIT: Figure = Figure::data(
    "osd/commit_ms",
    "time of the stores' transactions until they are durable over their number / ms",
);

pub(crate) const SECONDS: Figure = Figure::data("client/seconds", "how long clients went on (s)");
