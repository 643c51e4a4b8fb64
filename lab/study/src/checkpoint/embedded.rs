//! A store that is embedded in this process, on a file or a device of this machine, in real time.

use super::layout::{DIRTY_TRIGGER_PERCENT, format};
use super::machine::{StoreMachine, StoreSight};
use super::study::{CheckpointSetup, CheckpointStudy};
use loadline_base::{Bytes, Time};
use loadline_kv::{DbOptions, DbStatistics};
use loadline_load::puts::PutLoad;
use loadline_store::paged::metrics::{CheckpointReport, Totals};
use loadline_testbed::{EmbeddedSpec, EmbeddedStore, HostPlace, MachineFacts};

/// What the store of a setup is made of.
pub(super) fn spec(
    study: &CheckpointStudy,
    (setup, place): (&CheckpointSetup, &HostPlace),
    seed: u64,
) -> EmbeddedSpec {
    let (work, store) = (&study.work, &study.store);
    let options = DbOptions {
        create: false,
        log_mode: setup.log_mode,
        cache: Bytes::new(work.scaled(store.cache.get())),
        protection: setup.protection,
        compression: setup.compression,
        throttle: setup.throttle,
        old_versions: Bytes::new(work.scaled(store.old_versions.get())),
        checkpoint_interval: work.scaled_span(work.period),
        dirty_trigger_percent: DIRTY_TRIGGER_PERCENT,
        log_trigger_percent: store.log_trigger_percent,
        ..DbOptions::default()
    };
    let values = study.load.values;
    EmbeddedSpec { place: place.clone(), format: format(study), options, values, seed }
}

impl StoreMachine for EmbeddedStore {
    fn now(&self) -> Time {
        EmbeddedStore::now(self)
    }

    fn load(&self) -> &PutLoad {
        EmbeddedStore::load(self)
    }

    fn load_mut(&mut self) -> &mut PutLoad {
        EmbeddedStore::load_mut(self)
    }

    fn start_load(&mut self) {
        EmbeddedStore::start_load(self);
    }

    fn pass(&mut self, until: Time) -> Result<(), String> {
        EmbeddedStore::pass(self, until)
    }

    fn sight(&mut self) -> Result<StoreSight, String> {
        Ok(sight(&self.statistics()?))
    }

    fn checkpoints(&mut self) -> Result<Vec<CheckpointReport>, String> {
        EmbeddedStore::checkpoints(self)
    }

    fn facts(&self) -> Option<MachineFacts> {
        Some(EmbeddedStore::facts(self).clone())
    }
}

/// What a database says of itself.
fn sight(of: &DbStatistics) -> StoreSight {
    let totals = Totals {
        transactions: of.commits,
        log_bytes: of.log_bytes,
        log_physical_bytes: of.log_physical_bytes,
        log_device_bytes: of.log_device_bytes,
        log_flushes: of.log_flushes,
        pages_read: of.pages_read,
        pages_damaged: of.pages_damaged,
        pages_written: of.pages_written,
        recovery_data_bytes: of.recovery_bytes,
        throttle_time: of.throttle_time,
        checkpoints: of.checkpoints,
        checkpoint_time: of.checkpoint_time,
        ..Totals::default()
    };
    StoreSight {
        totals,
        dirty_pages: of.dirty_pages,
        old_versions: of.old_versions,
        old_versions_max: of.old_versions_max,
        is_in_checkpoint: of.is_in_checkpoint,
        device_requests: of.disk_requests,
    }
}
