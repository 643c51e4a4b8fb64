//! A client's op on its primary and a write on a replica: execute, replicate, commit, vote, reply.

use crate::commit::Commit;
use crate::event::{Effect, Reply};
use crate::ids::{OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::{ClientOp, Envelope, Message, OpKind, ReplicaWrite, WriteTag};
use crate::osd::Osd;
use crate::pg::{Primary, WriteWay};
use crate::pg_log::LogEntry;
use crate::waits::Stage;
use loadline_base::{Bytes, Time};
use loadline_device::Kind;
use loadline_qos::{Urgency, Work};
use loadline_store::Access;

/// An op that is being carried out on its primary.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    op: ClientOp,
    sequence: u32,
    /// Who has not confirmed it yet, this OSD included.
    pending: OsdSet,
    stamps: Stamps,
}

/// When an op passed which stage on its primary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    admitted: Time,
    dequeued: Time,
    executed: Time,
    committed: Time,
}

/// Numbers writes so that none is confused with another in the same slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteSequence(u32);

impl WriteSequence {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(1);
        self.0
    }
}

impl Osd {
    /// A worker carries out a client's op.
    pub(crate) fn execute_op(
        &mut self,
        now: Time,
        op: ClientOp,
        admitted: Time,
        dequeued: Time,
        fx: &mut Vec<Effect>,
    ) {
        let this = self.id;
        let Some(primary) = self.primary_mut(op.pg) else { return };
        // The router sends every op of the group again when the next interval begins.
        if primary.handing_over {
            return;
        }
        let WriteWay::To(others) = primary.way_of(this, &op) else {
            return self.park(now, op, fx);
        };
        let stamps = Stamps { admitted, dequeued, executed: now, committed: now };
        if op.resent && self.is_known(&op) {
            return self.reply(now, &op, stamps, fx);
        }
        let sequence = self.write_sequence.next();
        let mut pending = others;
        pending.insert(this);
        let in_flight = InFlight { op, sequence, pending, stamps };
        let tag = WriteTag { slot: self.in_flight.acquire(in_flight), sequence };
        self.primary_mut(op.pg).expect("it is the primary").in_flight += 1;
        if op.kind == OpKind::Write {
            self.replicate(op, tag, others, fx);
        }
        let kind = match op.kind {
            OpKind::Read => Kind::Read,
            OpKind::Write => Kind::Write,
        };
        let traced = op.traced.then_some(op.id);
        let commit = Commit::Op(tag, traced);
        self.access(now, Urgency::default(), kind, &Place::of(&op), commit);
    }

    /// Whether a write was carried out in an earlier interval already. Carried out twice, it could undo what was
    /// written in between.
    fn is_known(&self, op: &ClientOp) -> bool {
        op.kind == OpKind::Write && self.pg(op.pg).is_some_and(|pg| pg.log.knows(op.id))
    }

    /// Numbers the write, records it here and sends it to the other copies.
    fn replicate(&mut self, op: ClientOp, tag: WriteTag, others: OsdSet, fx: &mut Vec<Effect>) {
        let pg = self.pg_mut(op.pg).expect("the primary has the placement group");
        let version = pg.log.append(pg.interval, op.object, op.id);
        let end = u64::from(op.offset) + u64::from(op.length);
        let created = self.store.objects(op.pg.collection()).write(op.object, end, version);
        let primary = self.primary_mut(op.pg).expect("only the primary replicates");
        primary.note_write(op.object, created);
        let ClientOp { id, traced, object, offset, length, .. } = op;
        let write = ReplicaWrite { tag, op: id, traced, object, offset, length, version };
        for replica in others.iter() {
            self.send(replica, op.pg, Message::Write(write), fx);
        }
    }

    /// A worker of a replica carries out a write.
    pub(crate) fn execute_replica_write(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        write: ReplicaWrite,
    ) {
        let here = self.pg_mut(pg).expect("the interval was looked up");
        let ReplicaWrite { version, object, op, .. } = write;
        here.log.record(LogEntry { version, object, op });
        let end = u64::from(write.offset) + u64::from(write.length);
        self.store.objects(pg.collection()).write(write.object, end, write.version);
        let place = Place {
            pg,
            object: write.object,
            offset: u64::from(write.offset),
            length: u64::from(write.length),
        };
        let traced = write.traced.then_some(write.op);
        let commit = Commit::Replica(from, write.tag, traced);
        self.access(now, Urgency::default(), Kind::Write, &place, commit);
    }

    /// The op is durable, or read, on its primary.
    pub(crate) fn op_committed(&mut self, now: Time, tag: WriteTag, fx: &mut Vec<Effect>) {
        if let Some(in_flight) = self.in_flight_mut(tag) {
            in_flight.stamps.committed = now;
            self.vote(now, self.id, tag, fx);
        }
    }

