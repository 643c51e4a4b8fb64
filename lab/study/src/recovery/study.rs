//! A recovery study as it is meant.

use super::file::{Companions, NeighbourSection, StoreKind};
use super::setup::ClusterShape;
use super::setup::RecoverySetup;
use crate::place::Place;
use loadline_base::{Bytes, Span};
use loadline_load::LoadSpec;
use loadline_sim::{Drive, SimHost};

/// The steps of a recovery study, with what is set in them.
#[derive(Clone, Debug)]
pub struct RecoveryStudy {
    pub(crate) drive: Drive,
    pub(crate) cluster: ClusterShape,
    /// What a simulated OSD stands on.
    pub(crate) store: StoreKind,
    /// What simulated OSDs share.
    pub(crate) host: SimHost,
    /// Whether it is the twin of a node on this machine's disks: its stores are set as that one's.
    pub(crate) is_twin: bool,
    pub(crate) steps: RecoverySteps,
    /// What the clients do.
    pub(crate) load: LoadSpec,
    /// Images that setups may have beside the clients' own, each with what its clients do.
    pub(crate) neighbours: Vec<NeighbourSection>,
    pub(crate) companions: Companions,
    pub(crate) setups: Vec<RecoverySetup>,
    /// What cannot be there as it was meant, as sentences.
    pub(crate) left_out: Vec<String>,
    /// Where it runs.
    pub(crate) place: Place,
}

/// The steps of a recovery study (qos.md 13.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecoverySteps {
    /// Share of the published amount of work; 1.0 is all of it.
    pub scale: f64,
    /// Objects written while an OSD is away, at scale 1.
    pub objects: u64,
    /// Size of each.
    pub object_size: Bytes,
    /// Length of the run without recovery, at scale 1.
    pub baseline: Span,
    /// The time from a run's beginning that is told apart from the whole, at scale 1.
    pub first: Option<Span>,
    /// Simulated time after which a recovery that has not ended is given up.
    pub limit: Span,
}
