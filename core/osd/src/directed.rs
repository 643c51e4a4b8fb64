//! What the owner of the map tells an OSD, carried out.

use crate::commit::Kept;
use crate::directive::{Directive, Notice};
use crate::event::Effects;
use crate::ids::PgId;
use crate::message::Activation;
use crate::osd::Osd;
use crate::pg::{CopyReport, Primary};
use crate::pg_log::PgLog;
use loadline_base::Time;

impl Osd {
    /// Carries a directive out. An OSD that has stopped, and whose owner may not know it yet, does nothing but live or die.
    pub(crate) fn directed(&mut self, now: Time, directive: Directive, fx: &mut Effects) {
        match directive {
            Directive::Crash => self.crash(now),
            Directive::Open(bytes) => self.open(now, bytes),
            Directive::Join => self.join(),
            Directive::Configure(settings) => {
                let (policy, options) = *settings;
                self.configure(now, policy, options, fx);
            }
            Directive::Renew(settings) => {
                let (policy, options) = *settings;
                self.renew(now, policy, options, fx);
            }
            Directive::ShowImages(views) => {
                let has_lost_any = views.has_lost_any_since(self.groups.views());
                self.groups.show(views);
                if has_lost_any {
                    self.snapshots_removed(now, fx);
                    self.begin_trims(now, fx);
                }
            }
            Directive::ShareImages(tenants) => self.share_images(now, tenants, fx),
            Directive::SetBackfillFull(is_full) => self.set_backfill_full(now, is_full, fx),
            directive if self.is_alive() => self.directed_alive(now, directive, fx),
            _ => {}
        }
    }

    fn directed_alive(&mut self, now: Time, directive: Directive, fx: &mut Effects) {
        match directive {
            Directive::Identify(identity) => self.identify(now, identity),
            Directive::SaveMap(epoch, map) => self.save_map(now, epoch, map),
            Directive::Sync(number) => self.sync(now, number),
            Directive::Query(pg, number) => self.end_and_tell_copy(now, pg, number, fx),
            Directive::Activate(pg, activation) => self.activate(now, pg, &activation, fx),
            Directive::Serve(pg, interval) => self.serve(now, pg, interval, fx),
            Directive::Deactivate(pg) => self.deactivate(now, pg, fx),
            Directive::Retire(pg) => self.retire(now, pg, fx),
            Directive::Scrub(pg, request) => self.ask_for_scrub(now, pg, request, fx),
            Directive::GiveUpUnfound(pg) => self.give_up_unfound(now, pg, fx),
            Directive::TakeAsWhole(pg, interval) => self.take_as_whole(pg, interval),
            Directive::TakeAsHere(pg, objects) => self.take_as_here(pg, &objects),
            directive => unreachable!("it asks for no life: {directive:?}"),
        }
    }

    /// The interval ends here, and the copy stands still until the next one. The owner decides by it what others lack, and writes that
    /// to their disks: nothing is told that a loss of power could still take away.
    fn end_and_tell_copy(&mut self, now: Time, id: PgId, number: u32, fx: &mut Effects) {
        let recovered = self.primary(id).is_some_and(Primary::has_recovered);
        self.deactivate(now, id, fx);
        self.lack_what_is_ahead(id);
        match self.is_durable() && self.copy(id).is_some() {
            true => self.keep(now, id, Vec::new(), Kept::Copy { number, recovered }),
            false => self.tell_copy(id, number, recovered, fx),
        }
    }

    /// A copy that recovers beside the writes is given objects as they are, and what it was given may have writes that its log does not tell of: they were
    /// not sent to it. They may be undone with the one disk that had them, and no comparison of logs would show that, whatever the log tells of later ones: such an
    /// object counts as lacking, unless its primary says that all is recovered. So does one that was given as an absence, which has no version.
    fn lack_what_is_ahead(&mut self, id: PgId) {
        let given = self.pg_mut(id).and_then(|here| here.gaps.as_mut()).map(std::mem::take);
        let mut ahead = given.unwrap_or_default();
        ahead.retain(|object| {
            let version = self.store.objects(id).meta(*object).map(|meta| meta.version);
            let here = self.pg(id).expect("it has gaps");
            !here.lacks.contains(object) && version.is_none_or(|it| !here.log.reaches(it))
        });
        if let Some(here) = self.pg_mut(id).filter(|_| !ahead.is_empty()) {
            here.lacks.extend(&ahead);
            here.gaps = Some(ahead);
        }
    }

