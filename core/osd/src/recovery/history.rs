//! The way of an object with a past to a copy that lacks it: a beginning, then one former state after the other, each
//! confirmed before the next is read, then the object itself.
//!
//! The beginning takes away what the copy has of the object, so the object and all of its former states are read before: what cannot be
//! given makes no room for itself. It costs one read more of each.
//!
//! What has come of it counts for nothing until the last step is durable: the copy lists the object in no version, and
//! the store has no key that tells of its states.

use crate::access::{AccessKind, ObjectRange, Update};
use crate::commit::{Commit, RecoverySender};
use crate::disk::{Whole, keep_history, object_id};
use crate::event::Effects;
use crate::ids::{OsdId, PgId};
use crate::message::{Data, HistoryPush, Message, Push};
use crate::osd::Osd;
use crate::snapshots::{ObjectHistory, SnapshotNo};
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use loadline_store::paged::Edit;

impl Osd {
    /// Whether an object has a past here, which goes before it.
    pub(crate) fn is_with_past(&self, pg: PgId, object: ObjectNo) -> bool {
        self.pg(pg).is_some_and(|here| here.kept.get(object).is_some())
    }

    /// Reads one state of an object with a past, to see that all of them can be read. The present one is the first.
    pub(crate) fn read_past(
        &mut self,
        now: Time,
        place: (PgId, Urgency),
        (object, label): (ObjectNo, SnapshotNo),
        (interval, puller): (u32, Option<RecoverySender>),
    ) {
        let commit = Commit::PastRead(interval, puller, label);
        match label {
            SnapshotNo::HEAD => self.read_present(now, place, object, None, commit),
            label => self.read_former(now, place, (object, label), |_| commit),
        }
    }

    /// A state of an object with a past can be read. When all of them can, they go ahead of the object, unless it was found bad
    /// meanwhile.
    pub(crate) fn past_read(
        &mut self,
        now: Time,
        pg: PgId,
        (object, label): (ObjectNo, SnapshotNo),
        (interval, puller): (u32, Option<RecoverySender>),
        fx: &mut Effects,
    ) {
        if !self.may_give(pg, object) {
            return self.source_unreadable(now, pg, object, (interval, puller), fx);
        }
        let Some((targets, urgency)) = self.targets(pg, object, (interval, puller)) else { return };
        let Some(history) = self.pg(pg).and_then(|here| here.kept.get(object)) else {
            return self.read_to_push(now, (pg, urgency), object, (interval, puller));
        };
        if let Some(next) = history.after(label).map(|state| state.label) {
            return self.read_past(now, (pg, urgency), (object, next), (interval, puller));
        }
        for osd in targets.iter() {
            self.begin_history(RecoverySender { osd, interval, urgency }, pg, object, fx);
        }
    }

    /// Reads a former state that is there, in what it differs from the one before it, if from any.
    fn read_former(
        &mut self,
        now: Time,
        (pg, urgency): (PgId, Urgency),
        (object, label): (ObjectNo, SnapshotNo),
        commit: impl FnOnce(Option<SnapshotNo>) -> Commit,
    ) {
        let history = self.pg(pg).and_then(|here| here.kept.get(object)).expect("it has a past");
        let state = history.labelled(label).expect("it was found");
        let (length, base) = (state.meta.length, history.before(Some(label)));
        let place = ObjectRange { pg, object, offset: 0, length: self.expected(pg, length) };
        let update = Update::none(AccessKind::ReadWhole { label, base, bytes: length });
        self.access(now, urgency, &place, update, commit(base));
    }

    /// Begins to push an object with a past to a copy.
    fn begin_history(&mut self, to: RecoverySender, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let history = self.pg(pg).and_then(|here| here.kept.get(object));
        let history = history.expect("it has a past");
        let begin = HistoryPush::Begin { born: history.born, removed: history.removed };
        self.note_step(to.osd, pg, object, SnapshotNo::HEAD);
        let message = (Message::PushHistory(object, begin), Data::NONE);
        self.send_as(to.urgency, to.osd, pg, message, fx);
    }

    /// Notes which step of an object's way a target is to confirm next, where this OSD leads.
    fn note_step(&mut self, to: OsdId, pg: PgId, object: ObjectNo, label: SnapshotNo) {
        let primary = self.primary_mut(pg);
        if let Some(recovering) = primary.and_then(|p| p.recovering.get_mut(&object)) {
            recovering.steps.insert(to, label);
            recovering.touched.insert(to);
        }
    }

