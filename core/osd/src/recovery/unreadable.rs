//! Objects that this OSD's disk cannot give: whoever needs them gets them from another copy, and what comes from there
//! replaces the bad one. Only what no copy can give is an error, and only for who asks for it.
//!
//! A copy that could not be read is remembered by the primary, and only until the interval ends: it may be read again some
//! day. A copy that is not as the log tells is another thing. It says so on its disk before anybody counts on it: before
//! the bad object goes to make room for the good one, and before a write that it missed is acknowledged.

use crate::access::{AccessFailure, ObjectRange};
use crate::commit::{Commit, RecoverySender};
use crate::directive::{DiskFault, Notice};
use crate::event::Effects;
use crate::ids::{OpId, OsdId, OsdSet, PgId};
use crate::in_flight::InFlight;
use crate::message::{ClientOp, Data, Message, OpKind, WriteTag};
use crate::osd::Osd;
use crate::pg::{Pause, Primary, Reservation, WriteWay};
use crate::pg_log::ChangedBytes;
use crate::unfound::AskedPlace;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::paged::{Edit, LostEnds};
use loadline_store::{ObjectNo, Version};

impl Osd {
    /// Whether what a primary could not read for a client may be found elsewhere. What was looked for in vain just now is not.
    pub(crate) fn may_be_found(&self, now: Time, op: &ClientOp, object: ObjectNo) -> bool {
        let (place, ago) = (self.place_in(op, object), self.options.recovery_retry_interval);
        let primary = self.primary(op.pg).expect("its ops end with its interval");
        !primary.unfound.was_looked_for(now, object, &place, ago) && self.may_come(op.pg, object)
    }

    /// A primary could not read its copy for a client: others give it back, and the op goes on then.
    pub(crate) fn find_elsewhere(
        &mut self,
        now: Time,
        (op, data): (ClientOp, Data),
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let pg = op.pg;
        self.note_unreadable(pg, self.id, object);
        let primary = self.primary(pg).expect("its ops end with its interval");
        // Where the interval is about to end, the router sends the op again in the next one.
        if !primary.ops.handing_over {
            self.park(now, object, (op, data), fx);
            self.begin_repair(now, pg, fx);
        }
        self.op_finished(pg, fx);
    }

    /// What was to be pushed cannot be read here, or is not what it should be any more.
    pub(crate) fn source_unreadable(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        (interval, asker): (u32, Option<RecoverySender>),
        fx: &mut Effects,
    ) {
        let Some(here) = self.pg(pg).filter(|here| here.interval == interval) else { return };
        if here.primary.is_some() {
            self.own_copy_unreadable(now, pg, object, fx);
        } else if let Some(asker) = asker {
            let unreadable = (Message::Unreadable(object), Data::NONE);
            self.send_as(asker.urgency, asker.osd, pg, unreadable, fx);
        }
    }

    /// A primary has to get an object itself before it can push it.
    fn own_copy_unreadable(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let this = self.id;
        self.note_unreadable(pg, this, object);
        let primary = self.primary_mut(pg).expect("it leads");
        if let Some(recovering) = primary.recovering.get_mut(&object)
            && !recovering.pending.contains(this)
        {
            recovering.afterwards = std::mem::replace(&mut recovering.pending, OsdSet::one(this));
            recovering.steps.clear();
            self.pull(now, pg, object, fx);
        }
        self.begin_repair(now, pg, fx);
    }

    /// A holder could not read what this primary pulls: the next one is asked.
    pub(crate) fn pull_failed(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let this = self.id;
        if self.primary(pg).is_none() {
            return;
        }
        self.note_unreadable(pg, from, object);
        let recovering = self.primary(pg).and_then(|primary| primary.recovering.get(&object));
        if recovering.is_some_and(|recovering| recovering.pending.contains(this)) {
            self.pull(now, pg, object, fx);
        }
        self.begin_repair(now, pg, fx);
    }

    /// Whether another copy may give an object.
    pub(crate) fn can_pull(&self, pg: PgId, object: ObjectNo) -> bool {
        let this = self.id;
        self.primary(pg).is_some_and(|primary| primary.holder_of(this, object).is_some())
    }

    /// Asks a holder for an object that is on its way to this primary. What was under way when this copy was found bad may stand in the holder's
    /// queue, where a pull can pass it: what came then would be without what the holder is about to acknowledge, and would take it away
    /// here. So the holder's word for all of it comes first.
    pub(crate) fn pull(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let this = self.id;
        match self.primary(pg).and_then(|primary| primary.holder_of(this, object)) {
            Some(holder) if self.ops.is_owed((pg, object), holder) => {
                self.ops.put_off(pg, object);
            }
            Some(holder) => self.send(holder, pg, Message::Pull(object), fx),
            None => self.nobody_gives(now, pg, object, fx),
        }
    }

