//! The trim of placement groups on their primary (scrub.md 3.2, 3.3).

use super::run::{TrimItem, TrimPhase, TrimRun, TrimState};
use crate::access::{AccessFailure, METADATA_BYTES};
use crate::event::{Effect, Effects, Timer};
use crate::ids::{OsdSet, PgId};
use crate::in_flight::Stamps;
use crate::item::Item;
use crate::message::{ClientOp, Data, OpKind, WriteTag};
use crate::osd::Osd;
use crate::pg::{Pause, Primary, WriteWay};
use crate::recovery::ReserverChange;
use crate::snapshots::{Decision, STATES_MAX, SnapshotKey, SnapshotNo, image_of};
use loadline_base::{Span, Time};
use loadline_store::ObjectNo;

impl Osd {
    /// Begins with a removed snapshot in every group that may be trimmed.
    pub(crate) fn begin_trims(&mut self, now: Time, fx: &mut Effects) {
        let led = self.groups.iter().filter(|(_, here)| here.primary.is_some());
        for pg in led.map(|(pg, _)| pg).collect::<Vec<_>>() {
            self.begin_trim(now, pg, fx);
        }
    }

    /// Begins with a removed snapshot in a group, if that is whole, or waits for room, and is not scrubbed, and keeps something for one.
    pub(crate) fn begin_trim(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let is_busy = self.trim.is_at(pg) || self.is_scrubbed(pg);
        if self.options.trim.is_off || is_busy || self.trim.failed.contains(&pg) {
            return;
        }
        if !self.primary(pg).is_some_and(Primary::may_trim) {
            return;
        }
        let Some(snapshot) = self.first_to_trim(pg) else { return };
        self.trim.number = self.trim.number.wrapping_add(1);
        let run = TrimRun { number: self.trim.number, snapshot, phase: TrimPhase::Reserving };
        self.trim.runs.insert(pg, run);
        let mut changes = Vec::new();
        self.trim.slots.ask(pg, 0, &mut changes);
        self.trim_slots_changed(now, &changes, fx);
    }

    fn trim_slots_changed(&mut self, now: Time, changes: &[ReserverChange], fx: &mut Effects) {
        for change in changes {
            let ReserverChange::Granted(pg) = *change else {
                unreachable!("all claims are equal, so none takes another's slot")
            };
            self.queue_trim(now, pg, fx);
        }
    }

    fn queue_trim(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(run) = self.trim.runs.get_mut(&pg) else { return };
        run.phase = TrimPhase::Queued;
        let (number, snapshot) = (run.number, run.snapshot);
        let objects = self.next_to_trim(pg, snapshot).len() as u32;
        let object_bytes = self.store.objects(pg).average_bytes();
        let item = TrimItem { pg, number, objects, object_bytes };
        self.enqueue(now, Item::Trim(item), fx);
    }

    /// The first removed snapshot for which something is kept that may be trimmed now.
    fn first_to_trim(&self, pg: PgId) -> Option<SnapshotKey> {
        let removed = self.pg(pg)?.kept.mapper().removed(self.groups.views());
        removed.map(|(snapshot, _)| snapshot).find(|it| !self.next_to_trim(pg, *it).is_empty())
    }

    /// The next objects, of a group that waits for room those that nobody has to wait for.
    fn next_to_trim(&self, pg: PgId, snapshot: SnapshotKey) -> Vec<ObjectNo> {
        let (Some(here), Some(primary)) = (self.pg(pg), self.primary(pg)) else {
            return Vec::new();
        };
        let may_go = |object: &ObjectNo| primary.write_way(self.id, *object) != WriteWay::Park;
        let objects = here.kept.mapper().objects_of(snapshot).filter(may_go);
        objects.take(self.options.trim.objects_max).collect()
    }

    /// A worker carries out an item: the next objects, or the end of the snapshot.
    pub(crate) fn execute_trim(&mut self, now: Time, item: TrimItem, fx: &mut Effects) {
        let TrimItem { pg, number, .. } = item;
        let Some(run) = self.trim.runs.get(&pg).filter(|run| run.number == number) else { return };
        let snapshot = run.snapshot;
        if !self.primary(pg).is_some_and(Primary::may_trim) {
            return self.end_trim(now, pg, fx);
        }
        let objects = self.next_to_trim(pg, snapshot);
        if objects.is_empty() {
            let mapper = self.pg(pg).map(|here| here.kept.mapper());
            let is_over = mapper.is_some_and(|mapper| mapper.objects_of(snapshot).next().is_none());
            self.counters.trim.snapshots += u64::from(is_over);
            self.end_trim(now, pg, fx);
            // A scrub that waits for the group goes first.
            self.begin_scrubs(now, fx);
            return self.begin_trim(now, pg, fx);
        }
        let trim = |object| self.trim_object(now, pg, object, snapshot.1, fx);
        let tags: Vec<WriteTag> = objects.into_iter().filter_map(trim).collect();
        if let Some(run) = self.trim.runs.get_mut(&pg) {
            run.phase = TrimPhase::Writing(tags);
        }
    }

    /// Begins the update of one object on all copies. `None` if it changes nothing.
    fn trim_object(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        snapshot: SnapshotNo,
        fx: &mut Effects,
    ) -> Option<WriteTag> {
        let op = trim_of(pg, object, snapshot);
        let this = self.id;
        let WriteWay::To(others) = self.primary(pg)?.write_way(this, object) else {
            unreachable!("it is one that nobody has to wait for");
        };
        let Decision::Go(before) = self.decide(&op, others) else {
            unreachable!("the mapper names what is kept under the label");
        };
        let stamps = Stamps::at(now, this);
        Some(self.begin_update(now, (op, Data::NONE), before, stamps, others, fx))
    }

