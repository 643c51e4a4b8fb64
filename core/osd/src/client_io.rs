//! A client's op on its primary and a write on a replica: execute, replicate, commit, vote, reply.

use crate::access::{AccessFailure, AccessKind, ObjectRange, Update};
use crate::aside::AsideFor;
use crate::commit::{Commit, RecoverySender, UpdateOp};
use crate::delay::{Delay, OpDelay};
use crate::event::{Effect, Effects, Reply, Unreadable};
use crate::ids::{OsdId, OsdSet, PgId};
use crate::in_flight::{InFlight, Stamps};
use crate::item::Item;
use crate::message::{Before, ClientOp, Data, Envelope, Message, OpKind, ReplicaWrite, WriteTag};
use crate::osd::Osd;
use crate::pg::{Primary, WriteWay};
use crate::pg_log::{ChangedBytes, LogEntry};
use crate::snapshots::{Changed, Decision, ObjectChange};
use crate::waits::Stage;
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::ObjectNo;
use loadline_store::paged::{Edit, LostEnds, PastDamage};

impl Osd {
    /// A worker carries out a client's op.
    pub(crate) fn execute_op(
        &mut self,
        now: Time,
        (op, data): (ClientOp, Data),
        stamps: Stamps,
        fx: &mut Effects,
    ) {
        let this = self.id;
        let Some(primary) = self.primary_mut(op.pg) else { return };
        // The router sends every op of the group again when the next interval begins.
        if primary.ops.handing_over {
            return;
        }
        let WriteWay::To(others) = primary.way_of(this, &op) else {
            return self.park(now, op.object, (op, data), fx);
        };
        let Some((op, data)) = self.scrub_keeps(now, op, data, fx) else { return };
        if op.resent && self.is_known(&op) {
            return self.reply(now, &op, (stamps, None), Ok(Data::NONE), fx);
        }
        if !op.kind.is_update() {
            return self.execute_read(now, op, stamps, fx);
        }
        self.make_room_in_past(now, (op.pg, op.object), others, fx);
        let before = match self.decide(&op, others) {
            Decision::Go(before) => before,
            Decision::Needless => {
                return self.reply(now, &op, (stamps, None), Ok(Data::NONE), fx);
            }
            Decision::Park(object) => return self.park(now, object, (op, data), fx),
        };
        self.begin_update(now, (op, data), before, stamps, others, fx);
    }

    /// Carries an update out here and on these other copies. The tag is that of its end.
    pub(crate) fn begin_update(
        &mut self,
        now: Time,
        (op, data): (ClientOp, Data),
        before: Before,
        stamps: Stamps,
        others: OsdSet,
        fx: &mut Effects,
    ) -> WriteTag {
        let tag = self.begin_op(op, stamps, others);
        let mut update = self.replicate(op, before, &data, tag, others, fx);
        let in_flight = self.ops.get_mut(tag).expect("it has begun");
        in_flight.copies = matches!(before, Before::Copy { .. });
        in_flight.version = update.version;
        in_flight.data = data.clone();
        if others.is_empty() {
            // Everything else of it must be on the disk: what comes behind is carried out on what is known here of the object since.
            update.past_damage = update.past_damage.map(|_| PastDamage::Leave);
        }
        update.touch = AccessKind::of(op.kind, before, data);
        let commit = Commit::Op(tag, op.work(), UpdateOp { id: op.id, is_traced: op.traced });
        self.access(now, Urgency::default(), &ObjectRange::of(&op), update, commit);
        tag
    }

    /// A read concerns the primary alone.
    fn execute_read(&mut self, now: Time, op: ClientOp, stamps: Stamps, fx: &mut Effects) {
        let (touch, place) = match self.source_of(&op) {
            Ok(source) => source,
            Err(lacking) => return self.park(now, lacking, (op, Data::NONE), fx),
        };
        let tag = self.begin_op(op, stamps, OsdSet::EMPTY);
        self.ops.get_mut(tag).expect("it has begun").looks_into = Some(place.object);
        let commit = Commit::Read(tag, op.work(), op.traced.then_some(op.id));
        self.access(now, Urgency::default(), &place, Update::none(touch), commit);
    }

    /// Keeps an op until this OSD and these others have confirmed it.
    fn begin_op(&mut self, op: ClientOp, stamps: Stamps, others: OsdSet) -> WriteTag {
        let mut pending = others;
        pending.insert(self.id);
        self.primary_mut(op.pg).expect("it is the primary").ops.in_flight += 1;
        self.ops.begin(op, stamps, pending)
    }