    /// A copy has confirmed an update of an object, or its op is over: a pull or a push may have waited for that.
    pub(crate) fn move_what_was_put_off(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        if !self.ops.take_put_off(pg, object) {
            return;
        }
        let this = self.id;
        let recovering = self.primary(pg).and_then(|primary| primary.recovering.get(&object));
        match recovering.map(|recovering| recovering.pending.contains(this)) {
            Some(true) => self.pull(now, pg, object, fx),
            Some(false) => self.push_to(now, pg, object),
            None => {}
        }
    }

    /// Whether an object may be pushed from here: a disk that gives something may not give what should be there.
    pub(crate) fn may_give(&self, pg: PgId, object: ObjectNo) -> bool {
        let this = self.id;
        let Some(here) = self.pg(pg) else { return false };
        let is_missed = here.primary.as_ref().is_some_and(|primary| primary.misses(this, object));
        !here.lacks.contains(&object) && !is_missed
    }

    /// Whether an object that this OSD lacks, or what it cannot read of it, may come from others, or is coming: whoever needs that waits for it.
    pub(crate) fn may_come(&self, pg: PgId, object: ObjectNo) -> bool {
        let is_coming = self.primary(pg).is_some_and(|it| it.recovering.contains_key(&object));
        is_coming || self.can_pull(pg, object) || self.can_mend(pg, object)
    }

    /// A copy is not what the others are, though it can be read.
    pub(crate) fn note_wrong(&mut self, pg: PgId, osd: OsdId, object: ObjectNo) {
        self.note_unreadable(pg, osd, object);
        let primary = self.primary_mut(pg).expect("only a primary counts on copies");
        if let Some(bad) = primary.bad.unreadable.get_mut(&object) {
            bad.wrong.insert(osd);
        }
    }

    /// A copy has an object, and has lost pages of it.
    pub(crate) fn note_lost(&mut self, pg: PgId, osd: OsdId, object: ObjectNo) {
        let primary = self.primary_mut(pg).expect("only a primary counts on copies");
        let is_marked =
            primary.bad.unreadable.get(&object).is_some_and(|bad| bad.all.contains(osd));
        if is_marked || !primary.misses(osd, object) {
            primary.bad.lost.entry(object).or_default().insert(osd);
        }
        self.note_unreadable(pg, osd, object);
    }

    pub(crate) fn note_unreadable(&mut self, pg: PgId, osd: OsdId, object: ObjectNo) {
        let this = self.id;
        let here = self.pg_mut(pg).expect("it was looked up");
        if osd == this {
            here.unreadable.insert(object);
        }
        let primary = here.primary.as_mut().expect("only a primary counts on copies");
        if !primary.misses(osd, object) {
            primary.note_missing(osd, object);
            primary.bad.unreadable.entry(object).or_default().all.insert(osd);
        }
    }

    /// Recovers what was found bad while the placement group was thought whole.
    pub(crate) fn begin_repair(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        self.tell_lacking(pg, fx);
        let Some(primary) = self.primary(pg) else { return };
        if primary.reservation == Reservation::None && !primary.ops.handing_over {
            self.start_recovery(now, pg, fx);
        }
    }

    /// No copy can give an object that is on its way. What several can give together is mended. If it is given up, it becomes what is left
    /// of it; who purges it gives it up. Else the ops that wait for it have to do with what is here, and fail if that is nothing; the rest goes on.
    pub(crate) fn nobody_gives(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        if self.mend_next(now, pg, object, fx) {
            return;
        }
        let is_given_up = self.primary(pg).is_some_and(|it| it.unfound.is_given_up(object));
        let is_purged = self.fail_but_purges(now, pg, object, fx);
        if (is_given_up || is_purged) && self.ask_what_is_left(now, pg, object, fx) {
            return;
        }
        let recovering = self.end_object(pg, object);
        let targets = recovering.pending.with(recovering.afterwards);
        self.give_up(pg, object, (targets, recovering.touched), fx);
        let mut go_on = Vec::new();
        for (op, data) in recovering.parked {
            match self.can_do_with_own(&op, object) {
                true => go_on.push((op, data)),
                false => self.fail_op(now, &op, object, fx),
            }
        }
        go_on.iter().for_each(|(op, _)| self.note_looked(now, op, object));
        self.tell_lost(now, pg, object, fx);
        self.unpark(now, pg, go_on, fx);
        self.continue_recovery(now, pg, fx);
    }

