//! Objects of which no copy can be read whole, though each byte can be read somewhere.
//!
//! When nobody gives an object, the copies that have it and cannot read all of it are mended, one after the other. The copy reads
//! each state of the object piece by piece; where a page cannot be read, it tells its primary, which asks the others for these
//! bytes in this version, and the copy writes them where they were. Nothing else of it changes: neither its version nor what its log says. The first
//! copy that is whole gives the object to all others, as any holder does. Where none comes to be whole, each has at least what any
//! of them could read, so that only what none can read is an error. What is kept for removed snapshots alone nobody can ask for any more: where nobody has a page
//! of that it becomes zeros, so that the rest of the object does not wait for it. Which were removed the primary says: what a copy keeps it keeps by the primary's
//! word, and may hear of a snapshot later than of a write that keeps something for it.
//!
//! A copy that is behind has the object as it was before the writes that it has missed, and one that is being filled may have had it for
//! long. The log tells which bytes were changed since: what was left alone is the same in its state, and it may lend that. Without it two copies could lose a page because a third had it, which
//! then missed a write of another page and counted for nothing, with the only copy of what was acknowledged. The same holds of a copy
//! that carried out writes which the group went on without: it keeps which write was the last that it shares, and which bytes those after it have changed.
//!
//! Between a range and the next nothing is remembered here beside the message or access that is under way; what the primary must know
//! is in [`Mending`], and goes with the interval. Writes wait as for any object that is being recovered. One that was under way
//! already may have reached one copy and not the other; both look again then.

use crate::access::{AccessFailure, AccessKind, ObjectRange, Update};
use crate::commit::{Commit, MendAccess, RecoverySender};
use crate::damage::{Astray, CopyDamage};
use crate::disk::object_id;
use crate::event::Effects;
use crate::ids::{OsdId, OsdSet, PgId};
use crate::message::{BadRange, Data, MendStep, Message, RangeHeld};
use crate::osd::Osd;
use crate::pg::{Mending, Primary};
use crate::snapshots::SnapshotNo;
use crate::unfound::AskedPlace;
use loadline_base::Time;
use loadline_store::paged::{Edit, Payload};
use loadline_store::{ObjectMeta, ObjectNo, Version};

/// What is read at a time as long as nothing is wrong (bytes); in a piece that cannot be read, page by page.
const PIECE: u64 = 64 << 10;
/// How often two copies look again because a range has different versions: a write that is under way reaches all within a few
/// turns of their queues. Copies that stay different are a scrub's affair.
const OTHERWISE_MAX: u32 = 1000;

impl Osd {
    /// Whether what no copy can give whole may be put together from several. Where this OSD counts as having the object it is asked because it could not
    /// read all of it.
    pub(crate) fn can_mend(&self, pg: PgId, object: ObjectNo) -> bool {
        let has_two = |primary: &Primary| {
            let mut lenders = primary.lenders(object);
            if !primary.misses(self.id, object) {
                lenders.insert(self.id);
            }
            !lenders.is_empty() && lenders.with(primary.may_have_some(object)).len() > 1
        };
        self.is_durable() && self.primary(pg).is_some_and(has_two)
    }

    /// Nobody gives an object that is on its way: the next copy is mended that has not had its turn. False if there is none.
    pub(crate) fn mend_next(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        fx: &mut Effects,
    ) -> bool {
        if !self.can_mend(pg, object) {
            return false;
        }
        let this = self.id;
        let primary = self.primary_mut(pg).expect("it leads");
        let lenders = primary.lenders(object);
        let recovering = primary.recovering.get_mut(&object).expect("it is on its way");
        if recovering.mending.is_none() {
            primary.unfound.look_through(object);
        }
        let mut begun = recovering.mending.map_or(OsdSet::EMPTY, |mending| mending.begun);
        // The primary's own comes first: if it is whole, nothing is pulled.
        let next = OsdSet::one(this).iter().chain(lenders.iter());
        let mut next = next.filter(|osd| lenders.contains(*osd) && !begun.contains(*osd));
        let Some(copy) = next.next() else { return false };
        begun.insert(copy);
        let asked = OsdSet::one(copy);
        recovering.mending = Some(Mending { copy, begun, asked, otherwise: 0 });
        self.send_mend(now, copy, pg, (object, MendStep::Begin, Data::NONE), fx);
        true
    }

