//! The figures of a recovery study.

use crate::client_figures as clients;
use crate::figure::Better::{Down, Neither, Up};
use crate::figure::{Figure, Print};

/// Those that tell a run in a few words.
pub(crate) const CHIEF: [&str; 4] =
    ["client/iops", "client/clat_ms/mean", "recovery/objects_per_s", "recovery/seconds"];

/// Every figure, in the order of the tables.
pub(crate) const FIGURES: [Figure; 28] = [
    Figure::new(
        "client/iops",
        ("client", "IOPS"),
        Up,
        "client operations completed in the measured window / length of the window",
    ),
    clients::SHARE_OF_BASELINE,
    clients::MEAN,
    clients::P95,
    clients::P99,
    clients::P99_5,
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
        "recovery/drive_busy",
        ("drive", "busy"),
        Neither,
        "the share of the recovery time in which the returning OSD's drive had something to do",
    )
    .printed(Print::Percent)
    .optional()
    .on_page(),
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
    clients::P50,
    clients::P99_9,
    clients::MAX,
    clients::SECONDS,
    Figure::data("client/amid/iops", "client operations completed while the copies went from 10 to 90 % of all / that time"),
    Figure::data("client/amid/p99_ms", "p99 of the same operations / ms"),
    Figure::data("recovery/first_copy_s", "from the answer to `osd in` until the look before the first copy / s"),
    Figure::data("recovery/told_after_s", "from the last copy until the cluster said that all is clean / s"),
    clients::OSD_QUEUE,
    clients::OSD_COMMIT,
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
        "the share of what a second of the clients', or of one of the images', counts as kept from that did not complete in the worst one",
    )
    .printed(Print::Percent)
    .concluded_of_the_worst()
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
