//! The images that are kept, and those that will be.

use super::Images;
use loadline_osd::{TenantTable, Views};
use std::sync::Arc;

/// The images that are kept, and those that will be.
#[derive(Debug, Default)]
pub(crate) struct KeptImages {
    pub now: Images,
    /// What OSDs need to know of them.
    pub views: Arc<Views>,
    /// How they share what clients get.
    pub tenants: Arc<TenantTable>,
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
    pub(crate) fn take_next(&mut self) -> bool {
        let Some(next) = self.next.take() else { return false };
        self.views = Arc::new(next.views());
        self.now = next;
        true
    }
}
