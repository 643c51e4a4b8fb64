//! The ops that are in the store and have not ended, each in one queue by what it waits for; and whose turn it is to change
//! anything.

use super::op::RunningOp;
use crate::paged::api::{Answer, Completion, Doubt, LostEnds, OpError, OpLane, Outbox, Stages};
use crate::paged::wait::Wait;
use loadline_base::{SlotId, Slots, Time};
use std::collections::{BTreeMap, VecDeque};

/// All ops but those that wait for the log or for a checkpoint.
pub(super) struct Ops<T> {
    /// Those that may go on.
    ready: VecDeque<RunningOp<T>>,
    lanes: BTreeMap<OpLane, BusyLane<T>>,
    /// Those that wait for requests of their own.
    suspended: Slots<RunningOp<T>>,
    /// Ops' own data on its way to the device. The ops may still stand behind others of their lanes.
    own_writes: Slots<OwnDataWrites>,
    parked: ParkedOps<T>,
    /// Those that the throttle holds, by the end of their sleep and in the order of their coming.
    sleeping: BTreeMap<(Time, u64), RunningOp<T>>,
    sleeps: u64,
    /// The record of a transaction that is carried out in part. All others wait for its end.
    in_part: Option<Vec<u8>>,
    /// A query goes in parts: updates wait for its end.
    updates_held: bool,
    /// Updates that this step has carried out.
    applied: Vec<T>,
    /// Those that have ended and whose callers have not been told.
    ended: Vec<Completion<T>>,
    /// The same of those that wait for a word.
    doubts: Vec<Doubt<T>>,
}

/// An op's own data on its way.
struct OwnDataWrites {
    left: u32,
    failed: bool,
    /// The op, if it waits for nothing else.
    waits: Option<SlotId>,
}

/// A part of an op's own data is not on the device.
pub(super) struct Unwritten;

/// Those that wait for no request of theirs.
struct ParkedOps<T> {
    /// Those that wait for what a checkpoint brings, or for others. The oldest is asked first.
    line: VecDeque<RunningOp<T>>,
    /// Something that these wait for has changed.
    changed: bool,
    /// Those for which the device has too few pages, in the order of their coming. They hold nobody up but their lanes.
    without_room: VecDeque<RunningOp<T>>,
    /// Pages were given back since they were asked last.
    more_room: bool,
}

/// A lane in which an op is under way.
struct BusyLane<T> {
    /// Those that follow it.
    next: VecDeque<RunningOp<T>>,
    /// So many, from the one under way on, sleep no more.
    hurried: usize,
}

