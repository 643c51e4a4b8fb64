//! Which object a primary recovers next, and when it may start.

use crate::event::{Effect, Timer};
use crate::ids::{OsdSet, PgId};
use crate::item::Item;
use crate::message::{ClientOp, RecoveryKind};
use crate::osd::Osd;
use crate::pg::{Primary, Reservation};
use loadline_base::Time;
use loadline_store::ObjectNo;

impl Osd {
    /// Queues recovery items for as many placement groups as admission lets in.
    pub(crate) fn admit_recovery(&mut self, now: Time, fx: &mut Vec<Effect>) {
        while let Some(turn) = self.admission.admit() {
            if self.pg(turn.pg).is_none() {
                self.admission.item_ran(turn.pushes, 0);
                continue;
            }
            self.enqueue(now, Item::Recovery(turn.pg, turn.pushes), fx);
        }
    }

    /// A worker carries out a recovery item: it starts up to `pushes` objects, or sleeps first.
    pub(crate) fn run_recovery(&mut self, now: Time, pg: PgId, pushes: u32, fx: &mut Vec<Effect>) {
        let held = self.primary(pg).is_some_and(|p| matches!(p.reservation, Reservation::Held(_)));
        if held && let Some(wake) = self.admission.must_sleep_until(now) {
            return fx.push(Effect::Timer(self.id, wake, Timer::RecoveryWake(pg, pushes)));
        }
        let mut started = 0;
        if held {
            while started < pushes && self.start_next(now, pg, fx) {
                started += 1;
            }
        }
        self.admission.item_ran(pushes, started);
        if held && started == 0 {
            self.finish_if_recovered(now, pg, fx);
        }
        self.admit_recovery(now, fx);
    }

    /// A recovery item has slept and queues again.
    pub(crate) fn recovery_woke(&mut self, now: Time, pg: PgId, pushes: u32, fx: &mut Vec<Effect>) {
        if self.pg(pg).is_none() {
            return self.admission.item_ran(pushes, 0);
        }
        self.enqueue(now, Item::Recovery(pg, pushes), fx);
    }

    /// Starts the next object of a placement group: what ops wait for, what this OSD lacks, what replicas lack, then
    /// backfill. False if there is none to start now.
    fn start_next(&mut self, now: Time, pg: PgId, fx: &mut Vec<Effect>) -> bool {
        let this = self.id;
        let Some(primary) = self.primary_mut(pg) else { return false };
        if let Some((object, targets)) = primary.next_missing(this) {
            self.start_object(now, pg, object, targets, fx);
            return true;
        }
        if !matches!(primary.reservation, Reservation::Held(RecoveryKind::Backfill)) {
            return false;
        }
        match self.next_backfill(pg, fx) {
            Some((object, targets)) => {
                self.start_object(now, pg, object, targets, fx);
                true
            }
            None => false,
        }
    }

    /// An op waits for an object that nobody recovers yet: it is started at once, outside the admission's turn, and
    /// counts as active.
    pub(crate) fn start_urgent(&mut self, now: Time, op: ClientOp, fx: &mut Vec<Effect>) {
        let this = self.id;
        let Some(primary) = self.primary_mut(op.pg) else { return };
        let targets = primary.who_misses(this, op.object);
        self.admission.item_ran(0, 1);
        self.start_object(now, op.pg, op.object, targets, fx);
        if let Some(recovering) =
            self.primary_mut(op.pg).and_then(|p| p.recovering.get_mut(&op.object))
        {
            recovering.parked.push(op);
        }
    }

    /// After something finished: queue the placement group for its next object, or end the phase.
    pub(crate) fn continue_recovery(&mut self, now: Time, pg: PgId, fx: &mut Vec<Effect>) {
        let held = self.primary(pg).is_some_and(|p| matches!(p.reservation, Reservation::Held(_)));
        if held && !self.finish_if_recovered(now, pg, fx) {
            self.admission.wait(pg);
        }
        self.admit_recovery(now, fx);
    }

    /// Ends the present phase if nothing of it is left. Returns whether it ended.
    fn finish_if_recovered(&mut self, now: Time, pg: PgId, fx: &mut Vec<Effect>) -> bool {
        let Some(primary) = self.primary_mut(pg) else { return true };
        let Reservation::Held(kind) = primary.reservation else { return true };
        if !primary.phase_is_done(kind) {
            return false;
        }
        if kind == RecoveryKind::Log && primary.backfill.is_some() {
            self.release_target_slots(pg, fx);
            self.start_recovery(now, pg, fx);
            return true;
        }
        primary.reservation = Reservation::None;
        self.release_slots(now, pg, fx);
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        fx.push(Effect::Recovered(pg, interval));
        true
    }
}

impl Primary {
    fn phase_is_done(&self, kind: RecoveryKind) -> bool {
        self.recovering.is_empty()
            && match kind {
                RecoveryKind::Log => !self.is_missing_any(),
                RecoveryKind::Backfill => self.backfill.as_ref().is_none_or(|b| b.at_end),
            }
    }

    /// The next object that some acting OSD misses: what this OSD lacks itself goes first.
    fn next_missing(&self, this: crate::ids::OsdId) -> Option<(ObjectNo, OsdSet)> {
        let own = self.missing.get(&this).into_iter().flatten();
        let others = self.missing.iter().filter(|(osd, _)| **osd != this).flat_map(|(_, m)| m);
        let object = own
            .chain(others)
            .map(|(object, _)| *object)
            .find(|object| !self.recovering.contains_key(object))?;
        Some((object, self.who_misses(this, object)))
    }

    /// Who has to receive `object`: only this OSD while it lacks it itself, else every other that does.
    fn who_misses(&self, this: crate::ids::OsdId, object: ObjectNo) -> OsdSet {
        let lacks = |osd: &crate::ids::OsdId| {
            self.missing.get(osd).is_some_and(|missing| missing.contains_key(&object))
        };
        if lacks(&this) {
            return [this].into_iter().collect();
        }
        self.missing.keys().copied().filter(lacks).collect()
    }
}
