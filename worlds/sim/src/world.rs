//! The simulated world: the one place where virtual time passes. It turns a machine (a node under a load, or a store alone) and the
//! drives under it, and one loop lets the next thing happen.
//!
//! What the drives are is a part that is named: modelled ones, as studies of another system's figures want them, or disks with
//! contents and faults.
//!
//! Of what is due at one time, links come first, then workers and modelled drives, then disks, then timers.

use crate::disk::Station;
use crate::drive_usage::DriveUsage;
use crate::events::SimEvent;
use crate::host::{Computer, SimHost};
use crate::lanes::{LaneId, Lanes};
use crate::osd_drive::{DriveAnswer, RunningDrive, Then};
use crate::store_disks::{StoreAnswer, StoreDisks};
use loadline_base::{IdVec, Rng, Span, Time};
use loadline_device::{Outcome, RequestKind};
use loadline_osd::OsdId;
use loadline_store::paged::{Io, IoDone};
use loadline_store::{RequestId, Submission};
use std::collections::VecDeque;

/// After so long the world asks again for a write that found no room, where the machine does not do so itself.
const ROOM_PAUSE: Span = Span::from_millis(50);

/// How long something is waited for. Nothing that is waited for takes a day, and an idle node never comes to rest: its OSDs look for ever
/// whether a scrub is due.
const PATIENCE: Span = Span::from_secs(24 * 60 * 60);

/// Virtual time, and what is going to happen in it.
pub struct VirtualTime {
    now: Time,
    events: Lanes<SimEvent>,
    /// The round of the one thread that does everything, where there is such a one.
    round: Option<Round>,
}

/// A round of a thread.
struct Round {
    /// It takes up what has happened until then.
    began: Time,
    /// How long it takes for what takes 1000 at its price, and by how much that may be more or less.
    pace: u64,
    spread: u64,
    rng: Rng,
}

impl Round {
    fn begin(&mut self, now: Time) {
        self.began = now;
        self.pace = 1000 - self.spread + self.rng.below(2 * self.spread + 1);
    }
}

impl VirtualTime {
    pub(crate) fn new(now: Time) -> VirtualTime {
        VirtualTime { now, events: Lanes::new(), round: None }
    }

    /// The present time.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// The one thread that does everything works for so long. What is due meanwhile waits.
    pub(crate) fn pass(&mut self, takes: Span) {
        let pace = self.round.as_ref().map_or(1000, |round| round.pace);
        self.now += takes * pace / 1000;
    }

    /// Whether one thread does everything.
    pub(crate) fn goes_in_rounds(&self) -> bool {
        self.round.is_some()
    }

    /// Something that is due then happens, at once or when whoever does everything comes to it.
    #[inline]
    fn reach(&mut self, at: Time) {
        self.now = self.now.max(at);
        if let Some(round) = self.round.as_mut().filter(|round| at > round.began) {
            round.begin(self.now);
        }
    }

    /// Opens a lane, for events that come in the order of their times.
    pub(crate) fn add_lane(&mut self) -> LaneId {
        self.events.add_lane()
    }

    /// Lets an event of a lane happen then.
    #[inline]
    pub(crate) fn push_lane(&mut self, lane: LaneId, at: Time, event: SimEvent) {
        self.events.push_lane(lane, at, event);
    }

    /// Lets an event happen then.
    pub(crate) fn push(&mut self, at: Time, event: SimEvent) {
        self.events.push(at, event);
    }
}

/// The drives of a world, with what it has scheduled of each.
pub struct Drives {
    pub(crate) of: IdVec<OsdId, RunningDrive>,
    /// The first OSD on the device that each stands on: under its number requests of a direct store are served, and all are counted.
    first: IdVec<OsdId, OsdId>,
    /// Under the same number, where disks with contents are parts of one device, that device.
    stations: IdVec<OsdId, Option<Station>>,
    pub(crate) usage: IdVec<OsdId, DriveUsage>,
    lanes: IdVec<OsdId, LaneId>,
    /// Whether they are disks with contents, which know themselves when they answer.
    pub(crate) has_disks: bool,
}

/// What a machine asks of a drive.
pub enum DriveAsked {
    /// A request of a direct store.
    Device(OsdId, Submission),
    /// A request of a life of a paged store.
    Io(OsdId, u32, Io),
}

/// What a world turns. All that passes between it and the world are these calls.
pub trait Machine {
    /// Whether it keeps what found no room on a disk until there is some, as an OSD does below its store.
    const WAITS_FOR_ROOM: bool;

