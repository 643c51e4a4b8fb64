//! Background work on images: objects of what was removed or cut off go, a few at a time, as ops like any other.

use super::Engine;
use super::client_ops::{Ended, Waiter};
use super::doors::BACKGROUND;
use super::image_ops::NewOp;
use loadline_cluster::PoolId;
use loadline_node::JobOp;
use loadline_osd::Data;

fn of_job(pool: PoolId, op: JobOp) -> NewOp {
    let JobOp { kind, object, offset, length } = op;
    NewOp { kind, pool, object, offset, length, at: 0, data: Data::NONE }
}

impl Engine {
    /// Begins the next part of a job, if there is one and none is under way.
    pub(super) fn image_work_settle(&mut self) {
        let may_begin = self.host.node.cluster().is_serving() && !self.is_stopping();
        if self.image_work.is_some() || !may_begin {
            return;
        }
        let Some(job) = self.host.node.cluster().due_image_job() else { return };
        let (ops, next) = self.host.node.part_of_job(&job);
        let ops = ops.into_iter().map(|op| of_job(job.pool, op)).collect();
        self.image_work = Some((job.id, next));
        self.begin_command(Waiter::Image, BACKGROUND, ops, None);
    }

    /// The part has ended. What failed is tried again.
    pub(super) fn image_work_ended(&mut self, ended: &Ended) {
        let Some((job, next)) = self.image_work.take() else { return };
        if ended.data.is_ok() {
            self.host
                .node
                .change(self.host.now, |cluster, fx| cluster.image_job_advanced(job, next, fx));
        }
    }
}
