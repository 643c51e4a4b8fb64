//! The OSDs' disks: requests of the stores on their way through this loop, and disks that are given to a loop and taken back.

use super::disk_table::{NextDisk, OpenFacts};
use super::host_node::HostNode;
use super::mail::{DiskOpened, Mail};
use super::rack_disks::{LoopRequest, RackDisks};
use crate::{DiskOpenError, DiskProblem, DriveFacts, Loop, LoopError, OpenedDisk, why};
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
        self.go_on_opening(osd);
    }

    /// A request has failed, or has found no room; or neither.
    pub(super) fn told_trouble(&mut self, osd: OsdId, outcome: Outcome, error: Option<i32>) {
        if outcome == Outcome::NoSpace {
            self.found_no_room(osd);
        } else if let Some(number) = error {
            let error = why(&std::io::Error::from_raw_os_error(number));
            tracing::warn!(%osd, path = %self.disks.of[osd].path.display(), error, "a request failed");
        }
    }

    /// Whether an OSD gets a disk, opens it, or has it open and takes no part yet: it comes up by itself, or is known to stay down.
    pub(super) fn is_coming_up(&self, osd: OsdId) -> bool {
        let cluster = self.node.cluster();
        let has_begun = cluster.is_opening_disk(osd) || cluster.is_held_open(osd);
        has_begun || self.disks.of[osd].is_to_come()
    }

    /// Has an OSD begin a life on what is at its path, unless it is in one or comes up already.
    pub(super) fn open_at_path(&mut self, osd: OsdId) {
        if !self.node.cluster().map().osds()[osd].up && !self.is_coming_up(osd) {
            self.disks.of[osd].next = NextDisk::AtPath;
            self.go_on_opening(osd);
        }
    }

    /// Has an OSD begin a life on this disk.
    pub(super) fn open_on(&mut self, osd: OsdId, disk: OpenedDisk) {
        self.disks.of[osd].next = NextDisk::Open(disk);
        self.go_on_opening(osd);
    }

    /// Takes the next step towards an OSD's next life, if the last request of its earlier one has been answered: a late write must not meet the new
    /// life's reads.
    pub(super) fn go_on_opening(&mut self, osd: OsdId) {
        let is_due = matches!(self.disks.of[osd].next, NextDisk::AtPath | NextDisk::Open(_));
        if !is_due || !self.is_at_rest(osd) {
            return;
        }
        match std::mem::take(&mut self.disks.of[osd].next) {
            NextDisk::Open(disk) => self.begin_life(osd, disk),
            _ => self.open_what_is_at_path(osd),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a disk takes its time to open, and clients do not wait"
    )]
    fn open_what_is_at_path(&mut self, osd: OsdId) {
        // It is locked as long as it is open.
        drop(self.take_back(osd));
        self.disks.openings += 1;
        let number = self.disks.openings;
        self.disks.of[osd].next = NextDisk::Opening(number);
        let how = self.config.disk_open(&self.disks.of[osd].path);
        let mailbox = self.world.mailbox();
        std::thread::spawn(move || {
            let opened = DiskOpened { osd, number, disk: how.open() };
            // A node that has ended meanwhile needs no disk.
            let _ = mailbox.post(Mail::Opened(Box::new(opened)));
        });
    }

    /// A thread has opened what is at an OSD's path, or could not. What nobody waits for any more is closed.
    pub(super) fn disk_opened(&mut self, opened: DiskOpened) {
        let DiskOpened { osd, number, disk } = opened;
        let awaited = self.disks.of.get(osd).map(|of| &of.next);
        if !matches!(awaited, Some(NextDisk::Opening(awaited)) if *awaited == number) {
            return;
        }
        match disk {
            Ok(disk) => self.open_on(osd, disk),
            Err(DiskOpenError { path, problem }) => {
                tracing::warn!(%osd, path = %path.display(), "the disk cannot be used: {problem}");
                let of = &mut self.disks.of[osd];
                (of.next, of.unopened) = (NextDisk::None, Some(problem));
            }
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
    fn give_disk(&mut self, osd: OsdId, disk: OpenedDisk) -> Result<(), LoopError> {
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

    /// Begins an OSD's life on a disk, while nothing is in flight.
    fn begin_life(&mut self, osd: OsdId, disk: OpenedDisk) {
        drop(self.take_back(osd));
        let of = &mut self.disks.of[osd];
        of.bytes = disk.size();
        of.drive = DriveFacts::number_of(disk.path());
        let bytes = of.bytes;
        tracing::info!(%osd, path = %of.path.display(), size = %bytes, mode = %disk.mode(), "disk");
        if let Err(error) = self.give_disk(osd, disk) {
            tracing::error!(%osd, %error, "the disk cannot be used");
            self.disks.of[osd].unopened = Some(DiskProblem::NotAdded(error));
            return;
        }
        self.disks.of[osd].unopened = None;
        self.renew_osd(osd);
        self.node.change(self.now, |cluster, fx| cluster.open_osd(osd, bytes, fx));
    }
}