    /// Tells another copy a step, or carries it out here.
    fn send_mend(
        &mut self,
        now: Time,
        to: OsdId,
        pg: PgId,
        (object, step, data): (ObjectNo, MendStep, Data),
        fx: &mut Effects,
    ) {
        if to != self.id {
            return self.send_with(to, pg, Message::Mend(object, step), data, fx);
        }
        let interval = self.pg(pg).map_or(0, |here| here.interval);
        let own = RecoverySender { osd: to, interval, urgency: self.urgency(pg) };
        self.mend_step(now, own, pg, (object, step, data), fx);
    }

    /// A step has come, from the primary or to it.
    pub(crate) fn mend_step(
        &mut self,
        now: Time,
        from: RecoverySender,
        pg: PgId,
        (object, step, data): (ObjectNo, MendStep, Data),
        fx: &mut Effects,
    ) {
        match step {
            MendStep::Begin => {
                self.damage_of(pg).look(object);
                self.look_on(now, from, (pg, object), (SnapshotNo::HEAD, 0), fx);
            }
            MendStep::Bad(range) => {
                if let Some(mending) = self.mending(pg, object, from.osd) {
                    mending.asked = OsdSet::one(from.osd);
                    self.ask_for_range(now, pg, (object, range), fx);
                }
            }
            MendStep::Wanted(range) => self.lend(now, from, (pg, object), range, fx),
            MendStep::Held(range, held) => {
                self.range_held(now, pg, object, (range, held, data), fx)
            }
            MendStep::Given(range, RangeHeld::Found) => {
                self.fill(now, from, (pg, object), (range, data), fx);
            }
            MendStep::Given(range, RangeHeld::Removed(older))
                if self.shows_it_not(pg, object, range.label, older) =>
            {
                let zeros = Data::new(vec![0; range.length as usize]);
                self.fill(now, from, (pg, object), (range, zeros), fx);
            }
            MendStep::Given(range, held) => {
                // What nobody has stays as it is; what is otherwise elsewhere is looked at again.
                let is_nowhere = matches!(held, RangeHeld::Bad | RangeHeld::Removed(_));
                let skipped = if is_nowhere { range.length } else { 0 };
                if skipped > 0 {
                    self.damage_of(pg).skip(object);
                }
                self.look_on(now, from, (pg, object), (range.label, range.offset + skipped), fx);
            }
            MendStep::End(is_whole) => self.mended(now, pg, (object, from.osd), is_whole, fx),
        }
    }

    /// The mending that is under way of this OSD's copy.
    fn mending(&mut self, pg: PgId, object: ObjectNo, copy: OsdId) -> Option<&mut Mending> {
        let recovering = self.primary_mut(pg)?.recovering.get_mut(&object)?;
        recovering.mending.as_mut().filter(|mending| mending.copy == copy)
    }

    /// Who can be asked for a range is asked, one after the other; if nobody has it, the copy goes without it.
    fn ask_for_range(
        &mut self,
        now: Time,
        pg: PgId,
        (object, range): (ObjectNo, BadRange),
        fx: &mut Effects,
    ) {
        let removed = self.older_than_removed(object, range.label);
        let Some(primary) = self.primary_mut(pg) else { return };
        let (lenders, behind) = (primary.lenders(object), primary.may_have_some(object));
        let recovering = primary.recovering.get_mut(&object);
        let Some(mending) = recovering.and_then(|it| it.mending.as_mut()) else { return };
        let mut all = lenders.iter().chain(behind.iter());
        let next = all.find(|osd| !mending.asked.contains(*osd));
        let (to, step) = match next {
            Some(osd) => {
                mending.asked.insert(osd);
                (osd, MendStep::Wanted(range))
            }
            None => {
                let held = removed.map_or(RangeHeld::Bad, RangeHeld::Removed);
                if held == RangeHeld::Bad {
                    primary.unfound.note_bad_page(object, AskedPlace::of_state(&range));
                }
                (mending.copy, MendStep::Given(range, held))
            }
        };
        self.send_mend(now, to, pg, (object, step, Data::NONE), fx);
    }

