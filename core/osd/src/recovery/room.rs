//! Disks without room: a push is refused, and the recovery of its placement group waits until there is some.

use crate::aside::AsideFor;
use crate::commit::RecoverySender;
use crate::event::Effects;
use crate::ids::{OsdId, PgId};
use crate::message::{Data, Message};
use crate::osd::Osd;
use crate::pg::Pause;
use loadline_base::Time;
use loadline_store::ObjectNo;

/// Nothing is pushed onto a disk with less than this share of its pages free, in percent (`osd_failsafe_full_ratio` 0.97). The
/// rest is for what an OSD must always be able to write down: logs, intervals, the map.
const FAILSAFE_FULL_BELOW: u64 = 3;
/// So many objects that are no more go to an OSD each time that it has refused one for want of room.
const ABSENCES_AT_ONCE: usize = 64;

impl Osd {
    /// Whether the disk has too little room for what recovery brings.
    pub(crate) fn is_without_room(&self) -> bool {
        self.space().is_some_and(|space| space.has_less_free_than(FAILSAFE_FULL_BELOW))
    }

    /// There is no room for what was pushed: whoever leads the recovery is told.
    pub(crate) fn refuse_push(
        &mut self,
        now: Time,
        asker: RecoverySender,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let Some(here) = self.pg(pg).filter(|here| here.interval == asker.interval) else { return };
        if here.primary.is_some() {
            return self.no_room(now, self.id, pg, object, fx);
        }
        self.send_as(asker.urgency, asker.osd, pg, (Message::NoRoom(object), Data::NONE), fx);
    }

    /// An OSD has no room for an object. It goes without it, and the recovery of the placement group pauses; the ops that
    /// wait for the object wait until then.
    pub(crate) fn no_room(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(recovering) = primary.recovering.get_mut(&object) else { return };
        if !recovering.pending.remove(from) {
            return;
        }
        let lost = match recovering.pending.is_empty() {
            true => std::mem::take(&mut recovering.afterwards),
            false => Default::default(),
        };
        let is_over = recovering.pending.is_empty();
        primary.note_missing(from, object);
        // What it had may be gone: it is not one of those that have the object and could not read it.
        if let Some(marks) = primary.bad.unreadable.get_mut(&object) {
            marks.all.remove(from);
            marks.wrong.remove(from);
        }
        lost.iter().for_each(|target| primary.note_missing(target, object));
        if is_over {
            let mut recovering = self.end_object(pg, object);
            let primary = self.primary_mut(pg).expect("it was looked up");
            for (op, _) in &mut recovering.parked {
                op.aside.add(AsideFor::RecoveryRoom);
            }
            primary.ops.stalled.append(&mut recovering.parked);
        }
        self.begin_repair(now, pg, fx);
        self.push_absences(now, pg, from, fx);
        self.suspend_recovery(now, pg, Pause::TooFull, fx);
        self.admit_recovery(now, fx);
    }

    /// What an OSD without room has and should not have any more goes first: it may be all that can give some.
    fn push_absences(&mut self, now: Time, pg: PgId, to: OsdId, fx: &mut Effects) {
        let (Some(here), Some(primary)) = (self.pg(pg), self.primary(pg)) else { return };
        let missing = primary.missing.get(&to).into_iter().flatten().copied();
        let is_idle = |object: &ObjectNo| {
            !primary.recovering.contains_key(object) && !primary.misses(self.id, *object)
        };
        let without_past = missing.filter(|it| is_idle(it) && here.kept.get(*it).is_none());
        let candidates: Vec<ObjectNo> = without_past.collect();
        let objects = self.store.objects(pg);
        let gone = candidates.into_iter().filter(|object| objects.meta(*object).is_none());
        for object in gone.take(ABSENCES_AT_ONCE).collect::<Vec<_>>() {
            self.start_urgent(now, pg, object, fx);
        }
    }
}
