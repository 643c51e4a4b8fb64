//! A node that is a part of another program: a test, a benchmark, a study's.

use super::budget::MemoryPlan;
use super::config::{DiskSpec, EngineConfig, NbdSpec};
use super::doors::DoorLimits;
use crate::{BackendChoice, Direct, Discards, ListenAt};
use loadline_base::{Bytes, WallClock};
use loadline_cluster::settings::{DriveLimits, SettingsChange};
use loadline_device::Medium;
use loadline_osd::OsdSet;
use loadline_qos::LOADLINE_PRESET;
use loadline_store::paged::{LogMode, Protection};
use std::num::NonZeroUsize;
use std::path::PathBuf;

impl EngineConfig {
    /// A node inside of another program: it is met at this socket alone and by [`DirectClient`](crate::DirectClient)s, hears no signals, has a pool of three
    /// copies without images, and memory for what anybody asks. Its disks are flash, under the `loadline` preset.
    pub fn inside(admin: PathBuf, disks: Vec<DiskSpec>, cache: Bytes) -> EngineConfig {
        EngineConfig {
            memory: MemoryPlan::enough(disks.len() as u32, cache).memory,
            cache,
            disks,
            disks_file: None,
            copies: 3,
            pgs: None,
            object_bytes: Bytes::from_mib(4),
            placement_seed: 0,
            images: Vec::new(),
            nbd: NbdSpec::default(),
            vhost: Vec::new(),
            admin: ListenAt::Unix(admin),
            page: None,
            medium: Medium::Ssd,
            preset: LOADLINE_PRESET,
            settings: SettingsChange::default(),
            drive_limits: DriveLimits::default(),
            loops: NonZeroUsize::MIN,
            doors: DoorLimits::default(),
            socket_mode: 0o600,
            log_mode: LogMode::LogOnly,
            protection: Protection::Checkpoint,
            direct: Direct::Auto,
            discards: Discards::Keep,
            backend: BackendChoice::default(),
            stop_on_signals: false,
            format_empty: false,
            give_up: OsdSet::EMPTY,
            clock: WallClock::default(),
        }
    }
}
