//! Which job on images has its turn: each pool works on one at a time, and what has failed waits a while.

use loadline_base::{Span, Time};
use loadline_cluster::PoolId;
use loadline_cluster::images::{JobId, PendingJob};
use std::collections::BTreeMap;

/// An operator who has brought a disk back or given an object up does not wait long for the rest, and tries of what stays lost cost next to nothing.
const TRIED_AGAIN_AFTER: Span = Span::from_millis(1000);

/// The parts of jobs that are under way, and what has failed lately.
#[derive(Debug, Default)]
pub(super) struct ImageWork {
    /// The job of each and the block that comes after the part.
    parts: BTreeMap<PoolId, (JobId, u64)>,
    /// When a job whose part has failed may be tried again. What cannot be done fails at once, and would again.
    again_at: BTreeMap<JobId, Time>,
}

impl ImageWork {
    /// Whether a pool has no part under way.
    pub(super) fn is_free(&self, pool: PoolId) -> bool {
        !self.parts.contains_key(&pool)
    }

    pub(super) fn may_begin(&self, job: &PendingJob) -> bool {
        self.is_free(job.pool) && !self.again_at.contains_key(&job.id)
    }

    pub(super) fn begin(&mut self, job: &PendingJob, next: u64) {
        self.parts.insert(job.pool, (job.id, next));
    }

    /// The part in a pool has ended: what can be noted of its job now, if it has done what it was to do.
    pub(super) fn end(&mut self, pool: PoolId, is_done: bool, now: Time) -> Option<(JobId, u64)> {
        let part = self.parts.remove(&pool).expect("it has begun");
        if !is_done {
            self.put_off(part.0, now);
        }
        is_done.then_some(part)
    }

    /// Nothing of a job can be done now.
    pub(super) fn put_off(&mut self, job: JobId, now: Time) {
        self.again_at.insert(job, now + TRIED_AGAIN_AFTER);
    }

    /// What has failed long enough ago may be tried again.
    pub(super) fn forget_failures(&mut self, now: Time) {
        self.again_at.retain(|_, again_at| *again_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_cluster::images::{ImageId, JobWork};

    fn job(id: u64, pool: u32) -> PendingJob {
        let (id, pool) = (JobId(id), PoolId::new(pool));
        let image = ImageId { family: 1, member: 0 };
        PendingJob { id, image, pool, work: JobWork::Remove, next: 0, last: 9 }
    }

    /// A part that had failed at once was begun again in the same turn of the loop, which had no end.
    #[test]
    fn what_has_failed_waits_for_its_time_and_others_for_their_pools_part_alone() {
        let (mut work, mut now) = (ImageWork::default(), Time::ZERO);
        let (first, second, elsewhere) = (job(1, 0), job(2, 0), job(3, 1));
        work.begin(&first, 5);
        assert!(!work.may_begin(&second) && work.may_begin(&elsewhere));
        assert_eq!(work.end(first.pool, false, now), None);
        work.forget_failures(now);
        assert!(!work.may_begin(&first) && work.may_begin(&second));
        work.begin(&second, 7);
        assert_eq!(work.end(second.pool, true, now), Some((second.id, 7)));
        now += TRIED_AGAIN_AFTER;
        work.forget_failures(now);
        assert!(work.may_begin(&first));
    }
}