    /// If an op that removes all of an object waits for it, nobody else does any more: what the object becomes meanwhile is for nobody to see. Whether one does.
    fn fail_but_purges(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) -> bool {
        let recovering = self.primary_mut(pg).and_then(|it| it.recovering.get_mut(&object));
        let parked = &mut recovering.expect("it is on its way").parked;
        let is_purge = |(op, _): &(ClientOp, Data)| op.kind == OpKind::Purge;
        if !parked.iter().any(is_purge) {
            return false;
        }
        let others: Vec<_> = parked.extract_if(.., |it| !is_purge(it)).collect();
        others.iter().for_each(|(op, _)| self.fail_op(now, op, object, fx));
        true
    }

    /// Nobody may give an object that an op needs and that is not whole here: the op has to do with what is.
    pub(crate) fn do_with_own(
        &mut self,
        now: Time,
        object: ObjectNo,
        (op, data): (ClientOp, Data),
        fx: &mut Effects,
    ) {
        self.give_up(op.pg, object, (OsdSet::EMPTY, OsdSet::EMPTY), fx);
        if !self.can_do_with_own(&op, object) {
            return self.fail_op(now, &op, object, fx);
        }
        self.note_looked(now, &op, object);
        self.unpark(now, op.pg, vec![(op, data)], fx);
    }

    /// An op has waited for an object in vain, and goes on with what is here: it is not to wait again.
    fn note_looked(&mut self, now: Time, op: &ClientOp, object: ObjectNo) {
        let place = self.place_in(op, object);
        self.primary_mut(op.pg).expect("it leads").unfound.looked(now, object, place);
    }

    /// What an op asks for of this object, which is its own or an ancestor's.
    pub(crate) fn place_in(&self, op: &ClientOp, object: ObjectNo) -> AskedPlace {
        AskedPlace::in_object(op, object, self.groups.views())
    }

    /// A page that copies have lost was found nowhere: who asks what is wrong sees it before anybody reads there.
    pub(crate) fn tell_lost(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let primary = self.primary_mut(pg).expect("it leads");
        let object_bytes = primary.shape.object_bytes;
        let is_missing = primary.missing.values().any(|missing| missing.contains(&object));
        let is_lost = primary.bad.lost.contains_key(&object) && !is_missing;
        if is_lost && primary.unfound.lose(now, object, object_bytes) {
            self.tell_unfound(pg, fx);
        }
    }

    /// Whether an op that has waited for an object in vain may go on with this copy, which has it and cannot read all of it.
    fn can_do_with_own(&self, op: &ClientOp, object: ObjectNo) -> bool {
        let primary = self.primary(op.pg).expect("it leads");
        let may_write = || matches!(primary.write_way(self.id, object), WriteWay::To(_));
        !primary.misses(self.id, object) && (!op.kind.is_update() || may_write())
    }

    /// A client is about to be told that it gets nothing: whoever asks what is wrong must see it before. What nobody can ask for any more, because its snapshot
    /// was removed meanwhile, is nothing that is wrong.
    pub(crate) fn tell_refused(
        &mut self,
        now: Time,
        op: &ClientOp,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let place = self.place_in(op, object);
        if !place.is_shown(object, self.groups.views()) {
            return;
        }
        let may_come = self.may_come(op.pg, object);
        let primary = self.primary_mut(op.pg).expect("only a primary refuses");
        let is_missing = primary.missing.values().any(|missing| missing.contains(&object));
        // Nobody looks for an object that is unfound as a whole before it is tried again.
        let is_unfound = is_missing && !(may_come && primary.unfound.is_unknown(object));
        let is_news = match is_unfound && !primary.recovering.contains_key(&object) {
            true => primary.unfound.is_unknown(object) && primary.unfound.insert(object),
            false => primary.unfound.refuse(now, object, place),
        };
        if is_news {
            self.tell_unfound(op.pg, fx);
        }
    }

