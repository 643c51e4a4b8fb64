//! What a checkpoint means for the throttle.

use super::CheckpointStep;
use crate::paged::options::{LogMode, Protection};
use crate::paged::store::PagedStore;
use crate::paged::throttle::{CheckpointPhase, Pressure};

impl<T: Copy> PagedStore<T> {
    /// What presses on the store now.
    pub(in crate::paged::store) fn pressure(&self) -> Pressure {
        let pages = &self.space.pages;
        let (used, slots) = pages.old_versions();
        let mut pressure = Pressure {
            buffer_used: u64::from(used),
            buffer_slots: u64::from(slots),
            dirty: u64::from(pages.counts().dirty),
            frames: u64::from(pages.frames()),
            log_room: match self.options.log_mode {
                LogMode::None => u64::MAX,
                _ => self.log.room(),
            },
            updaters: (self.log.updaters() + self.ops.sleepers()).max(1) as u64,
            ..Pressure::default()
        };
        if let Some(job) = &self.checkpoint.job {
            pressure.phase = match job.step {
                CheckpointStep::Log => CheckpointPhase::Preparing,
                CheckpointStep::Images
                | CheckpointStep::ImagesSync
                | CheckpointStep::Begin
                | CheckpointStep::BeginSync => CheckpointPhase::Images,
                CheckpointStep::Pages => CheckpointPhase::Pages,
                CheckpointStep::PagesSync | CheckpointStep::End | CheckpointStep::EndSync => {
                    CheckpointPhase::Syncing
                }
            };
            pressure.with_images = job.report.protection == Protection::Checkpoint;
            pressure.pages_total = job.pages.len() as u64;
            pressure.images_written = job.images.done;
            pressure.pages_written = job.pages_done;
            pressure.pages_synced =
                if job.step > CheckpointStep::PagesSync { job.pages_done } else { 0 };
        }
        pressure
    }
}
