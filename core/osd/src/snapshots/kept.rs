//! What a copy of a placement group keeps of its objects' past. Objects without a past are not named here.

use super::mapper::SnapMapper;
use super::view::SnapshotNo;
use loadline_store::paged::bounds::VALUE_LEAST;
use loadline_store::{ObjectMeta, ObjectNo, Version};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// An object has so many former states at most, and an image so many snapshots: its past then fits one value of any store. It is 12
/// bytes, and 8 for each state.
pub const STATES_MAX: usize = (VALUE_LEAST - 12) / 8;

/// A former state of an object: it shows what the object was for every live snapshot after the label before it, up to its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerState {
    /// The label, under which the store has it.
    pub label: SnapshotNo,
    /// No snapshot up to this one shows it.
    pub born: SnapshotNo,
    /// Version and length.
    pub meta: ObjectMeta,
}

/// An object's past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectHistory {
    /// No snapshot up to this one shows the object as it is now.
    pub born: SnapshotNo,
    /// If the object does not exist now: the version of its last change.
    pub removed: Option<Version>,
    /// Its former states by label.
    pub states: Vec<FormerState>,
    /// It is being pushed here, in this interval, and is not whole yet.
    pub arriving: Option<u32>,
}

impl ObjectHistory {
    /// The state that a snapshot shows, if it is not the present one.
    pub(crate) fn state_at(&self, snapshot: SnapshotNo) -> Option<&FormerState> {
        self.states.iter().find(|state| state.label >= snapshot)
    }

    /// The state with this label.
    pub(crate) fn labelled(&self, label: SnapshotNo) -> Option<&FormerState> {
        self.states.iter().find(|state| state.label == label)
    }

    /// Whether the state with this label shows the object at an older snapshot, too.
    pub(crate) fn shows(&self, label: SnapshotNo, snapshot: SnapshotNo) -> bool {
        let born = self.labelled(label).map_or(SnapshotNo::HEAD, |state| state.born);
        let before = self.before(Some(label)).unwrap_or(SnapshotNo::HEAD);
        snapshot > before && snapshot > born
    }

    /// The labels of all of them.
    fn labels(&self) -> impl Iterator<Item = SnapshotNo> {
        self.states.iter().map(|state| state.label)
    }

    /// The newest label.
    pub(crate) fn newest(&self) -> SnapshotNo {
        self.states.last().map_or(SnapshotNo::HEAD, |state| state.label)
    }

    /// The first state after a label.
    pub(crate) fn after(&self, label: SnapshotNo) -> Option<&FormerState> {
        self.states.iter().find(|state| state.label > label)
    }

    /// The label of the last state before the one with this label, or before the present one.
    pub(crate) fn before(&self, label: Option<SnapshotNo>) -> Option<SnapshotNo> {
        let is_earlier = |state: &&FormerState| label.is_none_or(|label| state.label < label);
        self.states.iter().rev().find(is_earlier).map(|state| state.label)
    }

    /// The version that tells whether two copies are alike, if there is no present state to tell it.
    fn version(&self) -> Option<Version> {
        match self.arriving {
            Some(_) => Some(Version::default()),
            None => self.removed,
        }
    }

    fn is_needed(&self) -> bool {
        let is_marked = self.removed.is_none() && self.born != SnapshotNo::HEAD;
        self.arriving.is_some() || is_marked || !self.states.is_empty()
    }
}

/// The pasts of a copy's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectHistories {
    histories: BTreeMap<ObjectNo, ObjectHistory>,
    /// Objects that are here without a present state.
    bare: usize,
    mapper: SnapMapper,
}

impl ObjectHistories {
    pub(crate) fn is_empty(&self) -> bool {
        self.histories.is_empty()
    }

    pub(crate) fn get(&self, object: ObjectNo) -> Option<&ObjectHistory> {
        self.histories.get(&object)
    }

    /// Their former states by label.
    pub(crate) fn mapper(&self) -> &SnapMapper {
        &self.mapper
    }

    /// Objects that are here without a present state.
    pub(crate) fn bare(&self) -> usize {
        self.bare
    }