    /// Forgets which copies of an object could not be read, because they may be some day, and remembers who goes without it
    /// until then.
    pub(crate) fn give_up(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        (targets, touched): (OsdSet, OsdSet),
        fx: &mut Effects,
    ) {
        let this = self.id;
        let here = self.pg_mut(pg).expect("it leads");
        let is_gone = here.lacks.contains(&object);
        let primary = here.primary.as_mut().expect("it leads");
        let marks = primary.bad.unreadable.remove(&object).unwrap_or_default().all;
        for osd in marks.iter() {
            // What was begun to be replaced is no copy any more.
            let was_touched = if osd == this { is_gone } else { touched.contains(osd) };
            if !was_touched {
                primary.found(osd, object);
            }
        }
        for target in targets.iter().filter(|target| !marks.contains(*target)) {
            primary.note_missing(target, object);
        }
        let is_missing = primary.missing.values().any(|missing| missing.contains(&object));
        let is_news = is_missing && primary.unfound.insert(object);
        if !is_gone {
            here.unreadable.remove(&object);
        }
        if is_news {
            self.tell_unfound(pg, fx);
        }
    }

    /// The owner of the map goes by what is unfound.
    pub(crate) fn tell_unfound(&self, pg: PgId, fx: &mut Effects) {
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        fx.owner.push(Notice::Unfound(pg, interval, self.unfound_objects(pg)));
    }

    /// The owner of the map counts copies as whole, and deletes what is kept beside them, until it hears otherwise. A page that a copy has
    /// lost and that nobody gave is lost still, though its object is no more on its way than the others.
    pub(crate) fn tell_lacking(&mut self, pg: PgId, fx: &mut Effects) {
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        let Some(primary) = self.primary_mut(pg) else { return };
        let missing: OsdSet = primary.missing.keys().copied().collect();
        let lacking = primary.bad.lost.values().fold(missing, |all, lost| all.with(*lost));
        if std::mem::replace(&mut primary.bad.told_lacking, lacking) != lacking {
            fx.owner.push(Notice::Lacking(pg, interval, lacking));
        }
    }

    /// Snapshots were removed. What they alone have shown nobody can ask for any more, and what was unfound because of that is found: in every copy, or as
    /// soon as it is tried again.
    pub(crate) fn snapshots_removed(&mut self, now: Time, fx: &mut Effects) {
        let views = self.groups.views().clone();
        let led = self.groups.iter().filter(|(_, here)| here.primary.is_some());
        for pg in led.map(|(pg, _)| pg).collect::<Vec<_>>() {
            let primary = self.primary_mut(pg).expect("it leads");
            let pause = primary.reservation.pause();
            if primary.unfound.shown(&views) {
                self.tell_unfound(pg, fx);
            }
            if pause == Some(Pause::Unfound) {
                self.retry_reservation(now, pg, fx);
            }
        }
    }

    /// What could be read nowhere, or found no room, is tried once more.
    pub(crate) fn try_all_again(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(primary) = self.primary_mut(pg) else { return };
        for (object, copies) in primary.bad.lost.clone() {
            copies.iter().for_each(|osd| self.note_unreadable(pg, osd, object));
        }
        let Some(primary) = self.primary_mut(pg) else { return };
        primary.unfound.look_again();
        let stalled = std::mem::take(&mut primary.ops.stalled);
        self.unpark(now, pg, stalled, fx);
    }
}

/// Writes that a copy misses.
impl Osd {
    /// A copy could not carry an update out, because the bytes around it cannot be read. From now on it lacks the object,
    /// and the primary is told as soon as its disk says so. An interval that has ended meanwhile may have begun the next
    /// with the copy as if it had the update: then it must go.
    pub(crate) fn update_missed(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        let here = self.pg_mut(pg).filter(|here| here.interval == primary.interval);
        let Some(here) = here else { return self.stop(DiskFault::Unreadable, fx) };
        here.lacks.insert(object);
        here.unreadable.insert(object);
        let edits = here.save_missed(pg, object);
        let place = ObjectRange { pg, object, offset: 0, length: 0 };
        self.keep_all(now, &place, edits, Commit::Missed(primary, tag));
    }

    /// The primary could not carry out its own part of an update: the others' copies count, if there are any.
    pub(crate) fn own_update_failed(
        &mut self,
        now: Time,
        (pg, object): (PgId, ObjectNo),
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        let (this, interval) = (self.id, self.pg(pg).map_or(0, |here| here.interval));
        if self.ops.get_mut(tag).is_none() {
            return self.stop(DiskFault::Unreadable, fx);
        }
        if !self.can_pull(pg, object) {
            return self.refuse_update(now, object, tag, fx);
        }
        let primary = self.primary_mut(pg).expect("its ops end with its interval");
        primary.note_missing(this, object);
        let asker = RecoverySender { osd: this, interval, urgency: Urgency::default() };
        self.update_missed(now, asker, (pg, object), tag, fx);
    }