    fn in_flight_mut(&mut self, tag: WriteTag) -> Option<&mut InFlight> {
        let same = self.in_flight.get(tag.slot).is_some_and(|op| op.sequence == tag.sequence);
        same.then(|| self.in_flight.at_mut(tag.slot))
    }

    /// Counts one copy on which the op is durable; after the last one the client gets its reply.
    pub(crate) fn vote(&mut self, now: Time, from: OsdId, tag: WriteTag, fx: &mut Vec<Effect>) {
        let Some(in_flight) = self.in_flight_mut(tag) else { return };
        in_flight.pending.remove(from);
        if in_flight.pending.is_empty() {
            let InFlight { op, stamps, .. } = self.in_flight.release(tag.slot);
            self.reply(now, &op, stamps, fx);
            self.op_finished(op.pg, fx);
        }
    }

    fn reply(&mut self, now: Time, op: &ClientOp, stamps: Stamps, fx: &mut Vec<Effect>) {
        let Stamps { admitted, dequeued, executed, committed } = stamps;
        self.waits.record(Work::ClientOp, Stage::Replicas, now.since(committed));
        if op.traced {
            self.trace(op.id, Work::ClientOp, Stage::Replicas, committed, now, fx);
        }
        let reply = Reply { op: op.id, admitted, dequeued, executed, committed, replied: now };
        fx.push(Effect::Reply(reply));
    }

    fn op_finished(&mut self, pg: PgId, fx: &mut Vec<Effect>) {
        let primary = self.primary_mut(pg).expect("its ops end with its interval");
        primary.in_flight -= 1;
        if primary.handing_over {
            self.hand_over_if_idle(pg, fx);
        }
    }

    /// Forgets the ops of a placement group whose interval ends. Answers to them will find nothing; the router sends
    /// the ops again.
    pub(crate) fn drop_in_flight(&mut self, pg: PgId) {
        let of_pg = self.in_flight.iter().filter(|(_, in_flight)| in_flight.op.pg == pg);
        for slot in of_pg.map(|(slot, _)| slot).collect::<Vec<_>>() {
            self.in_flight.release(slot);
        }
    }

    /// The op waits until its object is recovered, and the object goes first.
    fn park(&mut self, now: Time, op: ClientOp, fx: &mut Vec<Effect>) {
        let primary = self.primary(op.pg).expect("only a primary parks");
        if !primary.recovering.contains_key(&op.object) {
            self.start_urgent(now, op.pg, op.object, fx);
        }
        let primary = self.primary_mut(op.pg).expect("only a primary parks");
        let recovering = primary.recovering.get_mut(&op.object);
        recovering.expect("recovery of the object has begun").parked.push(op);
    }

    /// Puts ops back, in their order, that waited for an object.
    pub(crate) fn unpark(&mut self, now: Time, pg: PgId, ops: Vec<ClientOp>, fx: &mut Vec<Effect>) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        let (to, urgency) = (self.id, self.urgency(pg));
        let item = |op| {
            let message = Message::Op(op);
            Item::Message(Envelope { from: None, to, pg, interval, urgency, message })
        };
        self.enqueue_front(now, pg, ops.into_iter().map(item).collect(), fx);
    }

    /// Hands an access to the store in the class of the work it belongs to. `urgency` is that of the placement group's
    /// primary, which decides the class of its recovery; other work has its class whatever the state of the group.
    pub(crate) fn access(
        &mut self,
        now: Time,
        urgency: Urgency,
        kind: Kind,
        place: &Place,
        token: Commit,
    ) {
        let (work, _) = token.work();
        let class = self.charges.class_tag(&self.policy, work, urgency);
        let access = Access {
            kind,
            collection: place.pg.collection(),
            object: place.object,
            offset: place.offset,
            // An empty object still costs the device one request.
            length: Bytes::new(place.length.max(1)),
            class,
            token,
        };
        self.store.access(now, access, &mut self.submissions);
    }
}

impl Primary {
    /// Who else takes part in an op, or that it must wait.
    fn way_of(&self, this: OsdId, op: &ClientOp) -> WriteWay {
        match op.kind {
            OpKind::Write => self.write_way(this, op.object),
            OpKind::Read if self.misses(this, op.object) => WriteWay::Park,
            OpKind::Read => WriteWay::To(OsdSet::EMPTY),
        }
    }
}

/// A byte range of an object.
pub(crate) struct Place {
    pub pg: PgId,
    pub object: loadline_store::ObjectNo,
    pub offset: u64,
    pub length: u64,
}

impl Place {
    fn of(op: &ClientOp) -> Place {
        Place {
            pg: op.pg,
            object: op.object,
            offset: u64::from(op.offset),
            length: u64::from(op.length),
        }
    }
}
