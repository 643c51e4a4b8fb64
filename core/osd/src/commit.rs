//! What is to happen when the store has carried out an access.

use crate::event::Effect;
use crate::ids::{OpId, OsdId, PgId};
use crate::message::Message;
use crate::message::{Push, WriteTag};
use crate::osd::Osd;
use crate::waits::Stage;
use loadline_base::Time;
use loadline_qos::{Urgency, Work};
use loadline_store::Access;

/// The token of a store access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// A client's op on its primary.
    Op(WriteTag, Option<OpId>),
    /// A replica's write, to be acknowledged.
    Replica(OsdId, WriteTag, Option<OpId>),
    /// An object read to be pushed, in this interval; to its targets, or to the primary that pulls it.
    PushRead(u32, Option<Asker>),
    /// A pushed object, to be confirmed to its sender.
    Pushed(Asker, Push),
    /// The next objects of a placement group that has left.
    Deleted,
}

/// Who sent a recovery message: the answer is for the same interval, and as urgent as the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub osd: OsdId,
    pub interval: u32,
    pub urgency: Urgency,
}

impl Commit {
    /// Which kind of work the access belongs to, and the op if it is traced.
    pub(crate) fn work(&self) -> (Work, Option<OpId>) {
        match self {
            Commit::Op(_, traced) => (Work::ClientOp, *traced),
            Commit::Replica(_, _, traced) => (Work::ReplicaWrite, *traced),
            Commit::PushRead(..) => (Work::RecoveryItem, None),
            Commit::Pushed(..) => (Work::Push, None),
            Commit::Deleted => (Work::PgDelete, None),
        }
    }
}

impl Osd {
    /// The store carried out `access`.
    pub(crate) fn committed(&mut self, now: Time, access: &Access<Commit>, fx: &mut Vec<Effect>) {
        let pg = PgId::new(access.collection.get());
        match access.token {
            Commit::Op(tag, _) => self.op_committed(now, tag, fx),
            Commit::Replica(primary, tag, _) => {
                self.send(primary, pg, Message::WriteDone(tag), fx);
            }
            Commit::PushRead(interval, puller) => {
                self.push_read(pg, access.object, interval, puller, fx);
            }
            Commit::Pushed(asker, push) => self.push_committed(now, asker, pg, push, fx),
            Commit::Deleted => self.deleted(now, pg, fx),
        }
    }

    /// Counts an item's time in the queue and on the worker.
    pub(crate) fn account_computed(
        &mut self,
        now: Time,
        running: &crate::shard::Computed,
        fx: &mut Vec<Effect>,
    ) {
        let work = running.item.work();
        self.waits.record(work, Stage::Queue, running.taken.since(running.arrived));
        self.waits.record(work, Stage::Worker, now.since(running.taken));
        self.waits.add_bytes(work, running.item.payload());
        if let Some(op) = running.item.traced_op() {
            self.trace(op, work, Stage::Queue, running.arrived, running.taken, fx);
            self.trace(op, work, Stage::Worker, running.taken, now, fx);
        }
    }

    pub(crate) fn trace(
        &self,
        op: OpId,
        work: Work,
        stage: Stage,
        start: Time,
        end: Time,
        fx: &mut Vec<Effect>,
    ) {
        let span = crate::event::TraceSpan { op, osd: self.id, work, stage, start, end };
        fx.push(Effect::Trace(span));
    }
}
