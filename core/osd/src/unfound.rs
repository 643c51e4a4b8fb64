//! Objects that no copy can give whole, as the primary of their placement group knows them.
//!
//! Some of them are missing somewhere, and cannot be brought there. The others every copy has, and none can read all of: of these the
//! places are known that clients have asked for. The owner of the map is told of both before a client is told that it gets nothing.

use crate::ids::{OsdId, OsdSet};
use crate::message::{BadRange, ClientOp, OpKind};
use crate::snapshots::{Behind, SnapshotNo, Views, image_of};
use loadline_base::{Span, Time};
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// So many places of an object are kept apart at most, and one for each state of it. Whoever asks again and again for the same ones asks for few.
const PLACES_MAX: usize = 64;

/// What nobody could give when it was last looked for. An object stays here until it is found, so that whoever asks sees it also
/// while it is looked for once more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unfound {
    objects: BTreeSet<ObjectNo>,
    /// Those that are to be looked for once more.
    again: BTreeSet<ObjectNo>,
    /// Those that become the newest that is left of them, unless they are found now.
    given_up: BTreeMap<ObjectNo, GivenUp>,
    /// Places that were looked for in all copies in vain, and those that clients were refused.
    places: BTreeMap<ObjectNo, Vec<BadPlace>>,
    /// Pages of objects' states that no copy had when they were looked through last.
    pages: BTreeMap<ObjectNo, Vec<AskedPlace>>,
}

/// Bytes of an object as a client asks for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedPlace {
    /// At which snapshot the object is seen; [`SnapshotNo::HEAD`] as it is now.
    at: SnapshotNo,
    range: Range<u64>,
}

impl AskedPlace {
    fn of(op: &ClientOp) -> AskedPlace {
        let at = match op.kind {
            OpKind::ReadAt(at) | OpKind::Ranges(at) | OpKind::Changed { at, .. } => at,
            _ => SnapshotNo::HEAD,
        };
        let offset = u64::from(op.offset);
        AskedPlace { at, range: offset..offset + u64::from(op.length) }
    }

    /// What an op asks for of this object, which is its own or an ancestor's.
    pub(crate) fn in_object(op: &ClientOp, object: ObjectNo, views: &Views) -> AskedPlace {
        let place = AskedPlace::of(op);
        let lineage = views.of(op.object, place.at).filter(|_| object != op.object);
        let behind = lineage.and_then(|it| it.behind(op.object).find(|it| it.object == object));
        let Some(Behind { snapshot: at, length, .. }) = behind else { return place };
        // What is not visible there is zeros, and nobody looks at what the ancestor has.
        AskedPlace { at, range: place.range.start.min(length)..place.range.end.min(length) }
    }

    /// A range of a state, as who asks for it at the snapshot that the state is kept for.
    pub(crate) fn of_state(range: &BadRange) -> AskedPlace {
        AskedPlace { at: range.label, range: range.offset..range.offset + range.length }
    }

    /// Whether anybody can ask for it.
    pub(crate) fn is_shown(&self, object: ObjectNo, views: &Views) -> bool {
        self.at == SnapshotNo::HEAD || !views.is_removed(image_of(object), self.at)
    }

    /// An object of so many bytes as it is now.
    pub(crate) fn all_of(object_bytes: u64) -> AskedPlace {
        AskedPlace { at: SnapshotNo::HEAD, range: 0..object_bytes }
    }

    fn covers(&self, other: &AskedPlace) -> bool {
        self.at == other.at
            && self.range.start <= other.range.start
            && other.range.end <= self.range.end
    }

    /// What of it is in another place.
    fn within(&self, other: &AskedPlace) -> Option<AskedPlace> {
        let range = self.range.start.max(other.range.start)..self.range.end.min(other.range.end);
        (self.at == other.at && !range.is_empty()).then_some(AskedPlace { at: self.at, range })
    }
}

/// A place of which no copy had all.
#[derive(Clone, Debug)]
struct BadPlace {
    place: AskedPlace,
    /// When it was looked for, or refused, last.
    at: Time,
    /// A client was refused it. Else it was looked for, and as long as that is not long ago it is not looked for again, whoever is refused it meanwhile.
    is_told: bool,
}

/// How far the giving up of an object is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenUp {
    /// Who has not answered the last question.
    waits_for: OsdSet,
    /// The newest state that is left, as far as is known.
    pub left: Option<Version>,
    /// Who has it.
    pub holders: OsdSet,
}

