//! Reservations of one placement group: the local slot first, then the remote ones in increasing OSD number, so
//! that no circle of waiting can form (qos.md 9.2).

use super::reserver::ReserverChange;
use crate::event::{Effect, Effects, Timer};
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{Message, RecoveryKind, ReservationPriority};
use crate::osd::Osd;
use crate::pg::{Pause, Primary, Reservation};
use crate::policy::OsdOptions;
use loadline_base::{Span, Time};
use std::collections::VecDeque;

/// Base priorities and their maxima.
const BACKFILL: (i32, i32) = (100, 139);
const BACKFILL_DEGRADED: (i32, i32) = (140, 179);
const LOG_RECOVERY: (i32, i32) = (180, 219);
const BELOW_MINIMUM: (i32, i32) = (220, 253);

impl Primary {
    /// How urgent this placement group's recovery of `kind` is.
    pub(crate) fn reservation_priority(&self, kind: RecoveryKind) -> ReservationPriority {
        let absent = self.shape.copies.saturating_sub(self.shape.acting.len()) as i32;
        // A pool's minimum size is the majority of its copies unless set otherwise.
        let below_minimum = self.shape.acting.len() < self.shape.copies / 2 + 1;
        let (base, max) = match kind {
            _ if below_minimum => (BELOW_MINIMUM.0 + absent, BELOW_MINIMUM.1),
            RecoveryKind::Log => LOG_RECOVERY,
            RecoveryKind::Backfill if absent > 0 || self.is_missing_any() => BACKFILL_DEGRADED,
            RecoveryKind::Backfill => BACKFILL,
        };
        (base + i32::from(self.shape.recovery_priority)).clamp(0, max) as ReservationPriority
    }

    /// Who has to be written to for recovery of `kind`.
    pub(super) fn recovery_targets(&self, kind: RecoveryKind, this: OsdId) -> OsdSet {
        let mut targets: OsdSet = match kind {
            RecoveryKind::Log => self.missing.keys().copied().collect(),
            RecoveryKind::Backfill => {
                self.backfill.as_ref().map_or(OsdSet::EMPTY, |backfill| backfill.targets)
            }
        };
        targets.remove(this);
        targets
    }
}

impl Osd {
    /// Begins with the next kind of recovery that a placement group needs, if any.
    pub(crate) fn start_recovery(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(kind) = primary.recovery_needed() else {
            return;
        };
        // Copies that are being made whole cannot be compared.
        self.stop_scrub(now, pg, fx);
        let Some(primary) = self.primary_mut(pg) else { return };
        let priority = primary.reservation_priority(kind);
        primary.reservation = Reservation::Local(kind);
        if self.recovery.local.holds(pg) {
            return self.ask_remote(now, pg, kind, fx);
        }
        let mut changes = Vec::new();
        self.recovery.local.ask(pg, priority, &mut changes);
        self.local_changed(now, &changes, fx);
    }

    pub(super) fn local_changed(
        &mut self,
        now: Time,
        changes: &[ReserverChange],
        fx: &mut Effects,
    ) {
        for change in changes {
            match *change {
                ReserverChange::Granted(pg) => {
                    let waits = self.primary(pg).map(|primary| primary.reservation.clone());
                    if let Some(Reservation::Local(kind)) = waits {
                        self.ask_remote(now, pg, kind, fx);
                    }
                    self.deletion_slot_granted(now, pg, fx);
                }
                // A deletion sees it when its transaction is written.
                ReserverChange::Preempted(pg) => self.suspend_recovery(now, pg, Pause::Revoked, fx),
            }
        }
    }

    fn ask_remote(&mut self, now: Time, pg: PgId, kind: RecoveryKind, fx: &mut Effects) {
        let this = self.id;
        let Some(primary) = self.primary_mut(pg) else { return };
        let targets: VecDeque<OsdId> = primary.recovery_targets(kind, this).iter().collect();
        primary.reservation = Reservation::Remote(kind, targets);
        self.ask_next_target(now, pg, fx);
    }

