//! The life of one recovered object (qos.md 9.4): pull, read, push, write, push reply.

use crate::access::{AccessKind, ObjectRange, Update};
use crate::commit::{Commit, RecoverySender};
use crate::counters::Received;
use crate::disk::{Whole, object_id};
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{Data, Message, Push};
use crate::osd::Osd;
use crate::pg::Recovering;
use crate::snapshots::SnapshotNo;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use loadline_store::paged::Edit;
use std::collections::BTreeSet;

impl Osd {
    /// Starts an object on the primary. If the primary is the one to receive it, it asks a holder; otherwise it reads
    /// the object, beside the scheduler's accounting, to push it.
    pub(crate) fn start_object(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        targets: OsdSet,
        fx: &mut Effects,
    ) {
        let this = self.id;
        let primary = self.primary_mut(pg).expect("only a primary recovers");
        let recovering = Recovering { pending: targets, ..Recovering::default() };
        primary.recovering.insert(object, recovering);
        match targets.contains(this) {
            true => self.pull(now, pg, object, fx),
            false => self.push_to(now, pg, object),
        }
    }

    /// Sends an object, which this primary has, to those who lack it. What one of them was sent before it was found to lack the object, and has not
    /// confirmed, may stand in its queue, where a push can pass it: it would be carried out on what came, which has it already, and put a
    /// state that a snapshot keeps over an older one. So its word for all of that comes first.
    pub(crate) fn push_to(&mut self, now: Time, pg: PgId, object: ObjectNo) {
        let recovering = self.primary(pg).and_then(|primary| primary.recovering.get(&object));
        let targets = recovering.map_or(OsdSet::EMPTY, |recovering| recovering.pending);
        if targets.iter().any(|target| self.ops.is_owed((pg, object), target)) {
            return self.ops.put_off(pg, object);
        }
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        self.begin_push(now, (pg, self.urgency(pg)), object, (interval, None));
    }

    /// Reads an object to push it, or to see that it can be read where a past goes before it.
    fn begin_push(
        &mut self,
        now: Time,
        place: (PgId, Urgency),
        object: ObjectNo,
        whose: (u32, Option<RecoverySender>),
    ) {
        match self.is_with_past(place.0, object) {
            true => self.read_past(now, place, (object, SnapshotNo::HEAD), whose),
            false => self.read_to_push(now, place, object, whose),
        }
    }

    /// Reads an object, or in what it differs from its last former state, which went before; one that does not exist costs a
    /// look at the metadata.
    pub(crate) fn read_to_push(
        &mut self,
        now: Time,
        place: (PgId, Urgency),
        object: ObjectNo,
        (interval, puller): (u32, Option<RecoverySender>),
    ) {
        let history = self.pg(place.0).and_then(|here| here.kept.get(object));
        let base = history.and_then(|history| history.before(None));
        let commit = Commit::PushRead(interval, puller, base);
        self.read_present(now, place, object, base, commit);
    }

    /// Reads an object as it is now, whole or in what it differs from this former state.
    pub(crate) fn read_present(
        &mut self,
        now: Time,
        (pg, urgency): (PgId, Urgency),
        object: ObjectNo,
        base: Option<SnapshotNo>,
        commit: Commit,
    ) {
        let length = self.store.objects(pg).meta(object).map_or(0, |meta| meta.length);
        let place = ObjectRange { pg, object, offset: 0, length: self.expected(pg, length) };
        let touch = AccessKind::ReadWhole { label: SnapshotNo::HEAD, base, bytes: length };
        self.access(now, urgency, &place, Update::none(touch), commit);
    }

    /// How much of an object of this length is read to be pushed, as far as can be told before.
    pub(crate) fn expected(&self, pg: PgId, length: u64) -> u64 {
        let primary = self.primary(pg).filter(|_| self.is_durable());
        primary.map_or(length, |primary| primary.push_bytes().min(length))
    }

    /// What goes with a push of an object of this length, which is noted.
    pub(crate) fn carried(&mut self, pg: PgId, length: u64, data: &Data) -> u64 {
        if !self.is_durable() {
            return length;
        }
        let bytes = data.len() as u64;
        if let Some(primary) = self.primary_mut(pg) {
            primary.read += Received { objects: 1, bytes };
        }
        bytes
    }

