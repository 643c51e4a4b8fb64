//! The comparison of a range's copies: which one counts, and what is wrong with the others.
//!
//! Of the copies of a state with which nothing is wrong by itself, those in the newest version may count. Among these it is one whose bytes
//! most of them have, and of several such the primary's, or else the one of the lowest number. The field's rule is the same but for
//! the majority: it takes the primary's there.
//!
//! Where an earlier deep scrub has recorded what the bytes were in that version, only a copy that is so may count, however many are alike
//! otherwise. If none is, all of them have changed without a write.

use super::found::{InconsistentState, ScrubError, ScrubErrors};
use super::map::{ScannedState, ScrubMap};
use super::recorded::RecordedDigest;
use crate::ids::OsdId;
use crate::snapshots::SnapshotNo;
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

/// The maps of all copies of a range.
pub(crate) type ScrubMaps = BTreeMap<OsdId, ScrubMap>;

/// What is not alike in a range, in order.
pub(crate) fn compare(primary: OsdId, maps: &ScrubMaps) -> Vec<InconsistentState> {
    if are_alike(maps) {
        return Vec::new();
    }
    let states = maps.values().flat_map(|map| map.states.keys().copied());
    // An object without a present state is still an object: its past is told under the present one.
    let bare = maps.values().flat_map(|map| map.pasts.keys().map(|it| (*it, SnapshotNo::HEAD)));
    let all: BTreeSet<(ObjectNo, SnapshotNo)> = states.chain(bare).collect();
    all.into_iter().filter_map(|state| compare_state(primary, maps, state)).collect()
}

/// Whether all copies are alike in everything and nothing is wrong with any: the rule, which is told without a look at single states.
fn are_alike(maps: &ScrubMaps) -> bool {
    let Some((_, first)) = maps.first_key_value() else { return true };
    let is_good = first.states.values().all(|state| state.errors.is_empty());
    let is_as_recorded = |it: &ScannedState| it.recorded.is_none() || it.recorded == it.digest;
    is_good
        && first.states.values().all(is_as_recorded)
        && maps.values().all(|map| map.states == first.states && map.pasts == first.pasts)
}

fn compare_state(
    primary: OsdId,
    maps: &ScrubMaps,
    state: (ObjectNo, SnapshotNo),
) -> Option<InconsistentState> {
    let (object, label) = state;
    let past = |osd: OsdId| maps[&osd].pasts.get(&object).copied();
    let of = |osd: OsdId| maps[&osd].states.get(&state);
    let good = |osd: &OsdId| of(*osd).is_some_and(|it| it.errors.is_empty());
    let good: Vec<OsdId> = maps.keys().copied().filter(good).collect();
    let is_nowhere = maps.keys().all(|osd| of(*osd).is_none());
    let newest = good.iter().filter_map(|osd| Some(of(*osd)?.meta.version)).max();
    let newest: Vec<OsdId> =
        good.into_iter().filter(|osd| of(*osd).map(|it| it.meta.version) == newest).collect();
    let recorded = |osd: OsdId| of(osd).and_then(|it| it.recorded);
    let with_record = newest.iter().copied().filter(|osd| recorded(*osd).is_some());
    let record = most_alike(primary, with_record, recorded).and_then(recorded);
    let is_changed = |osd: OsdId| {
        let digest = of(osd).and_then(|it| it.digest);
        newest.contains(&osd) && record.is_some() && digest.is_some() && digest != record
    };
    let as_recorded = record.map(|record| {
        let is_so = |osd: &&OsdId| of(**osd).is_some_and(|it| it.digest == Some(record));
        newest.iter().filter(is_so).copied().collect()
    });
    let authority = match is_nowhere {
        true => most_alike(primary, maps.keys().copied(), past),
        false => {
            let may_count = newest.iter().copied().filter(|osd| !is_changed(*osd));
            most_alike(primary, may_count, |osd| (of(osd).and_then(|it| it.digest), past(osd)))
        }
    };
    let wrong = |osd: OsdId| {
        let mut errors = match (of(osd), authority.and_then(of)) {
            (None, _) if is_nowhere => ScrubErrors::NONE,
            (None, _) => return ScrubErrors::one(ScrubError::Missing),
            (Some(own), None) => own.errors,
            (Some(own), Some(right)) => differences(own, right),
        };
        if is_changed(osd) {
            errors.add(ScrubError::RecordedDigest);
        }
        if label == SnapshotNo::HEAD && authority.is_some_and(|right| past(osd) != past(right)) {
            errors.add(ScrubError::Snapset);
        }
        errors
    };
    let bad = maps.keys().map(|osd| (*osd, wrong(*osd)));
    let bad: Vec<(OsdId, ScrubErrors)> = bad.filter(|(_, errors)| !errors.is_empty()).collect();
    (!bad.is_empty()).then_some(InconsistentState { object, label, authority, as_recorded, bad })
}

