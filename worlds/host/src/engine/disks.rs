//! The OSDs' disks: requests of the stores on their way through the loop.

use super::Engine;
use super::served::Served;
use crate::{DiskId, DiskProblem, DriveFacts, OpenedDisk};
use loadline_base::{Bytes, IdVec, SlotId, Slots, Time};
use loadline_device::Outcome;
use loadline_osd::{Event, OsdId};
use loadline_store::paged::{Io, IoDone, IoId};
use std::path::PathBuf;

/// A request that the loop has.
#[derive(Clone, Copy, Debug)]
struct LoopRequest {
    osd: OsdId,
    life: u32,
    id: IoId,
}

/// An OSD's disk.
#[derive(Debug, Default)]
pub(super) struct EngineDisk {
    /// The disk of the loop, while it is open.
    pub disk: Option<DiskId>,
    /// Why it could not be opened, if something was there.
    pub unopened: Option<DiskProblem>,
    pub path: PathBuf,
    pub bytes: Bytes,
    /// What the loop has and has not answered: a disk is opened again only after the last of it.
    pub in_flight: u32,
    /// It is to be opened as soon as nothing is in flight.
    pub reopen: bool,
    /// What takes its place then.
    pub next: Option<OpenedDisk>,
    /// Since when the OSD is up or down, to the second.
    pub since: Time,
    /// Whether it was up then.
    pub was_up: bool,
    /// A number for the drive that it stands on; 0 if the system does not tell.
    pub drive: u64,
    /// What it has served while it was busy.
    pub served: Served,
    /// Whether the log has told that there is no room for its writes.
    pub waits_for_room: bool,
    /// It was taken out because it was down for long, and is used again as soon as it is up.
    pub taken_out: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct EngineDisks {
    pub of: IdVec<OsdId, EngineDisk>,
    sent: Slots<LoopRequest>,
    /// How many requests the disks have been given.
    pub requests: u64,
}

impl Engine {
    /// Hands a store's request to its disk.
    pub(super) fn disk_request(&mut self, osd: OsdId, life: u32, io: Io) {
        let Io { id, request, data, .. } = io;
        let Some(disk) = self.disks.of[osd].disk else {
            let done = IoDone { id, outcome: Outcome::Failed, data };
            self.node.happened(osd, Event::IoDone(life, done));
            return;
        };
        let token = self.disks.sent.acquire(LoopRequest { osd, life, id });
        self.disks.of[osd].in_flight += 1;
        self.disks.of[osd].served.note_busy(self.now, true);
        self.disks.requests += 1;
        self.world.submit(disk, u64::from(token.get()), &request, data);
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
        let token = SlotId::new(u32::try_from(token).expect("the token is a slot"));
        let LoopRequest { osd, life, id } = self.disks.sent.release(token);
        let of = &mut self.disks.of[osd];
        of.in_flight -= 1;
        of.served.note_busy(self.now, of.in_flight > 0);
        if outcome == Outcome::NoSpace {
            self.found_no_room(osd);
        } else if let Some(number) = error {
            let error = std::io::Error::from_raw_os_error(number);
            tracing::warn!(%osd, path = %of.path.display(), %error, "a request failed");
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
        (of.path, of.bytes, of.served) = (next.path().to_owned(), next.size(), Served::default());
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