    /// A copy has the state of this label: the next one is read, or the object itself. An answer to another step than the
    /// last is to a push that was begun anew meanwhile.
    pub(crate) fn push_after(
        &mut self,
        now: Time,
        to: RecoverySender,
        pg: PgId,
        (object, label): (ObjectNo, SnapshotNo),
    ) {
        let here = self.pg(pg).expect("the interval was looked up");
        if let Some(primary) = &here.primary {
            let recovering = primary.recovering.get(&object);
            let step = recovering.and_then(|recovering| recovering.steps.get(&to.osd));
            if step != Some(&label) {
                return;
            }
        }
        let next = here.kept.get(object).and_then(|history| history.after(label));
        let Some(label) = next.map(|state| state.label) else {
            return self.read_to_push(now, (pg, to.urgency), object, (to.interval, Some(to)));
        };
        self.note_step(to.osd, pg, object, label);
        let commit = |base| Commit::StateRead(to, label, base);
        self.read_former(now, (pg, to.urgency), (object, label), commit);
    }

    /// A former state is read: off it goes, unless the object was found bad meanwhile.
    pub(crate) fn state_read(
        &mut self,
        now: Time,
        to: RecoverySender,
        pg: PgId,
        (object, label): (ObjectNo, SnapshotNo),
        (base, data): (Option<SnapshotNo>, Data),
        fx: &mut Effects,
    ) {
        if !self.may_give(pg, object) {
            return self.source_unreadable(now, pg, object, (to.interval, Some(to)), fx);
        }
        let here = self.pg(pg).filter(|here| here.interval == to.interval);
        let state = here.and_then(|here| here.kept.get(object)?.labelled(label));
        let Some(state) = state.copied() else { return };
        let bytes = self.carried(pg, state.meta.length, &data);
        let step = HistoryPush::State { state, base, bytes };
        self.send_as(to.urgency, to.osd, pg, (Message::PushHistory(object, step), data), fx);
    }

    /// A worker of the target carries out a step.
    pub(crate) fn execute_history(
        &mut self,
        now: Time,
        from: RecoverySender,
        pg: PgId,
        (object, step, data): (ObjectNo, HistoryPush, Data),
        fx: &mut Effects,
    ) {
        if self.is_without_room() {
            return self.refuse_push(now, from, pg, object, fx);
        }
        let place = ObjectRange { pg, object, offset: 0, length: step.length().get() };
        self.store.give_up_puts(pg, Some(object));
        self.ops.overtake(pg, object);
        let update = match step {
            HistoryPush::Begin { born, removed } => {
                let mut edits: Vec<Edit> = self.admit_lack(pg, object).into_iter().collect();
                edits.append(&mut self.clear_object(pg, object));
                edits.push(Edit::Remove { object: object_id(pg, object, SnapshotNo::HEAD) });
                self.store.objects(pg).remove(object);
                let arriving = Some(from.interval);
                let history = ObjectHistory { born, removed, states: Vec::new(), arriving };
                let here = self.pg_mut(pg).expect("the interval was looked up");
                here.kept.change(object, |kept| *kept = history);
                Update { edits, ..Update::none(AccessKind::Nothing) }
            }
            HistoryPush::State { state, base, .. } => {
                let here = self.pg_mut(pg).expect("the interval was looked up");
                here.kept.change(object, |kept| kept.states.push(state));
                let (label, length) = (state.label, state.meta.length);
                let touch = AccessKind::Put(Whole { label, length, base, data });
                Update { version: state.meta.version, ..Update::none(touch) }
            }
        };
        self.access(now, from.urgency, &place, update, Commit::HistoryStored(from, step.label()));
    }

    /// A step is durable on the target. That of an earlier interval belongs to a push that has ended with it.
    pub(crate) fn history_stored(
        &self,
        from: RecoverySender,
        pg: PgId,
        (object, label): (ObjectNo, SnapshotNo),
        fx: &mut Effects,
    ) {
        if self.pg(pg).is_some_and(|here| here.interval == from.interval) {
            let stored = (Message::HistoryStored(object, label), Data::NONE);
            self.send_as(from.urgency, from.osd, pg, stored, fx);
        }
    }

    /// What goes with the last step: the past that came before it, or the end of one that is no longer true.
    pub(crate) fn history_edits(
        &mut self,
        asker: RecoverySender,
        pg: PgId,
        push: &Push,
    ) -> Vec<Edit> {
        let here = self.pg(pg).expect("the interval was looked up");
        let Some(history) = here.kept.get(push.object) else { return Vec::new() };
        if history.arriving != Some(asker.interval) {
            return self.clear_object(pg, push.object);
        }
        let whole = ObjectHistory { arriving: None, ..history.clone() };
        vec![keep_history(pg, push.object, Some(&whole))]
    }

    /// Removes an object's past, here and on the disk.
    pub(crate) fn clear_object(&mut self, pg: PgId, object: ObjectNo) -> Vec<Edit> {
        let here = self.pg_mut(pg).expect("the copy was looked up");
        let Some(history) = here.kept.take(object) else { return Vec::new() };
        let mut edits = vec![keep_history(pg, object, None)];
        edits.extend(
            history
                .states
                .iter()
                .map(|state| Edit::Remove { object: object_id(pg, object, state.label) }),
        );
        edits
    }
}