    /// Tells the copy as it stands still since this question.
    pub(crate) fn tell_copy(&self, id: PgId, number: u32, recovered: bool, fx: &mut Effects) {
        let report = self.copy(id).map(|state| {
            let ahead = self.pg(id).and_then(|here| here.gaps.clone());
            Box::new(CopyReport::of(state, recovered).with_ahead(ahead.unwrap_or_default()))
        });
        fx.owner.push(Notice::Copy(id, number, report));
    }

    fn activate(&mut self, now: Time, id: PgId, activation: &Activation, fx: &mut Effects) {
        // A copy that was leaving comes back, and needs no slot for it.
        if let Some(pg) = self.pg_mut(id) {
            pg.stay();
        }
        self.end_interval(now, id, fx);
        self.place(id, activation.index_in_pool);
        let (this, objects) = (self.id, self.count(id));
        if let Some(log) = activation.log.as_ref().filter(|_| activation.acting.contains(&this)) {
            self.take_log(id, log);
        }
        let reach = self.options.log_reach;
        let here = self.pg_mut(id).expect("it was placed");
        let was_away = here.active_in < activation.before;
        here.begin(this, reach, activation);
        self.keep_activation(now, id, activation.interval);
        if was_away || !activation.backfill.is_empty() {
            self.compare_anew(now, id);
        }
        if activation.acting.first() == Some(&this) {
            let pg = self.pg_mut(id).expect("it was placed");
            pg.primary = Some(Box::new(Primary::new(activation, objects)));
            for (osd, damaged) in &activation.damaged {
                damaged.iter().for_each(|object| self.note_lost(id, *osd, *object));
            }
            self.start_recovery(now, id, fx);
            self.begin_scrubs(now, fx);
            self.look_for_due_scrubs(now, id, fx);
        }
        fx.owner.push(Notice::Joined(id, activation.interval));
    }

    /// The copy's log is from now on what its primary's is. What of an object was carried out here and is undone by that leaves a state that
    /// is none of its history, and all that its other bytes were may be here alone.
    fn take_log(&mut self, id: PgId, log: &PgLog) {
        let undone = log.undone(&self.pg(id).expect("it was placed").log);
        for (object, divergence) in undone {
            let here = self.store.objects(id).meta(object).map(|meta| meta.version);
            let pg = self.pg_mut(id).expect("it was placed");
            if here == Some(divergence.version) {
                pg.disk.note_divergence(object, divergence);
            }
        }
        self.pg_mut(id).expect("it was placed").log = log.clone();
    }

    /// Before, what an interval has begun may be nobody's: whoever peers next may not know of it.
    fn serve(&mut self, now: Time, id: PgId, interval: u32, fx: &mut Effects) {
        let here = self.pg_mut(id).filter(|here| here.interval == interval);
        if let Some(primary) = here.and_then(|here| here.primary.as_mut()) {
            primary.ops.is_served = true;
            self.begin_trim(now, id, fx);
        }
    }

    fn deactivate(&mut self, now: Time, id: PgId, fx: &mut Effects) {
        self.end_interval(now, id, fx);
        if let Some(pg) = self.pg_mut(id) {
            pg.interval = 0;
        }
    }

    fn retire(&mut self, now: Time, id: PgId, fx: &mut Effects) {
        self.deactivate(now, id, fx);
        if self.pg(id).is_some_and(|pg| pg.leaving.is_none()) {
            self.begin_deletion(now, id, fx);
        }
    }
}
