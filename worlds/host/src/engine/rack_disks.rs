//! The disks of one loop's OSDs, and which requests they have.

use crate::{DiskId, Loop};
use loadline_base::{IdVec, SlotId, Slots};
use loadline_device::Outcome;
use loadline_osd::{Event, OsdId};
use loadline_store::paged::{Io, IoDone, IoId};

/// A request that the loop has.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopRequest {
    pub osd: OsdId,
    pub life: u32,
    pub id: IoId,
}

#[derive(Debug, Default)]
struct RackDisk {
    /// The disk of the loop, while it is open.
    disk: Option<DiskId>,
    /// What the loop has and has not answered: a disk is opened again only after the last of it.
    in_flight: u32,
}

/// All of them.
#[derive(Debug, Default)]
pub struct RackDisks {
    of: IdVec<OsdId, RackDisk>,
    sent: Slots<LoopRequest>,
    requests: u64,
    done: u64,
}

impl RackDisks {
    /// An OSD stands on this disk from now on, or on none. Answers on which it stood.
    pub(super) fn put(&mut self, osd: OsdId, disk: Option<DiskId>) -> Option<DiskId> {
        std::mem::replace(&mut self.of.get_or_default(osd).disk, disk)
    }

    /// The disk that an OSD stands on.
    pub(super) fn disk(&self, osd: OsdId) -> Option<DiskId> {
        self.of.get(osd)?.disk
    }

    /// How many requests to an OSD's disk are not answered.
    pub(super) fn in_flight(&self, osd: OsdId) -> u32 {
        self.of.get(osd).map_or(0, |of| of.in_flight)
    }

    /// How many requests the disks have been given.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// How many of them they have carried out.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Hands a store's request to its disk. Without one it has failed, and what is answered is for the OSD.
    pub(super) fn submit<M>(
        &mut self,
        world: &mut Loop<M>,
        (osd, life): (OsdId, u32),
        io: Io,
    ) -> Option<Event> {
        let Io { id, request, data, .. } = io;
        let of = self.of.get_or_default(osd);
        let Some(disk) = of.disk else {
            return Some(Event::IoDone(life, IoDone { id, outcome: Outcome::Failed, data }));
        };
        of.in_flight += 1;
        self.requests += 1;
        let token = u64::from(self.sent.acquire(LoopRequest { osd, life, id }).get());
        world.submit(disk, token, &request, data);
        None
    }

    /// A disk has answered the request of this token.
    pub(super) fn answered(&mut self, token: u64, outcome: Outcome) -> LoopRequest {
        self.done += u64::from(outcome == Outcome::Done);
        let token = SlotId::new(u32::try_from(token).expect("the token is a slot"));
        let request = self.sent.release(token);
        self.of.get_or_default(request.osd).in_flight -= 1;
        request
    }
}