    /// Changes an object's past, which ends if nothing is left of it.
    pub(crate) fn change(&mut self, object: ObjectNo, change: impl FnOnce(&mut ObjectHistory)) {
        let mut history = self.take(object).unwrap_or_default();
        change(&mut history);
        if history.is_needed() {
            self.bare += usize::from(history.version().is_some());
            self.mapper.add(object, history.labels());
            self.histories.insert(object, history);
        }
    }

    /// Forgets an object's past.
    pub(crate) fn take(&mut self, object: ObjectNo) -> Option<ObjectHistory> {
        let history = self.histories.remove(&object)?;
        self.bare -= usize::from(history.version().is_some());
        self.mapper.remove(object, history.labels());
        Some(history)
    }

    /// The pasts of the objects after `after` up to and including `last`.
    pub(crate) fn range(
        &self,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> impl Iterator<Item = (ObjectNo, &ObjectHistory)> {
        let range = (after.map_or(Unbounded, Excluded), last.map_or(Unbounded, Included));
        self.histories.range(range).map(|(object, history)| (*object, history))
    }

    /// The objects without a present state after `after` up to and including `last`, as a comparison of copies lists
    /// them.
    pub(crate) fn bare_in(
        &self,
        after: Option<ObjectNo>,
        last: Option<ObjectNo>,
    ) -> impl Iterator<Item = (ObjectNo, ObjectMeta)> {
        let range = (after.map_or(Unbounded, Excluded), last.map_or(Unbounded, Included));
        let bare = |(object, history): (&ObjectNo, &ObjectHistory)| {
            Some((*object, ObjectMeta { version: history.version()?, length: 0 }))
        };
        self.histories.range(range).filter_map(bare)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::Views;
    use super::*;

    fn state(label: u32) -> FormerState {
        let (label, born) = (SnapshotNo(label), SnapshotNo::HEAD);
        FormerState {
            label,
            born,
            meta: ObjectMeta { version: Version(u64::from(label.0)), length: 9 },
        }
    }

    #[test]
    fn a_snapshot_is_shown_by_the_next_label() {
        let history =
            ObjectHistory { states: vec![state(3), state(7)], ..ObjectHistory::default() };
        let label = |snapshot| history.state_at(SnapshotNo(snapshot)).map(|state| state.label.0);
        assert_eq!([1, 3, 4, 7, 8].map(label), [Some(3), Some(3), Some(7), Some(7), None]);
    }

    #[test]
    fn the_mapper_tells_what_the_pasts_tell() {
        let mut kept = ObjectHistories::default();
        let (first, second) = (ObjectNo(7 << 32 | 1), ObjectNo(7 << 32 | 2));
        kept.change(first, |history| history.states = vec![state(3), state(7)]);
        kept.change(second, |history| history.states = vec![state(3)]);
        let of = |kept: &ObjectHistories, label| -> Vec<ObjectNo> {
            kept.mapper().objects_of((7, SnapshotNo(label))).collect()
        };
        assert_eq!(of(&kept, 3), [first, second]);
        let mut views = Views::default();
        views.insert_live(7, vec![SnapshotNo(3)]);
        let removed: Vec<_> = kept.mapper().removed(&views).collect();
        assert_eq!(removed, [((7, SnapshotNo(7)), 1)]);
        kept.change(first, |history| history.states.retain(|state| state.label.0 == 3));
        assert_eq!((of(&kept, 7), kept.mapper().removed(&views).next()), (Vec::new(), None));
        drop((kept.take(first), kept.take(second)));
        assert_eq!(kept, ObjectHistories::default());
    }

    #[test]
    fn only_objects_with_a_past_are_named_and_those_without_a_present_are_counted() {
        let mut kept = ObjectHistories::default();
        let object = ObjectNo(5);
        kept.change(object, |history| history.born = SnapshotNo(2));
        assert_eq!((kept.get(object).is_some(), kept.bare()), (true, 0));
        kept.change(object, |history| {
            history.states.push(state(3));
            history.removed = Some(Version(9));
        });
        assert_eq!(kept.bare_in(None, None).count(), 1);
        assert_eq!(kept.bare_in(Some(object), None).count(), 0);
        kept.change(object, |history| history.states.clear());
        assert_eq!(kept, ObjectHistories::default());
    }
}
