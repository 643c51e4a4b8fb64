//! Unfound objects that an operator gives up: each becomes the newest that is left of it.
//!
//! The last write of an object may have reached one disk alone, which cannot read it now, while others have the object as it was
//! before. As long as nobody says otherwise the write counts: it was acknowledged. When an operator gives it up, the primary looks
//! for the object once more; if nobody gives it, whoever lacks it tells in which version it is there, and the newest counts. That it
//! counts is a change of the object like any other: it has a number and stands in every copy's log, so a copy that comes back later
//! with the lost write learns that it is behind. Who has the newest state gives it that number; everybody else lacks the object
//! from then on, the one with the unreadable copy too, and gets it by recovery.
//!
//! A copy that was being replaced when the object was lost may have nothing of it any more. It counts only where nobody has more.

use crate::access::{AccessKind, ObjectRange, Update};
use crate::commit::{Commit, RecoverySender};
use crate::damage::Astray;
use crate::event::Effects;
use crate::ids::{OpId, OsdId, OsdSet, PgId};
use crate::message::{Data, Message, Settlement};
use crate::osd::Osd;
use crate::pg::{Pause, Reservation};
use crate::pg_log::{ChangedBytes, LogEntry};
use loadline_base::Time;
use loadline_qos::Urgency;
use loadline_store::{ObjectMeta, ObjectNo, Version};

impl Osd {
    /// Gives up every unfound object of a placement group that this OSD leads, unless it is found now.
    pub(crate) fn give_up_unfound(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let Some(primary) = self.primary_mut(pg) else { return };
        primary.unfound.give_up();
        primary.unfound.look_again();
        self.retry_reservation(now, pg, fx);
    }

    /// Nobody gives an object that is given up: those who lack it are asked what is left of it. False if nobody lacks it, so that
    /// nobody has it was before.
    pub(crate) fn ask_what_is_left(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) -> bool {
        let this = self.id;
        let primary = self.primary_mut(pg).expect("it leads");
        let unreadable = primary.bad.unreadable.get(&object).map(|bad| bad.all).unwrap_or_default();
        let lacks = |osd: &OsdId| primary.misses(*osd, object) && !unreadable.contains(*osd);
        let lacking: OsdSet = primary.shape.acting.iter().filter(lacks).collect();
        if lacking.is_empty() {
            primary.unfound.keep(object);
            return false;
        }
        primary.unfound.ask(object, lacking);
        for osd in lacking.iter().filter(|osd| *osd != this) {
            self.send(osd, pg, Message::WhatIsLeft(object), fx);
        }
        if lacking.contains(this) {
            let left = self.left_of(pg, object);
            self.told_what_is_left(now, this, pg, (object, left), fx);
        }
        true
    }

    /// The version in which an object is here, whatever the log says; `None` if nothing is, or nothing whole. What is no state that it ever
    /// had is older than any.
    fn left_of(&mut self, pg: PgId, object: ObjectNo) -> Option<Version> {
        let meta = self.store.objects(pg).meta(object);
        let astray = self.pg(pg).and_then(|here| here.disk.damage.astray(object));
        let past = self.pg(pg).and_then(|here| here.kept.get(object));
        match past {
            Some(past) if past.arriving.is_some() => None,
            past => {
                let version =
                    meta.map(|meta| meta.version).or(past.and_then(|past| past.removed))?;
                Some(if astray == Some(Astray::Patchy) { Version::default() } else { version })
            }
        }
    }

    /// A primary wants to know what is left of an object here.
    pub(crate) fn tell_what_is_left(
        &mut self,
        asker: RecoverySender,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let left = Message::Left(object, self.left_of(pg, object));
        self.send_as(asker.urgency, asker.osd, pg, (left, Data::NONE), fx);
    }

    /// Somebody has told what is left of an object. When all have, the newest counts, and everybody is told.
    pub(crate) fn told_what_is_left(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        (object, left): (ObjectNo, Option<Version>),
        fx: &mut Effects,
    ) {
        let this = self.id;
        let Some(primary) = self.primary_mut(pg) else { return };
        primary.unfound.has_left(object, from, left);
        let Some(given_up) = primary.unfound.answered(object, from) else { return };
        let acting = primary.shape.acting;
        primary.unfound.ask(object, acting);
        let here = self.pg_mut(pg).expect("it leads");
        let interval = here.interval;
        let version = here.log.append(interval, object, OpId::NOBODYS, ChangedBytes::ALL);
        let settlement = Settlement { object, version, left: given_up.left };
        for osd in acting.iter().filter(|osd| *osd != this) {
            self.send(osd, pg, Message::Settle(settlement), fx);
        }
        let own = RecoverySender { osd: this, interval, urgency: Urgency::default() };
        self.settle(now, own, pg, settlement);
    }