    /// A holder carries out a pull: it reads the object and pushes it to the primary.
    pub(crate) fn execute_pull(
        &mut self,
        now: Time,
        asker: RecoverySender,
        pg: PgId,
        object: ObjectNo,
    ) {
        self.begin_push(now, (pg, asker.urgency), object, (asker.interval, Some(asker)));
    }

    /// The object is read: off it goes, unless it was found bad meanwhile.
    pub(crate) fn push_read(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        (interval, puller): (u32, Option<RecoverySender>),
        (base, data): (Option<SnapshotNo>, Data),
        fx: &mut Effects,
    ) {
        if !self.may_give(pg, object) {
            return self.source_unreadable(now, pg, object, (interval, puller), fx);
        }
        let Some(to) = self.targets(pg, object, (interval, puller)) else { return };
        let (targets, urgency) = to;
        let pulled = self.primary(pg).is_none();
        let meta = self.store.objects(pg).meta(object);
        let bytes = self.carried(pg, meta.map_or(0, |meta| meta.length), &data);
        let push = Push { object, meta, base, bytes, pulled };
        let primary = self.primary_mut(pg);
        if let Some(recovering) = primary.and_then(|it| it.recovering.get_mut(&object)) {
            recovering.touched = recovering.touched.with(targets);
        }
        for target in targets.iter() {
            self.send_as(urgency, target, pg, (Message::Push(push), data.clone()), fx);
        }
    }

    /// Who is to get an object that was read to be pushed, and how urgently; nobody, if the interval has ended.
    pub(crate) fn targets(
        &self,
        pg: PgId,
        object: ObjectNo,
        (interval, puller): (u32, Option<RecoverySender>),
    ) -> Option<(OsdSet, Urgency)> {
        let here = self.pg(pg).filter(|here| here.interval == interval)?;
        if let Some(puller) = puller {
            return Some((OsdSet::one(puller.osd), puller.urgency));
        }
        let recovering = here.primary.as_ref()?.recovering.get(&object)?;
        Some((recovering.pending, self.urgency(pg)))
    }

    /// A worker of the target carries out a push.
    pub(crate) fn execute_push(
        &mut self,
        now: Time,
        asker: RecoverySender,
        pg: PgId,
        (push, data): (Push, Data),
        fx: &mut Effects,
    ) {
        if push.meta.is_some() && self.is_without_room() {
            return self.refuse_push(now, asker, pg, push.object, fx);
        }
        let length = push.length().get();
        let place = ObjectRange { pg, object: push.object, offset: 0, length };
        let version = push.meta.map_or_else(Default::default, |meta| meta.version);
        let touch = push.meta.map_or(AccessKind::Remove, |meta| {
            let (label, length, base) = (SnapshotNo::HEAD, meta.length, push.base);
            AccessKind::Put(Whole { label, length, base, data })
        });
        self.store.give_up_puts(pg, Some(push.object));
        self.ops.overtake(pg, push.object);
        let mut edits = self.history_edits(asker, pg, &push);
        // What is there goes before what comes is there.
        let first: Vec<Edit> = self.admit_lack(pg, push.object).into_iter().collect();
        let here = self.pg_mut(pg).expect("the interval was looked up");
        // Where the log has gaps, what comes may be ahead of it: the disk goes on saying that it is lacked until the interval has ended.
        if !first.is_empty() && here.gaps.is_none() {
            edits.push(here.save_arrival(pg, push.object));
        }
        edits.extend(here.save_whole(pg, push.object));
        if self.is_durable() {
            // What was here goes now. If the interval ends before what comes is whole, a comparison must find neither, and nobody may
            // take what is left for the object as it was.
            self.store.objects(pg).remove(push.object);
        }
        let update = Update { touch, version, first, edits, past_damage: None };
        self.access(now, asker.urgency, &place, update, Commit::Pushed(asker, push));
    }

