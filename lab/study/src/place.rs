//! Where a study runs: in the simulated world, or on files or block devices of this machine.

use loadline_testbed::HostPlace;
use serde::{Deserialize, Serialize};

/// Where a study runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The simulated world: virtual time, modelled drives.
    #[default]
    Sim,
    /// This machine: real time, real disks.
    Host(HostPlace),
}

impl Place {
    /// What results depend on, as text; `None` in the simulated world.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Place::Sim => None,
            Place::Host(place) => Some(place.identity()),
        }
    }
}