    /// Who was asked for a range has answered.
    fn range_held(
        &mut self,
        now: Time,
        pg: PgId,
        object: ObjectNo,
        (range, held, data): (BadRange, RangeHeld, Data),
        fx: &mut Effects,
    ) {
        let held = match held {
            RangeHeld::Former(version) if self.is_as_it_was(pg, object, &range, version) => {
                RangeHeld::Found
            }
            RangeHeld::Former(_) => RangeHeld::Bad,
            held => held,
        };
        let Some(primary) = self.primary_mut(pg) else { return };
        let recovering = primary.recovering.get_mut(&object);
        let Some(mending) = recovering.and_then(|it| it.mending.as_mut()) else { return };
        mending.otherwise += u32::from(held == RangeHeld::Otherwise);
        if held == RangeHeld::Bad || mending.otherwise > OTHERWISE_MAX {
            return self.ask_for_range(now, pg, (object, range), fx);
        }
        let copy = mending.copy;
        self.send_mend(now, copy, pg, (object, MendStep::Given(range, held), data), fx);
    }

    /// Whether nothing has changed a range since this version of the object. If it is the same version, no log need reach back to it.
    fn is_as_it_was(&self, pg: PgId, object: ObjectNo, range: &BadRange, since: Version) -> bool {
        if since == range.version {
            return true;
        }
        let bytes = range.offset..range.offset + range.length;
        self.pg(pg).is_some_and(|here| here.log.keeps((object, &bytes), since, range.version))
    }

    /// A copy was read to its end. The first that is whole is what the object is.
    fn mended(
        &mut self,
        now: Time,
        pg: PgId,
        (object, copy): (ObjectNo, OsdId),
        is_whole: bool,
        fx: &mut Effects,
    ) {
        let this = self.id;
        if self.mending(pg, object, copy).is_none() {
            return;
        }
        if !is_whole {
            return self.nobody_gives(now, pg, object, fx);
        }
        self.counters.damage.repaired += 1;
        if copy == this {
            self.pg_mut(pg).expect("it leads").unreadable.remove(&object);
            return self.object_pushed(now, this, pg, object, fx);
        }
        self.primary_mut(pg).expect("it leads").arrived(copy, object);
        self.pull(now, pg, object, fx);
    }
}

/// The copy that is mended, and those that lend.
impl Osd {
    fn damage_of(&mut self, pg: PgId) -> &mut CopyDamage {
        &mut self.pg_mut(pg).expect("its interval was looked up").disk.damage
    }

    /// What is known of a state that may be lent, or mended.
    fn state_meta(&mut self, pg: PgId, object: ObjectNo, label: SnapshotNo) -> Option<ObjectMeta> {
        let here = self.pg(pg).filter(|here| !here.lacks.contains(&object))?;
        match label {
            SnapshotNo::HEAD => self.store.objects(pg).meta(object),
            label => here.kept.get(object)?.labelled(label).map(|state| state.meta),
        }
    }

