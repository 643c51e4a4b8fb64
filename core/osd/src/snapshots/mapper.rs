//! Which objects have a state with which label: what a trim goes by (the field's snap mapper, scrub.md 3.1).
//!
//! It is made of the objects' pasts, each of which the store changes in one transaction with the states that it tells of, and read back when a
//! disk is opened. So it cannot differ from them, and there is nothing in it to be checked or repaired. What is trimmed stands in it no more:
//! the next object of a snapshot is its first one, and no look passes what has gone.

use super::view::{SnapshotNo, Views, image_of};
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

/// An image's snapshot.
pub(crate) type SnapshotKey = (u32, SnapshotNo);

/// The states of a copy's objects by image and label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SnapMapper(BTreeMap<SnapshotKey, BTreeSet<ObjectNo>>);

impl SnapMapper {
    /// An object has states with these labels from now on.
    pub(super) fn add(&mut self, object: ObjectNo, labels: impl Iterator<Item = SnapshotNo>) {
        for label in labels {
            self.0.entry((image_of(object), label)).or_default().insert(object);
        }
    }

    /// An object has these states no longer.
    pub(super) fn remove(&mut self, object: ObjectNo, labels: impl Iterator<Item = SnapshotNo>) {
        for label in labels {
            let key = (image_of(object), label);
            if let Some(objects) = self.0.get_mut(&key) {
                objects.remove(&object);
                if objects.is_empty() {
                    self.0.remove(&key);
                }
            }
        }
    }

    /// The objects that have a state with a snapshot's label.
    pub(crate) fn objects_of(&self, snapshot: SnapshotKey) -> impl Iterator<Item = ObjectNo> {
        self.0.get(&snapshot).into_iter().flatten().copied()
    }

    /// Former states of all objects together.
    pub(crate) fn states(&self) -> u64 {
        self.0.values().map(|objects| objects.len() as u64).sum()
    }

    /// The removed snapshots for which something is kept, and of how many objects.
    pub(crate) fn removed(&self, views: &Views) -> impl Iterator<Item = (SnapshotKey, u64)> {
        let all = self.0.iter();
        all.filter(|((image, label), _)| views.is_removed(*image, *label))
            .map(|(snapshot, objects)| (*snapshot, objects.len() as u64))
    }
}
