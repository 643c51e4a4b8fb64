//! The life of one recovered object (qos.md 9.4): pull, read, push, write, push reply.

use crate::client_io::Place;
use crate::commit::Commit;
use crate::event::Effect;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{Message, Push};
use crate::osd::Osd;
use crate::pg::Recovering;
use loadline_base::Time;
use loadline_device::Kind;
use loadline_qos::Work;
use loadline_store::ObjectNo;

impl Osd {
    /// Starts an object on the primary. If the primary is the one to receive it, it asks a holder; otherwise it reads
    /// the object, beside the scheduler's accounting, to push it.
    pub(crate) fn start_object(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        targets: OsdSet,
        fx: &mut Vec<Effect>,
    ) {
        let this = self.id;
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        let primary = self.primary_mut(pg).expect("only a primary recovers");
        let recovering = Recovering { pending: targets, parked: Vec::new() };
        primary.recovering.insert(object, recovering);
        if targets.contains(this) {
            let holder = primary.holder_of(this, object);
            let holder =
                holder.expect("an acting set without any copy of an object is not activated");
            return self.send(holder, pg, Message::Pull(object), fx);
        }
        self.read_to_push(now, pg, object, Commit::PushRead(interval, None));
    }

    fn read_to_push(&mut self, now: Time, pg: PgId, object: ObjectNo, commit: Commit) {
        let meta = self.store.objects(pg.collection()).meta(object).unwrap_or_default();
        let place = Place { pg, object, offset: 0, length: meta.length };
        self.access(now, Work::RecoveryItem, Kind::Read, &place, commit);
    }

    /// A holder carries out a pull: it reads the object and pushes it to the primary.
    pub(crate) fn execute_pull(&mut self, now: Time, from: OsdId, pg: PgId, object: ObjectNo) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        self.read_to_push(now, pg, object, Commit::PushRead(interval, Some(from)));
    }

    /// The object is read: off it goes.
    pub(crate) fn push_read(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        interval: u32,
        puller: Option<OsdId>,
        fx: &mut Vec<Effect>,
    ) {
        let Some(here) = self.pg(pg).filter(|here| here.interval == interval) else { return };
        let pending = here.primary.as_ref().and_then(|p| p.recovering.get(&object));
        let targets = match (puller, pending) {
            (Some(puller), _) => [puller].into_iter().collect(),
            (None, Some(recovering)) => recovering.pending,
            (None, None) => return,
        };
        let meta = self.store.objects(pg.collection()).meta(object).unwrap_or_default();
        let push = Push { object, meta, pulled: puller.is_some() };
        for target in targets.iter() {
            self.send(target, pg, Message::Push(push), fx);
        }
    }

    /// A worker of the target carries out a push.
    pub(crate) fn execute_push(&mut self, now: Time, from: OsdId, pg: PgId, push: Push) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        let place = Place { pg, object: push.object, offset: 0, length: push.meta.length };
        let commit = Commit::Pushed(from, interval, push);
        self.access(now, Work::Push, Kind::Write, &place, commit);
    }

    /// A pushed object is durable on the target.
    pub(crate) fn push_committed(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        interval: u32,
        push: Push,
        fx: &mut Vec<Effect>,
    ) {
        if self.pg(pg).is_none_or(|here| here.interval != interval) {
            return;
        }
        let objects = self.store.objects(pg.collection());
        let newer = objects.meta(push.object).is_some_and(|meta| meta.version > push.meta.version);
        if !newer {
            objects.write(push.object, push.meta.length, push.meta.version);
        }
        if push.pulled {
            self.object_pulled(now, pg, push.object, fx);
        } else {
            self.send(from, pg, Message::PushReply(push.object), fx);
        }
    }

    /// The primary got an object that it lacked; if replicas lack it too, they are next.
    fn object_pulled(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Vec<Effect>) {
        self.object_pushed(now, self.id, pg, object, fx);
    }

    /// A target has the object now.
    pub(crate) fn object_pushed(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Vec<Effect>,
    ) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(recovering) = primary.recovering.get_mut(&object) else { return };
        recovering.pending.remove(from);
        let done = recovering.pending.is_empty();
        if let Some(missing) = primary.missing.get_mut(&from) {
            missing.remove(&object);
        }
        if done {
            self.object_recovered(now, pg, object, fx);
        }
    }

    fn object_recovered(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Vec<Effect>) {
        let primary = self.primary_mut(pg).expect("only a primary recovers");
        let recovering = primary.recovering.remove(&object).expect("it was being recovered");
        if let Some(backfill) = &mut primary.backfill
            && backfill.covers_started(object)
        {
            backfill.left = backfill.left.saturating_sub(1);
        }
        self.admission.object_finished();
        self.unpark(now, recovering.parked, fx);
        self.continue_recovery(now, pg, fx);
    }
}

impl crate::pg::Primary {
    /// An acting OSD that has `object`.
    fn holder_of(&self, this: OsdId, object: ObjectNo) -> Option<OsdId> {
        let lacks = |osd: &OsdId| {
            self.missing.get(osd).is_some_and(|missing| missing.contains_key(&object))
        };
        self.acting.iter().find(|osd| *osd != this && !lacks(osd))
    }
}