    /// No copy that takes part has what stands around an update. Others may have it, as it was before: the update waits until they are asked, and is carried out
    /// again then. Not if that would undo what came later.
    pub(crate) fn update_in_vain(
        &mut self,
        now: Time,
        object: ObjectNo,
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        let InFlight { op, version, .. } = *self.ops.get_mut(tag).expect("it is under way");
        let may_come_again = op.id != OpId::NOBODYS && self.is_latest(&op, version);
        if !may_come_again || !self.may_be_found(now, &op, object) {
            return self.refuse_update(now, object, tag, fx);
        }
        let InFlight { data, .. } = self.ops.end(tag);
        // If the interval ends meanwhile it comes again, and is not to count as done.
        self.pg_mut(op.pg).expect("it leads").log.forget_op(op.id);
        self.find_elsewhere(now, (op, data), object, fx);
        self.move_what_was_put_off(now, op.pg, object, fx);
        self.scrub_op_ended(now, op.pg, fx);
    }

    /// Whether nothing that came after this update of its object has written, or waits to write, some of its bytes.
    fn is_latest(&self, op: &ClientOp, version: Version) -> bool {
        let here = self.pg(op.pg).expect("it leads");
        let primary = here.primary.as_ref().expect("it leads");
        let ObjectRange { offset, length, .. } = ObjectRange::of(op);
        let all = offset..offset + length;
        let meets = |other: &ClientOp| match other.kind {
            OpKind::Write | OpKind::Zero => {
                ChangedBytes { offset: other.offset, length: other.length }.meet(&all)
            }
            kind => kind.is_update(),
        };
        let parked = primary.recovering.get(&op.object).into_iter().flat_map(|it| &it.parked);
        let mut others = parked.filter(|(other, _)| other.object == op.object);
        let until = here.log.head();
        here.log.keeps((op.object, &all), version, until) && !others.any(|(other, _)| meets(other))
    }

    /// No copy has all of an update.
    pub(crate) fn refuse_update(
        &mut self,
        now: Time,
        object: ObjectNo,
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        let op = self.ops.get_mut(tag).expect("it is under way").op;
        self.tell_refused(now, &op, object, fx);
        self.end_op(now, tag, Err(AccessFailure::Unreadable), fx);
    }

    /// A copy has noted that it missed an update.
    pub(crate) fn miss_noted(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        if self.pg(pg).is_none_or(|here| here.interval != primary.interval) {
            return;
        }
        if primary.osd == self.id {
            return self.write_missed(now, self.id, (pg, object), tag, fx);
        }
        self.send(primary.osd, pg, Message::WriteMissed(tag, object), fx);
    }

    /// A copy has missed a write: it counts as one that has answered, and as one that lacks the object.
    pub(crate) fn write_missed(
        &mut self,
        now: Time,
        from: OsdId,
        (pg, object): (PgId, ObjectNo),
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        if self.ops.get_mut(tag).is_none() {
            return;
        }
        let primary = self.primary_mut(pg).expect("its ops end with its interval");
        primary.note_lacking(from, object);
        // It has nothing to lend any more.
        primary.forget_lost(from, object);
        if let Some(bad) = primary.bad.unreadable.get_mut(&object) {
            bad.all.remove(from);
        }
        self.vote(now, (from, None, LostEnds::BOTH), tag, fx);
        self.begin_repair(now, pg, fx);
    }

    /// What must be on the disk before an object that should be here is replaced: that the copy lacks it. Nothing, if that
    /// is known there already.
    pub(crate) fn admit_lack(&mut self, pg: PgId, object: ObjectNo) -> Option<Edit> {
        let is_durable = self.is_durable();
        let here = self.pg_mut(pg).expect("the interval was looked up");
        let is_new = !here.filling && here.lacks.insert(object);
        (is_new && is_durable).then(|| here.save_lack(pg, object))
    }
}

impl Primary {
    /// An acting OSD that has `object`, other than this.
    pub(crate) fn holder_of(&self, this: OsdId, object: ObjectNo) -> Option<OsdId> {
        self.shape.acting.iter().find(|osd| *osd != this && !self.misses(*osd, object))
    }

    /// Whether some acting OSD has `object`.
    pub(crate) fn is_anywhere(&self, object: ObjectNo) -> bool {
        self.missing.is_empty() || self.shape.acting.iter().any(|osd| !self.misses(osd, object))
    }
}
