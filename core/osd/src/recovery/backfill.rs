//! Backfill: primary and targets compare their objects range by range; what differs is pushed (qos.md 9.5).

use crate::event::Effect;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{Message, ScanRange, ScanReply};
use crate::osd::Osd;
use loadline_base::Time;
use loadline_store::{ObjectMeta, ObjectNo};
use std::collections::BTreeMap;

impl Osd {
    /// The next object to push, or `None` while a range is being compared or when all is done. Asks the targets for
    /// the next range when the one in hand is used up.
    pub(crate) fn next_backfill(
        &mut self,
        pg: PgId,
        fx: &mut Vec<Effect>,
    ) -> Option<(ObjectNo, OsdSet)> {
        let scan_max = self.options.backfill_scan_max;
        let backfill = self.primary_mut(pg)?.backfill.as_mut()?;
        if backfill.scan.is_some() || backfill.at_end {
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
        let listed = self.store.objects(pg.collection()).list_after(after, scan_max);
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
        from: OsdId,
        pg: PgId,
        range: ScanRange,
        fx: &mut Vec<Effect>,
    ) {
        let objects = self.store.objects(pg.collection()).list_range(range.after, range.last);
        let reply = Box::new(ScanReply { range, objects });
        self.send(from, pg, Message::ScanReply(reply), fx);
    }

    /// A target's list arrived: what it lacks, or has in an older version, is to be pushed, and what it should not
    /// have is to be removed.
    pub(crate) fn scanned(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        reply: &ScanReply,
        fx: &mut Vec<Effect>,
    ) {
        let ScanRange { after, last } = reply.range;
        let mine = self.store.objects(pg.collection()).list_range(after, last);
        let theirs: BTreeMap<ObjectNo, ObjectMeta> = reply.objects.iter().copied().collect();
        let Some(backfill) = self.primary_mut(pg).and_then(|p| p.backfill.as_mut()) else { return };
        let Some(waiting) = backfill.scan.as_mut() else { return };
        if !waiting.remove(from) {
            return;
        }
        let compared = waiting.is_empty();
        for (object, meta) in &mine {
            if theirs.get(object).is_none_or(|their| their.version < meta.version) {
                backfill.batch.entry(*object).or_default().insert(from);
            }
        }
        if compared {
            backfill.scan = None;
            let equal = mine.len() - backfill.batch.len();
            backfill.left = backfill.left.saturating_sub(equal as u64);
            if backfill.batch.is_empty() {
                backfill.advance();
            }
        }
        let known: BTreeMap<ObjectNo, ObjectMeta> = mine.into_iter().collect();
        for object in theirs.keys().filter(|object| !known.contains_key(object)) {
            self.send(from, pg, Message::BackfillRemove(*object), fx);
        }
        if compared {
            self.continue_recovery(now, pg, fx);
        }
    }

    /// A worker of a target removes an object that should not exist.
    pub(crate) fn execute_backfill_remove(&mut self, now: Time, pg: PgId, object: ObjectNo) {
        self.store.objects(pg.collection()).remove(object);
        self.write_deletion(now, pg, object);
    }
}

impl crate::pg::Backfill {
    /// Whether `object` was one of those that the backfill pushed.
    pub(crate) fn covers_started(&self, object: ObjectNo) -> bool {
        self.covers(object)
    }
}
