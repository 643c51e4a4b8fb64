//! The images as the last map that counts tells of them. Only these are shown to clients and to OSDs: a snapshot whose
//! number a crash could still take back must leave no trace in any object, and nothing is removed for good before its
//! removal is kept.

use crate::cluster::{Cluster, OwnerEffects};
use crate::images::{Images, PendingJob};
use loadline_osd::{Directive, OsdId, Views};
use std::sync::Arc;

/// The images that are kept, and those that will be.
#[derive(Debug, Default)]
pub(crate) struct KeptImages {
    now: Images,
    /// What OSDs need to know of them.
    views: Arc<Views>,
    /// As the map that is being written has them, if they are others.
    next: Option<Images>,
    /// Whether the table has changed since the last map was written.
    changed: bool,
}

impl KeptImages {
    /// The table has changed.
    pub(crate) fn note_change(&mut self) {
        self.changed = true;
    }

    /// A map with this table is being written.
    pub(crate) fn write(&mut self, images: &Images) {
        if std::mem::take(&mut self.changed) {
            self.next = Some(images.clone());
        }
    }

    /// The owner begins with this table.
    pub(crate) fn begin(&mut self, images: Images) {
        self.next = Some(images);
    }

    /// The map that was written counts. Whether it has brought changes.
    fn take_next(&mut self) -> bool {
        let Some(next) = self.next.take() else { return false };
        self.views = Arc::new(next.views());
        self.now = next;
        true
    }
}

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
            for osd in self.osds.ids().collect::<Vec<_>>() {
                self.show_images(osd, fx);
            }
        }
    }

    /// Tells an OSD of the images.
    pub(crate) fn show_images(&mut self, osd: OsdId, fx: &mut OwnerEffects) {
        let views = self.durable().kept_images.views.clone();
        fx.direct(osd, Directive::ShowImages(views));
    }
}
