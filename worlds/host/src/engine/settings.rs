//! The node's settings, and what the engine is given of them.

use super::config::{DiskSpec, EngineConfig};
use crate::DriveFacts;
use loadline_base::{Bytes, WallClock};
use loadline_cluster::settings::{LeftOut, Refused, Scope, Settings};
use loadline_cluster::{Config, Placement};
use loadline_device::{ClassTag, Medium};
use loadline_osd::{OsdId, OsdOptions, Policy};
use loadline_qos::ServiceClass;
use loadline_store::WindowBounds;
use loadline_store::paged;
use std::collections::BTreeMap;

/// Ops that one OSD lets into its store at a time; more wait where the scheduler sees them.
const WINDOW_OPS: u32 = 64;
/// Their bytes, unless `bluestore_throttle_bytes` says otherwise: two whole objects. The studies' 256 KiB are for a device
/// that serves one request after the other; a real one has small ops done while an object is being pushed.
const WINDOW_BYTES: Bytes = Bytes::from_mib(8);

/// OSDs of one node get much the same updates, and their logs fill alike: their checkpoints would begin together.
const TRIGGER_SPREAD_PERCENT: u8 = 40;
/// Requests of checkpoints in flight on one flash drive: under random writes nearly each is one page, and the updates are paced by how
/// fast pages get home. OSDs that share a drive share them: four on one virtual disk had 128 there with 32 each, and the log's writes took
/// 1.6 ms beside them, 0.4 beside 32, at 90 % of the rate. A disk with an arm keeps the store's default, since more would only queue
/// before the clients' requests.
const FLASH_CHECKPOINT_WRITES: u32 = 32;

/// Blocks that flash drives and file systems on them write at the least. Measured with 4 KiB random overwrites: through the log 12.9 KB went to the drive for
/// each, its record, its image and its page, and 4.4 KB where the page goes to a fresh place and the log says which.
const PLACED_WRITE: Bytes = Bytes::from_kib(4);

/// All levels of all settings.
pub(super) struct NodeSettings {
    pub levels: Settings,
    /// What is stored and cannot stand here.
    pub left_out: Vec<LeftOut>,
    clock: WallClock,
}

impl NodeSettings {
    pub(super) fn new(config: &EngineConfig) -> Result<NodeSettings, Refused> {
        let media = vec![config.medium; config.disks.len()];
        let mut levels = Settings::on_a_loop(config.preset, &media);
        for osd in levels.osds().collect::<Vec<_>>() {
            levels.set_drive_limits(osd, config.drive_limits);
        }
        levels.apply(&config.settings)?;
        for osd in levels.osds().collect::<Vec<_>>() {
            levels.start(osd);
        }
        Ok(NodeSettings { levels, left_out: Vec::new(), clock: config.clock })
    }

    /// A stored value has been given or taken away: what was left out in its place is none any more.
    pub(super) fn stored(&mut self, scope: Scope, option: &str) {
        self.left_out.retain(|left_out| !left_out.is_at(scope, option));
    }

    /// What the cluster is built from.
    pub(super) fn cluster(&self, config: &EngineConfig) -> Config {
        let first = OsdId::new(0);
        Config {
            osds: config.disks.len() as u32,
            placement: Placement::Even,
            placement_seed: config.placement_seed,
            policy: self.policy(first),
            options: self.options(first),
        }
    }

    pub(super) fn policy(&self, osd: OsdId) -> Policy {
        Policy { plan: self.levels.plan(osd), seed: u64::from(osd.get()) }
    }

    /// The bounds of an OSD.
    pub(super) fn options(&self, osd: OsdId) -> OsdOptions {
        let options = self.levels.osd_options(osd);
        let is_set = self.number(osd, "bluestore_throttle_bytes").is_some_and(|bytes| bytes > 0.0);
        let bytes = if is_set { options.window.bytes } else { WINDOW_BYTES };
        let window = WindowBounds { bytes, ops: WINDOW_OPS };
        OsdOptions { window, clock: self.clock, ..options }
    }

    fn number(&self, osd: OsdId, option: &str) -> Option<f64> {
        let option = self.levels.option(option).ok()?;
        self.levels.effective(osd, option).0.number()
    }

    /// The options of every OSD's store, where so many of them are on one drive at most.
    pub(super) fn store(&self, config: &EngineConfig, on_a_drive: u32) -> paged::Options {
        let class = |class: ServiceClass| ClassTag(class as u8);
        let defaults = paged::Options::default();
        paged::Options {
            log_mode: config.log_mode,
            protection: config.protection,
            cache: config.cache,
            old_versions: Bytes::ZERO,
            classes: paged::Classes {
                log: class(ServiceClass::Immediate),
                checkpoint: class(ServiceClass::BestEffort),
                restart: class(ServiceClass::Immediate),
            },
            trigger_spread_percent: TRIGGER_SPREAD_PERCENT,
            checkpoint_writes: match config.medium {
                Medium::Ssd => {
                    let share = FLASH_CHECKPOINT_WRITES / on_a_drive.max(1);
                    share.max(defaults.checkpoint_writes)
                }
                Medium::Hdd | Medium::Hybrid => defaults.checkpoint_writes,
            },
            // Without an arm a small write is as quick anywhere, and then need not be written home a second time.
            placed_write: match config.medium {
                Medium::Ssd => PLACED_WRITE,
                Medium::Hdd | Medium::Hybrid => defaults.placed_write,
            },
            ..defaults
        }
    }
}

impl EngineConfig {
    /// What OSDs and stores of such a node are set to where so many of its disks are on one drive: a node in virtual time is its twin by that.
    ///
    /// # Errors
    /// [`Refused`] if a setting cannot stand.
    pub fn engine(&self, on_a_drive: u32) -> Result<(Config, paged::Options), Refused> {
        let settings = NodeSettings::new(self)?;
        Ok((settings.cluster(self), settings.store(self, on_a_drive)))
    }
}

/// How many of these disks are on one drive at most. Files that are not there yet will be where their folder is.
pub(super) fn most_on_a_drive(disks: &[DiskSpec]) -> u32 {
    let mut on_drive = BTreeMap::new();
    for DiskSpec { path, .. } in disks {
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
        *on_drive.entry(DriveFacts::number_of(there)).or_insert(0) += 1;
    }
    on_drive.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_folder_are_on_one_drive_before_they_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = |name: &str| DiskSpec { path: folder.path().join(name), size: None };
        assert_eq!(most_on_a_drive(&[]), 0);
        std::fs::write(folder.path().join("osd.0"), b"there").expect("it is ours");
        assert_eq!(most_on_a_drive(&[disk("osd.0"), disk("osd.1"), disk("new/osd.2")]), 3);
    }
}
