//! What is to happen when the store has carried out an access.

use crate::event::Effect;
use crate::ids::{OpId, OsdId, PgId};
use crate::message::Message;
use crate::message::{OpKind, Push, WriteTag};
use crate::osd::Osd;
use crate::waits::Stage;
use loadline_base::Time;
use loadline_qos::Work;
use loadline_store::Access;

/// The token of a store access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// A client's op on its primary.
    Op(WriteTag, OpKind, Option<OpId>),
    /// A replica's write, to be acknowledged.
    Replica(OsdId, WriteTag, Option<OpId>),
    /// An object read to be pushed, in this interval; to its targets, or to the primary that pulls it.
    PushRead(u32, Option<OsdId>),
    /// A pushed object, to be confirmed to its sender, in this interval.
    Pushed(OsdId, u32, Push),
    /// Nobody waits.
    Deleted,
}

impl Commit {
    /// Which kind of work the access belongs to, and the op if it is traced.
    pub(crate) fn work(&self) -> Option<(Work, Option<OpId>)> {
        match self {
            Commit::Op(_, _, traced) => Some((Work::ClientOp, *traced)),
            Commit::Replica(_, _, traced) => Some((Work::ReplicaWrite, *traced)),
            Commit::PushRead(..) => Some((Work::RecoveryItem, None)),
            Commit::Pushed(..) => Some((Work::Push, None)),
            Commit::Deleted => Some((Work::PgDelete, None)),
        }
    }
}

impl Osd {
    /// The store carried out `access`.
    pub(crate) fn committed(&mut self, now: Time, access: &Access<Commit>, fx: &mut Vec<Effect>) {
        let pg = PgId::new(access.collection.get());
        match access.token {
            Commit::Op(tag, kind, _) => self.op_committed(now, tag, kind, fx),
            Commit::Replica(primary, tag, _) => {
                self.send(primary, pg, Message::WriteDone(tag), fx);
            }
            Commit::PushRead(interval, puller) => {
                self.push_read(pg, access.object, interval, puller, fx);
            }
            Commit::Pushed(from, interval, push) => {
                self.push_committed(now, from, pg, interval, push, fx);
            }
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