    /// Of an object that was being put some may be on the disk, or all of it, and the memory has nothing of it. Copies that are filled are compared by their
    /// memory, and those that leave delete what that tells of: what has come would stay, and show where the object is made anew. So it
    /// goes, behind what of it is under way, unless its past says that it was arriving. Where the object is lacked by name the disk says so at once, whatever the
    /// last step said.
    pub(crate) fn remove_what_came_in_part(
        &mut self,
        now: Time,
        pg: PgId,
        objects: BTreeSet<ObjectNo>,
    ) {
        for object in objects {
            let is_known = self.store.objects(pg).meta(object).is_some();
            let Some(here) = self.pg_mut(pg) else { return };
            if is_known || here.kept.get(object).is_some() {
                continue;
            }
            let mut edits = vec![Edit::Remove { object: object_id(pg, object, SnapshotNo::HEAD) }];
            if here.lacks.contains(&object) {
                edits.push(here.save_lack(pg, object));
            }
            self.keep_all(now, &ObjectRange::of_group(pg), edits, Commit::Nothing);
        }
    }

    /// A pushed object is durable on the target.
    pub(crate) fn push_committed(
        &mut self,
        now: Time,
        asker: RecoverySender,
        pg: PgId,
        push: Push,
        fx: &mut Effects,
    ) {
        let here = self.pg_mut(pg).filter(|here| here.interval == asker.interval);
        let Some(here) = here else { return };
        here.lacks.remove(&push.object);
        if let Some(given) = &mut here.gaps {
            given.insert(push.object);
        }
        here.disk.damage.end_stray(push.object);
        let is_repaired = here.unreadable.remove(&push.object);
        if here.kept.get(push.object).is_some() {
            here.kept.change(push.object, |history| history.arriving = None);
        }
        self.counters.damage.repaired += u64::from(is_repaired);
        self.counters.received += Received { objects: 1, bytes: push.length().get() };
        let objects = self.store.objects(pg);
        // No write to the object was let through since its recovery began: what comes is what should be here.
        match push.meta {
            Some(meta) => objects.replace(push.object, meta),
            None => drop(objects.remove(push.object)),
        }
        if push.pulled {
            // If replicas lack it too, they are next.
            self.object_pushed(now, self.id, pg, push.object, fx);
        } else {
            let reply = (Message::PushReply(push.object), Data::NONE);
            self.send_as(asker.urgency, asker.osd, pg, reply, fx);
        }
    }

    /// A target has the object now.
    pub(crate) fn object_pushed(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(recovering) = primary.recovering.get_mut(&object) else { return };
        recovering.pending.remove(from);
        let next = recovering.next();
        primary.arrived(from, object);
        match next {
            NextMove::Wait => {}
            NextMove::Push => self.push_to(now, pg, object),
            NextMove::Over => self.object_recovered(now, pg, object, fx),
        }
    }

    fn object_recovered(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let recovering = self.end_object(pg, object);
        let primary = self.primary_mut(pg).expect("only a primary recovers");
        if primary.unfound.remove(object) {
            self.tell_unfound(pg, fx);
        }
        self.unpark(now, pg, recovering.parked, fx);
        self.continue_recovery(now, pg, fx);
    }

    /// Nothing of an object is under way any more, however that has ended. The answer says who waits for it.
    pub(crate) fn end_object(&mut self, pg: PgId, object: ObjectNo) -> Recovering {
        let primary = self.primary_mut(pg).expect("only a primary recovers");
        let recovering = primary.recovering.remove(&object).expect("it was being recovered");
        if let Some(backfill) = &mut primary.backfill
            && backfill.covers(object)
        {
            backfill.left = backfill.left.saturating_sub(1);
        } else if let Some(backfill) = &mut primary.backfill
            && recovering.ahead
        {
            backfill.ahead.insert(object);
        }
        self.recovery.admission.object_finished();
        recovering
    }
}

/// What follows when another OSD has an object.
enum NextMove {
    /// The others' answers are to come.
    Wait,
    /// These get it too, now that the primary has it.
    Push,
    /// All have it.
    Over,
}

impl Recovering {
    fn next(&mut self) -> NextMove {
        if !self.pending.is_empty() {
            return NextMove::Wait;
        }
        self.pending = std::mem::take(&mut self.afterwards);
        match self.pending.is_empty() {
            true => NextMove::Over,
            false => NextMove::Push,
        }
    }
}
