//! What remains to be done to an image's objects after its table has changed.

use super::ids::{ImageId, JobId, SnapshotId};
use super::table::Images;
use crate::pool::PoolId;
use loadline_store::ObjectNo;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A job that has not been reported done.
///
/// It stands in the table, so that a restart goes on with it. The jobs of one image are carried out one after the
/// other, oldest first ([`super::Images::due`]): each relies on what the ones before it left. The blocks of a job may
/// be done in any order and more than once; `next` tells how far all are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingJob {
    /// Names the job when progress is reported.
    pub id: JobId,
    /// Whose objects.
    pub image: ImageId,
    /// Where they are.
    pub pool: PoolId,
    /// What to do with each.
    pub work: JobWork,
    /// The first block that is not done.
    pub next: u32,
    /// The last block.
    pub last: u32,
}

/// What to do with each object of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobWork {
    /// Remove it, and everything that was kept of it for snapshots.
    Remove,
    /// Make what was cut off read as zeros: block `first` loses what is from `offset` on, every later one goes. It is a
    /// write like others, so what `snapshot` shows must be kept.
    Cut {
        /// The block in which the image ends now, or the one after its end.
        first: u32,
        /// How many bytes of that block are still the image's.
        offset: u32,
        /// The newest snapshot when the image was cut.
        snapshot: SnapshotId,
    },
}

impl PendingJob {
    /// The first object that is not done.
    pub const fn next_object(&self) -> ObjectNo {
        self.image.object(self.next)
    }

    /// The last object.
    pub const fn last_object(&self) -> ObjectNo {
        self.image.object(self.last)
    }

    /// Whether it takes something of an object before this byte.
    pub(crate) fn takes_of(&self, object: ObjectNo, end: u32) -> bool {
        let (image, block) = ImageId::of(object);
        let is_taken = match self.work {
            JobWork::Remove => true,
            JobWork::Cut { first, offset, .. } => (block, end) > (first, offset),
        };
        image == self.image && is_taken
    }
}

impl Images {
    /// The jobs that are not done, oldest first.
    pub fn jobs(&self) -> impl Iterator<Item = &PendingJob> {
        self.jobs.values()
    }

    /// The jobs in a pool that may be worked on now: the oldest of each image.
    pub fn due(&self, pool: PoolId) -> impl Iterator<Item = &PendingJob> {
        let mut busy = BTreeSet::new();
        self.jobs.values().filter(move |job| job.pool == pool && busy.insert(job.image))
    }

    /// Whether a job is not done.
    pub(crate) fn has_job(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// Notes that the blocks of a job before `next` are done; past the last one, the job is. A job that is no longer
    /// there was replaced by the removal of its image, and the report is of no use. Returns whether the table changed.
    pub fn advance(&mut self, job: JobId, next: u64) -> bool {
        let Some(pending) = self.jobs.get_mut(&job) else { return false };
        if next > u64::from(pending.last) {
            return self.finish(job);
        }
        let before = pending.next;
        pending.next = before.max(next as u32);
        pending.next != before
    }

    /// Notes that a job is done. Returns whether the table changed.
    pub fn finish(&mut self, job: JobId) -> bool {
        let Some(done) = self.jobs.remove(&job) else { return false };
        let family = done.image.family;
        let is_used = self.images.keys().any(|image| image.family == family)
            || self.jobs.values().any(|job| job.image.family == family);
        if !is_used {
            self.families.remove(&family);
        }
        true
    }

    pub(super) fn is_being_cut(&self, image: ImageId) -> bool {
        let is_cut = |job: &PendingJob| matches!(job.work, JobWork::Cut { .. });
        self.jobs.values().any(|job| job.image == image && is_cut(job))
    }

    pub(super) fn add_job(
        &mut self,
        image: ImageId,
        work: JobWork,
        blocks: RangeInclusive<u32>,
    ) -> PendingJob {
        let id = self.next_job;
        self.next_job = JobId(id.0 + 1);
        let pool = self.images[&image].pool;
        let (next, last) = blocks.into_inner();
        let job = PendingJob { id, image, pool, work, next, last };
        self.jobs.insert(id, job);
        job
    }
}
