//! What is to happen when the store has carried out an access.

use crate::disk::{Done, Failure};
use crate::event::{Effect, Effects, Notice};
use crate::ids::{OpId, OsdId, PgId};
use crate::message::{Message, Push, WriteTag};
use crate::osd::Osd;
use crate::snapshots::SnapshotNo;
use crate::waits::Stage;
use loadline_base::Time;
use loadline_qos::{Urgency, Work};
use loadline_store::ObjectNo;

/// The token of a store access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// A client's update on its primary, as this kind of work.
    Op(WriteTag, Work, Option<OpId>),
    /// A client's read.
    Read(WriteTag, Work, Option<OpId>),
    /// A replica's write, to be acknowledged.
    Replica(Asker, WriteTag, Option<OpId>),
    /// That an update was missed here, to be told to its primary.
    Missed(Asker, WriteTag),
    /// An object read to be pushed, in this interval; to its targets, or to the primary that pulls it. What was read is in
    /// what it differs from this state, if from any.
    PushRead(u32, Option<Asker>, Option<SnapshotNo>),
    /// A pushed object, to be confirmed to its sender.
    Pushed(Asker, Push),
    /// A former state of an object, read to be pushed, and what it was compared with.
    StateRead(Asker, SnapshotNo, Option<SnapshotNo>),
    /// A step of the push of an object with a past, to be confirmed to its sender.
    HistoryStored(Asker, SnapshotNo),
    /// The next objects of a placement group that has left.
    Deleted,
    /// What the owner of the map will rely on; it is to be made durable before it is told.
    Keeping(Kept),
    /// The same, durable.
    Kept(Kept),
    /// Everything that was answered before, for the one who asked under this number.
    Synced(u32),
    /// An access of the benchmark.
    Bench,
    /// An answer while what the disk holds is read.
    Loaded,
    /// Nobody waits for it.
    Nothing,
}

/// What a disk keeps for the owner of the map. It decides by it who has what after the next start, so it is durable before it is
/// told, whatever the log mode answers for clients' writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The state with which a copy takes part in this interval.
    Interval(u32),
    /// Who the disk is, and that it has seen this term.
    Term(u64),
    /// The map of this epoch.
    Map(u32),
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
            Commit::Op(_, work, traced) | Commit::Read(_, work, traced) => (*work, *traced),
            Commit::Replica(_, _, traced) => (Work::ReplicaWrite, *traced),
            Commit::Missed(..) => (Work::ReplicaWrite, None),
            Commit::PushRead(..) | Commit::StateRead(..) => (Work::RecoveryItem, None),
            Commit::Pushed(..) | Commit::HistoryStored(..) => (Work::Push, None),
            Commit::Deleted => (Work::PgDelete, None),
            Commit::Keeping(_)
            | Commit::Kept(_)
            | Commit::Synced(_)
            | Commit::Bench
            | Commit::Loaded
            | Commit::Nothing => (Work::PeeringEvent, None),
        }
    }
}

impl Osd {
    /// The store carried an access out, or could not.
    pub(crate) fn committed(&mut self, now: Time, done: Done, fx: &mut Effects) {
        let Done { pg, object, token, result, .. } = done;
        match (token, result) {
            (Commit::Bench, result) => self.bench_access_ended(result.map(drop), fx),
            (token, Err(failure)) => self.access_failed(now, (pg, object), token, failure, fx),
            (Commit::Op(tag, ..) | Commit::Read(tag, ..), Ok(read)) => {
                self.op_committed(now, tag, read, fx);
            }
            (Commit::Replica(primary, tag, _), Ok(_)) => {
                self.send(primary.osd, pg, Message::WriteDone(tag), fx);
            }
            (Commit::Missed(primary, tag), Ok(_)) => {
                self.miss_noted(now, primary, (pg, object), tag, fx);
            }
            (Commit::PushRead(interval, puller, base), Ok(data)) => {
                self.push_read(now, pg, object, (interval, puller), (base, data), fx);
            }
            (Commit::Pushed(asker, push), Ok(_)) => self.push_committed(now, asker, pg, push, fx),
            (Commit::StateRead(asker, label, base), Ok(data)) => {
                self.state_read(now, asker, pg, (object, label), (base, data), fx);
            }
            (Commit::HistoryStored(asker, label), Ok(_)) => {
                self.history_stored(asker, pg, (object, label), fx);
            }
            (Commit::Deleted, Ok(_)) => self.deleted(now, pg, fx),
            (Commit::Keeping(kept), Ok(_)) => self.make_durable(now, pg, Commit::Kept(kept)),
            (Commit::Kept(kept), Ok(_)) => fx.owner.push(match kept {
                Kept::Interval(interval) => Notice::Activated(self.id, pg, interval),
                Kept::Term(term) => Notice::Identified(self.id, term),
                Kept::Map(epoch) => Notice::MapSaved(self.id, epoch),
            }),
            (Commit::Synced(number), Ok(_)) => fx.owner.push(Notice::Synced(self.id, number)),
            (Commit::Loaded, Ok(_)) => unreachable!("answers while loading are taken before"),
            (Commit::Nothing, Ok(_)) => {}
        }
    }

    /// The store could not carry an access out. Where another copy can help, or room will, the OSD goes on.
    fn access_failed(
        &mut self,
        now: Time,
        (pg, object): (PgId, ObjectNo),
        token: Commit,
        failure: Failure,
        fx: &mut Effects,
    ) {
        self.damage.found += u64::from(failure == Failure::Unreadable);
        match (failure, token) {
            (Failure::Unreadable, Commit::Read(tag, ..)) => self.read_failed(now, tag, object, fx),
            (Failure::Unreadable, Commit::Op(tag, ..)) => {
                self.own_update_failed(now, (pg, object), tag, fx);
            }
            (Failure::Unreadable, Commit::Replica(primary, tag, _)) => {
                self.update_missed(now, primary, (pg, object), tag, fx);
            }
            (Failure::Unreadable, Commit::PushRead(interval, puller, _)) => {
                self.source_unreadable(now, pg, object, (interval, puller), fx);
            }
            (Failure::Unreadable, Commit::StateRead(asker, ..)) => {
                self.source_unreadable(now, pg, object, (asker.interval, Some(asker)), fx);
            }
            (Failure::NoSpace, Commit::Pushed(asker, _) | Commit::HistoryStored(asker, _)) => {
                self.refuse_push(now, asker, pg, object, fx);
            }
            _ => self.stop(failure.fault(), fx),
        }
    }

    /// Counts an item's time in the queue and on the worker.
    pub(crate) fn account_computed(
        &mut self,
        now: Time,
        running: &crate::shard::Computed,
        fx: &mut Effects,
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
        fx: &mut Effects,
    ) {
        let span = crate::event::TraceSpan { op, osd: self.id, work, stage, start, end };
        fx.world.push(Effect::Trace(span));
    }
}
