//! Background work on images: objects of what was removed or cut off go, a few at a time, as ops like any other.

use super::Engine;
use super::client_ops::{Ended, NewOp, Waiter};
use super::host_node::HostNode;
use loadline_base::Bytes;
use loadline_cluster::images::{ImageId, JobWork, PendingJob};
use loadline_osd::{ClientId, Data, OpKind, OsdSet, SnapshotNo};
use loadline_store::ObjectNo;

/// Objects under way at a time.
const OBJECTS: usize = 16;
/// Blocks looked at in one round; most of a sparse image's do not exist.
const LOOKED_AT: u64 = 4096;

impl HostNode {
    /// The next ops of a job, and the block that comes after them.
    fn part_of(&mut self, job: &PendingJob) -> (Vec<NewOp>, u64) {
        let mut ops = Vec::new();
        let first = u64::from(job.next);
        let mut block = first;
        while block <= u64::from(job.last) && ops.len() < OBJECTS && block - first < LOOKED_AT {
            let object = job.image.object(block as u32);
            if self.node.may_hold_any(job.pool, object) {
                ops.push(self.work_on(job, object));
            }
            block += 1;
        }
        (ops, block)
    }

    fn work_on(&self, job: &PendingJob, object: ObjectNo) -> NewOp {
        let (_, block) = ImageId::of(object);
        let op = |kind, offset, length| NewOp {
            kind,
            pool: job.pool,
            object,
            offset,
            length,
            at: 0,
            data: Data::NONE,
        };
        match job.work {
            JobWork::Cut { first, offset, .. } if block == first && offset > 0 => {
                let length = self.object_bytes(job) as u32 - offset;
                op(OpKind::Zero, offset, length)
            }
            JobWork::Cut { .. } => op(OpKind::Remove, 0, 0),
            JobWork::Remove => op(OpKind::Purge, 0, 0),
            JobWork::Trim { snapshot, keep } => {
                let (snapshot, keep) = (SnapshotNo(snapshot.0), SnapshotNo(keep.0));
                op(OpKind::Trim { snapshot, keep }, 0, 0)
            }
        }
    }

    fn object_bytes(&self, job: &PendingJob) -> u64 {
        let image = self.node.cluster().images().get(job.image);
        image.map_or(Bytes::from_mib(4).get(), |image| image.object_bytes)
    }
}

impl Engine {
    /// Begins the next part of a job, if there is one and none is under way.
    pub(super) fn image_work_settle(&mut self) {
        let may_begin = self.host.node.cluster().is_serving() && !self.is_stopping();
        if self.image_work.is_some() || !may_begin {
            return;
        }
        let Some(job) = self.host.node.cluster().due_image_job() else { return };
        let (ops, next) = self.host.part_of(&job);
        self.image_work = Some((job.id, next));
        self.begin_command(Waiter::Image, BACKGROUND, ops, false);
    }

    /// The part has ended. What failed is tried again.
    pub(super) fn image_work_ended(&mut self, ended: &Ended) {
        let Some((job, next)) = self.image_work.take() else { return };
        if ended.data.is_some() {
            self.host
                .node
                .change(self.host.now, |cluster, fx| cluster.image_job_advanced(job, next, fx));
        }
    }
}

/// Whose the background's ops are: nobody else's.
const BACKGROUND: ClientId = ClientId::new(OsdSet::OSDS_MAX + 4096);
