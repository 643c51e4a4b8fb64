//! One paged store on simulated disks, without a scheduler before it: the world of crash tests.

use crate::disk::{RequestDone, SimDisk};
use loadline_base::{Span, Time};
use loadline_device::{Outcome, Request, RequestKind};
use loadline_store::paged::{
    Completion, Format, FormatError, Io, IoDone, IoId, Op, OpLane, Options, Outbox, PagedStore,
    Protection, StoreDevice, format,
};
use std::collections::{BTreeMap, VecDeque};

/// After so long a write that found no room is asked for again.
const PAUSE: Span = Span::from_millis(50);

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

    fn next_done(&self) -> Option<Time> {
        let log = self.log.as_ref().and_then(SimDisk::next_done);
        self.data.next_done().into_iter().chain(log).min()
    }
}

/// A request on its way through a disk.
#[derive(Clone, Copy, Debug)]
pub struct SentRequest {
    id: IoId,
    /// Which disk.
    pub target: StoreDevice,
    /// What it asks.
    pub request: Request,
}

/// A store and its disks in virtual time.
pub struct StoreHost {
    now: Time,
    /// Answers of the devices since it was another time.
    answers: u32,
    store: PagedStore<u64>,
    disks: StoreDisks,
    /// What the disks have and have not answered.
    in_flight: BTreeMap<u64, SentRequest>,
    next_request: u64,
    out: Outbox<u64>,
    held: Option<VecDeque<Io>>,
    /// Requests that no disk ever sees and that are answered as if they were carried out.
    lost: VecDeque<Io>,
    /// Writes that found no room, and when they are asked for again: as an OSD does below its store.
    without_room: VecDeque<(Time, Io)>,
    /// Devices that are full, and until when.
    full: Vec<(StoreDevice, Time)>,
    /// Ops that have ended since they were last taken.
    pub completions: Vec<Completion<u64>>,
}

impl StoreHost {
    /// Begins to open the store on these disks.
    pub fn open(now: Time, options: Options, disks: StoreDisks) -> StoreHost {
        let mut host = StoreHost::open_held(now, options, disks);
        while host.send() {}
        host.held = None;
        host
    }

    /// The same, but requests wait to be looked at: each goes to its disk with [`StoreHost::send`].
    pub fn open_held(now: Time, options: Options, disks: StoreDisks) -> StoreHost {
        let mut out = Outbox::new();
        let log = disks.log.as_ref().map(|log| log.spec().size);
        let store = PagedStore::open(now, options, disks.data.spec().size, log, &mut out);
        let mut host = StoreHost {
            now,
            answers: 0,
            store,
            disks,
            in_flight: BTreeMap::new(),
            next_request: 0,
            out,
            held: Some(VecDeque::new()),
            lost: VecDeque::new(),
            without_room: VecDeque::new(),
            full: Vec::new(),
            completions: Vec::new(),
        };
        host.carry_out();
        host
    }

    /// Hands an op to the store.
    pub fn submit(&mut self, op: Op<u64>) {
        self.store.submit(self.now, op, &mut self.out);
        self.carry_out();
    }

    /// Lets nothing in this lane sleep for the throttle (see [`PagedStore::hurry`]).
    pub fn hurry(&mut self, lane: OpLane) {
        self.store.hurry(self.now, lane, &mut self.out);
        self.carry_out();
    }

    /// Lets the next thing happen. False if nothing ever will.
    pub fn step(&mut self) -> bool {
        assert!(self.next_request().is_none(), "requests are sent before time goes on");
        if let Some(io) = self.lost.pop_front() {
            let done = IoDone { id: io.id, outcome: Outcome::Done, data: io.data };
            self.store.done(self.now, done, &mut self.out);
            self.carry_out();
            return true;
        }
        let due = self.disks.next_done();
        let tick = self.store.next_tick();
        let again = self.without_room.front().map(|(time, _)| *time);
        let Some(next) = due.into_iter().chain(tick).chain(again).min() else { return false };
        if next > self.now {
            (self.now, self.answers) = (next, 0);
        }
        match due {
            _ if again.is_some_and(|again| again <= self.now) => self.ask_for_room(),
            Some(due) if due <= self.now => self.answer(),
            _ => self.store.tick(self.now, &mut self.out),
        }
        self.carry_out();
        true
    }

