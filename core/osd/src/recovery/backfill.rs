//! Backfill: primary and targets compare their objects range by range; what differs is pushed (qos.md 9.5).

use crate::commit::RecoverySender;
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{Data, Message, ScanRange, ScanReply};
use crate::osd::Osd;
use crate::pg::Backfill;
use loadline_base::Time;
use loadline_store::{ObjectMeta, ObjectNo, Version};
use std::collections::BTreeMap;

/// The objects of a range.
type Listing = BTreeMap<ObjectNo, ObjectMeta>;

impl Osd {
    /// The next object to push, or `None` while a range is being compared or when all is done. Asks the targets for
    /// the next range when the one in hand is used up.
    pub(crate) fn next_backfill(
        &mut self,
        pg: PgId,
        fx: &mut Effects,
    ) -> Option<(ObjectNo, OsdSet)> {
        let scan_max = self.options.backfill_scan_max;
        let primary = self.primary_mut(pg)?;
        let backfill = primary.backfill.as_mut()?;
        if backfill.scan.is_some() || backfill.at_end {
            return None;
        }
        // An object that is on its way for another reason has to arrive first.
        let next = backfill.batch.first_key_value().map(|(object, _)| *object);
        if next.is_some_and(|next| primary.recovering.contains_key(&next)) {
            return None;
        }
        if let Some((object, targets)) = backfill.batch.pop_first() {
            backfill.reached = Some(object);
            if backfill.batch.is_empty() {
                backfill.advance();
            }
            return Some((object, targets));
        }
        let after = backfill.reached;
        let targets = backfill.targets;
        let listed = self.list_after(pg, after, scan_max);
        let last = (listed.len() == scan_max).then(|| listed[scan_max - 1].0);
        let backfill = self.primary_mut(pg)?.backfill.as_mut()?;
        backfill.range_last = last;
        backfill.scan = Some(targets);
        for target in targets.iter() {
            self.send(target, pg, Message::Scan(ScanRange { after, last }), fx);
        }
        None
    }

    /// A worker of a target lists its part of a range.
    pub(crate) fn execute_scan(
        &mut self,
        asker: RecoverySender,
        pg: PgId,
        range: ScanRange,
        fx: &mut Effects,
    ) {
        let mut objects = self.list_range(pg, range.after, range.last);
        // What has lost pages comes anew, and so does what may be in no version that it ever had; or goes, if nobody has it any more.
        let damage = &self.pg(pg).expect("the interval was looked up").disk.damage;
        for (object, meta) in &mut objects {
            if damage.has(*object) || damage.astray(*object).is_some() {
                meta.version = Version::default();
            }
        }
        let reply = Box::new(ScanReply { range, objects });
        let reply = (Message::ScanReply(reply), Data::NONE);
        self.send_as(asker.urgency, asker.osd, pg, reply, fx);
    }

    /// A target's list arrived: what differs from this OSD's is to be pushed, and be it as an absence.
    pub(crate) fn scanned(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        reply: &ScanReply,
        fx: &mut Effects,
    ) {
        let ScanRange { after, last } = reply.range;
        let mine: Listing = self.list_range(pg, after, last).into_iter().collect();
        let theirs: Listing = reply.objects.iter().copied().collect();
        let this = self.id;
        let Some(primary) = self.primary(pg) else { return };
        // What this OSD has to get itself is listed as it was, or not at all: nothing follows from that, and what the target has may be all
        // that there is.
        let mut absent: Vec<ObjectNo> = primary.missing_of(this, reply.range).collect();
        absent.retain(|object| {
            let lacks = self.pg(pg).is_some_and(|here| here.lacks.contains(object));
            lacks || !mine.contains_key(object)
        });
        let Some(primary) = self.primary_mut(pg) else { return };
        let Some(backfill) = primary.backfill.as_mut() else { return };
        let Some(waiting) = backfill.scan.as_mut() else { return };
        if !waiting.remove(from) {
            return;
        }
        let compared = waiting.is_empty();
        backfill.note_differences(from, &mine, &theirs);
        backfill.spare(from, &absent);
        if compared {
            backfill.compared(&mine);
        }
        absent.into_iter().for_each(|object| primary.note_missing(from, object));
        if compared {
            self.continue_recovery(now, pg, fx);
        }
    }
}

impl Backfill {
    /// What a target lacks, has in another version, or should not have.
    fn note_differences(&mut self, target: OsdId, mine: &Listing, theirs: &Listing) {
        let version = |listing: &Listing, object| listing.get(object).map(|meta| meta.version);
        for object in mine.keys().chain(theirs.keys()) {
            if version(mine, object) != version(theirs, object) {
                self.batch.entry(*object).or_default().insert(target);
            }
        }
    }

    /// Nothing is to be done about these objects here.
    fn spare(&mut self, target: OsdId, objects: &[ObjectNo]) {
        for object in objects {
            if let Some(targets) = self.batch.get_mut(object) {
                targets.remove(target);
            }
        }
        self.batch.retain(|_, targets| !targets.is_empty());
    }

    /// Every target's list of the range is here.
    fn compared(&mut self, mine: &Listing) {
        let differing = mine.keys().filter(|object| self.batch.contains_key(object)).count();
        let (equal, surplus) = (mine.len() - differing, self.batch.len() - differing);
        // An object that ops waited for may have come while its range was compared, and counts twice then: this is how much is left to
        // do, for people.
        self.left = (self.left + surplus as u64).saturating_sub(equal as u64);
        self.scan = None;
        if self.batch.is_empty() {
            self.advance();
        }
    }
}
