//! Studies of duration limits: what the scheduler before a drive, the limits inside it, and both together do for clients
//! that read beside background work.
//!
//! One OSD stands on a mechanical drive. A client reads in one loop, background work of class *best effort* in another;
//! both pass the OSD's queue and the window before the drive. Nothing is published to compare with.

mod file;
mod keys;
mod run;
mod setup;
mod study;

pub use keys::LIMITS_KEYS;
pub(crate) use study::LimitsStudy;

use crate::figure::Better::{Down, Up};
use crate::figure::Figure;
use crate::kind::Declared;
use crate::library::Shelf;
use loadline_base::Span;

/// The kind `limits`.
pub(crate) const DECLARED: Declared = Declared {
    figures: &FIGURES,
    chief: &["client/iops", "client/clat_ms/p99", "background/mib_per_s"],
    drives: Shelf::Drives,
    read: LimitsStudy::read,
    named_in: study::named_in,
    quick: |source| {
        let measured = study::read_file(source, &[])?.steps.measured;
        Ok(("measured", (measured / 10).max(Span::from_secs(1)).to_string()))
    },
    not_on_disks: Some(
        "what a duration limit does is modelled, and a run of the engine on files has none to show; \
         measure a real drive with `loadline cdl bench`, and leave --on out",
    ),
    not_traced: None,
};

const BACKGROUND: &str = "the same of the background operations";

const FIGURES: [Figure; 19] = [
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
