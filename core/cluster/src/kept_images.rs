//! The images as the last map that counts tells of them. Only these are shown to clients and to OSDs: a snapshot whose
//! number a crash could still take back must leave no trace in any object, and nothing is removed for good before its
//! removal is kept.

use crate::cluster::{Cluster, OwnerEffects};
use crate::images::{Displaced, ImageId, Images, KeptImages, PendingJob};
use crate::pool::PoolId;
use crate::router::IssuedOp;
use loadline_osd::{ClientOp, Directive, OpId, OsdId};
use std::sync::Arc;

impl Cluster {
    /// The images as clients may see them.
    pub fn kept_images(&self) -> &Images {
        &self.durable.as_ref().expect("the OSDs have disks").kept_images.now
    }

    /// The oldest job on a pool's images that may be worked on now, of those that `may_begin`: what caused it is kept, and nobody writes any more
    /// what it takes. A write that came before that may make an object after a job has found none.
    pub fn due_image_job(
        &self,
        pool: PoolId,
        may_begin: impl Fn(&PendingJob) -> bool,
    ) -> Option<&PendingJob> {
        let kept = self.kept_images();
        let is_written = |job: &PendingJob| {
            self.open_changes().any(|op| job.takes_of(op.object, op.offset + op.length))
        };
        let is_due = |job: &&PendingJob| may_begin(job) && kept.has_job(job.id) && !is_written(job);
        self.images().due(pool).find(is_due)
    }

    /// Ends the writes and zeros that no OSD has and whose place has gone from its image. Nobody is to carry them out any more: what
    /// waits for room would wait for the removal that waits for it.
    pub fn take_displaced(&mut self) -> Vec<(IssuedOp, Displaced)> {
        let Some(durable) = &mut self.durable else { return Vec::new() };
        let lessened = std::mem::take(&mut durable.kept_images.lessened);
        if lessened.is_empty() {
            return Vec::new();
        }
        let kept = self.kept_images();
        let displaced = |op: &ClientOp| {
            let image = ImageId::of(op.object).0;
            let end = (op.object, op.offset + op.length);
            lessened.contains(&image).then(|| Some((op.id, kept.displaces(end)?))).flatten()
        };
        let displaced: Vec<_> = self.changes_that_wait().filter_map(displaced).collect();
        displaced.into_iter().filter_map(|(id, why)| Some((self.end_op(id)?, why))).collect()
    }

    /// Ends the writes and zeros that no OSD has and that nobody wants any more: who asked has gone, and others wait for them.
    pub fn end_unwanted(
        &mut self,
        is_unwanted: impl Fn(OpId) -> bool,
    ) -> Vec<(IssuedOp, Displaced)> {
        let waiting = self.changes_that_wait().map(|op| op.id);
        let unwanted: Vec<OpId> = waiting.filter(|id| is_unwanted(*id)).collect();
        self.end_gone(unwanted)
    }

    /// Ends those of some ops for which it can be said what they wait for here, be it that they were sent once: who asked asks for the same again.
    pub fn end_held(&mut self, is_theirs: impl Fn(OpId) -> bool) -> Vec<(IssuedOp, Displaced)> {
        let ops = self.open_ops().into_iter().map(|issued| &issued.op);
        let is_held = |op: &&ClientOp| is_theirs(op.id) && self.held_for(op).is_some();
        let held: Vec<OpId> = ops.filter(is_held).map(|op| op.id).collect();
        self.end_gone(held)
    }

    fn end_gone(&mut self, ops: Vec<OpId>) -> Vec<(IssuedOp, Displaced)> {
        ops.into_iter().filter_map(|id| Some((self.end_op(id)?, Displaced::Gone))).collect()
    }

    /// The map that was written counts.
    pub(crate) fn images_are_kept(&mut self, fx: &mut OwnerEffects) {
        if self.durable().kept_images.take_next() {
            let views = self.durable().kept_images.views.clone();
            self.show_views(&views, fx);
            self.share_kept_images(fx);
        }
    }

    /// Tells an OSD of the images.
    pub(crate) fn show_images(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        let KeptImages { views, tenants, .. } = &self.durable().kept_images;
        let (views, tenants) = (views.clone(), tenants.clone());
        fx.direct(osd, Directive::ShowImages(views));
        fx.direct(osd, Directive::ShareImages(tenants));
    }

    /// Lets the images share what clients get as they are promised and allowed, if that has changed.
    pub(crate) fn share_kept_images(&mut self, fx: &mut OwnerEffects) {
        let Some(durable) = &self.durable else { return };
        let tenants = durable.kept_images.now.tenants(&self.map);
        if tenants != *durable.kept_images.tenants {
            let tenants = Arc::new(tenants);
            self.durable().kept_images.tenants = tenants.clone();
            self.share_images(tenants, fx);
        }
    }
}
