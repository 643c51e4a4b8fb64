//! What NBD clients are offered: each image by its name, each snapshot as `image@snapshot`.

use super::access::ImageRight;
use super::config::EngineConfig;
use loadline_cluster::Cluster;
use loadline_cluster::images::{ImageId, SnapshotId, View};
use loadline_device::Medium;
use loadline_tls::ClientNames;
use loadline_wire::nbd::{ExportId, ExportInfo, ExportName, Exports};

/// The cluster's images as exports.
pub(super) struct NodeExports<'a> {
    cluster: &'a Cluster,
    config: &'a EngineConfig,
    /// Who asks, where that was asked for.
    client: Option<&'a ClientNames>,
}

impl<'a> NodeExports<'a> {
    pub(super) fn new(
        cluster: &'a Cluster,
        config: &'a EngineConfig,
        client: Option<&'a ClientNames>,
    ) -> NodeExports<'a> {
        NodeExports { cluster, config, client }
    }

    /// What the client may do with the image of this name.
    fn right(&self, image: &str) -> Option<ImageRight> {
        self.config.nbd.access.right(self.client, image)
    }
}

/// The image or snapshot behind an export that a client has chosen; `None` if it has been removed since.
pub(super) fn view_of(cluster: &Cluster, export: ExportId) -> Option<View> {
    let (image, snapshot) = ((export.0 >> 32) as u32, SnapshotId(export.0 as u32));
    let id = ImageId { family: (image >> 16) as u16, member: image as u16 };
    cluster.view_of(id, snapshot)
}

/// The snapshot that a snapshot's export shows.
pub(super) fn snapshot_of(export: ExportId) -> SnapshotId {
    SnapshotId(export.0 as u32)
}

fn export_id(view: &View) -> ExportId {
    ExportId(u64::from(view.image.get()) << 32 | u64::from(view.read_at.0))
}

impl Exports for NodeExports<'_> {
    fn list(&self) -> Vec<ExportName> {
        let mut names = Vec::new();
        let all = self.cluster.kept_images().list();
        for image in all.filter(|image| self.right(&image.name).is_some()) {
            names.push(ExportName { name: image.name.clone(), description: String::new() });
            names.extend(image.snapshots.iter().map(|snapshot| ExportName {
                name: format!("{}@{}", image.name, snapshot.name),
                description: format!("snapshot of {}, read only", image.name),
            }));
        }
        names
    }

    /// A snapshot with each that is older, by their names.
    fn comparable(&self, export: ExportId) -> Vec<(String, ExportId)> {
        let Some(view) = view_of(self.cluster, export).filter(View::is_read_only) else {
            return Vec::new();
        };
        let Some(image) = self.cluster.kept_images().get(view.image) else { return Vec::new() };
        let older = image.snapshots.iter().filter(|snapshot| snapshot.id < view.read_at);
        let compared =
            |id: SnapshotId| ExportId(u64::from(view.image.get()) << 32 | u64::from(id.0));
        older.map(|snapshot| (snapshot.name.clone(), compared(snapshot.id))).collect()
    }

    /// The empty name is the only image, if there is one only for this client. One that it may not see is not there.
    fn find(&self, name: &str) -> Option<ExportInfo> {
        let images = self.cluster.kept_images();
        let only = || {
            let mut list = images.list().filter(|image| self.right(&image.name).is_some());
            list.next().filter(|_| list.next().is_none()).map(|image| image.name.clone())
        };
        let name = if name.is_empty() { only()? } else { name.to_owned() };
        let view = images.find(&name).ok()?;
        let right = self.right(name.split('@').next().expect("a text has a first part"))?;
        Some(ExportInfo {
            id: export_id(&view),
            description: String::new(),
            size: view.size,
            preferred_block: 4096,
            read_only: view.is_read_only() || right == ImageRight::Read,
            rotational: self.config.medium == Medium::Hdd,
            multi_conn: true,
            cache: false,
            fast_zero: false,
            name,
        })
    }
}