impl Unfound {
    pub(crate) fn iter(&self) -> impl Iterator<Item = ObjectNo> {
        let is_told = |places: &[BadPlace]| places.iter().any(|it| it.is_told);
        let bad = self.places.iter().filter(move |(_, places)| is_told(places));
        let all: BTreeSet<ObjectNo> = bad.map(|(object, _)| *object).collect();
        all.union(&self.objects).copied().collect::<Vec<_>>().into_iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// All copies were asked for a place in vain.
    pub(crate) fn looked(&mut self, now: Time, object: ObjectNo, place: AskedPlace) {
        self.note(object, BadPlace { place, at: now, is_told: false });
    }

    /// Whether all copies were asked for a place in vain, no longer ago than this.
    pub(crate) fn was_looked_for(
        &self,
        now: Time,
        object: ObjectNo,
        place: &AskedPlace,
        ago: Span,
    ) -> bool {
        let places = self.places.get(&object).into_iter().flatten();
        let mut looked = places.filter(|it| !it.is_told && it.place == *place);
        looked.any(|it| now.since(it.at) < ago)
    }

    /// A client is refused a place that every copy has. Whether that is the object's first. What of it is known to be bad counts: when that is written anew, all
    /// of it is good.
    pub(crate) fn refuse(&mut self, now: Time, object: ObjectNo, place: AskedPlace) -> bool {
        let pages = self.pages.get(&object).into_iter().flatten();
        let bad = pages.filter_map(|page| page.within(&place)).collect();
        self.refuse_all(now, object, bad, place)
    }

    /// Pages of an object of so many bytes are lost. Which ones, and of which of its states, is known if it was looked through. Whether that is the first that is known
    /// to be bad of it.
    pub(crate) fn lose(&mut self, now: Time, object: ObjectNo, object_bytes: u64) -> bool {
        let bad = self.pages.get(&object).cloned().unwrap_or_default();
        self.refuse_all(now, object, bad, AskedPlace::all_of(object_bytes))
    }

    /// Places of an object are refused, or another one if there are none.
    fn refuse_all(
        &mut self,
        now: Time,
        object: ObjectNo,
        mut bad: Vec<AskedPlace>,
        or_else: AskedPlace,
    ) -> bool {
        let before = self.len();
        if bad.is_empty() {
            bad.push(or_else);
        }
        for place in bad {
            self.note(object, BadPlace { place, at: now, is_told: true });
        }
        self.len() > before
    }

    /// An object is looked through in all copies.
    pub(crate) fn look_through(&mut self, object: ObjectNo) {
        self.pages.remove(&object);
    }

    /// This page of one of an object's states is in no copy.
    pub(crate) fn note_bad_page(&mut self, object: ObjectNo, page: AskedPlace) {
        let pages = self.pages.entry(object).or_default();
        if !pages.contains(&page) {
            pages.push(page);
        }
    }

    fn note(&mut self, object: ObjectNo, bad: BadPlace) {
        let places = self.places.entry(object).or_default();
        let is_same = |it: &&mut BadPlace| it.place == bad.place && it.is_told == bad.is_told;
        match places.iter_mut().find(is_same) {
            Some(known) => known.at = bad.at,
            None => places.push(bad),
        }
        if places.len() > PLACES_MAX {
            join_oldest(places);
        }
    }

    /// Whether places of an object are known that were looked for in vain.
    pub(crate) fn has_bad_places(&self, object: ObjectNo) -> bool {
        self.places.contains_key(&object)
    }

    /// A client's op of this kind has ended well, at this place of an object. Whether that is the end of the object's bad places.
    pub(crate) fn went_well(&mut self, kind: OpKind, object: ObjectNo, good: &AskedPlace) -> bool {
        // Who asks where data is reads none.
        if matches!(kind, OpKind::Ranges(_) | OpKind::Changed { .. }) {
            return false;
        }
        self.end_places(object, |bad| match kind {
            OpKind::Purge => true,
            OpKind::Remove => bad.at == good.at,
            _ => good.covers(bad),
        })
    }

    /// Images are like this from now on: places at which nobody can ask any more are bad no more. Whether that is the end of any object's.
    pub(crate) fn shown(&mut self, views: &Views) -> bool {
        let objects: Vec<ObjectNo> = self.places.keys().copied().collect();
        let end = |any, object| any | self.end_places(object, |bad| !bad.is_shown(object, views));
        objects.into_iter().fold(false, end)
    }

    /// These places of an object are not bad any more. Whether it has none now that a client was told of, and had one.
    fn end_places(&mut self, object: ObjectNo, ends: impl Fn(&AskedPlace) -> bool) -> bool {
        let Some(places) = self.places.get_mut(&object) else { return false };
        let was_told = places.iter().any(|it| it.is_told);
        places.retain(|it| !ends(&it.place));
        if let Some(pages) = self.pages.get_mut(&object) {
            pages.retain(|page| !ends(page));
        }
        let is_told = places.iter().any(|it| it.is_told);
        if places.is_empty() {
            self.places.remove(&object);
            self.pages.remove(&object);
        }
        was_told && !is_told
    }

    /// Whether there is nothing to be hoped for an object before it is looked for once more.
    pub(crate) fn is_hopeless(&self, object: ObjectNo) -> bool {
        self.objects.contains(&object) && !self.again.contains(&object)
    }

    /// Whether nobody has looked for an object in vain yet.
    pub(crate) fn is_unknown(&self, object: ObjectNo) -> bool {
        !self.objects.contains(&object)
    }

    /// Whether objects wait to be looked for once more, and none that may be started now.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.objects.is_empty() && self.again.is_empty()
    }