    /// Whether a write was carried out in an earlier interval already. Carried out twice, it could undo what was
    /// written in between.
    fn is_known(&self, op: &ClientOp) -> bool {
        op.kind.is_update() && self.pg(op.pg).is_some_and(|pg| pg.log.knows(op.id))
    }

    /// Numbers the write, records it here and sends it to the other copies.
    fn replicate(
        &mut self,
        op: ClientOp,
        before: Before,
        data: &Data,
        tag: WriteTag,
        others: OsdSet,
        fx: &mut Effects,
    ) -> Update {
        let pg = self.pg_mut(op.pg).expect("the primary has the placement group");
        let changed = ChangedBytes::by(op.kind, before, (op.offset, op.length));
        let version = pg.log.append(pg.interval, op.object, op.id, changed);
        let write = ReplicaWrite::of(&op, tag, before, version);
        let (created, update) = self.update(op.pg, &write);
        let primary = self.primary_mut(op.pg).expect("only the primary replicates");
        primary.note_write(op.object, created);
        for replica in others.iter() {
            self.send_with(replica, op.pg, Message::Write(write), data.clone(), fx);
        }
        update
    }

    /// What a write does to what is known of its object, and what it asks of the disk beside its data. Also whether
    /// the object is new.
    fn update(&mut self, pg: PgId, write: &ReplicaWrite) -> (bool, Update) {
        let ReplicaWrite { kind, before, object, version, .. } = *write;
        let (offset, length) = (u64::from(write.offset), u64::from(write.length));
        let change = ObjectChange { pg, object, kind, before, offset, length, version };
        let Changed { created, first, edits: mut more } = self.change(&change);
        let mut edits = self.entry_edits(pg, write.entry());
        edits.append(&mut more);
        let touch = AccessKind::Nothing;
        let is_durable = self.is_durable();
        let here = self.pg(pg).expect("it was written to");
        let past_damage = is_durable.then(|| PastDamage::Lose(here.note_damage(pg, object)));
        (created, Update { touch, version, first, edits, past_damage })
    }

    /// What a write's log entry asks of the disk.
    pub(crate) fn entry_edits(&mut self, pg: PgId, entry: LogEntry) -> Vec<Edit> {
        if !self.is_durable() {
            return Vec::new();
        }
        self.pg_mut(pg).expect("it was written to").save_entry(pg, &entry)
    }

    /// A worker of a replica carries out a write.
    pub(crate) fn execute_replica_write(
        &mut self,
        now: Time,
        primary: RecoverySender,
        pg: PgId,
        (write, data): (ReplicaWrite, Data),
        longest: Delay,
        fx: &mut Effects,
    ) {
        let ReplicaWrite { kind, before, object, op, .. } = write;
        self.scrub_meets_copy(now, pg, object, fx);
        let here = self.pg_mut(pg).expect("the interval was looked up");
        here.log.record(write.entry());
        let (_, mut update) = self.update(pg, &write);
        update.touch = AccessKind::of(kind, before, data);
        let op = UpdateOp { id: op, is_traced: write.traced };
        let commit = Commit::Replica(primary, write.tag, op, longest);
        let (offset, length) = (u64::from(write.offset), u64::from(write.length));
        let place = ObjectRange { pg, object, offset, length };
        self.access(now, Urgency::default(), &place, update, commit);
    }

    /// The op is durable, or read, on its primary.
    pub(crate) fn op_committed(
        &mut self,
        now: Time,
        tag: WriteTag,
        (read, delay, lost): (Data, Delay, LostEnds),
        fx: &mut Effects,
    ) {
        let Some(in_flight) = self.ops.get_mut(tag) else { return };
        if in_flight.is_overtaken {
            return self.read_again(now, tag, fx);
        }
        in_flight.stamps.committed = now;
        in_flight.stamps.longest = in_flight.stamps.longest.or(delay);
        if !in_flight.op.kind.is_update() {
            in_flight.data = read;
        }
        self.vote(now, (self.id, None, lost), tag, fx);
    }

    /// What a read has read is not what any copy has: it is carried out again.
    fn read_again(&mut self, now: Time, tag: WriteTag, fx: &mut Effects) {
        let InFlight { op, stamps, .. } = self.ops.end(tag);
        self.execute_op(now, (op, Data::NONE), stamps, fx);
        self.op_finished(op.pg, fx);
    }

