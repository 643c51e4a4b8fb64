//! A checkpoint study as it is meant: everything looked up, checked and ready to run.

use super::drive::StoreDrive;
use super::file::{StoreSection, WorkSection};
use crate::place::Place;
use crate::result::Configuration;
use loadline_base::Span;
use loadline_cluster::Config;
use loadline_load::puts::{PutKind, PutSpec};
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{LogMode, Protection};

/// The steps of a checkpoint study, with what is set in them.
#[derive(Clone, Debug)]
pub(super) struct CheckpointStudy {
    pub(super) drive_name: String,
    pub(super) drive: StoreDrive,
    pub(super) work: WorkSection,
    /// The store, at scale 1.
    pub(super) store: StoreSection,
    pub(super) load: PutSpec,
    /// The one OSD, without seeds.
    pub(super) osd: Config,
    pub(super) profile: String,
    pub(super) setups: Vec<CheckpointSetup>,
    pub(super) place: Place,
}

impl CheckpointStudy {
    /// What figures by the second are counted by: on a real disk a second, in the simulated world one of the published node.
    pub(super) fn second(&self) -> Span {
        match self.place {
            Place::Sim => self.stretch(),
            Place::Host(_) | Place::Ceph(_) => Span::from_secs(1),
        }
    }

    /// What the lowest second is counted by, on any disk: a second of the published node, shrunk as the periods are. A longer one would put whole
    /// checkpoints into each, and none would be low.
    pub(super) fn stretch(&self) -> Span {
        self.work.scaled_span(Span::from_secs(1))
    }

    /// How many [seconds](Self::second) so many periods are.
    pub(super) fn seconds(&self, periods: u32) -> u64 {
        let published = self.work.period.as_secs_f64() * f64::from(periods);
        let seconds = match self.place {
            Place::Sim => published,
            Place::Host(_) | Place::Ceph(_) => published * self.work.scale,
        };
        match periods {
            0 => 0,
            _ => (seconds.round() as u64).max(1),
        }
    }
}

/// One configuration under test.
#[derive(Clone, Debug)]
pub(super) struct CheckpointSetup {
    pub(super) configuration: Configuration,
    /// Where images go.
    pub(super) protection: Protection,
    /// When a put is answered.
    pub(super) log_mode: LogMode,
    /// How images are stored.
    pub(super) compression: Compression,
    /// What a put is to the store.
    pub(super) puts: PutKind,
    /// How puts are slowed down.
    pub(super) throttle: ThrottlePolicy,
}

impl WorkSection {
    /// A number of keys or bytes at this scale.
    pub(super) fn scaled(&self, amount: u64) -> u64 {
        ((amount as f64 * self.scale).round() as u64).max(1)
    }

    /// A length of time at this scale.
    pub(super) fn scaled_span(&self, span: Span) -> Span {
        Span::from_nanos(self.scaled(span.nanos()))
    }
}
