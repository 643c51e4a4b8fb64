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
        let due = pools.filter_map(|pool| cluster.due_image_job(*pool, |job| work.may_begin(job)));
        for job in due.copied().collect::<Vec<_>>() {
            self.begin_part(&job);
        }
    }

    fn begin_part(&mut self, job: &PendingJob) {
        let (ops, next) = self.host.node.part_of_job(job);
        let ops = ops.into_iter().map(|op| of_job(job.pool, op)).collect();
        self.image_work.begin(job, next);
        self.begin_command(Waiter::Image(job.pool), BACKGROUND, ops, None);
        self.end_waiting_jobs();
    }

    /// The part in a pool has ended.
    pub(super) fn image_work_ended(&mut self, pool: PoolId, ended: &Ended) {
        let now = self.host.now;
        if let Some((job, next)) = self.image_work.end(pool, ended.data.is_ok(), now) {
            self.host.node.change(now, |cluster, fx| cluster.image_job_advanced(job, next, fx));
        }
    }
}