    /// What a client wants to read cannot be read here. If no other copy has it either, the op fails.
    pub(crate) fn read_failed(
        &mut self,
        now: Time,
        tag: WriteTag,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let Some(in_flight) = self.ops.get_mut(tag) else { return };
        if in_flight.is_overtaken {
            return self.read_again(now, tag, fx);
        }
        let op = in_flight.op;
        if !self.may_be_found(now, &op, object) {
            self.tell_refused(now, &op, object, fx);
            return self.end_op(now, tag, Err(AccessFailure::Unreadable), fx);
        }
        self.ops.end(tag);
        self.find_elsewhere(now, (op, Data::NONE), object, fx);
    }

    /// Counts one copy on which the op is durable, or that knows it has missed it; after the last one the client gets its
    /// reply. The last one's delay is what the others waited for. A copy of which a page is lost is mended; what is lost in all of them is not
    /// written, unless others have what stands around it.
    pub(crate) fn vote(
        &mut self,
        now: Time,
        (from, delay, lost): (OsdId, Option<Delay>, LostEnds),
        tag: WriteTag,
        fx: &mut Effects,
    ) {
        let Some(in_flight) = self.ops.get_mut(tag) else { return };
        in_flight.pending.remove(from);
        in_flight.last = delay;
        in_flight.lost = in_flight.lost.and(lost);
        let (op, is_over) = (in_flight.op, in_flight.pending.is_empty());
        if is_over && !op.kind.is_update() {
            let read = std::mem::take(&mut in_flight.data);
            return self.end_op(now, tag, Ok(read), fx);
        }
        if lost.any() {
            self.note_lost(op.pg, from, op.object);
        }
        if is_over {
            self.update_is_over(now, tag, fx);
        } else {
            self.weigh_doubts(now, op.pg, tag, fx);
            self.move_what_was_put_off(now, op.pg, op.object, fx);
        }
        if lost.any() {
            self.begin_repair(now, op.pg, fx);
        }
    }

    /// All copies have answered an update.
    fn update_is_over(&mut self, now: Time, tag: WriteTag, fx: &mut Effects) {
        let in_flight = self.ops.get_mut(tag).expect("it was looked up");
        let (op, lost, version) = (in_flight.op, in_flight.lost, in_flight.version);
        if lost.any() {
            self.tell_unwritten(now, op.pg, (version, lost), fx);
            return self.update_in_vain(now, op.object, tag, fx);
        }
        let primary = self.primary(op.pg).expect("its ops end with its interval");
        match primary.is_anywhere(op.object) || !primary.lenders(op.object).is_empty() {
            true => self.end_op(now, tag, Ok(Data::NONE), fx),
            false => self.refuse_update(now, op.object, tag, fx),
        }
    }

    /// An op is over, whoever has not answered yet.
    pub(crate) fn end_op(
        &mut self,
        now: Time,
        tag: WriteTag,
        result: Result<Data, AccessFailure>,
        fx: &mut Effects,
    ) {
        let in_flight = self.ops.end(tag);
        // Who still asks whether others have what it cannot read: it was refused, and nobody is to have it, or who asks has missed it, and is sent the object.
        let word = (in_flight.askers(), LostEnds::default());
        let InFlight { op, stamps, last, looks_into, .. } = in_flight;
        self.tell_word(now, op.pg, tag, word, fx);
        self.move_what_was_put_off(now, op.pg, op.object, fx);
        match op.kind {
            OpKind::Trim(_) => self.object_trimmed(now, op.pg, tag, result.map(drop), fx),
            _ => {
                self.counters.damage.failed_ops += u64::from(result.is_err());
                if result.is_ok() {
                    self.op_went_well(&op, looks_into.unwrap_or(op.object), fx);
                }
                self.reply(now, &op, (stamps, last), result, fx);
            }
        }
        self.op_finished(op.pg, fx);
        self.scrub_op_ended(now, op.pg, fx);
    }

    /// What an op asked for of this object, its own or an ancestor's, is good.
    fn op_went_well(&mut self, op: &ClientOp, object: ObjectNo, fx: &mut Effects) {
        let primary = self.primary(op.pg).expect("its ops end with its interval");
        if !primary.unfound.has_bad_places(object) {
            return;
        }
        let place = self.place_in(op, object);
        let primary = self.primary_mut(op.pg).expect("it was looked up");
        if primary.unfound.went_well(op.kind, object, &place) {
            self.tell_unfound(op.pg, fx);
        }
    }

