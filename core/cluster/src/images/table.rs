//! The table of images, and what can be done to it.

use super::error::{ImageError, Numbers};
use super::ids::{ImageId, JobId, SnapshotId};
use super::image::{Image, OBJECT_BYTES_MAX, OBJECT_BYTES_MIN, Parent, SNAPSHOTS_MAX, Snapshot};
use super::jobs::{JobWork, PendingJob};
use super::name;
use super::qos::ImageQos;
use crate::pool::PoolId;
use std::collections::BTreeMap;

/// All images of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    pub(crate) images: BTreeMap<ImageId, Image>,
    pub(crate) names: BTreeMap<String, ImageId>,
    pub(crate) families: BTreeMap<u16, Family>,
    pub(crate) jobs: BTreeMap<JobId, PendingJob>,
    pub(crate) next_family: u16,
    pub(crate) next_job: JobId,
}

/// An image with its clones and theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Where all of it is.
    pub pool: PoolId,
    /// Where the search for the next member's number begins.
    pub next_member: u16,
    /// The next snapshot's number.
    pub next_snapshot: SnapshotId,
}

impl Default for Images {
    fn default() -> Images {
        Images {
            images: BTreeMap::new(),
            names: BTreeMap::new(),
            families: BTreeMap::new(),
            jobs: BTreeMap::new(),
            next_family: 1,
            next_job: JobId(1),
        }
    }
}

impl Images {
    /// Creates an image. It reads as zeros.
    ///
    /// # Errors
    /// A bad or taken name, a bad size or object size, or no free family.
    pub fn create(
        &mut self,
        name: &str,
        pool: PoolId,
        size: u64,
        object_bytes: u64,
    ) -> Result<ImageId, ImageError> {
        self.check_new_name(name)?;
        if !is_object_bytes(object_bytes) {
            return Err(ImageError::BadObjectBytes(object_bytes));
        }
        check_size(size, object_bytes)?;
        let family = self.free_family().ok_or(ImageError::NumbersUsedUp(Numbers::Families))?;
        self.next_family = family.checked_add(1).unwrap_or(1);
        let next_snapshot = SnapshotId(1);
        self.families.insert(family, Family { pool, next_member: 1, next_snapshot });
        let id = ImageId { family, member: 0 };
        let (name, snapshots) = (name.to_owned(), Vec::new());
        let image = Image {
            id,
            name,
            pool,
            size,
            reach: size,
            object_bytes,
            snapshots,
            parent: None,
            qos: ImageQos::default(),
        };
        self.insert(image);
        Ok(id)
    }

    /// Changes an image's size. A smaller one gives a [`JobWork::Cut`]; until that is done, the image cannot grow again.
    ///
    /// # Errors
    /// No such image, a bad size, or growth while what was cut off is still being removed.
    pub fn resize(&mut self, name: &str, size: u64) -> Result<Option<PendingJob>, ImageError> {
        let id = self.id(name)?;
        let image = &self.images[&id];
        let before = image.size;
        check_size(size, image.object_bytes)?;
        if size > before && self.is_being_cut(id) {
            return Err(ImageError::BeingCut(name.to_owned()));
        }
        let image = self.images.get_mut(&id).expect("a named image exists");
        image.size = size;
        image.reach = image.reach.max(size);
        if let Some(parent) = &mut image.parent {
            parent.overlap = parent.overlap.min(size);
        }
        if size >= before {
            return Ok(None);
        }
        let blocks = image.blocks(size, before);
        let (first, offset) = (*blocks.start(), (size % image.object_bytes) as u32);
        let work = JobWork::Cut { first, offset, snapshot: image.newest_snapshot() };
        Ok(Some(self.add_job(id, work, blocks)))
    }

    /// Makes a snapshot of an image.
    ///
    /// # Errors
    /// No such image, a bad or taken name, as many snapshots as an image may have, or no number left.
    pub fn snapshot_create(
        &mut self,
        image: &str,
        snapshot: &str,
    ) -> Result<SnapshotId, ImageError> {
        let id = self.id(image)?;
        name::check(snapshot)?;
        let found = self.images.get_mut(&id).expect("a named image exists");
        if found.snapshot(snapshot).is_some() {
            return Err(ImageError::Exists(format!("snapshot {image}@{snapshot}")));
        }
        if found.snapshots.len() >= SNAPSHOTS_MAX {
            return Err(ImageError::SnapshotsMax(image.to_owned()));
        }
        let family = self.families.get_mut(&id.family).expect("an image's family exists");
        let number = family.next_snapshot;
        let next = number.0.checked_add(1);
        family.next_snapshot =
            next.map(SnapshotId).ok_or(ImageError::NumbersUsedUp(Numbers::Snapshots))?;
        let overlap = found.parent.map_or(0, |parent| parent.overlap);
        let name = snapshot.to_owned();
        found.snapshots.push(Snapshot { id: number, name, size: found.size, overlap });
        Ok(number)
    }

    /// Removes a snapshot. What was kept for it alone is given back by the OSDs, as soon as the table without it is kept.
    ///
    /// # Errors
    /// No such image or snapshot, or the snapshot has clones.
    pub fn snapshot_remove(
        &mut self,
        image: &str,
        snapshot: &str,
    ) -> Result<SnapshotId, ImageError> {
        let (id, at) = self.snapshot_place(image, snapshot)?;
        let clones = self.clones(id, self.images[&id].snapshots[at].id);
        if !clones.is_empty() {
            let snapshot = format!("{image}@{snapshot}");
            return Err(ImageError::HasClones { snapshot, clones });
        }
        let found = self.images.get_mut(&id).expect("a named image exists");
        Ok(found.snapshots.remove(at).id)
    }

