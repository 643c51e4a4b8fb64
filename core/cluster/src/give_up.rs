//! OSDs that an operator gives up: their disks are gone for good, and without them nobody can know which map is the last, or nobody
//! has a whole copy of some placement group. The node goes on with what is left, and says what may be lost by that.
//!
//! Every OSD of the map is then either here with a good disk, or given up: nobody may come back later with what was given up for
//! it. A disk that does is no part of this cluster's history any more. Its map is of an earlier term than any from here on
//! ([`choose_what_is_left`](crate::quorum::choose_what_is_left)), and the map says that its OSD was promised what no disk has
//! ([`Term::GIVEN_UP`]); only an empty disk, which the others fill, takes the OSD's place.
//!
//! Peering goes on by its own rules. All that changes before it is what they start from: who is gone took part in nothing, and where no whole
//! copy of the last served interval is left, the interval of the newest copy that is left counts as the last.

use crate::cluster::{Cluster, OwnerEffects};
use crate::codec::MapRecord;
use crate::loss::Loss;
use crate::peering::Copies;
use crate::quorum::Term;
use crate::start::StartError;
use loadline_osd::{CopyReport, CopyState, Directive, DiskFault, IntervalId, OsdId, OsdSet, PgId};
use std::collections::BTreeMap;

/// Whether every OSD of the map is either `present` or given up, and none both.
///
/// # Errors
/// [`StartError`] names who is not.
pub(crate) fn check(
    record: &MapRecord,
    present: OsdSet,
    given_up: OsdSet,
) -> Result<(), StartError> {
    let is_known = |osd: OsdId| record.osds.get(&osd).is_some_and(|record| !record.lost);
    if let Some(stranger) = given_up.iter().find(|osd| !is_known(*osd)) {
        return Err(StartError::NoSuchOsd(stranger));
    }
    if let Some(good) = given_up.iter().find(|osd| present.contains(*osd)) {
        return Err(StartError::NotLost(good));
    }
    let rest = not_here(record, present).iter().filter(|osd| !given_up.contains(*osd)).collect();
    if rest == OsdSet::EMPTY { Ok(()) } else { Err(StartError::NotGivenUp(rest)) }
}

/// The OSDs of a map that are not here and were not given up before.
pub(crate) fn not_here(record: &MapRecord, present: OsdSet) -> OsdSet {
    let osds = record.osds.iter().filter(|(osd, _)| !present.contains(**osd));
    osds.filter(|(_, of)| !of.lost && of.promised != Term::GIVEN_UP).map(|(osd, _)| *osd).collect()
}

/// What is left of a placement group.
enum GroupRemains {
    /// What it had, as far as anybody can know.
    All(OsdId),
    Older(OsdId),
    Unfinished(OsdId),
    Nothing,
}

impl Cluster {
    /// The map was restored: what it tells of OSDs that are given up is forgotten, and the placement groups go on from the
    /// copies of those that are left. `loss` says who and from which map; `term` is this owner's.
    pub(crate) fn give_up(&mut self, mut loss: Loss, term: Term, fx: &mut OwnerEffects) {
        let left: OsdSet = self.up_osds();
        let durable = self.durable();
        durable.disks.promised.extend(loss.given_up.iter().map(|osd| (osd, Term::GIVEN_UP)));
        // The lost disks may have shown clients numbers that this map has not given yet, and the others keep objects under them.
        durable.images.skip_numbers();
        durable.kept_images.begin(durable.images.clone());
        let mut copies = self.copies_found(left);
        if let Some(last) = copies.keys().max() {
            self.map.give_numbers_to(PgId::new(last.get() + 1));
        }
        // A later map than this one may have begun the intervals of copies that are here; their numbers are not given again.
        let begun = copies.values().flatten().map(|(_, copy)| copy.state().active_in.epoch);
        self.map.skip_epochs_to(begun.max().unwrap_or_default());
        let now = IntervalId { term: term.0, epoch: self.map.next_epoch() };
        for pg in self.map.pgs().map(|(pg, _)| pg).collect::<Vec<_>>() {
            let mut of_pg = copies.remove(&pg).unwrap_or_default();
            self.give_up_in(pg, left, &mut of_pg, (now, &mut loss), fx);
        }
        self.durable().loss = Some(loss);
        self.tell_given_up();
    }

    /// What the disks of these OSDs said of each placement group when they were opened.
    fn copies_found(&self, left: OsdSet) -> BTreeMap<PgId, BTreeMap<OsdId, CopyReport>> {
        let found = &self.durable.as_ref().expect("the OSDs have disks").disks.found;
        let mut copies: BTreeMap<PgId, BTreeMap<OsdId, CopyReport>> = BTreeMap::new();
        for osd in left.iter() {
            let opened = found.get(&osd).and_then(|found| found.as_ref().ok());
            for (pg, copy) in opened.into_iter().flat_map(|opened| &opened.copies) {
                copies.entry(*pg).or_default().insert(osd, copy.clone());
            }
        }
        copies
    }

