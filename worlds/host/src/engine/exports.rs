//! What NBD clients are offered: each image by its name, each snapshot as `image@snapshot`.

use super::config::EngineConfig;
use loadline_cluster::Cluster;
use loadline_cluster::images::{ImageId, SnapshotId, View};
use loadline_device::Medium;
use loadline_wire::nbd::{ExportId, ExportInfo, ExportName, Exports};

/// The cluster's images as exports.
pub(super) struct NodeExports<'a> {
    cluster: &'a Cluster,
    config: &'a EngineConfig,
}

impl<'a> NodeExports<'a> {
    pub(super) fn new(cluster: &'a Cluster, config: &'a EngineConfig) -> NodeExports<'a> {
        NodeExports { cluster, config }
    }

    /// The image or snapshot behind an export; `None` if it has been removed since.
    pub(super) fn view(&self, export: ExportId) -> Option<View> {
        let (image, snapshot) = ((export.0 >> 32) as u32, SnapshotId(export.0 as u32));
        let id = ImageId { family: (image >> 16) as u16, member: image as u16 };
        self.cluster.view_of(id, snapshot)
    }
}

fn export_id(view: &View) -> ExportId {
    ExportId(u64::from(view.image.get()) << 32 | u64::from(view.read_at.0))
}

impl Exports for NodeExports<'_> {
    fn list(&self) -> Vec<ExportName> {
        let mut names = Vec::new();
        for image in self.cluster.kept_images().list() {
            names.push(ExportName { name: image.name.clone(), description: String::new() });
            names.extend(image.snapshots.iter().map(|snapshot| ExportName {
                name: format!("{}@{}", image.name, snapshot.name),
                description: format!("snapshot of {}, read only", image.name),
            }));
        }
        names
    }

    /// The empty name is the only image, if there is one only.
    fn find(&self, name: &str) -> Option<ExportInfo> {
        let images = self.cluster.kept_images();
        let only = || {
            let mut list = images.list();
            list.next().filter(|_| list.next().is_none()).map(|image| image.name.clone())
        };
        let name = if name.is_empty() { only()? } else { name.to_owned() };
        let view = images.find(&name).ok()?;
        let image = name.split('@').next().expect("a text has a first part");
        Some(ExportInfo {
            id: export_id(&view),
            description: String::new(),
            size: view.size,
            preferred_block: 4096,
            read_only: view.is_read_only() || self.config.nbd.access.is_read_only(image),
            rotational: self.config.medium == Medium::Hdd,
            multi_conn: true,
            cache: false,
            fast_zero: false,
            name,
        })
    }
}
