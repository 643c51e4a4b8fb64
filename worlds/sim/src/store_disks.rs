//! Disks with contents under a paged store: where its pages are, and perhaps another for its log.

use crate::disk::{RequestDone, SimDisk, Station};
use loadline_base::{SlotId, Time};
use loadline_device::{Outcome, Request};
use loadline_store::RequestId;
use loadline_store::paged::{Format, FormatError, Io, IoId, Protection, StoreDevice, format};

/// The data device answers so often in one moment before the log's has its turn. Devices that cost nothing might never let it have
/// one where ops read the same pages again and again until the log lets a checkpoint free frames.
const ANSWERS_OF_A_MOMENT: u32 = 10_000;

/// The devices of a store.
#[derive(Clone)]
pub struct StoreDisks {
    /// Where the pages are.
    pub data: SimDisk,
    /// Where the log is, if it has a device of its own.
    pub log: Option<SimDisk>,
}

impl StoreDisks {
    /// Writes an empty store, durably.
    pub fn format(&mut self, spec: &Format, protection: Protection) -> Result<(), FormatError> {
        for (target, offset, bytes) in format(spec, protection)? {
            self.of(target).poke(offset, &bytes);
        }
        Ok(())
    }

    /// The disk of a target. A store without a log device never names one.
    pub fn of(&mut self, target: StoreDevice) -> &mut SimDisk {
        match target {
            StoreDevice::Data => &mut self.data,
            StoreDevice::Log => {
                self.log.as_mut().expect("the store was formatted with a log device")
            }
        }
    }

    /// What the disks have and have not answered.
    pub fn in_flight(&self) -> impl Iterator<Item = (StoreDevice, &Request)> {
        let log = self.log.iter().flat_map(SimDisk::requests);
        let data = self.data.requests().map(|request| (StoreDevice::Data, request));
        data.chain(log.map(|request| (StoreDevice::Log, request)))
    }

    fn next_done(&self) -> Option<Time> {
        let log = self.log.as_ref().and_then(SimDisk::next_done);
        self.data.next_done().into_iter().chain(log).min()
    }

    /// The answer that is due: the data device's, or that of the log's device if it has the turn.
    fn finish(&mut self, now: Time, logs_turn: bool) -> Option<(StoreDevice, RequestDone)> {
        let of_log = |log: &mut Option<SimDisk>| log.as_mut().and_then(|log| log.finish(now));
        let first = if logs_turn { of_log(&mut self.log) } else { None };
        let log = |done| (StoreDevice::Log, done);
        let data = |disks: &mut StoreDisks| Some((StoreDevice::Data, disks.data.finish(now)?));
        first.map(log).or_else(|| data(self)).or_else(|| of_log(&mut self.log).map(log))
    }
}

/// The disks under an OSD's store.
pub(crate) struct OsdDisk {
    pub(crate) disks: StoreDisks,
    /// To be opened when the last request of the earlier life has been answered.
    pub(crate) reopen: bool,
    /// Devices that are full, and until when.
    full: Vec<(StoreDevice, Time)>,
    /// The moment of the last answer, and how many there were in it.
    answers: (Time, u32),
}

/// An answer to a request of a store.
pub(crate) struct StoreAnswer {
    /// Which life of the store asked.
    pub(crate) life: u32,
    pub(crate) outcome: Outcome,
    /// What it had asked, with the bytes that it is answered.
    pub(crate) io: Io,
}

impl OsdDisk {
    pub(crate) fn new(disks: StoreDisks) -> OsdDisk {
        let answers = (Time::ZERO, 0);
        OsdDisk { disks, reopen: false, full: Vec::new(), answers }
    }

    /// Takes a request of a life of the store. A device is named where the disk is a part of one.
    pub(crate) fn submit(&mut self, at: (Time, Option<&mut Station>), life: u32, io: Io) {
        let Io { id, target, request, data } = io;
        let id = packed(RequestId::new(id.0, life));
        self.disks.of(target).submit_on(at, id, &request, data);
    }

    /// When the next answer is due.
    pub(crate) fn next_done(&self) -> Option<Time> {
        self.disks.next_done()
    }

    /// The answer that is due.
    pub(crate) fn answer(&mut self, now: Time) -> StoreAnswer {
        if now > self.answers.0 {
            self.answers = (now, 0);
        }
        self.answers.1 += 1;
        let answered = self.disks.finish(now, self.answers.1 > ANSWERS_OF_A_MOMENT);
        let (target, done) = answered.expect("an answer is due");
        let RequestDone { id, request, outcome, data } = done;
        let id = unpacked(id);
        let io = Io { id: IoId(id.slot()), target, request, data };
        StoreAnswer { life: id.life(), outcome, io }
    }

    /// Leaves a device without room for writes until this time.
    pub(crate) fn fill(&mut self, target: StoreDevice, until: Time) {
        self.disks.of(target).set_full(true);
        self.full.push((target, until));
    }

    /// Whether a device has no room for writes.
    pub(crate) fn is_full(&self, target: StoreDevice) -> bool {
        self.full.iter().any(|(full, _)| *full == target)
    }

    /// Devices whose time without room is over have room again.
    pub(crate) fn look_for_room(&mut self, now: Time) {
        self.full.retain(|(target, until)| {
            self.disks.of(*target).set_full(false);
            now < *until
        });
        for (target, _) in &self.full {
            self.disks.of(*target).set_full(true);
        }
    }

    /// The disks, when the store is gone. By then there is room.
    pub(crate) fn into_disks(mut self) -> StoreDisks {
        for (target, _) in self.full {
            self.disks.of(target).set_full(false);
        }
        self.disks
    }
}

/// The store's number for a request as the drive's.
pub(crate) fn packed(id: RequestId) -> u64 {
    u64::from(id.life()) << 32 | u64::from(id.slot().get())
}

pub(crate) fn unpacked(id: u64) -> RequestId {
    RequestId::new(SlotId::new(id as u32), (id >> 32) as u32)
}
