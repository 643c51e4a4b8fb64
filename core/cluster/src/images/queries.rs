//! What may be asked of the table.

use super::error::ImageError;
use super::ids::{ImageId, SnapshotId};
use super::image::{Image, Parent, Snapshot};
use super::table::Images;
use super::view::{ImageAncestor, View};
use crate::pool::PoolId;
use loadline_store::ObjectNo;

/// Why an image has no place for something any more, or nobody asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Displaced {
    /// It was removed; or who asked has gone.
    Gone,
    /// It was made smaller.
    PastEnd,
}

impl Images {
    /// All images, by name.
    pub fn list(&self) -> impl Iterator<Item = &Image> {
        self.names.values().map(|id| &self.images[id])
    }

    /// An image's snapshots, oldest first.
    ///
    /// # Errors
    /// No such image.
    pub fn snapshot_list(&self, image: &str) -> Result<&[Snapshot], ImageError> {
        Ok(&self.image(image)?.snapshots)
    }

    /// The image of this name.
    ///
    /// # Errors
    /// No such image.
    pub fn image(&self, name: &str) -> Result<&Image, ImageError> {
        Ok(&self.images[&self.id(name)?])
    }

    /// The image of this number.
    pub fn get(&self, id: ImageId) -> Option<&Image> {
        self.images.get(&id)
    }

    /// Why an image has no place for what ends at this byte of this object, if it has none.
    pub(crate) fn displaces(&self, (object, end): (ObjectNo, u32)) -> Option<Displaced> {
        let (image, block) = ImageId::of(object);
        let Some(image) = self.get(image) else { return Some(Displaced::Gone) };
        let end = u64::from(block) * image.object_bytes + u64::from(end);
        (end > image.size).then_some(Displaced::PastEnd)
    }

    /// The names of a snapshot's clones.
    pub fn clones(&self, image: ImageId, snapshot: SnapshotId) -> Vec<String> {
        let is_clone = |clone: &&Image| {
            clone.parent.is_some_and(|p| p.image == image && p.snapshot == snapshot)
        };
        self.list().filter(is_clone).map(|clone| clone.name.clone()).collect()
    }

    /// The view of `image` or `image@snapshot`.
    ///
    /// # Errors
    /// No such image or snapshot.
    pub fn find(&self, name: &str) -> Result<View, ImageError> {
        let Some((image, snapshot)) = name.split_once('@') else {
            let image = self.image(name)?;
            return Ok(self.view(image, None));
        };
        let (id, at) = self.snapshot_place(image, snapshot)?;
        let image = &self.images[&id];
        Ok(self.view(image, Some(&image.snapshots[at])))
    }

    /// The pools of images, and of jobs of images that are gone.
    pub fn pools(&self) -> impl Iterator<Item = PoolId> {
        self.families.values().map(|family| family.pool)
    }

    pub(super) fn view(&self, image: &Image, snapshot: Option<&Snapshot>) -> View {
        let size = snapshot.map_or(image.size, |snapshot| snapshot.size);
        let overlap = match (snapshot, image.parent) {
            (Some(snapshot), _) => snapshot.overlap,
            (None, parent) => parent.map_or(0, |parent| parent.overlap),
        };
        View {
            image: image.id,
            pool: image.pool,
            size,
            object_bytes: image.object_bytes,
            read_at: snapshot.map_or(SnapshotId::HEAD, |snapshot| snapshot.id),
            newest: image.newest_snapshot(),
            ancestors: self.ancestors(image, overlap),
        }
    }

    /// The chain behind an image of which `overlap` bytes are its parent's.
    fn ancestors(&self, image: &Image, mut overlap: u64) -> Vec<ImageAncestor> {
        let mut chain = Vec::new();
        let mut next = image.parent;
        while let Some(Parent { image, snapshot, .. }) = next.filter(|_| overlap > 0) {
            chain.push(ImageAncestor { image, snapshot, overlap });
            let parent = &self.images[&image];
            let taken = parent.snapshots.iter().find(|taken| taken.id == snapshot);
            overlap = overlap.min(taken.expect("a clone keeps its snapshot").overlap);
            next = parent.parent;
        }
        chain
    }

    pub(super) fn id(&self, name: &str) -> Result<ImageId, ImageError> {
        self.names.get(name).copied().ok_or_else(|| ImageError::NoImage(name.to_owned()))
    }

    pub(super) fn snapshot_place(
        &self,
        image: &str,
        name: &str,
    ) -> Result<(ImageId, usize), ImageError> {
        let id = self.id(image)?;
        let at = self.images[&id].snapshots.iter().position(|snapshot| snapshot.name == name);
        at.map(|at| (id, at)).ok_or_else(|| ImageError::NoSnapshot {
            image: image.to_owned(),
            snapshot: name.to_owned(),
        })
    }
}