    /// Asks the first target that remains, or starts if none does.
    fn ask_next_target(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Reservation::Remote(kind, targets) = &primary.reservation else { return };
        let kind = *kind;
        match targets.front().copied() {
            Some(target) => {
                let priority = primary.reservation_priority(kind);
                primary.asked.insert(target);
                self.send(target, pg, Message::Reserve(kind, priority), fx);
            }
            None => {
                primary.reservation = Reservation::Held(kind);
                self.recovery.admission.wait(pg);
                self.admit_recovery(now, fx);
            }
        }
    }

    /// A message about reservations.
    pub(crate) fn reservation_message(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        message: &Message,
        fx: &mut Effects,
    ) {
        match message {
            Message::Reserve(RecoveryKind::Backfill, _) if self.recovery.is_backfill_full => {
                self.send(from, pg, Message::ReserveTooFull, fx);
            }
            Message::Reserve(kind, priority) => {
                let mut changes = Vec::new();
                self.recovery.remote_askers.insert(pg, (from, *kind));
                self.recovery.remote.ask(pg, *priority, &mut changes);
                self.remote_changed(&changes, fx);
            }
            Message::ReserveReleased => self.release_remote(pg, fx),
            Message::ReserveGranted => {
                if let Some(primary) = self.primary_mut(pg)
                    && let Reservation::Remote(_, targets) = &mut primary.reservation
                    && targets.front() == Some(&from)
                {
                    targets.pop_front();
                    self.ask_next_target(now, pg, fx);
                }
            }
            Message::ReserveRevoked => self.suspend_recovery(now, pg, Pause::Revoked, fx),
            Message::ReserveTooFull => self.suspend_recovery(now, pg, Pause::TooFull, fx),
            message => unreachable!("not about reservations: {message:?}"),
        }
    }

    /// Whether this OSD's disk has too little room for backfills (`mon_osd_backfillfull_ratio`). Those that fill it lose their
    /// slots; they are refused from then on and try again after `osd_backfill_retry_interval`. Recovery by log, which brings
    /// little, goes on.
    pub(crate) fn set_backfill_full(&mut self, now: Time, is_full: bool, fx: &mut Effects) {
        let was_full = std::mem::replace(&mut self.recovery.is_backfill_full, is_full);
        if is_full && !was_full {
            let backfills = |(pg, (primary, kind)): (&PgId, &(OsdId, RecoveryKind))| {
                (*kind == RecoveryKind::Backfill).then_some((*pg, *primary))
            };
            let revoked: Vec<(PgId, OsdId)> =
                self.recovery.remote_askers.iter().filter_map(backfills).collect();
            // All are forgotten before the first gives its slot back, or the next one in line would get it.
            for (pg, _) in &revoked {
                self.recovery.remote_askers.remove(pg);
            }
            for (pg, primary) in revoked {
                self.send(primary, pg, Message::ReserveTooFull, fx);
                self.release_remote(pg, fx);
            }
        }
        if is_full != was_full {
            self.deletion_urgency_changed(now, fx);
        }
    }

    fn release_remote(&mut self, pg: PgId, fx: &mut Effects) {
        let mut changes = Vec::new();
        self.forget_asked(pg);
        self.recovery.remote_askers.remove(&pg);
        self.recovery.remote.release(pg, &mut changes);
        self.remote_changed(&changes, fx);
    }

    fn remote_changed(&mut self, changes: &[ReserverChange], fx: &mut Effects) {
        for change in changes {
            let (pg, message) = match *change {
                ReserverChange::Granted(pg) => (pg, Message::ReserveGranted),
                ReserverChange::Preempted(pg) => (pg, Message::ReserveRevoked),
            };
            if let Some((primary, _)) = self.recovery.remote_askers.get(&pg).copied() {
                self.send(primary, pg, message, fx);
            }
        }
    }

