//! What a copy does for a scrub: it gives a slot, looks at a range, and tells what it has there (scrub.md 2.6).

use super::SlotAsker;
use super::found::ScrubError;
use super::kind::{ScrubItem, ScrubKind, ScrubStep};
use super::map::{ScanAsked, ScrubMessage, ScrubRange};
use super::options::{ScrubReading, ScrubSlots};
use super::record::ScrubRecord;
use super::recorded::RecordedDigest;
use super::scan::{RangeScan, StateId};
use crate::access::{AccessFailure, AccessKind, ObjectRange, Update};
use crate::commit::{Commit, ScrubRead};
use crate::directive::Notice;
use crate::disk::{object_id, pages_of_disk, pages_of_group, transactions};
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::item::Item;
use crate::message::Message;
use crate::osd::Osd;
use crate::recovery::ReserverChange;
use crate::shard::KeptWorker;
use crate::snapshots::{ObjectHistory, SnapshotNo};
use loadline_base::{Time, mix64};
use loadline_qos::Urgency;
use loadline_store::paged::{Answer, Edit, OwnPages, REREAD_PAGES, Reread};
use loadline_store::{ObjectMeta, ObjectNo, Version};

/// States that are asked of the disk beyond those that are expected.
const LISTED_MORE: usize = 8;

impl Osd {
    /// Another OSD tells something about the scrub of a group.
    pub(crate) fn scrub_message(
        &mut self,
        now: Time,
        from: OsdId,
        pg: PgId,
        message: ScrubMessage,
        fx: &mut Effects,
    ) {
        match message {
            ScrubMessage::Reserve(number) => {
                self.scrub_slot_asked(now, SlotAsker { pg, osd: from, number }, fx);
            }
            ScrubMessage::Granted(number) => self.scrub_slot_granted(now, from, (pg, number), fx),
            ScrubMessage::Waits(number) => self.scrub_slot_awaited(now, from, (pg, number), fx),
            ScrubMessage::Called(number) => self.scrub_slot_called(now, from, (pg, number), fx),
            ScrubMessage::Refused(number) => self.scrub_slot_refused(now, from, (pg, number), fx),
            ScrubMessage::Released => self.free_scrub_slot(now, pg, fx),
            ScrubMessage::Scan(asked) => {
                self.begin_scan(now, pg, from, asked, fx);
                self.queue_scan(now, pg, ScrubStep::List, fx);
            }
            ScrubMessage::Map(map) => self.scrub_map_came(now, from, pg, *map, fx),
            ScrubMessage::Record(digests) => self.record_digests(now, pg, digests),
            ScrubMessage::Known(record) => self.scrubs_told(now, pg, *record, fx),
            ScrubMessage::Recall => self.tell_scrub_record(OsdSet::one(from), pg, fx),
        }
    }

    /// Tells another OSD something about the scrub of a group, or this one.
    pub(super) fn tell_scrub(
        &mut self,
        now: Time,
        to: OsdId,
        pg: PgId,
        message: ScrubMessage,
        fx: &mut Effects,
    ) {
        match to == self.id {
            true => self.scrub_message(now, to, pg, message, fx),
            false => self.send(to, pg, Message::Scrub(message), fx),
        }
    }

    /// Another member tells what it knows of a group's scrubs. Who leads knows better, unless no scrub that has ended is known to it: then it takes
    /// that, beside what it was asked for since it leads.
    fn scrubs_told(&mut self, now: Time, pg: PgId, told: ScrubRecord, fx: &mut Effects) {
        let leads = self.primary(pg).is_some();
        let own = self.scrub.records.get(&pg).filter(|_| leads);
        if own.is_some_and(|own| own.last.is_some()) {
            return;
        }
        let asked = own.and_then(|own| own.under_way.clone());
        let under_way = asked.or(told.under_way);
        self.scrub.records.insert(pg, ScrubRecord { under_way, ..told });
        self.tell_found_bad(pg, fx);
        self.keep_scrub_record(now, pg);
        self.begin_scrubs(now, fx);
    }

    /// A range is to be looked at, in place of one that was broken off.
    pub(super) fn begin_scan(
        &mut self,
        now: Time,
        pg: PgId,
        asker: OsdId,
        asked: ScanAsked,
        fx: &mut Effects,
    ) {
        self.drop_scan(now, pg, fx);
        self.scrub.scans.insert(pg, RangeScan::new(asker, asked));
    }