/// The digests that each copy is to record: those of states that it has read and has no record of, or another one.
pub(crate) type DigestsToRecord = BTreeMap<OsdId, Vec<RecordedDigest>>;

/// What is to be recorded of a range in which this was found.
pub(crate) fn to_record(maps: &ScrubMaps, found: &[InconsistentState]) -> DigestsToRecord {
    let bad: BTreeSet<ObjectNo> = found.iter().map(|state| state.object).collect();
    let of_map = |map: &ScrubMap| {
        let good = map.states.iter().filter(|((object, _), _)| !bad.contains(object));
        let new = good.filter_map(|(state, it)| {
            let digest = it.digest.filter(|_| it.recorded != it.digest)?;
            Some(RecordedDigest { state: *state, version: it.meta.version, digest })
        });
        new.collect::<Vec<_>>()
    };
    let all = maps.iter().map(|(osd, map)| (*osd, of_map(map)));
    all.filter(|(_, digests)| !digests.is_empty()).collect()
}

/// Of these copies one that most of them are like, by what `of` tells of each.
fn most_alike<T: PartialEq>(
    primary: OsdId,
    copies: impl Iterator<Item = OsdId>,
    of: impl Fn(OsdId) -> T,
) -> Option<OsdId> {
    let copies: Vec<OsdId> = copies.collect();
    let alike = |osd: &OsdId| copies.iter().filter(|other| of(**other) == of(*osd)).count();
    copies.iter().copied().max_by_key(|osd| (alike(osd), *osd == primary, std::cmp::Reverse(*osd)))
}

fn differences(own: &ScannedState, right: &ScannedState) -> ScrubErrors {
    let mut errors = own.errors;
    if own.meta.version != right.meta.version {
        errors.add(ScrubError::ObjectInfo);
    }
    if own.meta.length != right.meta.length {
        errors.add(ScrubError::Size);
    }
    if own.digest.is_some() && right.digest.is_some() && own.digest != right.digest {
        errors.add(ScrubError::DataDigest);
    }
    errors
}

/// The copies of an object that are bad in one of its states, and whether one is good in all of them: it is what the others are
/// replaced with.
pub(crate) fn bad_copies(
    members: &BTreeSet<OsdId>,
    states: &[InconsistentState],
) -> (BTreeSet<OsdId>, bool) {
    let bad: BTreeSet<OsdId> =
        states.iter().flat_map(|state| state.bad.iter().map(|(osd, _)| *osd)).collect();
    let has_good = members.iter().any(|osd| !bad.contains(osd));
    (bad, has_good)
}