    /// Nobody could give an object. Whether that is news.
    pub(crate) fn insert(&mut self, object: ObjectNo) -> bool {
        self.again.remove(&object);
        self.objects.insert(object)
    }

    /// An object is found, or nobody looks for it any more. Whether it was unfound.
    pub(crate) fn remove(&mut self, object: ObjectNo) -> bool {
        self.again.remove(&object);
        self.given_up.remove(&object);
        self.pages.remove(&object);
        let was_refused =
            self.places.remove(&object).is_some_and(|it| it.iter().any(|it| it.is_told));
        self.objects.remove(&object) | was_refused
    }

    /// All of them are to be looked for once more.
    pub(crate) fn look_again(&mut self) {
        self.again = self.objects.clone();
    }

    /// All of them are given up.
    pub(crate) fn give_up(&mut self) {
        let objects = self.objects.iter();
        self.given_up.extend(objects.map(|object| (*object, GivenUp::default())));
    }

    pub(crate) fn is_given_up(&self, object: ObjectNo) -> bool {
        self.given_up.contains_key(&object)
    }

    /// An object is kept as it is after all: there is nothing older that it could become.
    pub(crate) fn keep(&mut self, object: ObjectNo) {
        self.given_up.remove(&object);
    }

    /// Something is asked of these about an object that is given up.
    pub(crate) fn ask(&mut self, object: ObjectNo, of: OsdSet) {
        self.given_up.entry(object).or_default().waits_for = of;
    }

    /// One of those who were asked tells what is left of an object there.
    pub(crate) fn has_left(&mut self, object: ObjectNo, osd: OsdId, left: Option<Version>) {
        let Some(given_up) = self.given_up.get_mut(&object) else { return };
        if given_up.holders.is_empty() || left > given_up.left {
            (given_up.left, given_up.holders) = (left, OsdSet::one(osd));
        } else if left == given_up.left {
            given_up.holders.insert(osd);
        }
    }

    /// One of those who were asked has answered. After the last one the answer is what is known by then.
    pub(crate) fn answered(&mut self, object: ObjectNo, osd: OsdId) -> Option<GivenUp> {
        let given_up = self.given_up.get_mut(&object)?;
        let was_asked = given_up.waits_for.remove(osd);
        (was_asked && given_up.waits_for.is_empty()).then_some(*given_up)
    }
}

