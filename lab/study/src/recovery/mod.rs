//! Recovery studies: what clients see while an OSD that returns is filled, and what recovery reaches (qos.md 13.1).

pub(crate) mod figures;
mod file;
mod host;
mod read;
mod script;
mod study;

// One configuration under test.
mod setup;

// The steps, what a testbed is made of for them, and what is said of this machine's disks.
mod as_twin;
mod described;
mod dry;
mod run;
mod stood;
mod work;

// What a Ceph cluster's options come to, and what other tools study on one.
mod import;
mod of_options;

// What a drive file's service time must be, by a published baseline.
mod calibrate;

pub use calibrate::{Calibrated, calibrate};
pub use file::STUDY_KEYS;
pub use import::{CbtImport, IMPORTED_DRIVE, ImportNote, ImportedStudy};
pub use study::RecoveryStudy;

use crate::declared::Declared;
use crate::shelf::Shelf;

/// The kind `recovery`.
pub(crate) const DECLARED: Declared = Declared {
    drives: Shelf::Drives,
    read: RecoveryStudy::read,
    named_in: read::named_in,
    quick: |inputs| {
        let file = read::read_file(&inputs.study, &inputs.overrides)?;
        let scale = inputs.quick_scale(file.cluster.store == file::StoreKind::Paged, 0.1);
        Ok(("scale", scale.to_string()))
    },
    template: include_str!("../../new/recovery.toml"),
    not_on_disks: None,
    not_on_ceph: None,
    not_traced: None,
};
