//! A node of one OSD in virtual time, on a modelled drive.

use super::layout::{DIRTY_TRIGGER_PERCENT, format};
use super::machine::{StoreMachine, StoreSight};
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::input::InputError;
use crate::memory::check_memory;
use loadline_base::{Bytes, Time};
use loadline_cluster::Config;
use loadline_load::puts::PutLoad;
use loadline_osd::{OsdId, Policy, StoreToken};
use loadline_sim::disk::{SimDisk, SimDiskSpec};
use loadline_sim::{Delays, DisksConfig, Sim, SimHost, StoreDisks};
use loadline_store::paged::metrics::CheckpointReport;
use loadline_store::paged::{Options, PagedStore};

/// The one OSD.
const OSD: OsdId = OsdId::new(0);

/// What a key takes of a disk with its value of some hundred bytes: its part of a page that is two thirds full.
const KEY_BYTES: u64 = 256;

/// Whether so many nodes at a time have room in memory: of each the log and the area of images, which are written all over in time, the pages of the
/// keys, and what the store has in memory itself.
pub(super) fn check(
    study: &CheckpointStudy,
    workers: u32,
    available: Option<Bytes>,
) -> Result<(), InputError> {
    let (work, store, format) = (&study.work, &study.store, format(study));
    let areas = format.log_bytes.get() + format.recovery_bytes.get();
    let pages = work.scaled(work.filled) * KEY_BYTES;
    let in_memory = work.scaled(store.cache.get()) + work.scaled(store.old_versions.get());
    check_memory(Bytes::new(areas + pages + in_memory), workers, available)
        .map_err(|reason| InputError::new("--set scale", reason))
}

/// A node with one OSD on a paged store, and its clients.
pub(super) struct SimulatedNode {
    world: Sim<PutLoad>,
}

impl SimulatedNode {
    /// The node of a setup; the error is why there can be none.
    pub(super) fn new(
        study: &CheckpointStudy,
        setup: &CheckpointSetup,
        seed: u64,
    ) -> Result<SimulatedNode, String> {
        let world = world(study, setup, seed).map_err(|error| {
            format!("there can be no such store: {error}; change its sizes or the scale")
        })?;
        Ok(SimulatedNode { world })
    }

    fn store(&mut self) -> Result<&PagedStore<StoreToken>, String> {
        self.world.osd(OSD).paged_store().ok_or_else(|| "the store stopped".to_owned())
    }
}

impl StoreMachine for SimulatedNode {
    fn now(&self) -> Time {
        self.world.now()
    }

    fn load(&self) -> &PutLoad {
        self.world.workload()
    }

    fn load_mut(&mut self) -> &mut PutLoad {
        self.world.workload_mut()
    }

    fn start_load(&mut self) {
        self.world.start_load();
    }

    fn pass(&mut self, until: Time) -> Result<(), String> {
        self.world.run_until(until);
        Ok(())
    }

    fn sight(&mut self) -> Result<StoreSight, String> {
        let device_requests = self.world.device_requests();
        let store = self.store()?;
        let pages = &store.space().pages;
        let (old_versions, old_versions_max) = pages.old_versions();
        Ok(StoreSight {
            totals: store.metrics().totals,
            dirty_pages: u64::from(pages.counts().dirty),
            old_versions: u64::from(old_versions),
            old_versions_max: u64::from(old_versions_max),
            is_in_checkpoint: store.checkpoint_step().is_some(),
            device_requests,
        })
    }

    fn checkpoints(&mut self) -> Result<Vec<CheckpointReport>, String> {
        Ok(self.store()?.metrics().history.iter().copied().collect())
    }

    fn waits(&mut self) -> String {
        self.store().map_or_else(|stopped| stopped, |store| format!("{:?}", store.waits()))
    }
}

fn world(
    study: &CheckpointStudy,
    setup: &CheckpointSetup,
    seed: u64,
) -> Result<Sim<PutLoad>, String> {
    let (work, store, drive) = (&study.work, &study.store, &study.drive);
    let format = format(study);
    let spec = SimDiskSpec {
        size: format.data_bytes,
        sector: 4096,
        write_cache: false,
        timing: drive.timing(),
    };
    let mut disks = StoreDisks { data: SimDisk::new(spec, seed), log: None };
    disks.format(&format, setup.protection).map_err(|error| format!("{error:?}"))?;
    let config = DisksConfig {
        cluster: &Config {
            policy: Policy { seed, ..study.osd.policy.clone() },
            ..study.osd.clone()
        },
        stores: Options {
            log_mode: setup.log_mode,
            protection: setup.protection,
            compression: setup.compression,
            throttle: setup.throttle,
            cache: Bytes::new(work.scaled(store.cache.get())),
            old_versions: Bytes::new(work.scaled(store.old_versions.get())),
            checkpoint_interval: work.scaled_span(work.period),
            dirty_trigger_percent: DIRTY_TRIGGER_PERCENT,
            log_trigger_percent: store.log_trigger_percent,
            ..Options::default()
        },
        disks: vec![disks.data],
        delays: Delays {
            worker: drive.op,
            logged_kib: drive.physical_log_kib,
            ..Delays::default()
        },
        host: SimHost::default(),
    };
    let load = PutLoad::new(study.load.values, seed);
    Sim::opened(config, load).map_err(|(error, _)| format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::read::asked;
    use crate::library::Library;

    /// At the published scale the log alone is 48 GiB, and runs took that until the system ended them. Of two nodes a hundredth as large each takes
    /// 491.52 MiB of log, as much of images, 409.6 and 102.4 MiB of memory, and 244.14 MiB of keys.
    #[test]
    fn a_node_that_memory_has_no_room_for_is_refused_before_it_is_filled() {
        let set = vec!["scale=0.01".parse().expect("an override")];
        let inputs = Library::built_in().inputs("checkpoint-extreme", set).expect("it is there");
        let (study, _) = asked(&inputs).expect("it can be used");
        let check = |mib: Option<u64>| super::check(&study, 2, mib.map(Bytes::from_mib));
        assert!(check(Some(3500)).is_ok());
        assert!(check(None).is_ok(), "the system does not tell");
        let refused = check(Some(3400)).unwrap_err().to_string();
        assert!(refused.contains("2 runs at a time need"), "{refused}");
    }
}