    /// A range is looked at no more.
    pub(super) fn drop_scan(&mut self, now: Time, pg: PgId, fx: &mut Effects) -> Option<RangeScan> {
        let mut scan = self.scrub.scans.remove(&pg)?;
        if let Some(kept) = scan.keeps.take() {
            self.let_worker_go(now, kept, fx);
        }
        Some(scan)
    }

    fn queue_scan(&mut self, now: Time, pg: PgId, step: ScrubStep, fx: &mut Effects) {
        let reading = self.scrub_reading();
        let Some(scan) = self.scrub.scans.get_mut(&pg) else { return };
        let ScanAsked { range, kind, is_requested, may_be_preempted: may_wait } = scan.asked;
        let plain =
            ScrubItem { is_requested, may_wait, ..ScrubItem::plain(pg, range.number, step) };
        let item = match step {
            // Who lists is charged for as many objects as there may be, not as there are.
            ScrubStep::List => {
                let average = self.store.objects(pg).average_bytes();
                let object_bytes = if kind == ScrubKind::Deep { average } else { 0 };
                let states = self.options.scrub.chunk(kind).most;
                ScrubItem { states, object_bytes, ..plain }
            }
            _ => {
                let bytes = scan.take_step_bytes(reading.step_bytes());
                ScrubItem { bytes: bytes.min(u64::from(u32::MAX)) as u32, ..plain }
            }
        };
        self.enqueue(now, Item::Scrub(item), fx);
    }

    /// Lists the objects of a range, as the OSD knows them and as its disk does.
    pub(super) fn list_for_scrub(&mut self, now: Time, pg: PgId, number: u32) {
        let Some(range) = self.scrub.scan(pg, number).map(|scan| scan.asked.range) else { return };
        let (states, pasts) = self.states_in(pg, range.after, range.last);
        let most = states.len() + LISTED_MORE;
        let scan = self.scrub.scans.get_mut(&pg).expect("it is looked at");
        scan.list(states, pasts);
        if scan.asked.kind == ScrubKind::Deep && self.is_durable() {
            let own_pages = self.own_pages_of(pg, range);
            self.scrub.scans.get_mut(&pg).expect("it is looked at").add_own_pages(own_pages);
        }
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        self.list_on_disk(now, (pg, range.after), most, ScrubRead::List { interval, number });
    }

    /// Has the store list objects of a group from behind one on.
    pub(super) fn list_on_disk(
        &mut self,
        now: Time,
        (pg, after): (PgId, Option<ObjectNo>),
        most: usize,
        read: ScrubRead,
    ) {
        let object = after.map_or(ObjectNo(0), |after| ObjectNo(after.0.saturating_add(1)));
        let place = ObjectRange { pg, object, offset: 0, length: 0 };
        let update = Update::none(AccessKind::List(most));
        self.access(now, Urgency::default(), &place, update, Commit::Scrubbed(read));
    }

    /// Pages of the store's own making that a deep scrub of this range reads: what leads to its objects, behind the last of them what is known
    /// of the group, and in the first group of the disk everything else.
    fn own_pages_of(&self, pg: PgId, range: ScrubRange) -> Vec<OwnPages> {
        let first = range.after.map_or(ObjectNo(0), |after| ObjectNo(after.0.saturating_add(1)));
        let last = range.last.unwrap_or(ObjectNo(u64::MAX));
        let mut all = vec![OwnPages::Objects(pg.collection(), first..=last)];
        if range.last.is_none() {
            all.extend(pages_of_group(pg));
            let mut taking_part = self.groups.iter().filter(|(_, here)| here.interval > 0);
            if taking_part.next().is_some_and(|(first, _)| first == pg) {
                all.extend(pages_of_disk());
            }
        }
        all
    }

    /// Reads on of the store's own pages; behind them the objects are next.
    fn reread_own_pages(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        let Some(scan) = self.scrub.scans.get_mut(&pg) else { return };
        let number = scan.asked.range.number;
        let Some(pages) = scan.next_own_pages() else {
            return self.queue_scan(now, pg, ScrubStep::Scan, fx);
        };
        let length = (REREAD_PAGES * self.store.page_bytes()) as u64;
        let place = ObjectRange { length, ..ObjectRange::of_group(pg) };
        let token = Commit::Scrubbed(ScrubRead::Own { interval, number });
        let update = Update::none(AccessKind::Reread(pages));
        self.access(now, Urgency::default(), &place, update, token);
    }