    /// When something is due here by itself; [`Time::MAX`] if nothing is.
    fn next_timer(&self) -> Time;

    /// That time has come.
    fn fire(&mut self, now: Time);

    /// Goes on until it asks something of a drive, or is at rest.
    fn next(&mut self, clock: &mut VirtualTime) -> Option<DriveAsked>;

    /// What it has scheduled happens.
    fn happened(&mut self, event: SimEvent, clock: &mut VirtualTime);

    /// A modelled drive answers.
    fn device_done(&mut self, now: Time, osd: OsdId, request: RequestId, outcome: Outcome);

    /// A disk with contents answers a life of a store.
    fn io_done(&mut self, now: Time, osd: OsdId, life: u32, done: IoDone);

    /// Opens disks that were to be at rest first, as soon as they are: the one that has answered, or any of them.
    fn open_resting(&mut self, _: Time, _answered: Option<OsdId>, _: &mut Drives) {}
}

/// A machine on its drives in virtual time.
pub struct World<M> {
    pub(crate) clock: VirtualTime,
    pub(crate) machine: M,
    pub(crate) drives: Drives,
    /// Requests of stores that wait to be looked at before they go to their disks, in a world where they do.
    held: Option<VecDeque<(OsdId, u32, Io)>>,
    /// What the one thread that does everything hands to the disks at the end of its round.
    asked: Vec<(OsdId, u32, Io)>,
}

impl<M: Machine> World<M> {
    pub(crate) fn around(
        mut clock: VirtualTime,
        machine: M,
        drives: impl Iterator<Item = RunningDrive>,
    ) -> World<M> {
        let of: IdVec<OsdId, RunningDrive> = drives.collect();
        let lanes = of.ids().map(|_| clock.add_lane()).collect();
        let usage = of.ids().map(|_| DriveUsage::default()).collect();
        let has_disks = of.values().any(|drive| matches!(drive, RunningDrive::Disk(_)));
        let (first, stations) = (of.ids().collect(), of.ids().map(|_| None).collect());
        let drives = Drives { of, first, stations, usage, lanes, has_disks };
        World { clock, machine, drives, held: None, asked: Vec::new() }
    }

    /// Lets those OSDs share a device that stand on one of the host's, and one thread do everything if it is so there.
    pub(crate) fn on_host(mut self, host: &SimHost) -> World<M> {
        if let Some((Computer::Thread { spread_permille }, _)) = host.computing {
            let (began, spread) = (self.clock.now, u64::from(spread_permille.min(999)));
            let rng = Rng::new(spread);
            self.clock.round = Some(Round { began, pace: 1000, spread, rng });
        }
        let Drives { of, first, stations, .. } = &mut self.drives;
        *first = host.first_on_device(of.len() as u32);
        let shared: Vec<OsdId> =
            first.iter().filter(|(osd, first)| osd != *first).map(|(_, first)| *first).collect();
        for osd in shared {
            stations[osd] = of[osd].station();
        }
        self
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.clock.now
    }

    /// Lets time pass.
    pub fn run_until(&mut self, until: Time) {
        while self.step_until(until) {}
        // Whoever does everything ends what he has begun.
        self.clock.now = self.clock.now.max(until);
    }

    /// Lets things happen until `ready` says so. False if that does not come within a day.
    pub fn wait_until(&mut self, mut ready: impl FnMut(&World<M>) -> bool) -> bool {
        let end = self.now() + PATIENCE;
        while !ready(self) {
            if !self.step_until(end) {
                return false;
            }
        }
        true
    }

    /// Lets the next thing happen. False if nothing ever will.
    pub fn step(&mut self) -> bool {
        self.step_until(Time::MAX)
    }

    /// Lets the next thing happen, if it is due by `until`.
    #[inline]
    fn step_until(&mut self, until: Time) -> bool {
        assert!(self.next_request().is_none(), "requests are sent before time goes on");
        if self.clock.goes_in_rounds() {
            self.end_round();
        }
        let disk = if self.drives.has_disks { self.next_disk() } else { None };
        let timer = self.machine.next_timer();
        let others = disk.map_or(timer, |(at, _)| at.min(timer));
        if let Some((at, event)) = self.clock.events.pop_until(others.min(until)) {
            self.clock.reach(at);
            self.happened(event);
        } else if others > until || others == Time::MAX {
            return false;
        } else {
            // A disk that was made to wait may be late.
            self.clock.reach(others);
            let answers = disk.filter(|(at, _)| *at <= self.clock.now);
            let answered = answers.map(|(_, osd)| osd);
            match answers {
                Some(answer) => self.disk_answers(answer),
                None => self.machine.fire(self.clock.now),
            }
            if self.drives.has_disks {
                self.carry_out();
                self.machine.open_resting(self.clock.now, answered, &mut self.drives);
            }
        }
        self.carry_out();
        true
    }

