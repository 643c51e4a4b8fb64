//! The images that are kept, and those that will be.

use super::{Image, ImageId, Images};
use loadline_osd::{TenantTable, Views};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The images that are kept, and those that will be.
#[derive(Debug, Default)]
pub(crate) struct KeptImages {
    pub now: Images,
    /// What OSDs need to know of them.
    pub views: Arc<Views>,
    /// How they share what clients get.
    pub tenants: Arc<TenantTable>,
    /// Those that were removed or made smaller since somebody has looked for what waits to be written there.
    pub lessened: BTreeSet<ImageId>,
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
        let is_less = |next: Option<&Image>, now: &Image| next.is_none_or(|it| it.size < now.size);
        let lessened = self.now.list().filter(|now| is_less(next.get(now.id), now));
        self.lessened.extend(lessened.map(|image| image.id));
        self.views = Arc::new(next.views());
        self.now = next;
        true
    }
}
