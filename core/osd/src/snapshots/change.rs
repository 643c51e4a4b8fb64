//! Carrying an update out on one copy: what is known of the object, and what the store is told beside its bytes.

use super::kept::{FormerState, ObjectHistories, ObjectHistory};
use super::view::{SnapshotNo, in_image};
use crate::disk::{keep_history, object_id};
use crate::ids::PgId;
use crate::message::{Before, OpKind};
use crate::osd::Osd;
use loadline_store::paged::Edit;
use loadline_store::{ObjectMeta, ObjectNo, Objects, Version};

/// An update of an object as every copy carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectChange {
    pub pg: PgId,
    pub object: ObjectNo,
    pub kind: OpKind,
    pub before: Before,
    /// First byte.
    pub offset: u64,
    pub length: u64,
    /// The object's version afterwards.
    pub version: Version,
}

/// What an update has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Whether nothing was here of the object before.
    pub created: bool,
    /// What the store must have done before it begins.
    pub first: Vec<Edit>,
    /// What the store does together with it.
    pub edits: Vec<Edit>,
}

impl Osd {
    /// Carries out what an update does to what is known here.
    pub(crate) fn change(&mut self, change: &ObjectChange) -> Changed {
        let Some(here) = self.groups.get_mut(change.pg) else {
            unreachable!("the copy was looked up");
        };
        let objects = self.store.objects(change.pg);
        let is_plain = change.before == Before::Nothing && here.kept.get(change.object).is_none();
        if is_plain {
            let created = change.apply(objects);
            return Changed { created, ..Changed::default() };
        }
        change.with_past(objects, &mut here.kept)
    }
}

impl ObjectChange {
    /// What an update does to an object without a past.
    fn apply(&self, objects: &mut Objects) -> bool {
        match self.kind {
            OpKind::Write => objects.write(self.object, self.offset + self.length, self.version),
            OpKind::Remove | OpKind::Purge => {
                objects.remove(self.object);
                false
            }
            // The length stays: what is behind it reads as zeros already.
            _ => objects.write(self.object, 0, self.version),
        }
    }

    fn with_past(&self, objects: &mut Objects, kept: &mut ObjectHistories) -> Changed {
        let was_here = objects.meta(self.object).is_some() || kept.get(self.object).is_some();
        let past = kept.get(self.object).cloned();
        let mut changed = Changed::default();
        self.begin(objects, kept, &mut changed);
        match self.kind {
            OpKind::Purge => {
                objects.remove(self.object);
                let states = kept.take(self.object).map_or_else(Vec::new, |past| past.states);
                changed.edits.extend(states.iter().map(|state| self.remove(state.label)));
            }
            OpKind::Remove => {
                objects.remove(self.object);
                kept.change(self.object, |past| past.removed = Some(self.version));
            }
            OpKind::Trim(_) if objects.meta(self.object).is_none() => {
                kept.change(self.object, |past| past.removed = Some(self.version));
            }
            _ => drop(self.apply(objects)),
        }
        let now = kept.get(self.object);
        if now != past.as_ref() {
            changed.edits.push(keep_history(self.pg, self.object, now));
        }
        changed.created = !was_here;
        changed
    }

    /// Carries out what comes before the update.
    fn begin(&self, objects: &mut Objects, kept: &mut ObjectHistories, changed: &mut Changed) {
        match self.before {
            Before::Nothing => {}
            Before::Keep(label) => {
                let meta = objects.meta(self.object).expect("what is kept exists");
                changed.first.push(self.clone_edit(SnapshotNo::HEAD, label));
                kept.change(self.object, |past| {
                    past.states.push(FormerState { label, born: past.born, meta });
                });
            }
            Before::Create(born) => {
                if self.kind == OpKind::Zero {
                    let (object, version) = (self.id(SnapshotNo::HEAD), self.version);
                    changed.edits.push(Edit::Truncate { object, length: 0, version });
                }
                kept.change(self.object, |past| past.begin(born));
            }
            Before::Copy { born, image, label, length } => {
                let from = object_id(self.pg, in_image(self.object, image), label);
                let (to, length) = (self.id(SnapshotNo::HEAD), u64::from(length));
                changed.first.push(Edit::Clone { from, to });
                // Version 0 says that the write which goes with it has not happened.
                let version = Version::default();
                changed.first.push(Edit::Truncate { object: to, length, version });
                objects.replace(self.object, ObjectMeta { version, length });
                kept.change(self.object, |past| past.begin(born));
            }
            Before::Relabel(label, to) => {
                changed.edits.push(self.clone_edit(label, to));
                changed.edits.push(self.remove(label));
                kept.change(self.object, |past| past.relabel(label, to));
            }
            Before::Drop(label) => {
                changed.edits.push(self.remove(label));
                kept.change(self.object, |past| past.states.retain(|state| state.label != label));
            }
        }
    }

    fn id(&self, label: SnapshotNo) -> loadline_store::paged::ObjectId {
        object_id(self.pg, self.object, label)
    }

    fn clone_edit(&self, from: SnapshotNo, to: SnapshotNo) -> Edit {
        Edit::Clone { from: self.id(from), to: self.id(to) }
    }

    fn remove(&self, label: SnapshotNo) -> Edit {
        Edit::Remove { object: self.id(label) }
    }
}

impl ObjectHistory {
    /// The object exists again, and no snapshot up to this one shows it.
    fn begin(&mut self, born: SnapshotNo) {
        (self.born, self.removed) = (born, None);
    }

    fn relabel(&mut self, label: SnapshotNo, to: SnapshotNo) {
        for state in self.states.iter_mut().filter(|state| state.label == label) {
            state.label = to;
        }
    }
}