    /// The request that waits to be sent, of a host that was [opened so](StoreHost::open_held).
    pub fn next_request(&self) -> Option<&Io> {
        self.held.as_ref()?.front()
    }

    /// Sends the request that waits. False if none does.
    pub fn send(&mut self) -> bool {
        let Some(io) = self.held.as_mut().and_then(VecDeque::pop_front) else { return false };
        self.submit_to_disk(io);
        true
    }

    /// Answers the write or flush that waits as if it had been carried out, and carries nothing out.
    pub fn lose(&mut self) {
        let io = self.held.as_mut().and_then(VecDeque::pop_front).expect("a request waits");
        assert!(io.request.kind != RequestKind::Read, "what a lost read returns nobody knows");
        self.lost.push_back(io);
    }

    /// What the disks have and have not answered.
    pub fn in_flight(&self) -> impl Iterator<Item = &SentRequest> {
        self.in_flight.values()
    }

    /// Lets things happen until `ready` says so. False if nothing happens any more before that.
    pub fn run_until(&mut self, mut ready: impl FnMut(&StoreHost) -> bool) -> bool {
        while !ready(self) {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// Lets the next answer of a disk reach the store.
    fn answer(&mut self) {
        let now = self.now;
        self.answers += 1;
        let of_log = |disks: &mut StoreDisks| disks.log.as_mut().and_then(|log| log.finish(now));
        let is_its_turn = self.answers > ANSWERS_OF_A_MOMENT;
        let first = if is_its_turn { of_log(&mut self.disks) } else { None };
        let done =
            first.or_else(|| self.disks.data.finish(now)).or_else(|| of_log(&mut self.disks));
        let RequestDone { id, outcome, data } = done.expect("an answer is due");
        let SentRequest { id, target, request } =
            self.in_flight.remove(&id).expect("an answer answers a request");
        if outcome == Outcome::NoSpace {
            self.without_room.push_back((now + PAUSE, Io { id, target, request, data }));
            return;
        }
        self.store.done(now, IoDone { id, outcome, data }, &mut self.out);
    }

    /// Leaves a device without room for writes until this time.
    pub fn fill(&mut self, target: StoreDevice, until: Time) {
        self.disks.of(target).set_full(true);
        self.full.push((target, until));
    }

    /// Whether a device has no room for writes.
    pub fn is_full(&self, target: StoreDevice) -> bool {
        self.full.iter().any(|(full, _)| *full == target)
    }

    /// Asks again for the write that has waited longest for room.
    fn ask_for_room(&mut self) {
        let now = self.now;
        self.full.retain(|(target, until)| {
            self.disks.of(*target).set_full(false);
            now < *until
        });
        for (target, _) in &self.full {
            self.disks.of(*target).set_full(true);
        }
        let (_, io) = self.without_room.pop_front().expect("a write waits");
        self.submit_to_disk(io);
    }

    fn carry_out(&mut self) {
        self.completions.append(&mut self.out.completions);
        match &mut self.held {
            Some(held) => held.extend(self.out.io.drain(..)),
            None => {
                let mut requests = std::mem::take(&mut self.out.io);
                requests.drain(..).for_each(|io| self.submit_to_disk(io));
                self.out.io = requests;
            }
        }
    }

    fn submit_to_disk(&mut self, io: Io) {
        let Io { id, target, request, data } = io;
        self.next_request += 1;
        self.in_flight.insert(self.next_request, SentRequest { id, target, request });
        self.disks.of(target).submit(self.now, self.next_request, &request, data);
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The store, to look into.
    pub fn store(&self) -> &PagedStore<u64> {
        &self.store
    }

    /// The data device, to look into.
    pub fn data(&self) -> &SimDisk {
        &self.disks.data
    }

    /// The disks, to look into or to spoil.
    pub fn disks(&mut self) -> &mut StoreDisks {
        &mut self.disks
    }

    /// A copy of the disks as they are, requests in flight included.
    pub fn disks_copy(&self) -> StoreDisks {
        self.disks.clone()
    }

    /// The disks, when the store is gone. By then there is room.
    pub fn into_disks(mut self) -> StoreDisks {
        for (target, _) in self.full {
            self.disks.of(target).set_full(false);
        }
        self.disks
    }
}