    /// What was found of the store's own pages. What is lost of them, the owner of the map has to know.
    fn count_reread(&mut self, found: &Reread, fx: &mut Effects) {
        let damage = &mut self.counters.damage;
        damage.found += found.rewritten + found.lost.len() as u64;
        damage.repaired += found.rewritten;
        fx.owner.extend(found.lost.first().map(|page| Notice::Rotten(*page)));
    }

    /// Every state of every object in a range, and the objects' pasts.
    #[expect(clippy::type_complexity, reason = "two lists")]
    fn states_in(
        &mut self,
        pg: PgId,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> (Vec<(StateId, ObjectMeta)>, Vec<(ObjectNo, u64)>) {
        let present = self.store.objects(pg).list_range(after, last);
        let mut states: Vec<(StateId, ObjectMeta)> =
            present.iter().map(|(object, meta)| ((*object, SnapshotNo::HEAD), *meta)).collect();
        let mut pasts = Vec::new();
        if let Some(here) = self.pg(pg) {
            for (object, history) in here.kept.range(after, last) {
                let former =
                    |state: &crate::snapshots::FormerState| ((object, state.label), state.meta);
                states.extend(history.states.iter().map(former));
                pasts.push((object, digest_of_past(history)));
            }
        }
        (states, pasts)
    }

    /// A step of a scan has its turn.
    pub(super) fn begin_scan_step(
        &mut self,
        now: Time,
        (pg, number): (PgId, u32),
        keeps: Option<KeptWorker>,
        fx: &mut Effects,
    ) {
        match self.scrub.scan(pg, number) {
            Some(scan) => scan.begin_step(keeps),
            None => return keeps.into_iter().for_each(|kept| self.let_worker_go(now, kept, fx)),
        }
        self.scan_on(now, pg, number, fx);
    }

    fn scrub_reading(&mut self) -> ScrubReading {
        let part = self.gate().paced_part();
        self.options.scrub.reading.in_parts(part)
    }

    /// Reads on, as far as the present step may.
    fn scan_on(&mut self, now: Time, pg: PgId, number: u32, fx: &mut Effects) {
        let reading = self.scrub_reading();
        // The store of bytes reads an object in pieces by itself.
        let part = match reading {
            ScrubReading::Strides(bytes) if !self.is_durable() => bytes,
            _ => u64::MAX,
        };
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        loop {
            let Some(scan) = self.scrub.scan(pg, number) else { return };
            if scan.is_over() {
                return self.scan_ended(now, pg, fx);
            }
            if scan.reading() >= reading.at_once() {
                return;
            }
            if scan.is_step_over(reading) {
                if scan.reading() == 0 {
                    if let Some(kept) = scan.keeps.take() {
                        self.let_worker_go(now, kept, fx);
                    }
                    self.queue_scan(now, pg, ScrubStep::Scan, fx);
                }
                return;
            }
            let Some(((object, label), range)) = scan.next(part) else { return };
            let length = range.end - range.start;
            let place = ObjectRange { pg, object, offset: range.start, length };
            let token = Commit::Scrubbed(ScrubRead::State { interval, number, label });
            let update = Update::none(AccessKind::Digest(label));
            self.access(now, Urgency::default(), &place, update, token);
        }
    }

    /// The store has listed, or read, what a scrub looks at.
    pub(crate) fn scrub_read(
        &mut self,
        now: Time,
        (pg, object): (PgId, ObjectNo),
        read: ScrubRead,
        result: Result<Option<Answer>, AccessFailure>,
        fx: &mut Effects,
    ) {
        let (ScrubRead::Choose { interval, number }
        | ScrubRead::List { interval, number }
        | ScrubRead::Own { interval, number }
        | ScrubRead::State { interval, number, .. }) = read;
        if let Ok(Some(Answer::Reread(found))) = &result {
            self.count_reread(found, fx);
        }
        if self.pg(pg).is_none_or(|here| here.interval != interval) {
            return;
        }
        match read {
            ScrubRead::Choose { .. } => self.chunk_listed(now, pg, number, fx),
            ScrubRead::List { .. } => {
                let Some(scan) = self.scrub.scan(pg, number) else { return };
                let range = scan.asked.range;
                match result {
                    Ok(Some(Answer::Objects(found))) => {
                        let states = found
                            .iter()
                            .map(|(id, meta)| ((id.object, SnapshotNo(id.snapshot as u32)), *meta));
                        let states: Vec<(StateId, ObjectMeta)> =
                            states.filter(|((object, _), _)| range.contains(*object)).collect();
                        scan.compare_with_disk(&states);
                    }
                    // A store without bytes.
                    Ok(None) => {}
                    _ => scan.disk_unreadable(),
                }
                self.reread_own_pages(now, pg, fx);
            }
            ScrubRead::Own { .. } => {
                let Some(scan) = self.scrub.scan(pg, number) else { return };
                if let Ok(Some(Answer::Reread(found))) = result {
                    scan.own_pages_read(found.pages * self.store.page_bytes() as u64);
                }
                self.reread_own_pages(now, pg, fx);
            }
            ScrubRead::State { label, .. } => {
                let Some(scan) = self.scrub.scan(pg, number) else { return };
                let digest = match result {
                    Ok(Some(Answer::Digest(Some(digest)))) => Ok(Some(digest)),
                    Ok(None) => Ok(None),
                    _ => Err(ScrubError::Read),
                };
                scan.read((object, label), digest);
                self.scan_on(now, pg, number, fx);
            }
        }
    }

    fn scan_ended(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        let scan = self.drop_scan(now, pg, fx).expect("it has ended");
        let asker = scan.asker;
        let map = scan.into_map();
        self.counters.scrub.read_bytes += map.read_bytes;
        self.counters.scrub.objects += map.states.len() as u64;
        self.tell_scrub(now, asker, pg, ScrubMessage::Map(Box::new(map)), fx);
    }

    /// Writes down what a comparison has shown. What was written or has gone since is left out: a note would be void, or make an object where
    /// none is.
    pub(super) fn record_digests(&mut self, now: Time, pg: PgId, mut digests: Vec<RecordedDigest>) {
        if !self.is_durable() {
            return;
        }
        digests.retain(|it| self.version_here(pg, it.state) == Some(it.version));
        if digests.is_empty() {
            return;
        }
        self.counters.scrub.recorded += digests.len() as u64;
        let edit = |digest: &RecordedDigest| {
            let ((object, label), (name, value)) = (digest.state, digest.note());
            Edit::SetAttribute { object: object_id(pg, object, label), name, value }
        };
        let edits = digests.iter().map(edit).collect();
        for edits in transactions(edits, self.store.transaction_bytes()) {
            let update = Update { edits, ..Update::none(AccessKind::Nothing) };
            let place = ObjectRange::of_group(pg);
            self.access(now, Urgency::default(), &place, update, Commit::DigestsKept);
        }
    }

    fn version_here(&mut self, pg: PgId, (object, label): StateId) -> Option<Version> {
        if label == SnapshotNo::HEAD {
            return Some(self.store.objects(pg).meta(object)?.version);
        }
        Some(self.pg(pg)?.kept.get(object)?.labelled(label)?.meta.version)
    }

    /// A primary's write has come to a range that is being looked at: the primary has broken it off.
    pub(crate) fn scrub_meets_copy(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) {
        if self.scrub.scans.get(&pg).is_some_and(|scan| scan.asked.range.contains(object)) {
            self.drop_scan(now, pg, fx);
        }
    }

    /// What a disk has told of a group's scrubs.
    pub(crate) fn take_scrub_record(&mut self, pg: PgId, record: ScrubRecord) {
        self.scrub.records.insert(pg, record);
    }

    /// A copy is gone.
    pub(crate) fn forget_scrubs(&mut self, pg: PgId) {
        self.scrub.records.remove(&pg);
    }

    /// What is known of a group's scrubs.
    pub fn scrub_record(&self, pg: PgId) -> Option<&ScrubRecord> {
        self.scrub.records.get(&pg)
    }

    /// The same of every group here.
    pub(super) fn scrub_records(&self) -> impl Iterator<Item = (PgId, &ScrubRecord)> {
        self.scrub.records.iter().map(|(pg, record)| (*pg, record))
    }

    /// Whether a group that this OSD leads is scrubbed, or is to be as soon as it has its slots.
    pub(crate) fn is_scrubbed(&self, pg: PgId) -> bool {
        self.scrub.runs.contains_key(&pg)
    }

    /// The scrub of a group that this OSD leads, if one has slots on all members.
    pub fn scrubs(&self, pg: PgId) -> Option<ScrubKind> {
        let run = self.scrub.runs.get(&pg)?;
        (!run.is_reserving()).then_some(run.request().kind)
    }
}

/// Slots: so many placement groups are scrubbed on an OSD at a time, whoever leads them (scrub.md 2.4).
impl Osd {
    /// A primary asks for a slot here.
    pub(super) fn scrub_slot_asked(&mut self, now: Time, asker: SlotAsker, fx: &mut Effects) {
        let SlotAsker { pg, osd, number } = asker;
        let was_called = self.scrub.called.remove(&pg);
        let is_free = self.scrub.slots.free() > 0;
        match self.options.scrub.slots {
            ScrubSlots::InLine if !is_free => {
                // Somebody came first who had not waited: whoever was called is still the next.
                let place = if was_called { 0 } else { self.scrub.line.len() };
                self.scrub.line.insert(place, asker);
                return self.tell_scrub(now, osd, pg, ScrubMessage::Waits(number), fx);
            }
            ScrubSlots::OrRefused(_) if !is_free && osd != self.id => {
                return self.send(osd, pg, Message::Scrub(ScrubMessage::Refused(number)), fx);
            }
            _ => {}
        }
        let mut changes = Vec::new();
        self.scrub.askers.insert(pg, asker);
        self.scrub.slots.ask(pg, 0, &mut changes);
        self.scrub_slots_changed(now, &changes, fx);
    }

