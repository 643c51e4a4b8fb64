//! The images as the last map that counts tells of them. Only these are shown to clients and to OSDs: a snapshot whose
//! number a crash could still take back must leave no trace in any object, and nothing is removed for good before its
//! removal is kept.

use crate::cluster::{Cluster, OwnerEffects};
use crate::images::{Images, KeptImages, PendingJob};
use loadline_osd::{Directive, OsdId};
use std::sync::Arc;

impl Cluster {
    /// The images as clients may see them.
    pub fn kept_images(&self) -> &Images {
        &self.durable.as_ref().expect("the OSDs have disks").kept_images.now
    }

    /// A job on images that may be worked on now: what caused it is kept.
    pub fn due_image_job(&self) -> Option<PendingJob> {
        let kept = self.kept_images();
        let is_kept = |job: &&PendingJob| kept.jobs().any(|kept| kept.id == job.id);
        self.images().due().find(is_kept).copied()
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
