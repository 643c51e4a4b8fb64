//! File systems and pools that have no room for an OSD's writes: who waits for which, in the log and among the findings. The OSD
//! itself asks again until there is room.

use super::host_node::HostNode;
use crate::DiskKind;
use loadline_base::Bytes;
use loadline_osd::OsdId;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file that lacks blocks is given of them in a second: little enough that nobody waits for it.
const SET_ASIDE_STEP: Bytes = Bytes::from_mib(256);

impl HostNode {
    /// A write of an OSD has found no room.
    pub(super) fn found_no_room(&mut self, osd: OsdId) {
        if !self.disks.of[osd].waits_for_room {
            self.disks.of[osd].waits_for_room = true;
            let place = self.place_of(osd);
            tracing::warn!(%osd, "{place} has no room for a write: writes wait and go on when there is some");
        }
    }

    /// Tells where there is room again. To be called every second or so.
    pub(super) fn tell_room(&mut self) {
        for osd in self.disks.of.ids().collect::<Vec<_>>() {
            let waited = self.disks.of[osd].waits_for_room;
            if waited && self.node.cluster().waits_for_room(osd) == 0 {
                self.disks.of[osd].waits_for_room = false;
                tracing::info!(%osd, "{} has room again: writes go on", self.place_of(osd));
            }
        }
    }

    /// Sets aside what files lack of their blocks where there is room for it by now. To be called every second or so.
    pub(super) fn set_blocks_aside(&mut self) {
        for (osd, lacked) in self.lacking_blocks() {
            if self.set_more_aside(osd, SET_ASIDE_STEP) {
                tracing::info!(%osd, "the {lacked} of its blocks that its file lacked are set aside");
            }
        }
    }

    /// OSDs whose files are to keep their blocks and lack some.
    pub(super) fn lacking_blocks(&self) -> Vec<(OsdId, Bytes)> {
        let lacks = |osd: OsdId| Some((osd, self.disks.of[osd].open?.lacks));
        let all = self.disks.of.ids().filter_map(lacks);
        all.filter(|(_, lacks)| *lacks > Bytes::ZERO).collect()
    }

    /// What has to have room for an OSD's writes, as its operator knows it.
    pub(super) fn place_of(&self, osd: OsdId) -> String {
        let disk = &self.disks.of[osd];
        let is_device = disk.open.is_some_and(|open| open.kind == DiskKind::BlockDevice);
        match mount_point(&disk.path).filter(|_| !is_device) {
            Some(at) => format!("the file system at {}", at.display()),
            None => format!("what is behind {}", disk.path.display()),
        }
    }
}

/// Where the file system of a file is mounted: the topmost folder above it that is on the same device.
fn mount_point(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let device = path.metadata().ok()?.dev();
    let on_it = |folder: &&Path| folder.metadata().is_ok_and(|facts| facts.dev() == device);
    path.ancestors().skip(1).take_while(on_it).last().map(Path::to_owned)
}
