//! Studies of duration limits: what the scheduler before a drive, the limits inside it, and both together do for clients
//! that read beside background work.
//!
//! One OSD stands on a mechanical drive. A client reads in one loop, background work of class *best effort* in another;
//! both pass the OSD's queue and the window before the drive. Nothing is published to compare with.

pub(crate) mod figures;
mod file;
mod keys;
mod read;
mod run;
mod script;
mod setup;
mod study;

pub use keys::LIMITS_KEYS;
pub(crate) use study::LimitsStudy;

use crate::declared::Declared;
use crate::shelf::Shelf;
use loadline_base::Span;

/// The kind `limits`.
pub(crate) const DECLARED: Declared = Declared {
    drives: Shelf::Drives,
    read: LimitsStudy::read,
    named_in: read::named_in,
    quick: |inputs| {
        let measured = read::read_file(&inputs.study, &[])?.steps.measured;
        Ok(("measured", (measured / 10).max(Span::from_secs(1)).to_string()))
    },
    template: include_str!("../../new/limits.toml"),
    not_on_disks: Some(
        "what a duration limit does is modelled, and a run of the engine on files has none to show; \
         measure a real drive with `loadline cdl bench`, and leave --on out",
    ),
    not_on_ceph: Some(
        "a Ceph cluster has none of these limits: take this study in the simulated world",
    ),
    not_traced: None,
};
