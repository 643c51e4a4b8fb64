//! What always holds of the table. Checked before it is written and after it is read.

use super::ids::{ImageId, SnapshotId};
use super::image::{Image, Parent};
use super::jobs::{JobWork, PendingJob};
use super::name::is_name;
use super::table::{Images, is_object_bytes};
use std::collections::BTreeSet;

impl Images {
    /// Whether the table is one that its own operations could have made.
    pub(crate) fn is_sound(&self) -> bool {
        let in_use = self.images.keys().chain(self.jobs.values().map(|job| &job.image));
        let families: BTreeSet<u16> = in_use.map(|id| id.family).collect();
        self.next_family != 0
            && self.names.len() == self.images.len()
            && self.names.iter().all(|(name, id)| self.is_called(*id, name))
            && self.families.keys().copied().eq(families)
            && self.families.iter().all(|(family, at)| *family != 0 && at.next_snapshot.0 != 0)
            && self.images.values().all(|image| self.is_sound_image(image))
            && self.jobs.iter().all(|(id, job)| *id < self.next_job && self.is_sound_job(job))
    }

    fn is_called(&self, id: ImageId, name: &str) -> bool {
        is_name(name) && self.images.get(&id).is_some_and(|image| image.name == name)
    }

    fn is_sound_image(&self, image: &Image) -> bool {
        let overlap = image.parent.map_or(0, |parent| parent.overlap);
        is_object_bytes(image.object_bytes)
            && self.families[&image.id.family].pool == image.pool
            && (1..=image.reach).contains(&image.size)
            && image.reach <= Image::size_max(image.object_bytes)
            && overlap <= image.size
            && image.qos.check().is_ok()
            && self.are_sound_snapshots(image, overlap)
            && image.parent.is_none_or(|parent| self.is_sound_parent(image, parent))
    }

    /// Snapshots are younger than the one that the image was cloned from, so the chain of parents ends.
    fn are_sound_snapshots(&self, image: &Image, overlap: u64) -> bool {
        let oldest = image.parent.map_or(SnapshotId::HEAD, |parent| parent.snapshot);
        let next = self.families[&image.id.family].next_snapshot;
        let ids = image.snapshots.iter().map(|snapshot| snapshot.id);
        let mut names = BTreeSet::new();
        [oldest].into_iter().chain(ids).is_sorted_by(|a, b| a < b)
            && image.newest_snapshot() < next
            && image.snapshots.iter().all(|snapshot| {
                is_name(&snapshot.name)
                    && names.insert(&snapshot.name)
                    && (1..=image.reach).contains(&snapshot.size)
                    && snapshot.overlap <= snapshot.size
                    && overlap <= snapshot.overlap
            })
            && (image.parent.is_some() || image.snapshots.iter().all(|s| s.overlap == 0))
    }

    fn is_sound_parent(&self, image: &Image, Parent { image: id, snapshot, .. }: Parent) -> bool {
        let Some(parent) = self.images.get(&id) else { return false };
        let Some(taken) = parent.snapshots.iter().find(|taken| taken.id == snapshot) else {
            return false;
        };
        let overlaps = image.snapshots.iter().map(|snapshot| snapshot.overlap);
        let overlap = overlaps.chain(image.parent.map(|parent| parent.overlap)).max();
        id.family == image.id.family
            && parent.object_bytes == image.object_bytes
            && overlap.is_none_or(|overlap| overlap <= taken.size)
    }

    fn is_sound_job(&self, job: &PendingJob) -> bool {
        let next_snapshot = self.families[&job.image.family].next_snapshot;
        let image = self.images.get(&job.image);
        let fits = match job.work {
            JobWork::Remove => image.is_none(),
            JobWork::Cut { first, snapshot, offset } => {
                let bytes = image.map_or(0, |image| image.object_bytes);
                u64::from(offset) < bytes && first <= job.next && snapshot < next_snapshot
            }
        };
        fits && job.next <= job.last && self.families[&job.image.family].pool == job.pool
    }
}