    /// A client's update of an object may have to keep another state of it. Where as many are kept as fit one value, one of them is kept for a
    /// snapshot that was removed, because an image has no more snapshots than that: it goes before, on the same copies.
    pub(crate) fn make_room_in_past(
        &mut self,
        now: Time,
        (pg, object): (PgId, ObjectNo),
        others: OsdSet,
        fx: &mut Effects,
    ) {
        let past = self.pg(pg).and_then(|here| here.kept.get(object));
        let Some(past) = past.filter(|past| past.states.len() >= STATES_MAX) else { return };
        let is_removed =
            |label: &SnapshotNo| self.groups.views().is_removed(image_of(object), *label);
        let Some(label) = past.states.iter().map(|state| state.label).find(is_removed) else {
            return;
        };
        let op = trim_of(pg, object, label);
        if let Decision::Go(before) = self.decide(&op, others) {
            let stamps = Stamps::at(now, self.id);
            self.begin_update(now, (op, Data::NONE), before, stamps, others, fx);
        }
    }

    /// An object is trimmed on all copies that count, or could not be.
    pub(crate) fn object_trimmed(
        &mut self,
        now: Time,
        pg: PgId,
        tag: WriteTag,
        result: Result<(), AccessFailure>,
        fx: &mut Effects,
    ) {
        self.counters.trim.objects += u64::from(result.is_ok());
        if result.is_err() {
            self.trim.failed.insert(pg);
            self.end_trim(now, pg, fx);
            return self.begin_scrubs(now, fx);
        }
        let Some(run) = self.trim.runs.get_mut(&pg) else { return };
        let number = run.number;
        if !run.wrote(tag) {
            return;
        }
        let sleep = self.options.trim.sleep;
        if sleep == Span::ZERO {
            return self.queue_trim(now, pg, fx);
        }
        run.phase = TrimPhase::Sleeping;
        fx.world.push(Effect::Timer(self.id, now + sleep, Timer::TrimWake(pg, number)));
    }

    /// The pause is over.
    pub(crate) fn trim_woke(&mut self, now: Time, pg: PgId, number: u32, fx: &mut Effects) {
        let run = self.trim.runs.get(&pg).filter(|run| run.number == number);
        if run.is_some_and(|run| run.phase == TrimPhase::Sleeping) {
            self.queue_trim(now, pg, fx);
        }
    }

    /// A group is trimmed no more, for now. What of it is on its way to the copies goes on.
    fn end_trim(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if self.trim.runs.remove(&pg).is_some() {
            let mut changes = Vec::new();
            self.trim.slots.release(pg, &mut changes);
            self.trim_slots_changed(now, &changes, fx);
        }
    }

    /// The interval of a group ends.
    pub(crate) fn forget_trim(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        self.trim.failed.remove(&pg);
        self.end_trim(now, pg, fx);
    }

    /// New settings: another number of slots (`osd_max_trimming_pgs`), and whether anything may be trimmed (`nosnaptrim`).
    pub(crate) fn configure_trims(&mut self, now: Time, fx: &mut Effects) {
        if self.options.trim.is_off {
            for pg in self.trim.runs.keys().copied().collect::<Vec<_>>() {
                self.end_trim(now, pg, fx);
            }
            self.begin_scrubs(now, fx);
        }
        let mut changes = Vec::new();
        self.trim.slots.resize(self.options.trim.pgs_max, 0, &mut changes);
        self.trim_slots_changed(now, &changes, fx);
        self.begin_trims(now, fx);
    }

    /// What is done about what a group keeps for removed snapshots; `None` if it keeps nothing, or nothing may be done.
    pub fn trim_state(&self, pg: PgId) -> Option<TrimState> {
        if self.trim.failed.contains(&pg) {
            return Some(TrimState::Failed);
        }
        let run = self.trim.runs.get(&pg)?;
        Some(match run.phase {
            TrimPhase::Reserving => TrimState::Waiting,
            _ => TrimState::Trimming,
        })
    }

    /// What a copy keeps for removed snapshots: of how many snapshots, and how many states of objects.
    pub fn left_to_trim(&self, pg: PgId) -> (u64, u64) {
        let mapper = self.pg(pg).map(|here| here.kept.mapper());
        let removed = mapper.into_iter().flat_map(|mapper| mapper.removed(self.groups.views()));
        removed.fold((0, 0), |(snapshots, states), (_, more)| (snapshots + 1, states + more))
    }
}

/// The op that trims an object of what it keeps for a removed snapshot.
fn trim_of(pg: PgId, object: ObjectNo, snapshot: SnapshotNo) -> ClientOp {
    let length = METADATA_BYTES as u32;
    ClientOp { length, ..ClientOp::of_nobody(pg, object, OpKind::Trim(snapshot)) }
}

impl Primary {
    /// Where recovery waits for room, what is kept for removed snapshots may be all that can give some.
    fn may_trim(&self) -> bool {
        let waits_for_room = self.reservation.pause() == Some(Pause::TooFull);
        self.ops.is_served && (self.is_whole() || waits_for_room && !self.ops.handing_over)
    }
}
