//! The OSDs' disks: requests of the stores on their way through this loop, and disks that are given to a loop and taken back.

use super::disk_table::OpenFacts;
use super::host_node::HostNode;
use super::mail::Mail;
use super::rack_disks::{LoopRequest, RackDisks};
use crate::{DriveFacts, Loop, LoopError, OpenedDisk};
use loadline_device::Outcome;
use loadline_osd::{Event, OsdId};
use loadline_store::paged::{Io, IoDone};

impl HostNode {
    /// Hands a store's request to its disk.
    pub(super) fn disk_request(&mut self, osd: OsdId, life: u32, io: Io) {
        if let Some(failed) = self.own.submit(&mut self.world, (osd, life), io) {
            self.node.happened(osd, failed);
        }
    }

    /// A disk has answered.
    pub(super) fn disk_done(
        &mut self,
        token: u64,
        outcome: Outcome,
        data: Vec<u8>,
        error: Option<i32>,
    ) {
        let LoopRequest { osd, life, id } = self.own.answered(token, outcome);
        self.told_trouble(osd, outcome, error);
        self.node.happened(osd, Event::IoDone(life, IoDone { id, outcome, data }));
        self.reopen_if_idle(osd);
    }

    /// A request has failed, or has found no room; or neither.
    pub(super) fn told_trouble(&mut self, osd: OsdId, outcome: Outcome, error: Option<i32>) {
        if outcome == Outcome::NoSpace {
            self.found_no_room(osd);
        } else if let Some(number) = error {
            let error = std::io::Error::from_raw_os_error(number);
            tracing::warn!(%osd, path = %self.disks.of[osd].path.display(), %error, "a request failed");
        }
    }

    /// Opens an OSD's disk again, now or when the last request of its earlier life has been answered: a late write must
    /// not meet the new life's reads.
    pub(super) fn reopen(&mut self, osd: OsdId) {
        self.disks.of[osd].reopen = true;
        self.reopen_if_idle(osd);
    }

    pub(super) fn reopen_if_idle(&mut self, osd: OsdId) {
        if !self.disks.of[osd].reopen || !self.is_at_rest(osd) {
            return;
        }
        self.disks.of[osd].reopen = false;
        if let Some(next) = self.disks.of[osd].next.take() {
            self.change_disk(osd, next);
        }
        if self.disks.of[osd].open.is_some() {
            let bytes = self.disks.of[osd].bytes;
            self.renew_osd(osd);
            self.node.change(self.now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
        }
    }

    /// How many requests to an OSD's disk are under way.
    pub(super) fn in_flight(&self, osd: OsdId) -> u32 {
        match self.racks.elsewhere(osd) {
            Some(rack) => rack.disks.in_flight(osd),
            None => self.own.in_flight(osd),
        }
    }

    /// Whether nothing of an OSD's life is under way to its disk, and nothing more can come: on another loop it may not have heard yet that the life is
    /// over.
    pub(super) fn is_at_rest(&self, osd: OsdId) -> bool {
        match self.racks.elsewhere(osd) {
            Some(rack) => rack.disks.in_flight(osd) == 0 && !rack.rack.osd(osd).has_disk(),
            None => self.own.in_flight(osd) == 0,
        }
    }

    /// How many requests the disks have been given.
    pub(super) fn device_requests(&self) -> u64 {
        let elsewhere = self.racks.all().map(|rack| rack.disks.requests());
        self.own.requests() + elsewhere.sum::<u64>()
    }

    /// How many of them they have carried out.
    pub(super) fn requests_done(&self) -> u64 {
        let elsewhere = self.racks.all().map(|rack| rack.disks.done());
        self.own.done() + elsewhere.sum::<u64>()
    }

    /// Has something done with the disks on the loop that turns an OSD.
    fn on_its_loop<T: Send + 'static>(
        &mut self,
        osd: OsdId,
        what: impl FnOnce(&mut Loop<Mail>, &mut RackDisks) -> T + Send + 'static,
    ) -> T {
        match self.racks.is_elsewhere(osd) {
            true => self.racks.ask(osd, what),
            false => what(&mut self.world, &mut self.own),
        }
    }

    /// Gives an OSD's loop its disk.
    pub(super) fn give_disk(&mut self, osd: OsdId, disk: OpenedDisk) -> Result<(), LoopError> {
        let facts = OpenFacts::of(&disk);
        self.on_its_loop(osd, move |world, disks| {
            let before = disks.put(osd, Some(world.add_disk(disk)?));
            debug_assert_eq!(before, None, "it had given its disk back");
            Ok::<(), LoopError>(())
        })?;
        self.disks.of[osd].open = Some(facts);
        Ok(())
    }

    /// Takes an OSD's disk from its loop, while nothing is in flight.
    pub(super) fn take_back(&mut self, osd: OsdId) -> Option<OpenedDisk> {
        self.disks.of[osd].open.take()?;
        self.on_its_loop(osd, move |world, disks| {
            let disk = disks.put(osd, None).expect("it is open");
            Some(world.remove_disk(disk))
        })
    }

    /// Sets more of a disk's blocks aside. Answers whether it lacks none any more.
    pub(super) fn set_more_aside(&mut self, osd: OsdId, step: loadline_base::Bytes) -> bool {
        let (is_whole, lacks) = self.on_its_loop(osd, move |world, disks| {
            let disk = world.disk_mut(disks.disk(osd).expect("it is open"));
            (disk.set_more_aside(step), disk.lacks())
        });
        let open = self.disks.of[osd].open.as_mut();
        open.expect("it is open").lacks = lacks;
        is_whole
    }

    /// Gives an OSD another disk, while nothing is in flight.
    fn change_disk(&mut self, osd: OsdId, next: OpenedDisk) {
        drop(self.take_back(osd));
        let of = &mut self.disks.of[osd];
        (of.path, of.bytes, of.is_blank) = (next.path().to_owned(), next.size(), false);
        of.drive = DriveFacts::number_of(next.path());
        tracing::info!(%osd, path = %of.path.display(), size = %of.bytes, mode = %next.mode(), "disk");
        match self.give_disk(osd, next) {
            Ok(()) => self.disks.of[osd].unopened = None,
            Err(error) => {
                tracing::error!(%osd, %error, "the disk cannot be used");
                self.disks.of[osd].unopened = Some(crate::DiskProblem::NotAdded(error));
            }
        }
    }
}
