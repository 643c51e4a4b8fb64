//! Checkpoint studies: what the checkpoints of an OSD's store cost its clients, under both protections (checkpoint.md 14).
//!
//! One published server node is modelled, smaller by the study's scale: keys, memory, log and the checkpoint's period
//! shrink together, rates and speeds stay. So the ratios of pages to updates and of checkpoint time to period stay too.
//!
//! The steps (`run`) are taken on a `StoreMachine`: a node in virtual time on a modelled drive, or a store embedded in this process, on a
//! real disk. `script` tells of both.

mod doubts;
mod drive;
mod embedded;
pub(crate) mod figures;
mod file;
mod keys;
mod layout;
mod machine;
mod read;
mod run;
mod script;
mod simulated;
mod study;

pub use keys::CHECKPOINT_KEYS;
pub use read::SHIPPED_DEFAULT;

use crate::declared::Declared;
use crate::shelf::Shelf;

/// Why it does not run on a Ceph cluster.
const NOT_ON_CEPH: &str =
    "a Ceph cluster has another store: take this study in the simulated world or on a disk";

/// The kind `checkpoint`.
pub(crate) const DECLARED: Declared = Declared {
    drives: Shelf::StoreDrives,
    read: read::read,
    named_in: read::named_in,
    // A smaller store would show other ratios.
    quick: |inputs| {
        let periods = read::read_file(&inputs.study, &inputs.place, &[])?.work.periods;
        Ok(("periods", (periods / 4).max(2).to_string()))
    },
    template: include_str!("../../new/checkpoint.toml"),
    not_on_disks: None,
    not_on_ceph: Some(NOT_ON_CEPH),
    not_traced: Some(
        "a checkpoint study's puts are no ops on objects, whose stages a trace shows: leave --trace out",
    ),
};