    /// The one thread is through with all that had happened when it began, if so: it hands over what that asked of the disks.
    fn end_round(&mut self) {
        let disk = self.next_disk().map_or(Time::MAX, |(at, _)| at);
        let next = disk.min(self.machine.next_timer()).min(self.clock.events.next());
        if self.clock.round.as_ref().is_some_and(|round| next > round.began) {
            for (osd, life, io) in std::mem::take(&mut self.asked) {
                self.submit_to_disk(osd, life, io);
            }
        }
    }

    fn next_disk(&self) -> Option<(Time, OsdId)> {
        let answers = self.drives.of.iter().map(|(osd, drive)| Some((drive.next_done()?, osd)));
        answers.flatten().min()
    }

    #[inline]
    fn happened(&mut self, event: SimEvent) {
        let now = self.clock.now;
        match event {
            SimEvent::DriveDone(osd, request) => {
                let device = self.drives.first[osd];
                if let Some((at, next, request)) = self.drives.of[device].calibrated().finish(now) {
                    self.schedule_drive((device, at), next, request);
                }
                self.drives.usage[device].ended(now);
                self.machine.device_done(now, osd, request, Outcome::Done);
            }
            SimEvent::ReadDone(osd, request) => {
                self.drives.usage[self.drives.first[osd]].ended(now);
                self.machine.device_done(now, osd, request, Outcome::Done);
            }
            SimEvent::DriveStep(osd, at) => self.drive_stepped(osd, at),
            SimEvent::Lost(osd, life, io) => {
                let done = IoDone { id: io.id, outcome: Outcome::Done, data: io.data };
                self.machine.io_done(now, osd, life, done);
            }
            SimEvent::NoRoom(osd, life, io) => {
                self.drives.of[osd].disk_mut().look_for_room(now);
                self.submit_to_disk(osd, life, *io);
            }
            event => self.machine.happened(event, &mut self.clock),
        }
    }

    /// Lets the machine go on, and does what it asks for, until it is at rest.
    #[inline]
    pub(crate) fn carry_out(&mut self) {
        while let Some(asked) = self.machine.next(&mut self.clock) {
            match asked {
                DriveAsked::Device(osd, submission) => {
                    let device = self.drives.first[osd];
                    self.drives.usage[device].began(self.clock.now);
                    match self.drives.of[device].submit(self.clock.now, osd, &submission) {
                        Then::Done(at, id) => self.schedule_drive((device, at), osd, id),
                        Then::ReadDone(at, id) => {
                            self.clock.push(at, SimEvent::ReadDone(osd, id));
                        }
                        Then::Step(at) => self.clock.push(at, SimEvent::DriveStep(osd, at)),
                        Then::Nothing => {}
                    }
                }
                DriveAsked::Io(osd, life, io) => match &mut self.held {
                    Some(held) => held.push_back((osd, life, io)),
                    None if self.clock.goes_in_rounds() => self.asked.push((osd, life, io)),
                    None => self.submit_to_disk(osd, life, io),
                },
            }
        }
    }

    /// The request that waits to be looked at, in a world where they do.
    pub fn next_request(&self) -> Option<&Io> {
        self.held.as_ref()?.front().map(|(.., io)| io)
    }

    /// Sends the request that waits. False if none does.
    pub fn send(&mut self) -> bool {
        let Some((osd, life, io)) = self.take_held() else { return false };
        self.submit_to_disk(osd, life, io);
        true
    }

    /// Answers the write or flush that waits as if it had been carried out, and carries nothing out.
    pub fn lose(&mut self) {
        let (osd, life, io) = self.take_held().expect("a request waits");
        assert!(io.request.kind != RequestKind::Read, "what a lost read returns nobody knows");
        self.clock.push(self.clock.now, SimEvent::Lost(osd, life, Box::new(io)));
    }

    /// Lets requests of stores wait to be looked at: each goes to its disk with [`World::send`].
    pub(crate) fn hold(&mut self) {
        self.held = Some(VecDeque::new());
    }

