//! Studies of background services: what clients see while OSDs scrub a pool, trim a removed snapshot, delete a removed pool, or recover, each
//! alone or several at a time, and how long each of them takes (scrub.md 8).

pub(crate) mod figures;
mod file;
mod read;
mod script;
mod setup;
mod study;

// The steps, and what a testbed is made of for them.
mod course;
mod run;
mod windows;
mod work;

pub use file::SERVICES_KEYS;

use crate::declared::Declared;
use crate::shelf::Shelf;
use study::ServicesStudy;

/// The kind `services`.
pub(crate) const DECLARED: Declared = Declared {
    drives: Shelf::Drives,
    read: ServicesStudy::read,
    named_in: read::named_in,
    quick: read::quick,
    template: include_str!("../../new/services.toml"),
    not_on_disks: None,
    not_on_ceph: None,
    not_traced: None,
};
