//! A study in simulation as the twin of one on this machine's disks: what its runs found takes the place of the file's words.

use super::file::{StoreKind, StudyFile};
use super::host::SharedHostSection;
use crate::input::InputError;
use crate::inputs::Inputs;
use serde::Deserialize;

/// What real runs found of their machine (`twin.rs` writes it).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwinFile {
    capacity_iops: f64,
    host: SharedHostSection,
}

/// Makes the study's cluster the twin of a node on this machine's disks, if it is one; the answer is the capacity of its OSDs. What is set
/// counts all the same.
///
/// # Errors
/// [`InputError`] if what was found cannot be read.
pub(super) fn fit(file: &mut StudyFile, inputs: &Inputs) -> Result<Option<f64>, InputError> {
    let Some(source) = &inputs.twin else { return Ok(None) };
    let found: TwinFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let set = std::mem::take(&mut file.host);
    file.host = SharedHostSection {
        devices: set.devices,
        device_of: found.host.device_of,
        cores: set.cores.or(found.host.cores),
        one_thread: found.host.one_thread,
        round_spread: found.host.round_spread,
        cpu_per_op: set.cpu_per_op.or(found.host.cpu_per_op),
        cpu_per_mib: set.cpu_per_mib.or(found.host.cpu_per_mib),
        cpu_slice: set.cpu_slice.or(found.host.cpu_slice),
    };
    file.cluster.store = StoreKind::Paged;
    Ok(Some(found.capacity_iops))
}
