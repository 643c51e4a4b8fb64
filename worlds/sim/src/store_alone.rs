//! One paged store alone in the simulated world, without a scheduler before it: what crash tests turn.

use crate::events::SimEvent;
use crate::osd_drive::RunningDrive;
use crate::store_disks::StoreDisks;
use crate::world::{DriveAsked, Machine, VirtualTime, World};
use loadline_base::{SlotId, Time};
use loadline_device::{Outcome, Request};
use loadline_osd::OsdId;
use loadline_store::RequestId;
use loadline_store::paged::{
    Completion, Doubt, Io, IoDone, LostEnds, Op, OpLane, Options, Outbox, PagedStore, PastDamage,
    StoreDevice,
};
use std::collections::VecDeque;

/// Whose disks they are: there is no other.
const OSD: OsdId = OsdId::new(0);

/// A store and its disks in virtual time.
pub type SimStore = World<LoneStore>;

/// A store that nothing stands before.
pub struct LoneStore {
    store: PagedStore<u64>,
    out: Outbox<u64>,
    /// Requests that it has made.
    asked: VecDeque<Io>,
    ended: Vec<Completion<u64>>,
}

impl Machine for LoneStore {
    const WAITS_FOR_ROOM: bool = false;

    fn next_timer(&self) -> Time {
        self.store.next_tick().unwrap_or(Time::MAX)
    }

    fn fire(&mut self, now: Time) {
        self.store.tick(now, &mut self.out);
    }

    fn next(&mut self, _: &mut VirtualTime) -> Option<DriveAsked> {
        self.ended.append(&mut self.out.completions);
        self.asked.extend(self.out.io.drain(..));
        self.asked.pop_front().map(|io| DriveAsked::Io(OSD, 0, io))
    }

    fn happened(&mut self, event: SimEvent, _: &mut VirtualTime) {
        unreachable!("a store schedules nothing: {event:?}");
    }

    fn device_done(&mut self, _: Time, _: OsdId, request: RequestId, _: Outcome) {
        unreachable!("a store stands on no modelled drive: {request:?}");
    }

    fn io_done(&mut self, now: Time, _: OsdId, _: u32, done: IoDone) {
        self.store.done(now, done, &mut self.out);
    }
}

impl SimStore {
    /// Begins to open the store on these disks.
    pub fn open(now: Time, options: Options, disks: StoreDisks) -> SimStore {
        let mut store = SimStore::open_held(now, options, disks);
        store.let_go();
        store
    }

    /// The same, but requests wait to be looked at: each goes to its disk with [`World::send`].
    pub fn open_held(now: Time, options: Options, disks: StoreDisks) -> SimStore {
        let mut out = Outbox::new();
        let log = disks.log.as_ref().map(|log| log.spec().size);
        let store = PagedStore::open(now, options, disks.data.spec().size, log, &mut out);
        let (asked, ended) = (VecDeque::new(), Vec::new());
        let machine = LoneStore { store, out, asked, ended };
        let drives = [RunningDrive::on_disks(disks)];
        let mut world = World::around(VirtualTime::new(now), machine, drives.into_iter());
        world.hold();
        world.carry_out();
        world
    }

    /// Hands an op to the store.
    pub fn submit(&mut self, op: Op<u64>) {
        let now = self.now();
        self.machine.store.submit(now, op, &mut self.machine.out);
        self.carry_out();
    }

    /// Hands an update to the store that goes past damage (see [`PagedStore::submit_past_damage`]).
    pub fn submit_past_damage(&mut self, op: Op<u64>, past: PastDamage) {
        let now = self.now();
        self.machine.store.submit_past_damage(now, op, past, &mut self.machine.out);
        self.carry_out();
    }

    /// Updates that wait for a word since this was asked last.
    pub fn take_doubts(&mut self) -> Vec<Doubt<u64>> {
        std::mem::take(&mut self.machine.out.doubts)
    }

    /// Says what of an update others have (see [`PagedStore::go_past`]).
    pub fn go_past(&mut self, slot: SlotId, ends: LostEnds) {
        let now = self.now();
        self.machine.store.go_past(now, slot, ends, &mut self.machine.out);
        self.carry_out();
    }

    /// Lets nothing in this lane sleep for the throttle (see [`PagedStore::hurry`]).
    pub fn hurry(&mut self, lane: OpLane) {
        let now = self.now();
        self.machine.store.hurry(now, lane, &mut self.machine.out);
        self.carry_out();
    }

    /// Ops that have ended since they were last taken.
    pub fn ended(&self) -> &[Completion<u64>] {
        &self.machine.ended
    }

    /// The same, to take them.
    pub fn ended_mut(&mut self) -> &mut Vec<Completion<u64>> {
        &mut self.machine.ended
    }

    /// What the disks have and have not answered.
    pub fn in_flight(&self) -> impl Iterator<Item = (StoreDevice, &Request)> {
        self.disks_of(OSD).in_flight()
    }

    /// Leaves a device without room for writes until this time.
    pub fn fill(&mut self, target: StoreDevice, until: Time) {
        self.drives.of[OSD].disk_mut().fill(target, until);
    }

    /// Whether a device has no room for writes.
    pub fn is_full(&self, target: StoreDevice) -> bool {
        self.drives.of[OSD].disk().is_full(target)
    }

    /// The store, to look into.
    pub fn store(&self) -> &PagedStore<u64> {
        &self.machine.store
    }

    /// The disks, to look into.
    pub fn disks(&self) -> &StoreDisks {
        self.disks_of(OSD)
    }

    /// The disks, to spoil.
    pub fn disks_mut(&mut self) -> &mut StoreDisks {
        self.disks_of_mut(OSD)
    }

    /// The disks, when the store is gone. By then there is room.
    pub fn into_disks(self) -> StoreDisks {
        let mut drives = self.drives.of.into_values();
        drives.next().expect("it stands on disks").into_disks()
    }
}
