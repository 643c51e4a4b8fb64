//! Images and their snapshots: the table's answers and refusals in the protocol's words.

use super::desk::CommandOutcome;
use super::desk::{DONE, Executed};
use crate::admin::api::{
    AdminAnswer, AdminRefusal, ImageAsked, ImageRow, ImageRows, RefusalKind, SnapshotRow, Snapshots,
};
use crate::engine::host_node::HostNode;
use loadline_cluster::PoolId;
use loadline_cluster::images::{self, ImageError, Parent};

impl HostNode {
    pub(super) fn image_list(&self) -> AdminAnswer {
        let images = self.node.cluster().images().list().map(|image| self.shown(image)).collect();
        AdminAnswer::Images(ImageRows { images })
    }

    pub(super) fn image_info(&self, name: &str) -> Result<AdminAnswer, AdminRefusal> {
        Ok(AdminAnswer::Image(self.shown(self.node.cluster().images().image(name)?)))
    }

    pub(super) fn snapshot_list(&self, name: &str) -> Result<AdminAnswer, AdminRefusal> {
        let image = self.node.cluster().images().image(name)?;
        Ok(AdminAnswer::Snapshots(Snapshots { snapshots: self.shown(image).snapshots }))
    }

    fn shown(&self, image: &images::Image) -> ImageRow {
        let table = self.node.cluster().images();
        let snapshot = |taken: &images::Snapshot| SnapshotRow {
            name: taken.name.clone(),
            id: taken.id.0,
            size_bytes: taken.size,
            clones: table.clones(image.id, taken.id),
        };
        ImageRow {
            name: image.name.clone(),
            pool: self.node.cluster().map().pools()[&image.pool].spec.name.clone(),
            size_bytes: image.size,
            object_bytes: image.object_bytes,
            parent: image.parent.and_then(|parent| self.shown_parent(parent)),
            snapshots: image.snapshots.iter().map(snapshot).collect(),
        }
    }

    fn shown_parent(&self, parent: Parent) -> Option<String> {
        let image = self.node.cluster().images().get(parent.image)?;
        let taken = image.snapshots.iter().find(|taken| taken.id == parent.snapshot)?;
        Some(format!("{}@{}", image.name, taken.name))
    }

    pub(super) fn image_create(&mut self, asked: &ImageAsked) -> Executed {
        let pool = self.pool_for(asked.pool.as_deref())?;
        let of_pool = self.node.cluster().map().pools()[&pool].spec.object_bytes;
        let object_bytes = asked.object_bytes.unwrap_or(of_pool);
        self.image_change(|images| {
            images.create(&asked.name, pool, asked.size_bytes, object_bytes).map(drop)
        })
    }

    /// The pool that was named, or the only one.
    fn pool_for(&self, name: Option<&str>) -> Result<PoolId, AdminRefusal> {
        let pools = self.node.cluster().map().pools();
        match (name, pools.len(), pools.keys().next()) {
            (Some(name), ..) => self.pool_of(name),
            (None, 1, Some(only)) => Ok(*only),
            (None, ..) => {
                let names: Vec<&str> = pools.values().map(|pool| pool.spec.name.as_str()).collect();
                Err(AdminRefusal::bad("the image has no pool").wants(names.join(" or ")))
            }
        }
    }

    /// Changes the table; the change is answered when it is kept.
    pub(super) fn image_change(
        &mut self,
        change: impl FnOnce(&mut images::Images) -> Result<(), ImageError>,
    ) -> Executed {
        self.take_changes()?;
        match self.node.change(self.now, |cluster, fx| cluster.change_images(fx, change)) {
            Err(error @ ImageError::BeingCut(_)) => Ok(CommandOutcome::Busy(error.to_string())),
            changed => changed.map(|()| CommandOutcome::WhenKept(DONE)).map_err(AdminRefusal::from),
        }
    }
}

impl From<ImageError> for AdminRefusal {
    fn from(error: ImageError) -> AdminRefusal {
        let kind = match &error {
            ImageError::BadName(_)
            | ImageError::BadObjectBytes(_)
            | ImageError::BadSize { .. }
            | ImageError::NotASnapshot(_) => RefusalKind::Bad,
            ImageError::NoImage(_) | ImageError::NoSnapshot { .. } => RefusalKind::NotFound,
            ImageError::Exists(_)
            | ImageError::HasSnapshots { .. }
            | ImageError::HasClones { .. }
            | ImageError::BeingCut(_)
            | ImageError::NumbersUsedUp(_) => RefusalKind::Conflict,
        };
        AdminRefusal { kind, error: error.to_string(), wanted: None }
    }
}