    /// Creates an image with the contents of a snapshot, given as `image@snapshot`.
    ///
    /// # Errors
    /// No such snapshot, a bad or taken name, or no number left in the family.
    pub fn clone_image(&mut self, from: &str, to: &str) -> Result<ImageId, ImageError> {
        let (image, snapshot) = name::snapshot(from)?;
        let (parent, at) = self.snapshot_place(image, snapshot)?;
        self.check_new_name(to)?;
        let id = self.free_member(parent.family);
        let id = id.ok_or(ImageError::NumbersUsedUp(Numbers::Members))?;
        let family = self.families.get_mut(&id.family).expect("an image's family exists");
        family.next_member = id.member.wrapping_add(1);
        let source = &self.images[&parent];
        let Snapshot { id: snapshot, size, .. } = source.snapshots[at];
        self.insert(Image {
            id,
            name: to.to_owned(),
            pool: source.pool,
            size,
            reach: size,
            object_bytes: source.object_bytes,
            snapshots: Vec::new(),
            parent: Some(Parent { image: parent, snapshot, overlap: size }),
            qos: ImageQos::default(),
        });
        Ok(id)
    }

    /// Says what an image is promised and allowed. A clone has nothing of its parent's.
    ///
    /// # Errors
    /// No such image, or terms that make no sense.
    pub fn set_qos(&mut self, name: &str, qos: ImageQos) -> Result<(), ImageError> {
        qos.check().map_err(ImageError::BadQos)?;
        let id = self.id(name)?;
        self.images.get_mut(&id).expect("a named image exists").qos = qos;
        Ok(())
    }

    /// Removes an image. Its objects go by a [`JobWork::Remove`], which takes the place of its other jobs.
    ///
    /// # Errors
    /// No such image, or it has snapshots (and so perhaps clones, which go first).
    pub fn remove(&mut self, name: &str) -> Result<PendingJob, ImageError> {
        let id = self.id(name)?;
        let image = &self.images[&id];
        if !image.snapshots.is_empty() {
            return Err(self.what_holds(image));
        }
        let blocks = image.blocks(0, image.reach);
        self.jobs.retain(|_, job| job.image != id);
        let job = self.add_job(id, JobWork::Remove, blocks);
        self.names.remove(name);
        self.images.remove(&id);
        Ok(job)
    }

    /// Gives an image another name.
    ///
    /// # Errors
    /// No such image, or a bad or taken name.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), ImageError> {
        let id = self.id(from)?;
        self.check_new_name(to)?;
        self.names.remove(from);
        self.names.insert(to.to_owned(), id);
        self.images.get_mut(&id).expect("a named image exists").name = to.to_owned();
        Ok(())
    }

    fn check_new_name(&self, name: &str) -> Result<(), ImageError> {
        name::check(name)?;
        match self.names.contains_key(name) {
            true => Err(ImageError::Exists(format!("image {name}"))),
            false => Ok(()),
        }
    }

    /// Why an image with snapshots cannot be removed: their clones first, then they.
    fn what_holds(&self, image: &Image) -> ImageError {
        for snapshot in &image.snapshots {
            let clones = self.clones(image.id, snapshot.id);
            if !clones.is_empty() {
                let snapshot = format!("{}@{}", image.name, snapshot.name);
                return ImageError::HasClones { snapshot, clones };
            }
        }
        let snapshots = image.snapshots.iter().map(|snapshot| snapshot.name.clone()).collect();
        ImageError::HasSnapshots { image: image.name.clone(), snapshots }
    }

    /// Numbers that later tables, which are lost, may have given are not the next ones. A disk keeps objects of an image only after
    /// it was sent the map with the image, and none is so many changes behind what it was sent.
    pub(crate) fn skip_numbers(&mut self) {
        const UNSEEN: u16 = 1 << 10;
        self.next_family = self.next_family.checked_add(UNSEEN).unwrap_or(1);
        self.next_job = JobId(self.next_job.0 + u64::from(UNSEEN));
        for family in self.families.values_mut() {
            family.next_member = family.next_member.wrapping_add(UNSEEN);
            let next = family.next_snapshot.0.saturating_add(u32::from(UNSEEN));
            family.next_snapshot = SnapshotId(next);
        }
    }

    fn insert(&mut self, image: Image) {
        self.names.insert(image.name.clone(), image.id);
        self.images.insert(image.id, image);
    }

    fn free_family(&self) -> Option<u16> {
        let from = self.next_family;
        let numbers = (from..=u16::MAX).chain(1..from);
        numbers.into_iter().find(|family| !self.families.contains_key(family))
    }

    fn free_member(&self, family: u16) -> Option<ImageId> {
        let from = self.families[&family].next_member;
        let members = (from..=u16::MAX).chain(0..from).map(|member| ImageId { family, member });
        let is_taken = |id: &ImageId| {
            self.images.contains_key(id) || self.jobs.values().any(|job| job.image == *id)
        };
        members.into_iter().find(|id| !is_taken(id))
    }
}

/// Whether images can have objects of this size.
pub(super) fn is_object_bytes(bytes: u64) -> bool {
    bytes.is_power_of_two() && (OBJECT_BYTES_MIN..=OBJECT_BYTES_MAX).contains(&bytes)
}

fn check_size(size: u64, object_bytes: u64) -> Result<(), ImageError> {
    let most = Image::size_max(object_bytes);
    if (1..=most).contains(&size) { Ok(()) } else { Err(ImageError::BadSize { size, most }) }
}
