//! What OSDs need to know of images.

use super::image::Image;
use super::qos::ImageQos;
use super::table::Images;
use super::view::View;
use crate::map::Map;
use loadline_osd::{Ancestor, Lineage, SnapshotNo, TenantTable, Views};

impl Images {
    /// The images with snapshots or parents, and their snapshots, as ops need them, and the live snapshots of all images, as trims do.
    pub fn views(&self) -> Views {
        let mut views = Views::default();
        for image in self.list() {
            let live = image.snapshots.iter().map(|snapshot| SnapshotNo(snapshot.id.0)).collect();
            views.insert_live(image.id.get(), live);
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

    /// How images share what clients get: none is a tenant as long as nothing is said of any.
    pub(crate) fn tenants(&self, map: &Map) -> TenantTable {
        let osds = map.osds().values().filter(|osd| osd.is_in).count() as u32;
        let nothing = ImageQos::default();
        let is_shared = self.list().any(|image| image.qos != nothing);
        let terms = |image: &Image| {
            let copies = map.pools().get(&image.pool).map_or(1, |pool| pool.spec.copies);
            (image.id.get(), image.qos.terms(copies))
        };
        let images = self.list().filter(|_| is_shared).map(terms).collect();
        TenantTable { osds: if is_shared { osds } else { 0 }, images }
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
