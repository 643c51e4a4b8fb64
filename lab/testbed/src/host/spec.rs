//! What a node of a run is made of.

use super::ground::{GroundOf, RunGround};
use crate::TestImage;
use crate::place::HostPlace;
use loadline_base::{Bytes, Span};
use loadline_cluster::settings::SettingsChange;
use loadline_device::Medium;
use loadline_qos::Preset;
use loadline_store::paged::{LogMode, Protection};
use std::ops::Range;

/// What a node is made of.
#[derive(Clone, Debug)]
pub struct HostedSpec {
    /// Its disks and its clients.
    pub place: HostPlace,
    /// OSDs, a disk each.
    pub osds: u32,
    /// Size of each disk.
    pub osd_size: Bytes,
    /// Copies of each object.
    pub copies: u32,
    /// Placement groups of each pool.
    pub pgs: u32,
    /// Size of each object.
    pub object_size: Bytes,
    /// The images with their clients.
    pub images: Vec<TestImage>,
    /// Which defaults the disks get.
    pub medium: Medium,
    /// The behaviour.
    pub preset: Preset,
    /// Everything that is stored before the node starts.
    pub settings: SettingsChange,
    /// Decides where placement groups fall.
    pub placement_seed: u64,
    /// Of the load and of what is written.
    pub seed: u64,
    /// Which ops of the first image have their stages traced, counted from the beginning of its load.
    pub traced: Option<Range<u64>>,
}

impl HostedSpec {
    /// What its OSDs stand on.
    pub(super) fn ground(&self) -> RunGround<'_> {
        RunGround { place: &self.place, disks: self.osds, size: self.osd_size, of: GroundOf::Osds }
    }
}

/// A small recovery lasts a second or two.
pub(super) const TICK: Span = Span::from_millis(20);

/// When a write is answered, and how a torn checkpoint is made whole: what `loadline serve` does by itself.
pub(super) const LOG_MODE: LogMode = LogMode::LogOnly;

pub(super) const PROTECTION: Protection = Protection::Checkpoint;

/// Memory of each OSD for pages: less than the smallest image takes, so that reads of a study may miss.
pub(super) const NODE_CACHE: Bytes = Bytes::from_mib(128);