    /// Sends what waits, and lets nothing wait any more.
    pub(crate) fn let_go(&mut self) {
        while self.send() {}
        self.held = None;
    }

    fn take_held(&mut self) -> Option<(OsdId, u32, Io)> {
        self.held.as_mut()?.pop_front()
    }

    fn submit_to_disk(&mut self, osd: OsdId, life: u32, io: Io) {
        let device = self.drives.first[osd];
        self.drives.usage[device].began(self.clock.now);
        let station = self.drives.stations[device].as_mut();
        self.drives.of[osd].disk_mut().submit((self.clock.now, station), life, io);
    }

    fn disk_answers(&mut self, (due, osd): (Time, OsdId)) {
        let now = self.clock.now;
        let StoreAnswer { life, outcome, io } = self.drives.of[osd].disk_mut().answer(now);
        self.drives.usage[self.drives.first[osd]].ended(due);
        if outcome == Outcome::NoSpace && !M::WAITS_FOR_ROOM {
            let event = SimEvent::NoRoom(osd, life, Box::new(io));
            return self.clock.push(now + ROOM_PAUSE, event);
        }
        self.machine.io_done(now, osd, life, IoDone { id: io.id, outcome, data: io.data });
    }

    /// A mechanical drive has come to a moment at which something happens inside.
    fn drive_stepped(&mut self, osd: OsdId, at: Time) {
        let mut answers = Vec::new();
        if let Some(next) = self.drives.of[osd].advance(at, &mut answers) {
            self.clock.push(next, SimEvent::DriveStep(osd, next));
        }
        for DriveAnswer { request, outcome } in answers {
            self.drives.usage[osd].ended(self.clock.now);
            self.machine.device_done(self.clock.now, osd, request, outcome);
        }
    }

    fn schedule_drive(&mut self, (device, at): (OsdId, Time), osd: OsdId, request: RequestId) {
        self.clock.push_lane(self.drives.lanes[device], at, SimEvent::DriveDone(osd, request));
    }

    /// Device requests submitted so far, over all drives.
    pub fn device_requests(&self) -> u64 {
        self.drives.usage.values().map(|usage| usage.requests).sum()
    }

    /// How long an OSD's drive has had something to do so far: what `iostat` makes `%util` of. OSDs on one drive share this.
    pub fn drive_busy(&self, osd: OsdId) -> Span {
        self.drives.usage[self.drives.first[osd]].busy(self.clock.now)
    }

    /// An OSD's disks with contents, to look into.
    pub(crate) fn disks_of(&self, osd: OsdId) -> &StoreDisks {
        &self.drives.of[osd].disk().disks
    }

    /// The same, to spoil.
    pub(crate) fn disks_of_mut(&mut self, osd: OsdId) -> &mut StoreDisks {
        &mut self.drives.of[osd].disk_mut().disks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was due while the thread worked belongs to the round that begins when it is through, and takes it no time to wait for.
    #[test]
    fn a_thread_takes_up_in_a_round_what_has_happened_until_then() {
        let at = |micros: u64| Time::from_nanos(micros * 1000);
        let rng = Rng::new(0);
        let round = Round { began: Time::ZERO, pace: 1000, spread: 0, rng };
        let mut clock = VirtualTime { round: Some(round), ..VirtualTime::new(Time::ZERO) };
        let mut check = |due: u64, works: u64, now: u64, began: u64| {
            clock.reach(at(due));
            clock.pass(Span::from_micros(works));
            let found = clock.round.as_ref().map(|round| round.began);
            assert_eq!((clock.now(), found), (at(now), Some(at(began))));
        };
        check(0, 10, 10, 0);
        check(5, 10, 20, 10);
        check(9, 10, 30, 10);
        check(11, 10, 40, 30);
        check(70, 1, 71, 70);
    }

    #[test]
    fn rounds_are_longer_or_shorter_by_the_spread_at_most() {
        let mut round = Round { began: Time::ZERO, pace: 1000, spread: 300, rng: Rng::new(1) };
        let mut paces = Vec::new();
        for _ in 0..1000 {
            round.begin(Time::ZERO);
            paces.push(round.pace);
        }
        let (least, most) = (paces.iter().min(), paces.iter().max());
        assert!(least.is_some_and(|least| (700..710).contains(least)), "{least:?}");
        assert!(most.is_some_and(|most| (1291..=1300).contains(most)), "{most:?}");
    }
}
