//! Background work on images: objects of what was removed or cut off go, a few at a time, as ops like any other.

use super::Engine;
use super::client_ops::{Ended, Waiter};
use super::doors::BACKGROUND;
use super::image_ops::NewOp;
use loadline_cluster::PoolId;
use loadline_cluster::images::PendingJob;
use loadline_node::JobOp;
use loadline_osd::Data;

fn of_job(pool: PoolId, op: JobOp) -> NewOp {
    let JobOp { kind, object, offset, length } = op;
    NewOp { kind, pool, object, offset, length, at: 0, data: Data::NONE }
}

impl Engine {
    /// Begins the next part of a job in each pool that has one and none under way.
    pub(super) fn image_work_settle(&mut self) {
        let cluster = self.host.node.cluster();
        if !cluster.is_serving() || self.is_stopping() {
            return;
        }
        self.image_work.forget_failures(self.host.now);
        let work = &self.image_work;
        let pools = cluster.map().pools().keys().filter(|pool| work.is_free(**pool));
        let due = pools.filter_map(|pool| self.due_job(*pool));
        for mut job in due.collect::<Vec<_>>() {
            while !self.begin_part(&job)
                && let Some(next) = self.due_job(job.pool)
            {
                job = next;
            }
        }
    }

    fn due_job(&self, pool: PoolId) -> Option<PendingJob> {
        let may_begin = |job: &PendingJob| self.image_work.may_begin(job);
        self.host.node.cluster().due_image_job(pool, may_begin).copied()
    }

    /// Begins a part, or puts its job off where nobody would carry some of that out, and answers which: as long as a part waits, no other job of its pool
    /// is worked on, and those may have somebody who serves them.
    fn begin_part(&mut self, job: &PendingJob) -> bool {
        let (ops, next) = self.host.node.part_of_job(job);
        let map = self.host.node.cluster().map();
        let is_served = |op: &JobOp| map.pg(map.pg_of(job.pool, op.object)).serving().is_some();
        if !ops.iter().all(is_served) {
            self.image_work.put_off(job.id, self.host.now);
            return false;
        }
        let ops = ops.into_iter().map(|op| of_job(job.pool, op)).collect();
        self.image_work.begin(job, next);
        self.begin_command(Waiter::Image(job.pool), BACKGROUND, ops, None);
        true
    }

    /// The part in a pool has ended.
    pub(super) fn image_work_ended(&mut self, pool: PoolId, ended: &Ended) {
        let now = self.host.now;
        if let Some((job, next)) = self.image_work.end(pool, ended.data.is_ok(), now) {
            self.host.node.change(now, |cluster, fx| cluster.image_job_advanced(job, next, fx));
        }
    }
}
