//! The OSDs' disks: requests of the stores on their way through the loop.

use super::disk_table::LoopRequest;
use super::host_node::HostNode;
use crate::{DiskId, DiskProblem, DriveFacts, OpenedDisk};
use loadline_device::Outcome;
use loadline_osd::{Event, OsdId};
use loadline_store::paged::{Io, IoDone};

impl HostNode {
    /// Hands a store's request to its disk.
    pub(super) fn disk_request(&mut self, osd: OsdId, life: u32, io: Io) {
        let Io { id, request, data, .. } = io;
        let Some(disk) = self.disks.of[osd].disk else {
            let done = IoDone { id, outcome: Outcome::Failed, data };
            self.node.happened(osd, Event::IoDone(life, done));
            return;
        };
        let token = self.disks.sends(LoopRequest { osd, life, id });
        self.world.submit(disk, token, &request, data);
    }

    /// A disk has answered.
    pub(super) fn disk_done(
        &mut self,
        disk: DiskId,
        token: u64,
        outcome: Outcome,
        data: Vec<u8>,
        error: Option<i32>,
    ) {
        let LoopRequest { osd, life, id } = self.disks.answered(token);
        if outcome == Outcome::NoSpace {
            self.found_no_room(osd);
        } else if let Some(number) = error {
            let error = std::io::Error::from_raw_os_error(number);
            tracing::warn!(%osd, path = %self.disks.of[osd].path.display(), %error, "a request failed");
        }
        debug_assert_eq!(self.disks.of[osd].disk, Some(disk));
        self.node.happened(osd, Event::IoDone(life, IoDone { id, outcome, data }));
        self.reopen_if_idle(osd);
    }

    /// Opens an OSD's disk again, now or when the last request of its earlier life has been answered: a late write must
    /// not meet the new life's reads.
    pub(super) fn reopen(&mut self, osd: OsdId) {
        self.disks.of[osd].reopen = true;
        self.reopen_if_idle(osd);
    }

    fn reopen_if_idle(&mut self, osd: OsdId) {
        let of = &mut self.disks.of[osd];
        if !of.reopen || of.in_flight > 0 {
            return;
        }
        of.reopen = false;
        if let Some(next) = of.next.take() {
            self.change_disk(osd, next);
        }
        if self.disks.of[osd].disk.is_some() {
            let bytes = self.disks.of[osd].bytes;
            self.renew_osd(osd);
            self.node.change(self.now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
        }
    }

    /// Gives an OSD another disk, while nothing is in flight.
    fn change_disk(&mut self, osd: OsdId, next: OpenedDisk) {
        let of = &mut self.disks.of[osd];
        if let Some(before) = of.disk.take() {
            self.world.remove_disk(before);
        }
        (of.path, of.bytes, of.is_blank) = (next.path().to_owned(), next.size(), false);
        of.drive = DriveFacts::number_of(next.path());
        tracing::info!(%osd, path = %of.path.display(), size = %of.bytes, mode = %next.mode(), "disk");
        match self.world.add_disk(next) {
            Ok(disk) => (of.disk, of.unopened) = (Some(disk), None),
            Err(error) => {
                tracing::error!(%osd, %error, "the disk cannot be used");
                of.unopened = Some(DiskProblem::NotAdded(error));
            }
        }
    }
}
