//! A checkpoint study as it is meant: everything looked up, checked and ready to run.

use super::drive::StoreDrive;
use super::file::{StoreSection, WorkSection};
use crate::result::Configuration;
use loadline_base::Span;
use loadline_cluster::Config;
use loadline_load::puts::PutSpec;
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

    /// What a second of the published node is here.
    pub(super) fn second(&self) -> Span {
        self.scaled_span(Span::from_secs(1))
    }
}
