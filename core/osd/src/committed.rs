//! Accesses to the store from the OSD's side: how one is handed in, and what follows its end.

use crate::access::{Access, AccessDone, AccessFailure, ObjectRange, Update};
use crate::commit::{Commit, Kept};
use crate::delay::{Delay, DelayCause, DeviceBusy};
use crate::directive::Notice;
use crate::disk::StoreBackend;
use crate::event::{Effect, Effects, TraceSpan};
use crate::ids::{OpId, PgId};
use crate::message::Message;
use crate::osd::Osd;
use crate::shard::Computed;
use crate::waits::Stage;
use loadline_base::Time;
use loadline_qos::{Urgency, Work};
use loadline_store::ObjectNo;
use loadline_store::paged::Wait;
use std::collections::BTreeSet;

impl Osd {
    /// Hands an access to the store in the class of the work it belongs to. `urgency` is that of the placement group's
    /// primary, which decides the class of its recovery; other work has its class whatever the state of the group.
    pub(crate) fn access(
        &mut self,
        now: Time,
        urgency: Urgency,
        place: &ObjectRange,
        update: Update,
        token: Commit,
    ) {
        let (work, _) = token.work();
        let class = self.queue.class_tag(work, urgency);
        let part = self.gate().part_most();
        let ObjectRange { pg, object, offset, length } = *place;
        let Update { touch, version, first, edits, past_damage } = update;
        let access = Access {
            pg,
            object,
            offset,
            length,
            touch,
            version,
            first,
            edits,
            past_damage,
            class,
            token,
        };
        self.store.access(now, access, part);
    }

    /// The store carried an access out, or could not.
    pub(crate) fn committed(&mut self, now: Time, done: AccessDone, fx: &mut Effects) {
        let delay = self.store_delay(now, &done);
        let AccessDone { pg, object, token, result, told, lost, .. } = done;
        if lost.any() {
            self.counters.damage.found += 1;
            if let Some(here) = self.pg_mut(pg) {
                here.note_lost_pages(object);
                // Not everything of it is here, and whether it is elsewhere only its primary will know. If the interval ends first
                // nobody does, and the op is carried out again when it comes again.
                token.update().into_iter().for_each(|op| here.log.forget_op(op));
            }
        }
        match (token, result) {
            (Commit::Put(token), result) => self.put_ended(token, result.map(drop), fx),
            (Commit::Bench, result) => self.bench_access_ended(result.map(drop), fx),
            (Commit::Scrubbed(read), result) => {
                self.counters.damage.found += u64::from(result == Err(AccessFailure::Unreadable));
                self.scrub_read(now, (pg, object), read, result.map(|_| told), fx);
            }
            (token, Err(failure)) => self.access_failed(now, (pg, object), token, failure, fx),
            (Commit::Op(tag, ..) | Commit::Read(tag, ..), Ok(read)) => {
                self.op_committed(now, tag, (read, delay, lost), fx);
            }
            (Commit::Replica(primary, tag, _, before), Ok(_)) => {
                let message = Message::WriteDone(tag, before.or(delay), lost);
                self.send(primary.osd, pg, message, fx);
            }
            (Commit::Missed(primary, tag), Ok(_)) => {
                self.miss_noted(now, primary, (pg, object), tag, fx);
            }
            (Commit::Settled(primary), Ok(_)) => {
                self.settlement_kept(now, primary, (pg, object), fx);
            }
            (Commit::PushRead(interval, puller, base), Ok(data)) => {
                self.push_read(now, pg, object, (interval, puller), (base, data), fx);
            }
            (Commit::PastRead(interval, puller, label), Ok(_)) => {
                self.past_read(now, pg, (object, label), (interval, puller), fx);
            }
            (Commit::Pushed(asker, push), Ok(_)) => self.push_committed(now, asker, pg, push, fx),
            (Commit::Mend(primary, access, range), Ok(data)) => {
                self.mend_access_ended(now, primary, (pg, object), (access, range), Ok(data), fx);
            }
            (Commit::StateRead(asker, label, base), Ok(data)) => {
                self.state_read(now, asker, pg, (object, label), (base, data), fx);
            }
            (Commit::HistoryStored(asker, label), Ok(_)) => {
                self.history_stored(asker, pg, (object, label), fx);
            }
            (Commit::Deleted, Ok(_)) => self.deleted(now, pg, fx),
            (Commit::ScrubKept | Commit::DigestsKept, Ok(_)) => {}
            (Commit::Keeping(kept), Ok(_)) => self.make_durable(now, pg, Commit::Kept(kept)),
            (Commit::Kept(kept), Ok(_)) => self.tell_kept(pg, kept, fx),
            (Commit::Synced(number), Ok(_)) => fx.owner.push(Notice::Synced(number)),
            (Commit::Loaded, Ok(_)) => unreachable!("answers while loading are taken before"),
            (Commit::Nothing, Ok(_)) => {}
        }
    }

    /// Of an item that a worker has carried out now: in the queue or on the worker.
    pub(crate) fn delay_until_executed(&self, now: Time, item: &Computed) -> Delay {
        let osd = self.id;
        let (queued, worked) = (item.taken.since(item.arrived), now.since(item.taken));
        if queued >= worked {
            let cause = DelayCause::Queued(item.ahead);
            Delay { osd, stage: Stage::Queue, span: queued, cause }
        } else {
            Delay { osd, stage: Stage::Worker, span: worked, cause: DelayCause::Worker }
        }
    }

