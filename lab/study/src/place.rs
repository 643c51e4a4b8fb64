//! Where a study runs: in the simulated world, on files or block devices of this machine, or on a Ceph cluster.

use loadline_testbed::{CephTestPlace, HostPlace};
use serde::{Deserialize, Serialize};

/// How results call the world of a Ceph cluster.
pub(crate) const CEPH: &str = "ceph";

/// Where a study runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The simulated world: virtual time, modelled drives.
    #[default]
    Sim,
    /// This machine: real time, real disks.
    Host(HostPlace),
    /// A Ceph cluster: real time, somebody else's disks.
    Ceph(CephTestPlace),
}

impl Place {
    /// What results depend on, as text; `None` in the simulated world.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Place::Sim => None,
            Place::Host(place) => Some(place.identity()),
            Place::Ceph(place) => Some(place.identity()),
        }
    }

    /// The word that results keep for it.
    pub fn world(&self) -> &'static str {
        match self {
            Place::Sim => "sim",
            Place::Host(_) => "host",
            Place::Ceph(_) => CEPH,
        }
    }
}
