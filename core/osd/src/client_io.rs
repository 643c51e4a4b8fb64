//! A client's op on its primary and a write on a replica: execute, replicate, commit, vote, reply.

use crate::commit::Commit;
use crate::event::{Effect, Reply};
use crate::ids::{OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::{ClientOp, Envelope, Message, OpKind, ReplicaWrite, WriteTag};
use crate::osd::Osd;
use crate::pg::WriteWay;
use crate::pg_log::LogEntry;
use crate::waits::Stage;
use loadline_base::{Bytes, SlotId, Time};
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
        let Some(primary) = self.primary(op.pg) else {
            return fx.push(Effect::Reroute(op));
        };
        let way = match op.kind {
            OpKind::Write => primary.write_way(this, op.object),
            OpKind::Read if primary.read_parks(this, op.object) => WriteWay::Park,
            OpKind::Read => WriteWay::To(OsdSet::EMPTY),
        };
        let WriteWay::To(others) = way else {
            return self.park(now, op, fx);
        };
        let sequence = self.write_sequence.next();
        let mut pending = others;
        pending.insert(this);
        let stamps =
            InFlight { op, sequence, pending, admitted, dequeued, executed: now, committed: now };
        let tag = WriteTag { slot: self.in_flight.acquire(stamps), sequence };
        if op.kind == OpKind::Write {
            self.replicate(op, tag, others, fx);
        }
        let kind = match op.kind {
            OpKind::Read => Kind::Read,
            OpKind::Write => Kind::Write,
        };
        let traced = op.traced.then_some(op.id);
        self.access(now, Work::ClientOp, kind, &Place::of(&op), Commit::Op(tag, op.kind, traced));
    }

    /// Numbers the write, records it here and sends it to the other copies.
    fn replicate(&mut self, op: ClientOp, tag: WriteTag, others: OsdSet, fx: &mut Vec<Effect>) {
        let pg = self.pg_mut(op.pg).expect("the primary has the placement group");
        let version = pg.log.append(op.object);
        let end = u64::from(op.offset) + u64::from(op.length);
        let created = self.store.objects(op.pg.collection()).write(op.object, end, version);
        let primary = self.primary_mut(op.pg).expect("only the primary replicates");
        primary.note_write(op.object, version, created);
        let ClientOp { id, client, traced, object, offset, length, .. } = op;
        let write = ReplicaWrite { tag, op: id, traced, client, object, offset, length, version };
        for replica in others.iter() {
            self.send(replica, op.pg, Message::Write(write), fx);
        }
    }

    /// A worker of a replica carries out a write.
    pub(crate) fn execute_replica_write(
        &mut self,
        now: Time,
        from: Option<OsdId>,
        pg: PgId,
        write: ReplicaWrite,
    ) {
        let (Some(from), Some(here)) = (from, self.pg_mut(pg)) else { return };
        here.log.record(LogEntry { version: write.version, object: write.object });
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
        self.access(now, Work::ReplicaWrite, Kind::Write, &place, commit);
    }

    /// The op is durable, or read, on its primary.
    pub(crate) fn op_committed(
        &mut self,
        now: Time,
        tag: WriteTag,
        _kind: OpKind,
        fx: &mut Vec<Effect>,
    ) {
        if let Some(in_flight) = self.in_flight_mut(tag) {
            in_flight.committed = now;
            self.vote(now, self.id, tag, fx);
        }
    }

    /// A replica says that a write is durable there.
    pub(crate) fn write_done(
        &mut self,
        now: Time,
        from: Option<OsdId>,
        tag: WriteTag,
        fx: &mut Vec<Effect>,
    ) {
        if let Some(from) = from {
            self.vote(now, from, tag, fx);
        }
    }

    fn in_flight_mut(&mut self, tag: WriteTag) -> Option<&mut InFlight> {
        let same = self.in_flight.get(tag.slot).is_some_and(|op| op.sequence == tag.sequence);
        same.then(|| self.in_flight.at_mut(tag.slot))
    }

    /// Counts one copy; after the last one the client gets its reply.
    fn vote(&mut self, now: Time, from: OsdId, tag: WriteTag, fx: &mut Vec<Effect>) {
        let Some(in_flight) = self.in_flight_mut(tag) else { return };
        in_flight.pending.remove(from);
        if in_flight.pending.is_empty() {
            self.reply(now, tag.slot, fx);
        }
    }

    fn reply(&mut self, now: Time, slot: SlotId, fx: &mut Vec<Effect>) {
        let InFlight { op, admitted, dequeued, executed, committed, .. } =
            self.in_flight.release(slot);
        self.waits.record(Work::ClientOp, Stage::Replicas, now.since(committed));
        if op.traced {
            self.trace(op.id, Work::ClientOp, Stage::Replicas, committed, now, fx);
        }
        let stamps = Reply { op: op.id, admitted, dequeued, executed, committed, replied: now };
        fx.push(Effect::Reply(stamps));
    }

    /// An OSD is gone: writes of `pg` no longer wait for it.
    pub fn forget_copy(&mut self, now: Time, gone: OsdId, fx: &mut Vec<Effect>) {
        let waits_for = |op: &InFlight| op.pending.contains(gone);
        let slots: Vec<WriteTag> = self
            .in_flight
            .iter()
            .filter(|(_, op)| waits_for(op))
            .map(|(slot, op)| WriteTag { slot, sequence: op.sequence })
            .collect();
        for tag in slots {
            self.vote(now, gone, tag, fx);
        }
    }

    /// The op waits until its object is recovered, and the object goes first.
    fn park(&mut self, now: Time, op: ClientOp, fx: &mut Vec<Effect>) {
        let primary = self.primary_mut(op.pg).expect("only a primary parks");
        if let Some(recovering) = primary.recovering.get_mut(&op.object) {
            return recovering.parked.push(op);
        }
        primary.urgent.push_back(op.object);
        self.start_urgent(now, op, fx);
    }

    /// Puts ops back that waited for an object.
    pub(crate) fn unpark(&mut self, now: Time, ops: Vec<ClientOp>, fx: &mut Vec<Effect>) {
        for op in ops.into_iter().rev() {
            let message = Message::Op(op);
            let (to, urgency) = (self.id, self.urgency(op.pg));
            let envelope = Envelope { from: None, to, pg: op.pg, interval: 0, urgency, message };
            self.enqueue_front(now, Item::Message(envelope), fx);
        }
    }

    /// Hands an access to the store in the class of the work it belongs to.
    pub(crate) fn access(
        &mut self,
        now: Time,
        work: Work,
        kind: Kind,
        place: &Place,
        token: Commit,
    ) {
        let urgency = match work {
            // Their class does not depend on the state of the placement group.
            Work::ClientOp | Work::ReplicaWrite => Urgency::default(),
            _ => self.urgency(place.pg),
        };
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