    /// What an access waited for longest: for room or a turn in the store, or for its own requests at the device.
    fn store_delay(&self, now: Time, done: &AccessDone) -> Delay {
        let osd = self.id;
        let (window, device) = (done.submitted.since(done.entered), now.since(done.submitted));
        match done.held {
            None if window > device => {
                Delay { osd, stage: Stage::Window, span: window, cause: DelayCause::Window }
            }
            Some((wait, span)) if !wait.is_device() && wait != Wait::Nothing => {
                Delay { osd, stage: Stage::Window, span, cause: DelayCause::Store(wait) }
            }
            held => {
                let span = held.map_or(device, |(_, span)| span);
                let busy = self.device_busy(held.map(|(wait, _)| wait));
                Delay { osd, stage: Stage::Device, span, cause: DelayCause::Device(busy) }
            }
        }
    }

    /// What the device has to do now, beside what was asked of it for this.
    pub(crate) fn device_busy(&self, of: Option<Wait>) -> DeviceBusy {
        let count = |ops: u32| u16::try_from(ops).unwrap_or(u16::MAX);
        match &self.store {
            StoreBackend::Direct(..) => {
                let requests = count(self.queue.ops_at_disk());
                DeviceBusy { of, requests, background: 0, checkpoint: false }
            }
            StoreBackend::Paged(paged) => DeviceBusy {
                of,
                requests: count(paged.requests.at_device()),
                background: count(paged.background().0),
                checkpoint: paged.is_checkpointing(),
            },
        }
    }

    /// What the owner of the map waits for is durable.
    fn tell_kept(&self, pg: PgId, kept: Kept, fx: &mut Effects) {
        fx.owner.push(match kept {
            Kept::Copy { number, recovered } => {
                return self.tell_copy(pg, number, recovered, fx);
            }
            Kept::Interval(interval) => Notice::Activated(pg, interval),
            Kept::Term(term) => Notice::Identified(term),
            Kept::Map(epoch) => Notice::MapSaved(epoch),
        });
    }

    /// The store could not carry an access out. Where another copy can help, or room will, the OSD goes on.
    fn access_failed(
        &mut self,
        now: Time,
        (pg, object): (PgId, ObjectNo),
        token: Commit,
        failure: AccessFailure,
        fx: &mut Effects,
    ) {
        let is_damage = matches!(failure, AccessFailure::Unreadable | AccessFailure::Untouched(_));
        self.counters.damage.found += u64::from(is_damage);
        match (failure, token) {
            (AccessFailure::Unreadable, Commit::Read(tag, ..)) => {
                self.read_failed(now, tag, object, fx)
            }
            (AccessFailure::Unreadable, Commit::Op(tag, ..)) => {
                self.own_update_failed(now, (pg, object), tag, fx);
            }
            (AccessFailure::Untouched(ends), Commit::Op(tag, ..))
                if self.ops.get_mut(tag).is_some() =>
            {
                let version = self.ops.get_mut(tag).expect("it was looked up").version;
                self.tell_unwritten(now, pg, (version, ends), fx);
                self.update_in_vain(now, object, tag, fx);
            }
            (AccessFailure::Unreadable, Commit::Replica(primary, tag, ..)) => {
                self.update_missed(now, primary, (pg, object), tag, fx);
            }
            (
                AccessFailure::Unreadable,
                Commit::PushRead(interval, puller, _) | Commit::PastRead(interval, puller, _),
            ) => {
                self.source_unreadable(now, pg, object, (interval, puller), fx);
            }
            (AccessFailure::Unreadable, Commit::StateRead(asker, ..)) => {
                self.source_unreadable(now, pg, object, (asker.interval, Some(asker)), fx);
            }
            (
                AccessFailure::Unreadable | AccessFailure::NoSpace,
                Commit::Mend(primary, access, range),
            ) => {
                self.mend_access_ended(
                    now,
                    primary,
                    (pg, object),
                    (access, range),
                    Err(failure),
                    fx,
                );
            }
            (
                AccessFailure::NoSpace,
                Commit::Pushed(asker, _) | Commit::HistoryStored(asker, _),
            ) => {
                self.remove_what_came_in_part(now, pg, BTreeSet::from([object]));
                self.refuse_push(now, asker, pg, object, fx);
            }
            // The next deep scrub records them again, and tells what it cannot read.
            (AccessFailure::Unreadable | AccessFailure::NoSpace, Commit::DigestsKept) => {}
            _ => self.stop_for(failure, fx),
        }
    }

    /// Counts an item's time in the queue and on the worker.
    pub(crate) fn account_computed(&mut self, now: Time, running: &Computed, fx: &mut Effects) {
        let work = running.item.work();
        self.counters.waits.record(work, Stage::Queue, running.taken.since(running.arrived));
        self.counters.waits.record(work, Stage::Worker, now.since(running.taken));
        self.counters.waits.add_bytes(work, running.item.payload());
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
        let span = TraceSpan { op, osd: self.id, work, stage, start, end };
        fx.world.push(Effect::Trace(span));
    }
}