    /// A slot here is needed no longer, or its group's interval has ended.
    pub(crate) fn free_scrub_slot(&mut self, now: Time, pg: PgId, fx: &mut Effects) {
        self.drop_scan(now, pg, fx);
        self.scrub.line.retain(|asker| asker.pg != pg);
        let was_called = self.scrub.called.remove(&pg);
        let mut changes = Vec::new();
        if self.scrub.askers.remove(&pg).is_some() {
            self.scrub.slots.release(pg, &mut changes);
            self.scrub_slots_changed(now, &changes, fx);
        } else if was_called {
            self.call_scrub_line(now, fx);
        }
    }

    fn scrub_slots_changed(&mut self, now: Time, changes: &[ReserverChange], fx: &mut Effects) {
        for change in changes {
            let ReserverChange::Granted(pg) = *change else {
                unreachable!("all claims are equal, so none takes another's slot")
            };
            let Some(SlotAsker { osd, number, .. }) = self.scrub.askers.get(&pg).copied() else {
                continue;
            };
            self.tell_scrub(now, osd, pg, ScrubMessage::Granted(number), fx);
        }
        self.call_scrub_line(now, fx);
    }

    /// Calls one of the line for each slot that is free. It is kept for nobody: whether whoever is called can begin is not known before it has asked
    /// the other members.
    fn call_scrub_line(&mut self, now: Time, fx: &mut Effects) {
        while self.scrub.slots.free() > self.scrub.called.len()
            && let Some(asker) = self.scrub.line.pop_front()
        {
            let SlotAsker { pg, osd, number } = asker;
            self.scrub.called.insert(pg);
            self.tell_scrub(now, osd, pg, ScrubMessage::Called(number), fx);
        }
    }

    /// How many placement groups may be scrubbed here at once (`osd_max_scrubs`).
    pub fn scrub_slots(&self) -> usize {
        self.options.scrub.scrubs_max
    }

    /// Another number of slots (`osd_max_scrubs`).
    pub(crate) fn resize_scrub_slots(&mut self, now: Time, fx: &mut Effects) {
        let mut changes = Vec::new();
        self.scrub.slots.resize(self.options.scrub.scrubs_max, 0, &mut changes);
        self.scrub_slots_changed(now, &changes, fx);
    }
}

/// Two pasts with different digests are not alike.
fn digest_of_past(history: &ObjectHistory) -> u64 {
    let removed = history.removed.unwrap_or_default().0;
    let begin = mix64(removed ^ mix64(u64::from(history.born.0)));
    history.states.iter().fold(begin, |digest, state| {
        mix64(digest ^ u64::from(state.label.0) << 32 ^ u64::from(state.born.0))
    })
}
