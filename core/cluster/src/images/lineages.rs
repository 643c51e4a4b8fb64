//! What OSDs need to know of images.

use super::table::Images;
use super::view::View;
use loadline_osd::{Ancestor, Lineage, SnapshotNo, Views};

impl Images {
    /// The images with snapshots or parents, and their snapshots, as OSDs need them.
    pub fn views(&self) -> Views {
        let mut views = Views::default();
        for image in self.list() {
            let snapshots = image.snapshots.iter().map(Some);
            for read_at in snapshots.chain([None]) {
                let view = self.view(image, read_at);
                let lineage = view.lineage();
                let is_needed = !lineage.ancestors.is_empty()
                    || read_at.is_none() && lineage.newest != SnapshotNo::HEAD;
                if is_needed {
                    views.insert(view.image.get(), SnapshotNo(view.read_at.0), lineage);
                }
            }
        }
        views
    }
}

impl View {
    fn lineage(&self) -> Lineage {
        let ancestor = |ancestor: &super::view::ImageAncestor| Ancestor {
            image: ancestor.image.get(),
            snapshot: SnapshotNo(ancestor.snapshot.0),
            overlap: ancestor.overlap,
        };
        Lineage {
            newest: SnapshotNo(self.newest.0),
            object_bytes: self.object_bytes,
            ancestors: self.ancestors.iter().map(ancestor).collect(),
        }
    }
}