impl<T> Default for Ops<T> {
    fn default() -> Ops<T> {
        Ops {
            ready: VecDeque::new(),
            lanes: BTreeMap::new(),
            suspended: Slots::new(),
            own_writes: Slots::new(),
            parked: ParkedOps {
                line: VecDeque::new(),
                changed: false,
                without_room: VecDeque::new(),
                more_room: false,
            },
            sleeping: BTreeMap::new(),
            sleeps: 0,
            in_part: None,
            updates_held: false,
            applied: Vec::new(),
            ended: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

impl<T: Copy> Ops<T> {
    /// Lets an op into its lane's queue, or on at once.
    pub(super) fn enter(&mut self, mut running: RunningOp<T>) {
        if let Some(lane) = running.lane.and_then(|lane| self.lanes.get_mut(&lane)) {
            running.wait = Wait::Lane;
            lane.next.push_back(running);
            return;
        }
        if let Some(lane) = running.lane {
            self.lanes.insert(lane, BusyLane { next: VecDeque::new(), hurried: 0 });
        }
        self.ready.push_back(running);
    }

    /// An op is carried out, or has failed: the next of its lane may go.
    pub(super) fn leave_lane(&mut self, lane: Option<OpLane>) {
        let Some(lane) = lane else { return };
        let of_lane = self.lanes.get_mut(&lane).expect("an op that runs keeps its lane");
        of_lane.hurried = of_lane.hurried.saturating_sub(1);
        match of_lane.next.pop_front() {
            Some(next) => self.ready.push_back(next),
            None => {
                self.lanes.remove(&lane);
            }
        }
    }

    /// Lets no op that is in this lane now sleep any more. Answers the one that does.
    pub(super) fn hurry(&mut self, lane: OpLane) -> Option<RunningOp<T>> {
        let of_lane = self.lanes.get_mut(&lane)?;
        of_lane.hurried = 1 + of_lane.next.len();
        let sleeps = self.sleeping.iter().find(|(_, sleeper)| sleeper.lane == Some(lane));
        let place = *sleeps?.0;
        self.sleeping.remove(&place)
    }

    /// Whether the op of this lane that is under way is not to sleep.
    pub(super) fn is_hurried(&self, lane: Option<OpLane>) -> bool {
        lane.and_then(|lane| self.lanes.get(&lane)).is_some_and(|of_lane| of_lane.hurried > 0)
    }

    /// Whether an op of this lane is under way.
    pub(super) fn is_busy(&self, lane: Option<OpLane>) -> bool {
        lane.is_some_and(|lane| self.lanes.contains_key(&lane))
    }

    /// An op may go on.
    pub(super) fn wake(&mut self, running: RunningOp<T>) {
        self.ready.push_back(running);
    }

    /// The next op that may go on.
    pub(super) fn next(&mut self) -> Option<RunningOp<T>> {
        self.ready.pop_front()
    }

    /// An op waits for requests of its own, under this number.
    pub(super) fn suspend(&mut self, running: RunningOp<T>) -> SlotId {
        self.suspended.acquire(running)
    }

    /// An op that waits for its requests.
    pub(super) fn suspended(&mut self, slot: SlotId) -> &mut RunningOp<T> {
        self.suspended.at_mut(slot)
    }

    /// An op that waited for requests, or for a word, does so no longer.
    pub(super) fn release(&mut self, slot: SlotId) -> RunningOp<T> {
        self.suspended.release(slot)
    }

    /// The last of an op's requests is answered.
    pub(super) fn resume(&mut self, slot: SlotId) {
        let running = self.suspended.release(slot);
        self.ready.push_back(running);
    }

    /// So many requests for an op's own data are under way.
    pub(super) fn begin_own_writes(&mut self, left: u32) -> SlotId {
        self.own_writes.acquire(OwnDataWrites { left, failed: false, waits: None })
    }

    /// Whether any op's own data is on its way.
    pub(super) fn has_own_writes(&self) -> bool {
        !self.own_writes.is_empty()
    }

    /// One of them is answered.
    pub(super) fn own_write_done(&mut self, own: SlotId, is_good: bool) {
        let own = self.own_writes.at_mut(own);
        own.left -= 1;
        own.failed |= !is_good;
        if own.left == 0
            && let Some(slot) = own.waits
        {
            self.resume(slot);
        }
    }

    /// How they have ended, if they have; then nothing more is kept of them.
    pub(super) fn own_writes_over(&mut self, own: SlotId) -> Option<Result<(), Unwritten>> {
        if self.own_writes.at_mut(own).left > 0 {
            return None;
        }
        let over = self.own_writes.release(own);
        Some(if over.failed { Err(Unwritten) } else { Ok(()) })
    }

    /// Lets an op wait for them.
    pub(super) fn await_own_writes(&mut self, own: SlotId, running: RunningOp<T>) {
        let slot = self.suspend(running);
        self.own_writes.at_mut(own).waits = Some(slot);
    }

    /// Lets an op wait until something has changed: as the first of all, or behind the others.
    pub(super) fn park(&mut self, running: RunningOp<T>, first: bool) {
        match first {
            true => self.parked.line.push_front(running),
            false => self.parked.line.push_back(running),
        }
    }

    /// How many are parked.
    pub(super) fn parked(&self) -> usize {
        self.parked.line.len()
    }

    /// The parked op that is to be asked first.
    pub(super) fn next_parked(&mut self) -> Option<RunningOp<T>> {
        self.parked.line.pop_front()
    }

    /// Something that parked ops wait for has changed.
    pub(super) fn note_change(&mut self) {
        self.parked.changed = true;
    }

    /// Lets an op wait until pages are given back.
    pub(super) fn park_without_room(&mut self, running: RunningOp<T>) {
        self.parked.without_room.push_back(running);
    }

    /// Pages were given back.
    pub(super) fn note_room(&mut self) {
        if !self.parked.without_room.is_empty() {
            (self.parked.more_room, self.parked.changed) = (true, true);
        }
    }

    /// Those that may find room now, each of which is to be asked.
    pub(super) fn take_without_room(&mut self) -> VecDeque<RunningOp<T>> {
        match std::mem::take(&mut self.parked.more_room) {
            true => std::mem::take(&mut self.parked.without_room),
            false => VecDeque::new(),
        }
    }

    /// Since when the first of them has waited.
    pub(super) fn without_room_since(&self) -> Option<Time> {
        self.parked.without_room.iter().filter_map(RunningOp::without_room_since).min()
    }

    /// Whether anything has changed since this was asked last.
    pub(super) fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.parked.changed)
    }

    /// Whether any op may go on, or try to.
    pub(super) fn may_go_on(&self) -> bool {
        !self.ready.is_empty() || self.parked.changed
    }

    /// Before the store is open all ops wait.
    pub(super) fn hold_back(&mut self) {
        while let Some(mut running) = self.ready.pop_front() {
            running.wait = Wait::Restart;
            self.parked.line.push_back(running);
        }
        self.parked.changed = true;
    }

    /// The throttle holds an op until then.
    pub(super) fn sleep(&mut self, until: Time, mut running: RunningOp<T>) {
        running.wait = Wait::Throttle;
        self.sleeps += 1;
        self.sleeping.insert((until, self.sleeps), running);
    }

    /// The next op whose sleep is over by now.
    pub(super) fn next_rested(&mut self, now: Time) -> Option<RunningOp<T>> {
        let first = self.sleeping.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// All that sleep.
    pub(super) fn take_sleepers(&mut self) -> Vec<RunningOp<T>> {
        std::mem::take(&mut self.sleeping).into_values().collect()
    }

    /// How many sleep.
    pub(super) fn sleepers(&self) -> usize {
        self.sleeping.len()
    }

    /// When the next sleep is over.
    pub(super) fn next_waking(&self) -> Option<Time> {
        self.sleeping.keys().next().map(|(time, _)| *time)
    }

    /// A transaction with this record is carried out in part. Until its end nobody else may change what it finds.
    pub(super) fn begin_in_part(&mut self, record: Vec<u8>) {
        self.in_part = Some(record);
    }

    /// The transaction that was carried out in part has come to its end.
    pub(super) fn end_in_part(&mut self) {
        self.in_part = None;
        self.parked.changed = true;
    }

    /// The record of the transaction that is carried out in part, if there is one.
    pub(super) fn in_part(&self) -> Option<&Vec<u8>> {
        self.in_part.as_ref()
    }

    /// Whether an update that is neither begun nor ahead of the others must wait.
    pub(super) fn holds_updates(&self) -> bool {
        self.in_part.is_some() || self.updates_held
    }

    /// Lets updates wait for a query. False if they wait for another one.
    pub(super) fn hold_updates(&mut self) -> bool {
        !std::mem::replace(&mut self.updates_held, true)
    }

    /// The query for which updates wait lets them go.
    pub(super) fn let_updates_go(&mut self) {
        self.updates_held = false;
        self.parked.changed = true;
    }

    /// An update is carried out.
    pub(super) fn apply(&mut self, token: T) {
        self.applied.push(token);
    }

    /// An op has ended so.
    pub(super) fn end(&mut self, token: T, stages: Stages, result: Result<Answer, OpError>) {
        self.ended.push(Completion { token, result, stages });
    }

    /// An op waits for its owner's word about these parts of it.
    pub(super) fn doubt(&mut self, mut running: RunningOp<T>, ends: LostEnds) {
        running.wait = Wait::Word;
        let token = running.token;
        let slot = self.suspend(running);
        self.doubts.push(Doubt { token, slot, ends });
    }

    /// Tells of what this step has carried out, of those that have ended, and of those that wait for a word.
    pub(super) fn hand_over(&mut self, out: &mut Outbox<T>) {
        out.applied.clear();
        out.applied.append(&mut self.applied);
        out.completions.append(&mut self.ended);
        out.doubts.append(&mut self.doubts);
    }

    /// None of them waits for a word any more.
    pub(super) fn forget_doubts(&mut self) {
        self.doubts.clear();
    }

    /// All that wait in queues.
    pub(super) fn take_queued(&mut self) -> Vec<RunningOp<T>> {
        let mut all: Vec<RunningOp<T>> =
            self.ready.drain(..).chain(self.parked.line.drain(..)).collect();
        all.append(&mut Vec::from(std::mem::take(&mut self.parked.without_room)));
        all.extend(std::mem::take(&mut self.sleeping).into_values());
        all.extend(std::mem::take(&mut self.lanes).into_values().flat_map(|lane| lane.next));
        all
    }

    /// All that wait for requests of their own.
    pub(super) fn take_suspended(&mut self) -> Vec<RunningOp<T>> {
        let slots: Vec<SlotId> = self.suspended.iter().map(|(slot, _)| slot).collect();
        slots.into_iter().map(|slot| self.suspended.release(slot)).collect()
    }

    /// What the op waits for whose token is meant; `None` if it is not here, or runs.
    pub(super) fn wait_of(&self, is_meant: impl Fn(&T) -> bool) -> Option<Wait> {
        self.waiting().find(|running| is_meant(&running.token)).map(|running| running.wait)
    }

    /// How many wait, by what they wait for.
    pub(super) fn waits(&self) -> BTreeMap<Wait, usize> {
        let mut counts = BTreeMap::new();
        for running in self.waiting() {
            *counts.entry(running.wait).or_default() += 1;
        }
        counts
    }

    /// All that wait for something.
    fn waiting(&self) -> impl Iterator<Item = &RunningOp<T>> {
        let suspended = self.suspended.iter().map(|(_, running)| running);
        let parked = self.parked.line.iter().chain(&self.parked.without_room);
        let queued = self.lanes.values().flat_map(|lane| &lane.next);
        suspended.chain(parked).chain(self.sleeping.values()).chain(queued)
    }
}
