//! A services study as it is meant.

use super::file::{MissedSection, PoolSection, TimesSection, TrimSection};
use super::setup::ServicesSetup;
use crate::place::Place;
use loadline_cluster::Placement;
use loadline_load::LoadSpec;
use loadline_sim::Drive;

/// The steps of a services study, with what is set in them.
#[derive(Clone, Debug)]
pub(crate) struct ServicesStudy {
    pub(super) drive: Drive,
    pub(super) cluster: ServicesCluster,
    pub(super) steps: ServicesSteps,
    /// What the clients do.
    pub(super) load: LoadSpec,
    pub(super) setups: Vec<ServicesSetup>,
    /// What cannot be there as it was meant, as sentences.
    pub(super) left_out: Vec<String>,
    /// Where it runs.
    pub(super) place: Place,
}

/// How many OSDs, copies and groups there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServicesCluster {
    pub osds: u32,
    pub copies: u32,
    /// Placement groups of each pool.
    pub pgs: u32,
    pub placement: Placement,
}

/// Which services run and how long, with the amounts at scale 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServicesSteps {
    /// Share of the published amounts and times; 1.0 is all of them.
    pub scale: f64,
    pub times: TimesSection,
    pub scrub: Option<PoolSection>,
    pub trim: Option<TrimSection>,
    pub removal: Option<PoolSection>,
    pub recovery: Option<MissedSection>,
}