    /// A copy learns of its primary which state of an object counts.
    pub(crate) fn execute_settlement(
        &mut self,
        now: Time,
        primary: RecoverySender,
        pg: PgId,
        settlement: Settlement,
    ) {
        let here = self.pg_mut(pg).expect("the interval was looked up");
        here.log.record(settlement.entry());
        self.settle(now, primary, pg, settlement);
    }

    /// Takes the state that counts as the object, if it is here, and else lacks the object. What is newer is given up, and goes: after a loss
    /// of power in the midst of this somebody would take it for the newest that is left.
    fn settle(&mut self, now: Time, primary: RecoverySender, pg: PgId, settlement: Settlement) {
        let Settlement { object, version, left } = settlement;
        let here_is = self.left_of(pg, object);
        let (is_left, is_newer) = (here_is == left, here_is > left);
        let mut edits = self.entry_edits(pg, settlement.entry());
        let is_durable = self.is_durable();
        let here = self.pg_mut(pg).expect("the interval was looked up");
        let counts = is_left && here.lacks.remove(&object);
        if !counts {
            here.lacks.insert(object);
        }
        if is_durable {
            edits.push(match counts {
                true => here.save_arrival(pg, object),
                false => here.save_lack(pg, object),
            });
        }
        let touch = match self.store.objects(pg).meta(object) {
            _ if !counts && !is_newer => AccessKind::Nothing,
            _ if is_newer => {
                self.store.objects(pg).remove(object);
                edits.append(&mut self.clear_object(pg, object));
                AccessKind::Remove
            }
            Some(meta) => {
                self.store.objects(pg).replace(object, ObjectMeta { version, ..meta });
                AccessKind::Version
            }
            None => {
                // What was on its way here may have come in part.
                self.store.give_up_puts(pg, Some(object));
                if left.is_none() {
                    edits.append(&mut self.clear_object(pg, object));
                }
                AccessKind::Remove
            }
        };
        let place = ObjectRange { pg, object, offset: 0, length: 0 };
        let update = Update { version, edits, ..Update::none(touch) };
        self.access(now, primary.urgency, &place, update, Commit::Settled(primary));
    }

    /// The disk of a copy knows which state of an object counts.
    pub(crate) fn settlement_kept(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        fx: &mut Effects,
    ) {
        let here = self.pg_mut(pg).filter(|here| here.interval == primary.interval);
        let Some(here) = here else { return };
        if !here.lacks.contains(&object) {
            here.disk.arrived(object);
        }
        if primary.osd == self.id {
            return self.settled(now, self.id, pg, object, fx);
        }
        self.send(primary.osd, pg, Message::Settled(object), fx);
    }

    /// A copy has taken note of what counts. When all have, the object is one that some have and others lack.
    pub(crate) fn settled(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(given_up) = primary.unfound.answered(object, from) else { return };
        let recovering = self.end_object(pg, object);
        let primary = self.primary_mut(pg).expect("it leads");
        let was_unfound = primary.unfound.remove(object);
        primary.bad.unreadable.remove(&object);
        let all = primary.shape.acting.with(recovering.pending).with(recovering.afterwards);
        for osd in all.iter() {
            match given_up.holders.contains(osd) {
                true => primary.found(osd, object),
                false => {
                    primary.note_lacking(osd, object);
                    primary.forget_lost(osd, object);
                }
            }
        }
        primary.untouched = false;
        if primary.reservation.pause() == Some(Pause::Unfound) {
            primary.reservation = Reservation::None;
        }
        if was_unfound {
            self.tell_unfound(pg, fx);
        }
        self.unpark(now, pg, recovering.parked, fx);
        self.continue_recovery(now, pg, fx);
        self.begin_repair(now, pg, fx);
    }
}

impl Settlement {
    fn entry(&self) -> LogEntry {
        let Settlement { object, version, .. } = *self;
        LogEntry { version, object, op: OpId::NOBODYS, changed: ChangedBytes::ALL }
    }
}
