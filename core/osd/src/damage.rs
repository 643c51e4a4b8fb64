//! Objects of a copy of which pages are lost.

use crate::pg_log::Divergence;
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

/// Objects that a copy has, and of which it has lost pages: its disk tells of them from the transaction on with which a page is lost, until
/// the object is whole again. Their primary is told when an interval begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyDamage {
    objects: BTreeSet<ObjectNo>,
    /// Those of which something was bad in all copies when they were mended last.
    skipped: BTreeSet<ObjectNo>,
    /// Objects that the copy lacks, and of which what is here may be none of the states that they went through.
    astray: BTreeMap<ObjectNo, Astray>,
}

/// Why a state of an object is none that its history went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Astray {
    /// A write was missed, and later ones may have been carried out: nothing is known of it.
    Patchy,
    /// Writes were carried out that the group goes on without.
    Diverged(Divergence),
}

impl CopyDamage {
    /// As it was read back.
    pub(crate) fn loaded(
        objects: BTreeSet<ObjectNo>,
        astray: BTreeMap<ObjectNo, Astray>,
    ) -> CopyDamage {
        CopyDamage { objects, skipped: BTreeSet::new(), astray }
    }

    pub(crate) fn objects(&self) -> &BTreeSet<ObjectNo> {
        &self.objects
    }

    pub(crate) fn has(&self, object: ObjectNo) -> bool {
        self.objects.contains(&object)
    }

    /// A page of it is lost.
    pub(crate) fn note(&mut self, object: ObjectNo) {
        self.objects.insert(object);
    }

    /// What is here of it is none of its states.
    pub(crate) fn stray(&mut self, object: ObjectNo, why: Astray) {
        self.astray.insert(object, why);
    }

    /// Why what is here of it is none of its states, if that is so.
    pub(crate) fn astray(&self, object: ObjectNo) -> Option<Astray> {
        self.astray.get(&object).copied()
    }

    /// All of which what is here is none of their states.
    pub(crate) fn strays(&self) -> impl Iterator<Item = ObjectNo> {
        self.astray.keys().copied()
    }

    /// Nothing is left of what was none of its states.
    pub(crate) fn end_stray(&mut self, object: ObjectNo) {
        self.astray.remove(&object);
    }

    /// All that lacks is among these objects.
    pub(crate) fn end_strays_but(&mut self, lacking: &BTreeSet<ObjectNo>) {
        self.astray.retain(|object, _| lacking.contains(object));
    }

    /// It is whole, or lacks altogether. Whether it was damaged.
    pub(crate) fn forget(&mut self, object: ObjectNo) -> bool {
        self.skipped.remove(&object);
        self.objects.remove(&object)
    }

    /// It is looked through, to be mended.
    pub(crate) fn look(&mut self, object: ObjectNo) {
        self.skipped.remove(&object);
    }

    /// A part of it is bad everywhere.
    pub(crate) fn skip(&mut self, object: ObjectNo) {
        self.skipped.insert(object);
    }

    /// Whether all of it was found good since it was looked through first.
    pub(crate) fn is_whole(&self, object: ObjectNo) -> bool {
        !self.skipped.contains(&object)
    }
}