    /// An op that is not under way ends because no copy of an object can be read, its own or an ancestor's.
    pub(crate) fn fail_op(&mut self, now: Time, op: &ClientOp, object: ObjectNo, fx: &mut Effects) {
        self.tell_refused(now, op, object, fx);
        self.counters.damage.failed_ops += 1;
        let stamps = Stamps::at(now, self.id);
        self.reply(now, op, (stamps, None), Err(AccessFailure::Unreadable), fx);
    }

    fn reply(
        &mut self,
        now: Time,
        op: &ClientOp,
        (stamps, replica): (Stamps, Option<Delay>),
        result: Result<Data, AccessFailure>,
        fx: &mut Effects,
    ) {
        let Stamps { admitted, dequeued, executed, committed, longest } = stamps;
        let delay = OpDelay { primary: longest, replica, aside: op.aside };
        let work = op.work();
        self.counters.waits.record(work, Stage::Replicas, now.since(committed));
        if op.traced {
            self.trace(op.id, work, Stage::Replicas, committed, now, fx);
        }
        let result = result.map_err(|_| Unreadable);
        let op = op.id;
        let (replied, answered) = (now, now);
        let reply =
            Reply { op, admitted, dequeued, executed, committed, replied, answered, delay, result };
        fx.world.push(Effect::Reply(Box::new(reply)));
    }

    pub(crate) fn op_finished(&mut self, pg: PgId, fx: &mut Effects) {
        let primary = self.primary_mut(pg).expect("its ops end with its interval");
        primary.ops.in_flight -= 1;
        if primary.ops.handing_over {
            self.hand_over_if_idle(pg, fx);
        }
    }

    /// The op waits until an object is recovered, its own or an ancestor's, and that object goes first. What can be recovered
    /// from nowhere fails the op, unless that removes all of it.
    pub(crate) fn park(
        &mut self,
        now: Time,
        object: ObjectNo,
        (mut op, data): (ClientOp, Data),
        fx: &mut Effects,
    ) {
        op.aside.add(AsideFor::Recovery);
        let primary = self.primary(op.pg).expect("only a primary parks");
        if !primary.recovering.contains_key(&object) {
            let is_nowhere = primary.misses(self.id, object) && !self.may_come(op.pg, object);
            if is_nowhere && op.kind != OpKind::Purge {
                return self.do_with_own(now, object, (op, data), fx);
            }
            self.start_urgent(now, op.pg, object, fx);
        }
        let primary = self.primary_mut(op.pg).expect("only a primary parks");
        let recovering = primary.recovering.get_mut(&object);
        recovering.expect("recovery of the object has begun").parked.push((op, data));
    }

    /// Puts ops back, in their order, that waited for an object.
    pub(crate) fn unpark(
        &mut self,
        now: Time,
        pg: PgId,
        ops: Vec<(ClientOp, Data)>,
        fx: &mut Effects,
    ) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        let (to, urgency) = (self.id, self.urgency(pg));
        let item = |(op, data)| {
            let message = Message::Op(op);
            let from = None;
            let envelope = Envelope { from, to, pg, interval, urgency, message, data };
            Item::Message(Box::new(envelope))
        };
        self.enqueue_front(now, pg, ops.into_iter().map(item).collect(), fx);
    }
}

impl Primary {
    /// Who else takes part in an op, or that it must wait.
    fn way_of(&self, this: OsdId, op: &ClientOp) -> WriteWay {
        match op.kind {
            kind if kind.is_update() => self.write_way(this, op.object),
            _ if self.misses(this, op.object) => WriteWay::Park,
            _ => WriteWay::To(OsdSet::EMPTY),
        }
    }
}

impl ReplicaWrite {
    fn entry(&self) -> LogEntry {
        let ReplicaWrite { version, object, op, .. } = *self;
        let changed = ChangedBytes::by(self.kind, self.before, (self.offset, self.length));
        LogEntry { version, object, op, changed }
    }
}

impl ChangedBytes {
    /// What an update changes of an object as it is now.
    fn by(kind: OpKind, before: Before, (offset, length): (u32, u32)) -> ChangedBytes {
        let begins = matches!(before, Before::Create(_) | Before::Copy { .. });
        match kind {
            OpKind::Write | OpKind::Zero if !begins => ChangedBytes { offset, length },
            OpKind::Trim(_) if !begins => ChangedBytes::NONE,
            _ => ChangedBytes::ALL,
        }
    }
}
