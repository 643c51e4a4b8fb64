//! The figures of a recovery study.

use crate::figure::Better::{Down, Neither, Up};
use crate::figure::{Figure, Print};

/// Those that tell a run in a few words.
pub(crate) const CHIEF: [&str; 4] =
    ["client/iops", "client/clat_ms/mean", "recovery/objects_per_s", "recovery/seconds"];

/// Every figure, in the order of the tables.
pub(crate) const FIGURES: [Figure; 21] = [
    Figure::new(
        "client/iops",
        ("client", "IOPS"),
        Up,
        "client operations completed in the measured window / length of the window",
    ),
    Figure::new(
        "share_of_baseline",
        ("share of", "baseline"),
        Up,
        "client IOPS of the setup / client IOPS of the baseline",
    )
    .printed(Print::Percent)
    .concluded(),
    Figure::new(
        "client/clat_ms/mean",
        ("mean", "ms"),
        Down,
        "sum of completion latencies / client operations completed; closed loop: from \
         submission to completion, open loop: from the intended start to completion",
    ),
    Figure::new(
        "client/clat_ms/p95",
        ("p95", "ms"),
        Down,
        "the smallest latency that at least 95 % of the client operations stayed at or below",
    ),
    Figure::new("client/clat_ms/p99", ("p99", "ms"), Down, "the same for 99 %"),
    Figure::new("client/clat_ms/p99.5", ("p99.5", "ms"), Down, "the same for 99.5 %"),
    Figure::new(
        "recovery/objects_per_s",
        ("recovery", "objects/s"),
        Up,
        "(misplaced objects at the start − misplaced objects at the end) / recovery time",
    ),
    Figure::new(
        "recovery/mib_per_s",
        ("recovery", "MiB/s"),
        Up,
        "objects per second × object size",
    ),
    Figure::new(
        "recovery/seconds",
        ("recovery", "time"),
        Down,
        "from marking the OSD up and in until no object is misplaced",
    )
    .printed(Print::Seconds)
    .growing(),
    Figure::data("recovery/objects", "objects that were misplaced or degraded at the start")
        .printed(Print::Count)
        .growing(),
    Figure::new(
        "client/clat_ms/first",
        ("first mean", "ms"),
        Down,
        "mean completion latency in the whole seconds of the study's first time, before any shard has run out of objects",
    )
    .on_page(),
    Figure::new(
        "recovery/first_objects_per_s",
        ("first rate", "objects/s"),
        Up,
        "objects brought to their places in the same seconds / their number",
    )
    .on_page(),
    Figure::data("client/clat_ms/p50", "the same as p95 for half of the operations"),
    Figure::data("client/clat_ms/p99.9", "the same for 99.9 %"),
    Figure::data("client/clat_ms/max", "the slowest operation"),
    Figure::data("client/seconds", "how long clients went on (s)"),
    Figure::data("neighbours/iops", "operations of the neighbours' clients completed / measured time"),
    Figure::data("neighbours/clat_ms/p99", "the longest p99 of a neighbour's clients"),
    Figure::data(
        "p99_beyond_alone_ms",
        "the clients' p99 / ms − their p99 in the first setup without neighbours and recovery",
    )
    .concluded(),
    Figure::new(
        "reservation/shortfall",
        ("reservation", "short"),
        Neither,
        "the share of what clients, or one of the images, were owed, end to end, that did not complete in the worst second",
    )
    .printed(Print::Percent)
    .concluded()
    .hidden(),
    Figure::new(
        "reservation/demand",
        ("reservation", "owed"),
        Neither,
        "what was owed of the clients' reservation, as a share",
    )
    .printed(Print::Percent)
    .concluded()
    .hidden(),
];