/// Whether nothing else is wrong with any copy than that not all of its bytes can be read.
pub(crate) fn are_unreadable_alone(states: &[InconsistentState]) -> bool {
    let all = states.iter().flat_map(|state| state.bad.iter().map(|(_, errors)| *errors));
    all.into_iter().all(|errors| errors == ScrubErrors::one(ScrubError::Read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_store::{ObjectMeta, Version};

    const OBJECT: ObjectNo = ObjectNo(7);

    fn state(version: u64, length: u64, digest: u32) -> Option<ScannedState> {
        let meta = ObjectMeta { version: Version(version), length };
        Some(ScannedState { meta, digest: Some(digest), ..ScannedState::default() })
    }

    fn unreadable() -> Option<ScannedState> {
        let errors = ScrubErrors::one(ScrubError::Read);
        Some(ScannedState { digest: None, errors, ..state(5, 9, 0).expect("a state") })
    }

    /// The copy that counts, and what is wrong with which of the others.
    type Found = (Option<u32>, Vec<(u32, Vec<&'static str>)>);

    /// What is found of one object of which osd.0, osd.1 and osd.2 have this, osd.1 being the primary.
    fn found(copies: [Option<ScannedState>; 3]) -> Option<Found> {
        let map = |own: Option<ScannedState>| {
            let states = own.map(|own| ((OBJECT, SnapshotNo::HEAD), own)).into_iter().collect();
            ScrubMap { states, ..ScrubMap::default() }
        };
        let maps = copies.into_iter().zip(0..).map(|(own, osd)| (OsdId::new(osd), map(own)));
        let found = compare(OsdId::new(1), &maps.collect());
        let names = |errors: ScrubErrors| errors.iter().map(ScrubError::name).collect();
        found.into_iter().next().map(|state| {
            let bad = state.bad.iter().map(|(osd, errors)| (osd.get(), names(*errors))).collect();
            (state.authority.map(OsdId::get), bad)
        })
    }

    #[test]
    fn copies_that_are_alike_are_not_named() {
        assert_eq!(found([state(5, 9, 1); 3]), None);
    }

    #[test]
    fn the_newest_good_copy_counts_and_then_the_majority_and_then_the_primary() {
        let is = |copies, authority, bad: &[(u32, &[&'static str])]| {
            let bad = bad.iter().map(|(osd, names)| (*osd, names.to_vec())).collect();
            assert_eq!(found(copies), Some((authority, bad)));
        };
        is([state(5, 9, 1), unreadable(), state(5, 9, 1)], Some(0), &[(1, &["read_error"])]);
        is([state(5, 9, 1), None, state(5, 9, 1)], Some(0), &[(1, &["missing"])]);
        is(
            [state(5, 9, 1), state(5, 9, 2), state(5, 9, 1)],
            Some(0),
            &[(1, &["data_digest_mismatch"])],
        );
        is(
            [state(5, 9, 1), state(5, 9, 2), unreadable()],
            Some(1),
            &[(0, &["data_digest_mismatch"]), (2, &["read_error"])],
        );
        is(
            [state(4, 9, 1), state(4, 9, 1), state(5, 8, 2)],
            Some(2),
            &[
                (0, &["size_mismatch", "object_info_inconsistency", "data_digest_mismatch"]),
                (1, &["size_mismatch", "object_info_inconsistency", "data_digest_mismatch"]),
            ],
        );
        is(
            [unreadable(); 3],
            None,
            &[(0, &["read_error"]), (1, &["read_error"]), (2, &["read_error"])],
        );
        is(
            [None, unreadable(), None],
            None,
            &[(0, &["missing"]), (1, &["read_error"]), (2, &["missing"])],
        );
    }

    /// The same of a state whose copy has recorded this digest.
    fn recorded(digest: u32, recorded: u32) -> Option<ScannedState> {
        let state = state(5, 9, digest).expect("a state");
        Some(ScannedState { recorded: Some(recorded), ..state })
    }

    #[test]
    fn only_a_copy_that_is_as_recorded_counts() {
        let is = |copies, authority, bad: &[(u32, &[&'static str])]| {
            let bad = bad.iter().map(|(osd, names)| (*osd, names.to_vec())).collect();
            assert_eq!(found(copies), Some((authority, bad)));
        };
        assert_eq!(found([recorded(1, 1); 3]), None);
        assert_eq!(found([recorded(1, 1), state(5, 9, 1), state(5, 9, 1)]), None);
        const CHANGED: &str = "data_digest_mismatch_info";
        const OTHER: &str = "data_digest_mismatch";
        // Two are bad in the same way, and the third is right. Whoever has the record says it for all.
        for record in 0..3 {
            let mut copies = [state(5, 9, 2), state(5, 9, 2), state(5, 9, 1)];
            copies[record].as_mut().expect("a state").recorded = Some(1);
            is(copies, Some(2), &[(0, &[OTHER, CHANGED]), (1, &[OTHER, CHANGED])]);
        }
        // All have changed in the same way, or one cannot be read.
        let all: &[(u32, &[&'static str])] = &[(0, &[CHANGED]), (1, &[CHANGED]), (2, &[CHANGED])];
        is([recorded(2, 1); 3], None, all);
        is([recorded(2, 1), state(5, 9, 2), state(5, 9, 2)], None, all);
        is(
            [recorded(2, 1), unreadable(), state(5, 9, 3)],
            None,
            &[(0, &[CHANGED]), (1, &["read_error"]), (2, &[CHANGED])],
        );
        // What is recorded of an older version says nothing of a newer one.
        let older = Some(ScannedState { recorded: Some(3), ..state(4, 9, 3).expect("a state") });
        let bad: &[&'static str] = &["object_info_inconsistency", OTHER];
        is([older, state(5, 9, 1), state(5, 9, 1)], Some(1), &[(0, bad)]);
        // A shallow scrub has read neither.
        let unread = Some(ScannedState { digest: None, ..state(5, 9, 1).expect("a state") });
        assert_eq!(found([unread; 3]), None);
    }

    #[test]
    fn what_was_read_and_is_alike_is_recorded_where_it_is_not() {
        let maps = |copies: [Option<ScannedState>; 2]| -> ScrubMaps {
            let map = |own: Option<ScannedState>| {
                let states = own.map(|own| ((OBJECT, SnapshotNo::HEAD), own)).into_iter().collect();
                ScrubMap { states, ..ScrubMap::default() }
            };
            let maps = copies.into_iter().zip(0..);
            maps.map(|(own, osd)| (OsdId::new(osd), map(own))).collect()
        };
        let who = |copies| {
            let maps = maps(copies);
            let found = compare(OsdId::new(0), &maps);
            let to_record = to_record(&maps, &found);
            let digests = to_record.values().flatten().map(|it| (it.version.0, it.digest));
            assert!(digests.into_iter().all(|it| it == (5, 1)));
            to_record.into_keys().map(OsdId::get).collect::<Vec<_>>()
        };
        assert_eq!(who([state(5, 9, 1); 2]), [0, 1]);
        assert_eq!(who([state(5, 9, 1), recorded(1, 1)]), [0]);
        assert_eq!(who([recorded(1, 1); 2]), [0; 0]);
        assert_eq!(who([state(5, 9, 1), state(5, 9, 2)]), [0; 0]);
        assert_eq!(who([state(5, 9, 1), unreadable()]), [0; 0]);
        let unread = Some(ScannedState { digest: None, ..state(5, 9, 1).expect("a state") });
        assert_eq!(who([unread; 2]), [0; 0]);
    }

    #[test]
    fn an_object_with_another_past_is_inconsistent() {
        let map = |past: Option<u64>| ScrubMap {
            pasts: past.map(|past| (OBJECT, past)).into_iter().collect(),
            ..ScrubMap::default()
        };
        let maps = [Some(3), None, Some(3)].into_iter().zip(0..);
        let maps = maps.map(|(past, osd)| (OsdId::new(osd), map(past))).collect();
        let found = compare(OsdId::new(1), &maps);
        let bad = vec![(OsdId::new(1), ScrubErrors::one(ScrubError::Snapset))];
        assert_eq!((found[0].authority, &found[0].bad), (Some(OsdId::new(0)), &bad));
    }
}
