//! The figures of a study of services.

use crate::client_figures as clients;
use crate::figure::Better::{Down, Neither, Up};
use crate::figure::{Figure, Print};

/// Those that tell a run in a few words.
pub(crate) const CHIEF: [&str; 6] = [
    "client/iops",
    "client/clat_ms/p99",
    "scrub/seconds",
    "trim/seconds",
    "removal/seconds",
    "recovery/seconds",
];

const fn seconds(key: &'static str, name: &'static str, formula: &'static str) -> Figure {
    let time = Figure::new(key, (name, "time"), Down, formula).printed(Print::Seconds);
    time.growing().optional().of_an_end()
}

const fn rate(key: &'static str, name: &'static str, formula: &'static str) -> Figure {
    Figure::new(key, (name, "objects/s"), Up, formula).optional()
}

const fn idle(key: &'static str, name: &'static str, formula: &'static str) -> Figure {
    let share = Figure::new(key, (name, "of slots"), Neither, formula).printed(Print::Percent);
    share.optional().on_page()
}

const fn tail(key: &'static str, name: &'static str, formula: &'static str) -> Figure {
    Figure::new(key, (name, "ms"), Down, formula).optional()
}

/// Every figure, in the order of the tables.
pub(crate) const FIGURES: [Figure; 48] = [
    Figure::new(
        "client/iops",
        ("client", "IOPS"),
        Up,
        "client operations completed in the clients' time / length of that time",
    ),
    clients::SHARE_OF_BASELINE,
    clients::MEAN,
    clients::P95,
    clients::P99,
    clients::P99_5,
    tail(
        "alone/clat_ms/p99",
        "p99 alone",
        "the clients' p99 from their first operation until the services begin",
    )
    .on_page(),
    tail(
        "beside/clat_ms/p99",
        "p99 beside",
        "the longest of the clients' p99 beside the scrub, beside the trim and beside the removal",
    )
    .on_page(),
    seconds(
        "scrub/seconds",
        "scrub",
        "from the request until the last placement group has been compared",
    ),
    rate(
        "scrub/objects_per_s",
        "scrub",
        "objects compared, copies of one counted once / scrub time, or the time until the run's end",
    ),
    Figure::new(
        "scrub/slots_used",
        ("slots", "used"),
        Up,
        "mean over the scrub's time of placement groups with a slot on every copy / the most that slots allow, (OSDs × osd_max_scrubs) / copies in whole groups",
    )
    .printed(Print::Percent)
    .optional(),
    idle(
        "scrub/slots_waiting",
        "waiting",
        "the same of groups that have not begun though every copy has a slot beside those that have, one after the other in the order of their numbers",
    ),
    idle("scrub/slots_unfit", "unfit", "the same of slots for which some group has not begun, and each of these lacks one on some copy"),
    idle("scrub/slots_ending", "ending", "the same of slots for which every group has begun"),
    idle(
        "scrub/slots_reachable",
        "reachable",
        "what could be used at most if each group took equally long: groups / (the most at a time × rounds); rounds = the larger of groups / the most at a time and, of the OSD that has the most groups, its groups / osd_max_scrubs, both in whole rounds",
    ),
    Figure::new(
        "scrub/mib_per_s_of_pg",
        ("a PG's scrub", "MiB/s"),
        Up,
        "bytes of the objects compared, copies of one counted once / sum over the placement groups of the time for which each had its slots",
    )
    .on_page(),
    seconds(
        "trim/seconds",
        "trim",
        "from the snapshot's removal until no clone is kept for it",
    ),
    rate(
        "trim/objects_per_s",
        "trim",
        "clones given back, copies of one counted once / trim time, or the time until the run's end",
    ),
    seconds(
        "removal/seconds",
        "removal",
        "from the pool's removal until no copy of its objects is left",
    ),
    rate(
        "removal/objects_per_s",
        "removal",
        "objects gone, each copy counted / removal time, or the time until the run's end",
    ),
    seconds(
        "recovery/seconds",
        "recovery",
        "from marking the OSD up and in until no object is misplaced",
    ),
    rate(
        "recovery/objects_per_s",
        "recovery",
        "(misplaced objects at the start − misplaced objects left) / recovery time, or the time until the run's end",
    ),
    Figure::data("scrub/objects", "objects that were to be compared").printed(Print::Count).growing(),
    Figure::data("scrub/objects_left", "those that were left at the run's end").printed(Print::Count),
    Figure::data("trim/objects", "clones that were kept for the snapshot")
        .printed(Print::Count)
        .growing(),
    Figure::data("trim/objects_left", "those that were left at the run's end").printed(Print::Count),
    Figure::data("removal/objects", "objects of the removed pool, each copy counted")
        .printed(Print::Count)
        .growing(),
    Figure::data("removal/objects_left", "those that were left at the run's end")
        .printed(Print::Count),
    Figure::data("recovery/objects", "objects that were misplaced or degraded at the start")
        .printed(Print::Count)
        .growing(),
    Figure::data("recovery/objects_left", "those that were left at the run's end")
        .printed(Print::Count),
    tail("scrub/clat_ms/p99", "", "the clients' p99 from the beginning of the services to the scrub's end").hidden(),
    tail("trim/clat_ms/p99", "", "the same to the trim's end").hidden(),
    tail("removal/clat_ms/p99", "", "the same to the removal's end").hidden(),
    Figure::data("scrub/client_ops", "client operations completed in that time")
        .printed(Print::Count),
    Figure::data("trim/client_ops", "the same to the trim's end").printed(Print::Count),
    Figure::data("removal/client_ops", "the same to the removal's end").printed(Print::Count),
    Figure::data("alone/client_ops", "client operations completed before the services began")
        .printed(Print::Count),
    Figure::data("alone/seconds", "how long clients were there before the services began (s)"),
    Figure::data("beside/seconds", "from the beginning of the services until the last is over, or the clients' time is (s)"),
    Figure::data("services", "services that ran beside the clients").printed(Print::Count).concluded(),
    clients::P50,
    clients::P99_9,
    clients::MAX,
    clients::SECONDS,
    Figure::data("scrub/told_after_s", "from the end of the scrub until it was told / s"),
    Figure::data("trim/told_after_s", "the same of the trim / s"),
    clients::OSD_QUEUE,
    clients::OSD_COMMIT,
];
