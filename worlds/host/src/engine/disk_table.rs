//! What is known of each OSD's disk, and which requests the disks have.

use crate::{DiskId, DiskProblem, OpenedDisk};
use loadline_base::{Bytes, IdVec, SlotId, Slots, Time};
use loadline_osd::OsdId;
use loadline_store::paged::IoId;
use std::path::PathBuf;

/// A request that the loop has.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopRequest {
    pub osd: OsdId,
    pub life: u32,
    pub id: IoId,
}

/// An OSD's disk.
#[derive(Debug, Default)]
pub(super) struct EngineDisk {
    /// The disk of the loop, while it is open.
    pub disk: Option<DiskId>,
    /// Why it could not be opened, if something was there.
    pub unopened: Option<DiskProblem>,
    pub path: PathBuf,
    /// The start has found that it holds nothing.
    pub is_blank: bool,
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
    /// What the log has been told of its capacity: operations per second that are far from what was stored.
    pub capacity_found: Option<f64>,
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

impl EngineDisks {
    /// A request goes to its disk, under this token.
    pub(super) fn sends(&mut self, request: LoopRequest) -> u64 {
        let of = &mut self.of[request.osd];
        of.in_flight += 1;
        self.requests += 1;
        u64::from(self.sent.acquire(request).get())
    }

    /// A disk has answered the request of this token.
    pub(super) fn answered(&mut self, token: u64) -> LoopRequest {
        let token = SlotId::new(u32::try_from(token).expect("the token is a slot"));
        let request = self.sent.release(token);
        let of = &mut self.of[request.osd];
        of.in_flight -= 1;
        request
    }
}