/// Of the places that were looked for or refused longest ago, two of one state of the object become one, from the first byte of both to the last. It has what was bad in
/// either, so who asks for all of it gets nothing either, and it is good when all of it is.
fn join_oldest(places: &mut Vec<BadPlace>) {
    places.sort_by_key(|it| it.at);
    let fits = |one: &BadPlace, other: &BadPlace| {
        one.place.at == other.place.at && one.is_told == other.is_told
    };
    // The oldest that has an older one of its kind: else all of one kind would become one before any of the other does.
    let pair = (0..places.len()).find_map(|later| {
        let first = (0..later).find(|it| fits(&places[*it], &places[later]))?;
        Some((first, later))
    });
    let Some((first, later)) = pair else { return };
    let AskedPlace { range, .. } = places.remove(later).place;
    let joined = &mut places[first].place.range;
    *joined = joined.start.min(range.start)..joined.end.max(range.end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PgId;
    use crate::snapshots::{Ancestor, Lineage};

    const OBJECT: ObjectNo = ObjectNo(3);

    fn osd(n: u32) -> OsdId {
        OsdId::new(n)
    }

    #[test]
    fn what_is_looked_for_once_more_is_unfound_until_it_is_found() {
        let mut unfound = Unfound::default();
        unfound.insert(OBJECT);
        assert!(unfound.is_hopeless(OBJECT) && unfound.is_stuck());
        unfound.look_again();
        assert!(!unfound.is_hopeless(OBJECT) && !unfound.is_stuck());
        assert_eq!(unfound.iter().collect::<Vec<_>>(), [OBJECT]);
        unfound.insert(OBJECT);
        assert!(unfound.is_hopeless(OBJECT), "it was looked for in vain");
        unfound.remove(OBJECT);
        assert_eq!(unfound.len(), 0);
    }

    /// Clients read an object in ranges of which no two are the same, over a page that is bad in all copies. (Each was kept, and each read looked through all
    /// of them.)
    #[test]
    fn what_is_known_of_an_object_s_bad_places_is_bounded() {
        let mut unfound = Unfound::default();
        let place = |from: u64| AskedPlace { at: SnapshotNo::HEAD, range: from..8192 };
        for from in 0..1_000 {
            let now = Time::from_nanos(from);
            unfound.looked(now, OBJECT, place(from));
            assert_eq!(unfound.refuse(now, OBJECT, place(from)), from == 0);
        }
        assert!(unfound.places[&OBJECT].len() <= 64, "{}", unfound.places[&OBJECT].len());
        let now = Time::from_nanos(1_000);
        let is_known = |from| unfound.was_looked_for(now, OBJECT, &place(from), Span::from_secs(1));
        assert!((990..1_000).all(is_known), "those that were looked for last");
        let ends = |unfound: &mut Unfound, offset: u64| {
            unfound.went_well(OpKind::Write, OBJECT, &place(offset))
        };
        assert!(!ends(&mut unfound, 1), "its first byte may be bad");
        assert_eq!(unfound.iter().collect::<Vec<_>>(), [OBJECT]);
        assert!(ends(&mut unfound, 0));
        assert_eq!(unfound.len(), 0);
    }

    /// Clients that asked again and again kept an object from being looked for: each refusal counted as if all copies had been asked once more.
    #[test]
    fn who_is_refused_has_not_looked() {
        let mut unfound = Unfound::default();
        let place = AskedPlace::all_of(8192);
        let ago = Span::from_secs(30);
        let at = |second| Time::ZERO + Span::from_secs(second);
        unfound.looked(at(0), OBJECT, place.clone());
        for second in 0..60 {
            let was = unfound.was_looked_for(at(second), OBJECT, &place, ago);
            assert_eq!(was, second < 30, "after {second} s");
            unfound.refuse(at(second), OBJECT, place.clone());
        }
    }

    /// Two pages were bad, and were written one after the other: neither write covered both, and the object was unfound until somebody read all of it.
    #[test]
    fn bad_pages_may_be_written_one_by_one() {
        let mut unfound = Unfound::default();
        let place = |range| AskedPlace { at: SnapshotNo::HEAD, range };
        let [one, other] = [8192..12288, 20480..24576];
        [&one, &other].into_iter().for_each(|it| unfound.note_bad_page(OBJECT, place(it.clone())));
        assert!(unfound.refuse(Time::ZERO, OBJECT, place(0..65536)));
        let asks = unfound.went_well(OpKind::Ranges(SnapshotNo::HEAD), OBJECT, &place(0..65536));
        assert!(!asks, "who asks where data is has read none");
        assert!(!unfound.went_well(OpKind::Write, OBJECT, &place(one)), "the other is bad");
        assert!(unfound.went_well(OpKind::Write, OBJECT, &place(other)));
        assert_eq!(unfound.len(), 0);
    }

    /// Of a range that a client was refused one page was bad, and was written anew: the object was unfound until somebody read all of that range.
    #[test]
    fn an_object_is_found_when_its_bad_pages_are_written_anew() {
        let mut unfound = Unfound::default();
        let place = |range| AskedPlace { at: SnapshotNo::HEAD, range };
        for it in [8192..12288, 16384..20480] {
            unfound.note_bad_page(OBJECT, place(it));
        }
        assert!(unfound.refuse(Time::ZERO, OBJECT, place(0..65536)));
        assert!(!unfound.refuse(Time::ZERO, OBJECT, place(0..16384)), "it is known");
        assert!(!unfound.went_well(OpKind::Write, OBJECT, &place(8192..12288)), "one is left");
        assert!(unfound.went_well(OpKind::Write, OBJECT, &place(8192..20480)));
        assert!(unfound.refuse(Time::ZERO, OBJECT, place(0..65536)));
        assert!(
            !unfound.went_well(OpKind::Write, OBJECT, &place(0..20480)),
            "nothing is known now"
        );
    }

    /// A page of an object as it is now was lost, and one that a snapshot shows: when the first was written anew, the object counted as found until it was tried
    /// again.
    #[test]
    fn what_a_snapshot_shows_is_lost_though_the_rest_is_written_anew() {
        let mut unfound = Unfound::default();
        let place = |at, range| AskedPlace { at: SnapshotNo(at), range };
        let (now, kept) = (place(0, 8192..12288), place(3, 8192..12288));
        [&now, &kept].into_iter().for_each(|it| unfound.note_bad_page(OBJECT, it.clone()));
        assert!(unfound.lose(Time::ZERO, OBJECT, 65536));
        assert!(!unfound.went_well(OpKind::Write, OBJECT, &now), "the snapshot shows the other");
        assert!(unfound.went_well(OpKind::ReadAt(SnapshotNo(3)), OBJECT, &kept));
        assert_eq!(unfound.len(), 0);
    }

    /// A client was refused a page of a parent's snapshot, and a clone that sees less of the parent was read over that place: what it read there were zeros, and the
    /// page counted as found.
    #[test]
    fn a_clone_s_read_is_good_as_far_as_its_parent_is_seen() {
        let (parent, clone) = (ObjectNo(7 << 32), ObjectNo(8 << 32));
        let seen = Ancestor { image: 7, snapshot: SnapshotNo(2), overlap: 8192 };
        let (newest, ancestors) = (SnapshotNo::HEAD, vec![seen]);
        let mut views = Views::default();
        views.insert(8, newest, Lineage { newest, object_bytes: 65536, ancestors });
        let op = |kind, object, offset, length| ClientOp {
            offset,
            length,
            ..ClientOp::of_nobody(PgId::new(0), object, kind)
        };
        let place = |op: &ClientOp| AskedPlace::in_object(op, parent, &views);
        let mut unfound = Unfound::default();
        let refused = place(&op(OpKind::ReadAt(SnapshotNo(2)), parent, 4096, 8192));
        assert!(unfound.refuse(Time::ZERO, parent, refused));
        let read =
            |op: ClientOp, unfound: &mut Unfound| unfound.went_well(op.kind, parent, &place(&op));
        assert!(!read(op(OpKind::Read, clone, 0, 65536), &mut unfound));
        assert_eq!(place(&op(OpKind::Read, clone, 12288, 4096)).range, 8192..8192);
        assert!(read(op(OpKind::ReadAt(SnapshotNo(2)), parent, 0, 65536), &mut unfound));
    }

    #[test]
    fn the_newest_that_is_left_counts_and_all_who_have_it() {
        let mut unfound = Unfound::default();
        unfound.insert(OBJECT);
        unfound.give_up();
        unfound.ask(OBJECT, [0, 1, 2, 3].map(osd).into_iter().collect());
        let told = [(0, None), (1, Some(4)), (2, Some(4)), (3, Some(3))];
        let mut last = None;
        for (from, left) in told {
            assert_eq!(last, None, "all are waited for");
            unfound.has_left(OBJECT, osd(from), left.map(Version));
            last = unfound.answered(OBJECT, osd(from));
        }
        let last = last.expect("all have answered");
        assert_eq!(
            (last.left, last.holders),
            (Some(Version(4)), [1, 2].map(osd).into_iter().collect())
        );
        assert_eq!(unfound.answered(OBJECT, osd(3)), None, "nothing is asked any more");
    }
}