    /// The state of an object that the one with this range has come from, where this copy does not count as having it, and the version
    /// with which this range of it was written or left alone.
    fn former_state(
        &mut self,
        pg: PgId,
        object: ObjectNo,
        range: &BadRange,
    ) -> Option<(SnapshotNo, Version)> {
        let here = self.pg(pg).filter(|here| here.filling || here.lacks.contains(&object))?;
        let diverged = match here.disk.damage.astray(object) {
            None => None,
            Some(Astray::Patchy) => return None,
            Some(Astray::Diverged(divergence)) => Some(divergence),
        };
        let past = here.kept.get(object);
        if past.is_some_and(|past| past.arriving.is_some()) {
            return None;
        }
        let states = past.into_iter().flat_map(|past| &past.states);
        let mut all: Vec<(SnapshotNo, Version)> =
            states.map(|state| (state.label, state.meta.version)).collect();
        let present = self.store.objects(pg).meta(object).map(|meta| meta.version);
        let bytes = range.offset..range.offset + range.length;
        let present = match diverged.filter(|it| present == Some(it.version)) {
            Some(diverged) => (!diverged.changed.meet(&bytes)).then_some(diverged.since),
            None => present,
        };
        all.extend(present.map(|version| (SnapshotNo::HEAD, version)));
        all.retain(|(_, version)| *version != Version::default() && *version <= range.version);
        all.into_iter().max_by_key(|(_, version)| *version)
    }

    /// Reads on from this byte of a state, to see what cannot be read.
    fn look_on(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        (label, offset): (SnapshotNo, u64),
        fx: &mut Effects,
    ) {
        if self.pg(pg).is_none_or(|here| here.interval != primary.interval) {
            return;
        }
        if let Some(meta) = self.state_meta(pg, object, label).filter(|it| offset < it.length) {
            let length = if offset.is_multiple_of(PIECE) { PIECE } else { self.page_bytes() };
            let length = length.min(meta.length - offset);
            let range = BadRange { label, offset, length, version: meta.version };
            return self.read_range(now, primary, (pg, object), range, MendAccess::Look);
        }
        let history = self.pg(pg).and_then(|here| here.kept.get(object));
        let next = history.and_then(|history| history.after(label)).map(|state| state.label);
        match next {
            Some(label) => self.look_on(now, primary, (pg, object), (label, 0), fx),
            None => self.end_mending(now, primary, (pg, object), true, fx),
        }
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.space().map_or(PIECE, |space| space.page_bytes.min(PIECE))
    }

    fn read_range(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        range: BadRange,
        access: MendAccess,
    ) {
        let BadRange { offset, length, .. } = range;
        let place = ObjectRange { pg, object, offset, length };
        let label = match access {
            MendAccess::LendFormer(label, _) => label,
            _ => range.label,
        };
        let update = Update::none(AccessKind::ReadInOrder(label));
        self.access(now, primary.urgency, &place, update, Commit::Mend(primary, access, range));
    }

    /// Another copy cannot read a range.
    fn lend(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        range: BadRange,
        fx: &mut Effects,
    ) {
        let is_filled = self.pg(pg).is_some_and(|here| here.filling);
        let meta = self.state_meta(pg, object, range.label).filter(|_| !is_filled);
        let held = match meta {
            Some(meta) if meta.version == range.version => {
                return self.read_range(now, primary, (pg, object), range, MendAccess::Lend);
            }
            Some(_) => RangeHeld::Otherwise,
            None => match self.former_state(pg, object, &range) {
                Some((label, version)) => {
                    let access = MendAccess::LendFormer(label, version);
                    return self.read_range(now, primary, (pg, object), range, access);
                }
                None => RangeHeld::Bad,
            },
        };
        let step = MendStep::Held(range, held);
        self.send_mend(now, primary.osd, pg, (object, step, Data::NONE), fx);
    }

