//! Which object a primary recovers next, and when it may start.

use crate::directive::Notice;
use crate::event::{Effect, Effects, SleepingItem, Timer};
use crate::ids::{OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::RecoveryKind;
use crate::osd::Osd;
use crate::pg::{Backfill, Pause, Primary, Reservation};
use loadline_base::Time;
use loadline_store::ObjectNo;

impl Osd {
    /// Queues recovery items for as many placement groups as admission lets in.
    pub(crate) fn admit_recovery(&mut self, now: Time, fx: &mut Effects) {
        while let Some(turn) = self.recovery.admission.admit() {
            if self.pg(turn.pg).is_none() {
                self.recovery.admission.item_ran(turn.pushes, 0);
                continue;
            }
            self.take_turn(now, turn, fx);
        }
    }

    /// A worker carries out a recovery item: it starts up to `pushes` objects, or sleeps first.
    pub(crate) fn run_recovery(&mut self, now: Time, pg: PgId, pushes: u32, fx: &mut Effects) {
        let held = self.primary(pg).is_some_and(|p| matches!(p.reservation, Reservation::Held(_)));
        if held && let Some(wake) = self.recovery.admission.must_sleep_until(now) {
            let item = SleepingItem { pg, pushes, life: self.life.number };
            return fx.world.push(Effect::Timer(self.id, wake, Timer::RecoveryWake(item)));
        }
        let mut started = 0;
        if held {
            while started < pushes && self.start_next(now, pg, fx) {
                started += 1;
            }
        }
        self.recovery.admission.item_ran(pushes, started);
        if held && started == 0 && !self.finish_if_recovered(now, pg, fx) {
            self.pause_if_stuck(now, pg, fx);
        }
        self.admit_recovery(now, fx);
    }

    /// A recovery item has slept and queues again.
    pub(crate) fn recovery_woke(&mut self, now: Time, item: SleepingItem, fx: &mut Effects) {
        let SleepingItem { pg, pushes, life } = item;
        if life != self.life.number {
            return;
        }
        if self.pg(pg).is_none() {
            self.recovery.admission.item_ran(pushes, 0);
            return self.admit_recovery(now, fx);
        }
        self.enqueue(now, Item::Recovery(pg, pushes), fx);
    }

    /// Starts the next object of a placement group: what ops wait for, what this OSD lacks, what replicas lack, then
    /// backfill. False if there is none to start now.
    fn start_next(&mut self, now: Time, pg: PgId, fx: &mut Effects) -> bool {
        let this = self.id;
        while let Some((object, targets)) = self.primary(pg).and_then(|p| p.next_missing(this)) {
            let is_given_up = self.primary(pg).is_some_and(|it| it.unfound.is_given_up(object));
            if !targets.contains(this) || is_given_up || self.may_come(pg, object) {
                self.start_object(now, pg, object, targets, fx);
                return true;
            }
            self.give_up(pg, object, (targets, OsdSet::EMPTY), fx);
            self.tell_lost(now, pg, object, fx);
        }
        let Some(primary) = self.primary_mut(pg) else { return false };
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
    pub(crate) fn start_urgent(&mut self, now: Time, pg: PgId, object: ObjectNo, fx: &mut Effects) {
        let primary = self.primary(pg).expect("an op waits on a primary");
        let targets = primary.who_needs(self.id, object);
        let ahead = primary.who_misses(self.id, object).is_empty();
        self.recovery.admission.item_ran(0, 1);
        self.start_object(now, pg, object, targets, fx);
        let recovering = self.primary_mut(pg).and_then(|p| p.recovering.get_mut(&object));
        recovering.expect("it was started").ahead = ahead;
    }

    /// After something finished: queue the placement group for its next object, or end the phase.
    pub(crate) fn continue_recovery(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let held = self.primary(pg).is_some_and(|p| matches!(p.reservation, Reservation::Held(_)));
        if !self.finish_if_recovered(now, pg, fx) && held {
            self.recovery.admission.wait(pg);
        }
        self.admit_recovery(now, fx);
    }

    /// Ends the present phase if nothing of it is left. Returns whether it ended. The last objects may have been
    /// recovered without a reservation: because ops waited for them, or because it was taken back meanwhile.
    fn finish_if_recovered(&mut self, now: Time, pg: PgId, fx: &mut Effects) -> bool {
        let Some(primary) = self.primary_mut(pg) else { return true };
        if primary.is_recovered() && !primary.bad.lost.is_empty() && primary.untouched {
            // Every copy has what it had, and nobody gave what some have lost: as with what is unfound.
            self.tell_lacking(pg, fx);
            self.suspend_recovery(now, pg, Pause::Unfound, fx);
            return true;
        }
        if primary.is_recovered() {
            primary.reservation = Reservation::None;
            // What was tried in vain has changed nothing that the owner would have to know.
            primary.ops.handing_over = !primary.untouched;
            let hands_over = primary.ops.handing_over;
            self.release_slots(now, pg, fx);
            match hands_over {
                true => self.hand_over_if_idle(pg, fx),
                // The interval goes on, and with it what has waited for the group to be whole.
                false => {
                    self.tell_lacking(pg, fx);
                    self.begin_scrubs(now, fx);
                    self.begin_trim(now, pg, fx);
                }
            }
            return true;
        }
        let backfill_is_next = primary.recovery_needed() == Some(RecoveryKind::Backfill)
            && primary.recovering.is_empty();
        if backfill_is_next && primary.reservation == Reservation::Held(RecoveryKind::Log) {
            self.release_target_slots(pg, fx);
            self.start_recovery(now, pg, fx);
            return true;
        }
        false
    }

    /// Pauses the recovery of a placement group of which nothing is left but what nobody can give.
    fn pause_if_stuck(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if self.primary(pg).is_some_and(Primary::is_stuck) {
            self.suspend_recovery(now, pg, Pause::Unfound, fx);
        }
    }

    /// Ends the interval of a recovered placement group once no op is being carried out: then all copies are equal,
    /// and whoever serves next begins where this OSD stopped.
    pub(crate) fn hand_over_if_idle(&mut self, pg: PgId, fx: &mut Effects) {
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        if self.primary(pg).is_some_and(Primary::has_recovered) {
            fx.owner.push(Notice::Recovered(pg, interval));
        }
    }
}

impl Primary {
    /// Whether there is nothing left to do in this interval, as the owner of the map is told.
    pub(crate) fn has_recovered(&self) -> bool {
        self.ops.handing_over && self.ops.in_flight == 0
    }

    /// Whether every copy has every object.
    fn is_recovered(&self) -> bool {
        self.recovering.is_empty()
            && !self.is_missing_any()
            && self.backfill.as_ref().is_none_or(|backfill| backfill.at_end)
    }

    /// Whether nothing can be done but to try once more what could be read nowhere.
    fn is_stuck(&self) -> bool {
        let is_compared = |backfill: &Backfill| backfill.at_end;
        let rest_is_done = self.backfill.as_ref().is_none_or(is_compared);
        self.unfound.is_stuck() && self.recovering.is_empty() && rest_is_done
    }

    /// The next object that some OSD misses and that may be found: what this OSD lacks itself goes first.
    fn next_missing(&self, this: OsdId) -> Option<(ObjectNo, OsdSet)> {
        let own = self.missing.get(&this).into_iter().flatten();
        let others = self.missing.iter().filter(|(osd, _)| **osd != this).flat_map(|(_, m)| m);
        let may_start = |object: &ObjectNo| {
            !self.recovering.contains_key(object) && !self.unfound.is_hopeless(*object)
        };
        let object = own.chain(others).copied().find(may_start)?;
        Some((object, self.who_misses(this, object)))
    }

    /// Who has to receive `object`: only this OSD while it lacks it itself, else every other that does.
    pub(crate) fn who_misses(&self, this: OsdId, object: ObjectNo) -> OsdSet {
        if self.misses(this, object) {
            return [this].into_iter().collect();
        }
        self.missing.keys().copied().filter(|osd| self.misses(*osd, object)).collect()
    }
}
