//! The figures of a study of duration limits.

use crate::figure::Better::{Down, Up};
use crate::figure::Figure;

/// Those that tell a run in a few words.
pub(crate) const CHIEF: [&str; 3] = ["client/iops", "client/clat_ms/p99", "background/mib_per_s"];

const BACKGROUND: &str = "the same of the background operations";

/// Every figure, in the order of the tables.
pub(crate) const FIGURES: [Figure; 19] = [
    Figure::new(
        "client/iops",
        ("client", "IOPS"),
        Up,
        "client operations completed / measured time",
    ),
    Figure::new("client/mib_per_s", ("client", "MiB/s"), Up, "bytes of these / measured time"),
    Figure::new(
        "client/clat_ms/mean",
        ("mean", "ms"),
        Down,
        "sum of latencies / operations, from submission to completion at the client",
    ),
    Figure::new(
        "client/clat_ms/p50",
        ("p50", "ms"),
        Down,
        "the smallest latency that at least half of the operations stayed at or below",
    ),
    Figure::new("client/clat_ms/p95", ("p95", "ms"), Down, "the same for 95 %"),
    Figure::new("client/clat_ms/p99", ("p99", "ms"), Down, "the same for 99 %"),
    Figure::new("client/clat_ms/p99.9", ("p99.9", "ms"), Down, "the same for 99.9 %"),
    Figure::new("client/clat_ms/max", ("longest", "ms"), Down, "the slowest operation"),
    Figure::new(
        "background/mib_per_s",
        ("background", "MiB/s"),
        Up,
        "bytes of background operations completed / measured time",
    ),
    Figure::new("background/iops", ("background", "IOPS"), Up, BACKGROUND),
    Figure::new("background/clat_ms/mean", ("background mean", "ms"), Down, BACKGROUND),
    Figure::new("background/clat_ms/p99", ("background p99", "ms"), Down, BACKGROUND),
    Figure::new(
        "over_limit_per_s",
        ("ended for time", "1/s"),
        Down,
        "requests that the drive ended for time and carried out later / measured time",
    )
    .on_page(),
    Figure::data("client/clat_ms/p99.5", "the same for 99.5 %"),
    Figure::data("background/clat_ms/p50", BACKGROUND),
    Figure::data("background/clat_ms/p95", BACKGROUND),
    Figure::data("background/clat_ms/p99.5", BACKGROUND),
    Figure::data("background/clat_ms/p99.9", BACKGROUND),
    Figure::data("background/clat_ms/max", BACKGROUND),
];
