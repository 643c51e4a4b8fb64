//! Updates that a copy cannot carry out now, because its device does not read a page around them.
//!
//! A page that is damaged is lost whatever happens: the copy goes past it at once. One that is not read may be read another time, and may be the
//! last that has what it holds. So the copy asks its primary before it loses it, and its store waits with whatever of the placement group comes
//! behind. When each copy has answered or asks, the primary knows what of the update somebody has. Who lacks that loses the page, and is mended
//! from there. What nobody has nobody does: those pages stay what they were on every copy, and the client is refused.
//!
//! Nothing of such an update is on the copy's disk while it waits: a crash makes it one that has not come. Where the interval ends first nobody
//! will answer, and that is what is made of it: the OSD opens its disk once more. (The copy lacked the object from then on, whose bytes were
//! all here; where no other copy had that last write, nobody could give the object any more.)

use crate::access::ObjectRange;
use crate::commit::{Commit, RecoverySender};
use crate::directive::DiskFault;
use crate::disk::DoubtedUpdate;
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::in_flight::InFlight;
use crate::message::{Message, WriteTag};
use crate::osd::Osd;
use crate::pg::Primary;
use loadline_base::Time;
use loadline_store::Version;
use loadline_store::paged::LostEnds;

impl Osd {
    /// Asks about what the store is in doubt of.
    pub(crate) fn take_doubts(&mut self, now: Time, fx: &mut Effects) {
        for update in self.store.paged().take_doubts() {
            let DoubtedUpdate { pg, commit, ends, .. } = update;
            match commit {
                Commit::Op(tag, ..) if self.ops.get_mut(tag).is_some() => {
                    self.write_doubted(now, (self.id, pg), tag, ends, fx);
                }
                Commit::Replica(primary, tag, ..)
                    if self.pg(pg).is_some_and(|here| here.interval == primary.interval) =>
                {
                    self.send(primary.osd, pg, Message::WriteDoubted(tag, ends), fx);
                }
                _ => self.end_doubts(pg, fx),
            }
        }
    }

    /// A copy asks about these parts of an update.
    pub(crate) fn write_doubted(
        &mut self,
        now: Time,
        (from, pg): (OsdId, PgId),
        tag: WriteTag,
        ends: LostEnds,
        fx: &mut Effects,
    ) {
        let Some(in_flight) = self.ops.get_mut(tag) else {
            // It was refused, since the primary itself could not carry it out: nobody is to have what is asked about, and the copy must not
            // stand still for it.
            return self.tell_word(now, pg, tag, (OsdSet::one(from), LostEnds::default()), fx);
        };
        in_flight.doubts.push((from, ends));
        self.weigh_doubts(now, pg, tag, fx);
    }

    /// Answers those who ask about an update, as soon as nobody else is waited for.
    pub(crate) fn weigh_doubts(&mut self, now: Time, pg: PgId, tag: WriteTag, fx: &mut Effects) {
        if let Some(word) = self.ops.get_mut(tag).and_then(InFlight::weigh) {
            self.tell_word(now, pg, tag, word, fx);
        }
    }

    /// Answers those who ask about an update which parts of it others have.
    pub(crate) fn tell_word(
        &mut self,
        now: Time,
        pg: PgId,
        tag: WriteTag,
        (askers, word): (OsdSet, LostEnds),
        fx: &mut Effects,
    ) {
        for osd in askers.iter() {
            match osd == self.id {
                true => self.go_past(now, self.own_sender(pg), pg, (tag, word)),
                false => self.send(osd, pg, Message::GoPast(tag, word), fx),
            }
        }
    }

    fn own_sender(&self, pg: PgId) -> RecoverySender {
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        RecoverySender { osd: self.id, interval, urgency: self.urgency(pg) }
    }

    /// The primary's word: others have these parts of the update.
    pub(crate) fn go_past(
        &mut self,
        now: Time,
        primary: RecoverySender,
        pg: PgId,
        (tag, ends): (WriteTag, LostEnds),
    ) {
        let is_meant = |commit: &Commit| match commit {
            Commit::Op(of, ..) => primary.osd == self.id && *of == tag,
            Commit::Replica(from, of, ..) => from.osd == primary.osd && *of == tag,
            _ => false,
        };
        self.store.paged().end_doubt(
            now,
            |update| update.pg == pg && is_meant(&update.commit),
            ends,
        );
    }

    /// All copies have answered: these parts of an update are nowhere. What is in their pages is what was there before, and every log says so:
    /// a copy that is behind may have it.
    pub(crate) fn tell_unwritten(
        &mut self,
        now: Time,
        pg: PgId,
        (version, ends): (Version, LostEnds),
        fx: &mut Effects,
    ) {
        let others = self.primary(pg).map_or(OsdSet::EMPTY, Primary::members);
        for osd in others.iter().filter(|osd| *osd != self.id) {
            self.send(osd, pg, Message::Unwritten(version, ends), fx);
        }
        self.unwritten(now, self.own_sender(pg), pg, (version, ends));
    }

    /// The primary's word: these parts of an update are nowhere.
    pub(crate) fn unwritten(
        &mut self,
        now: Time,
        primary: RecoverySender,
        pg: PgId,
        (version, ends): (Version, LostEnds),
    ) {
        let page = self.page_bytes();
        let here = self.pg_mut(pg).filter(|here| here.interval == primary.interval);
        let Some(edit) = here.and_then(|here| here.save_unwritten(pg, version, ends, page)) else {
            return;
        };
        let place = ObjectRange::of_group(pg);
        self.keep_all(now, &place, vec![edit], Commit::Nothing);
    }

    /// Nobody answers any more about updates of a placement group. Nothing of them is done, nor of what came behind, and none of that was
    /// acknowledged: this OSD has not had it. It begins anew from its disk, which tells so.
    pub(crate) fn end_doubts(&mut self, pg: PgId, fx: &mut Effects) {
        if self.is_durable() && self.store.paged().has_doubts(pg) {
            self.stop(DiskFault::InDoubt, fx);
        }
    }
}

impl InFlight {
    /// Who asks about it and has no answer yet.
    pub(crate) fn askers(&self) -> OsdSet {
        self.doubts.iter().map(|(osd, _)| *osd).collect()
    }

    /// Who asks, and what of the update some copy has or can have; `None` before all have answered or ask.
    fn weigh(&mut self) -> Option<(OsdSet, LostEnds)> {
        let askers = self.askers();
        if self.doubts.is_empty() || !self.pending.iter().all(|osd| askers.contains(osd)) {
            return None;
        }
        let doubts = std::mem::take(&mut self.doubts);
        let nowhere = doubts.iter().fold(self.lost, |lost, (_, ends)| lost.and(*ends));
        Some((askers, LostEnds { first: !nowhere.first, last: !nowhere.last }))
    }
}