    /// Writes what another copy has lent, unless the state has changed meanwhile.
    fn fill(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        (range, data): (BadRange, Data),
        fx: &mut Effects,
    ) {
        let BadRange { label, offset, length, version } = range;
        let meta = self.state_meta(pg, object, label);
        if data.len() as u64 != length || meta.is_none_or(|meta| meta.version != version) {
            return self.look_on(now, primary, (pg, object), (label, offset), fx);
        }
        let id = object_id(pg, object, label);
        let data = Payload::Bytes(data.into_vec());
        let edits = vec![Edit::Write { object: id, offset, data, version }];
        let place = ObjectRange { pg, object, offset, length };
        let update = Update { edits, ..Update::none(AccessKind::Nothing) };
        let commit = Commit::Mend(primary, MendAccess::Fill, range);
        self.access(now, primary.urgency, &place, update, commit);
    }

    /// A range was read here or written, or could not be.
    pub(crate) fn mend_access_ended(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        (access, range): (MendAccess, BadRange),
        result: Result<Data, AccessFailure>,
        fx: &mut Effects,
    ) {
        if self.pg(pg).is_none_or(|here| here.interval != primary.interval) {
            return;
        }
        let BadRange { label, offset, length, version } = range;
        let next = (label, offset + length);
        match (access, result) {
            (MendAccess::Look | MendAccess::Fill, Ok(_)) => {
                self.look_on(now, primary, (pg, object), next, fx);
            }
            (MendAccess::Look, Err(_)) if length > self.page_bytes() => {
                let length = self.page_bytes();
                let range = BadRange { length, ..range };
                self.read_range(now, primary, (pg, object), range, MendAccess::Look);
            }
            (MendAccess::Look, Err(_)) => {
                let step = MendStep::Bad(range);
                self.send_mend(now, primary.osd, pg, (object, step, Data::NONE), fx);
            }
            (MendAccess::Fill, Err(_)) => {
                self.end_mending(now, primary, (pg, object), false, fx);
            }
            (MendAccess::LendFormer(label, former), result) => {
                let is_still = self.former_state(pg, object, &range) == Some((label, former));
                let data = result.ok().filter(|data| is_still && data.len() as u64 == length);
                let held = data.as_ref().map_or(RangeHeld::Bad, |_| RangeHeld::Former(former));
                let step = MendStep::Held(range, held);
                let data = data.unwrap_or_default();
                self.send_mend(now, primary.osd, pg, (object, step, data), fx);
            }
            (MendAccess::Lend, result) => {
                let meta = self.state_meta(pg, object, label);
                let held = match &result {
                    Ok(data) if data.len() as u64 != length => RangeHeld::Otherwise,
                    Ok(_) if meta.is_none_or(|it| it.version != version) => RangeHeld::Otherwise,
                    Ok(_) => RangeHeld::Found,
                    Err(_) => RangeHeld::Bad,
                };
                let data = result.ok().filter(|_| held == RangeHeld::Found).unwrap_or_default();
                let step = MendStep::Held(range, held);
                self.send_mend(now, primary.osd, pg, (object, step, data), fx);
            }
        }
    }

    fn end_mending(
        &mut self,
        now: Time,
        primary: RecoverySender,
        (pg, object): (PgId, ObjectNo),
        could: bool,
        fx: &mut Effects,
    ) {
        let could = could && self.pg(pg).is_some_and(|here| !here.lacks.contains(&object));
        let is_whole = could && self.damage_of(pg).is_whole(object);
        if is_whole {
            let here = self.pg_mut(pg).expect("its interval was looked up");
            if let Some(edit) = here.save_whole(pg, object) {
                let place = ObjectRange { pg, object, offset: 0, length: 0 };
                self.keep_all(now, &place, vec![edit], Commit::Nothing);
            }
        }
        self.send_mend(now, primary.osd, pg, (object, MendStep::End(is_whole), Data::NONE), fx);
    }
}

impl Primary {
    /// The copies that have an object and could not read all of it.
    pub(crate) fn lenders(&self, object: ObjectNo) -> OsdSet {
        let bad = self.bad.unreadable.get(&object).copied().unwrap_or_default();
        bad.all.iter().filter(|osd| !bad.wrong.contains(*osd)).collect()
    }
}
