//! Objects of a copy of which pages are lost.

use loadline_store::ObjectNo;
use std::collections::BTreeSet;

/// Objects that a copy has, and of which it has lost pages: its disk tells of them from the transaction on with which a page is lost, until
/// the object is whole again. Their primary is told when an interval begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyDamage {
    objects: BTreeSet<ObjectNo>,
    /// Those of which something was bad in all copies when they were mended last.
    skipped: BTreeSet<ObjectNo>,
    /// Objects that the copy lacks since it missed a write of theirs. Later ones may have been carried out: what is here is none of the
    /// states that the object went through.
    patchy: BTreeSet<ObjectNo>,
}

impl CopyDamage {
    /// As it was read back.
    pub(crate) fn loaded(objects: BTreeSet<ObjectNo>, patchy: BTreeSet<ObjectNo>) -> CopyDamage {
        CopyDamage { objects, skipped: BTreeSet::new(), patchy }
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

    /// A write of it was missed.
    pub(crate) fn miss(&mut self, object: ObjectNo) {
        self.patchy.insert(object);
    }

    pub(crate) fn is_patchy(&self, object: ObjectNo) -> bool {
        self.patchy.contains(&object)
    }

    /// Nothing is left of it that a missed write could have been missed by.
    pub(crate) fn end_patchy(&mut self, object: ObjectNo) {
        self.patchy.remove(&object);
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