    /// A slot was taken back, or recovery cannot go on: everything else is given back too, and a timer tries again
    /// (`osd_backfill_retry_interval`, `osd_recovery_retry_interval`). Objects under way still finish.
    pub(crate) fn suspend_recovery(&mut self, now: Time, pg: PgId, why: Pause, fx: &mut Effects) {
        let Some(primary) = self.primary_mut(pg) else { return };
        // The slot may have been taken back while its release was on the way.
        if matches!(primary.reservation, Reservation::None | Reservation::Retry(..)) {
            return;
        }
        let retry = now + self.retry_interval(pg);
        let primary = self.primary_mut(pg).expect("it was looked up");
        primary.reservation = Reservation::Retry(why, retry);
        self.recovery.admission.forget(pg);
        self.release_slots(now, pg, fx);
        let interval = self.pg(pg).map_or(0, |pg| pg.interval);
        fx.world.push(Effect::Timer(self.id, retry, Timer::ReservationRetry(pg, interval)));
        // What was promised to its turns is free for others.
        self.admit_recovery(now, fx);
        if why == Pause::TooFull {
            self.begin_trim(now, pg, fx);
        }
    }

    fn retry_interval(&self, pg: PgId) -> Span {
        match self.primary(pg).and_then(Primary::recovery_needed) {
            Some(RecoveryKind::Log) => self.options.recovery_retry_interval,
            Some(RecoveryKind::Backfill) | None => self.options.backfill_retry_interval,
        }
    }

    /// A timer of [`Osd::suspend_recovery`]. Whoever was tried again before that has another one, and this one is void: else each try before its time would leave a
    /// timer more that never ends.
    pub(crate) fn retry_is_due(&mut self, now: Time, pg: PgId, interval: u32, fx: &mut Effects) {
        let here = self.pg(pg).filter(|here| here.interval == interval);
        let reservation = here.and_then(|here| Some(&here.primary.as_ref()?.reservation));
        if matches!(reservation, Some(Reservation::Retry(_, due)) if *due <= now) {
            self.retry_reservation(now, pg, fx);
        }
    }

    /// Tries again at once what has given its slots back.
    pub(crate) fn retry_reservation(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        if self.primary(pg).is_some_and(|primary| primary.reservation.pause().is_some()) {
            self.try_all_again(now, pg, fx);
            self.start_recovery(now, pg, fx);
        }
    }

    /// Gives back the local slot and the targets' slots.
    pub(crate) fn release_slots(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        self.release_target_slots(pg, fx);
        let mut changes = Vec::new();
        self.recovery.local.release(pg, &mut changes);
        self.local_changed(now, &changes, fx);
    }

    /// Gives back the targets' slots, which forget that leave was asked of them.
    pub(crate) fn release_target_slots(&mut self, pg: PgId, fx: &mut Effects) {
        self.recovery.forget_turns(pg);
        let Some(primary) = self.primary_mut(pg) else { return };
        for target in std::mem::take(&mut primary.asked).iter() {
            self.send(target, pg, Message::ReserveReleased, fx);
        }
    }

    /// New numbers of slots (`osd_max_backfills`), and a new minimum (`osd_min_recovery_priority`).
    pub(crate) fn resize_reservers(&mut self, now: Time, fx: &mut Effects) {
        let OsdOptions { backfills_max, recovery_priority_min, .. } = self.options;
        let mut changes = Vec::new();
        self.recovery.remote.resize(backfills_max, recovery_priority_min, &mut changes);
        self.remote_changed(&changes, fx);
        changes.clear();
        self.recovery.local.resize(backfills_max, recovery_priority_min, &mut changes);
        self.local_changed(now, &changes, fx);
    }

    /// Ends whatever a placement group had under way in its interval. Its ops are the router's again.
    pub(crate) fn end_interval(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        self.stop_scrub(now, pg, fx);
        self.free_scrub_slot(now, pg, fx);
        self.forget_trim(now, pg, fx);
        self.release_remote(pg, fx);
        self.recovery.admission.forget(pg);
        // A copy that leaves takes part in nothing, and goes on leaving.
        if self.pg(pg).is_none_or(|here| here.leaving.is_none()) {
            self.release_slots(now, pg, fx);
        }
        // What is put comes behind what the next interval does, and would be taken for that.
        let given_up = self.store.give_up_puts(pg, None);
        self.remove_what_came_in_part(now, pg, given_up);
        self.end_doubts(pg, fx);
        let Some(here) = self.pg_mut(pg) else { return };
        let Some(primary) = here.primary.take() else { return };
        for _ in &primary.recovering {
            self.recovery.admission.object_finished();
        }
        // Answers to them will find nothing; the router sends the ops again.
        self.ops.drop_of(pg);
        self.admit_recovery(now, fx);
    }
}