    fn give_up_in(
        &mut self,
        pg: PgId,
        present: OsdSet,
        copies: &mut BTreeMap<OsdId, CopyReport>,
        (now, loss): (IntervalId, &mut Loss),
        fx: &mut OwnerEffects,
    ) {
        if self.map.pg(pg).served.interval == IntervalId::NEVER {
            return;
        }
        let left = self.left_of(pg, copies);
        let (active_in, member) = match left {
            GroupRemains::All(osd) => (self.map.pg(pg).served.interval, Some(osd)),
            GroupRemains::Older(osd) => {
                loss.older.push(pg);
                (copies[&osd].state().active_in, Some(osd))
            }
            GroupRemains::Unfinished(osd) => {
                loss.unfinished.push(pg);
                copies.get_mut(&osd).expect("it was found").lack_nothing();
                fx.direct(osd, Directive::TakeAsWhole(pg, now));
                (now, Some(osd))
            }
            GroupRemains::Nothing => {
                loss.empty.push(pg);
                (IntervalId::NEVER, None)
            }
        };
        let of = |osd: OsdId| copies.get(&osd).map(CopyReport::state);
        let states = present.iter().map(|osd| (osd, of(osd))).collect();
        let nowhere = member.map(|osd| (osd, Copies { states }.nobody_has(osd)));
        if let Some((osd, nowhere)) = nowhere.filter(|(_, nowhere)| !nowhere.is_empty()) {
            loss.unfinished.push(pg);
            fx.direct(osd, Directive::TakeAsHere(pg, nowhere));
        }
        let state = self.map.pg_mut(pg);
        state.interval = state.interval.max(active_in.epoch);
        state.served.interval = active_in;
        state.served.by = state.served.by.iter().filter(|osd| present.contains(*osd)).collect();
        state.acting.retain(|osd| present.contains(*osd));
        state.backfill.retain(|osd| present.contains(*osd));
        if state.acting.is_empty() {
            state.acting.extend(member);
        }
        self.change_members(pg);
    }

    fn left_of(&self, pg: PgId, copies: &BTreeMap<OsdId, CopyReport>) -> GroupRemains {
        let copies = copies.iter().map(|(osd, copy)| (*osd, copy.state()));
        let age = |(_, copy): &(OsdId, CopyState<'_>)| {
            let is_whole = !copy.filling && !copy.gaps;
            (is_whole, !copy.filling, copy.active_in, copy.is_complete(), copy.log.head())
        };
        let Some((osd, best)) = copies.max_by_key(age) else { return GroupRemains::Nothing };
        match !best.filling && !best.gaps {
            true if best.active_in >= self.map.pg(pg).served.interval => GroupRemains::All(osd),
            true => GroupRemains::Older(osd),
            false => GroupRemains::Unfinished(osd),
        }
    }

    /// What may be lost with disks that were given up in this life of the node, if some were.
    pub fn loss(&self) -> Option<&Loss> {
        self.durable.as_ref()?.loss.as_ref()
    }

    /// The same in words, a sentence each.
    pub fn loss_in_words(&self) -> Vec<String> {
        let Some(loss) = self.loss() else { return Vec::new() };
        let Loss { given_up, epoch, is_last, older, unfinished, empty } = loss;
        let mut said = Vec::new();
        let names = in_words(*given_up);
        if !is_last {
            said.push(format!(
                "{names} may have had a later map than epoch {epoch}: writes that were acknowledged after it may be missing in every PG, and what was changed of images, pools and settings"
            ));
        }
        let mut say = |pgs: &[PgId], what: &str| {
            if !pgs.is_empty() {
                let pgs: Vec<String> = pgs.iter().map(|pg| self.pg_name(*pg)).collect();
                said.push(format!("PGs {}: {what}", pgs.join(", ")));
            }
        };
        say(
            older,
            "the last whole copy was given up, and an older one is served: writes since then are missing",
        );
        say(
            unfinished,
            "a copy that was being filled or caught up is served: objects that had not arrived read as before, or as zeros",
        );
        say(empty, "no copy is left, and they begin empty");
        if said.is_empty() {
            said.push(format!("{names} had no acknowledged write that the others lack"));
        }
        said
    }

    /// Whether an OSD's disk was given up, and no other one has taken its place.
    pub fn is_given_up(&self, osd: OsdId) -> bool {
        let durable = self.durable.as_ref();
        durable.is_some_and(|durable| durable.disks.promised.get(&osd) == Some(&Term::GIVEN_UP))
    }

    /// The faults of the OSDs that the map says were given up, here or not.
    pub(crate) fn tell_given_up(&mut self) {
        let all = self.osds.ids().filter(|osd| self.is_given_up(*osd)).collect::<Vec<_>>();
        self.durable()
            .disks
            .faults
            .extend(all.into_iter().map(|osd| (osd, DiskFault::GivenUp(osd))));
    }
}

/// `osd.0, osd.2`
pub(crate) fn in_words(osds: OsdSet) -> String {
    osds.iter().map(|osd| osd.to_string()).collect::<Vec<_>>().join(", ")
}
