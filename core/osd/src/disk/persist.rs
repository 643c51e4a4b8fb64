//! What of a placement group is on the disk, and the edits that bring it up to date.
//!
//! A copy's log and what it lacks belong together. Where both do not fit one transaction, because the log is long and the disk small,
//! they go in several, and a crash may come between any two. So their order is such that the disk never tells of more than is
//! here: first the record says what is to be said of the copy before and after (whether its log has gaps, whether it is being
//! filled), and what it lacks from now on is added; then entries that are no longer the log's go; then new ones come, the oldest first, so
//! that the log is always one that the group once had; at last the record tells of the new interval, and what is superfluous goes.

use super::group_disk::GroupDisk;
use super::keys::{self, GROUPS, GroupRecord, LACKS, SCRUBS};
use crate::damage::Astray;
use crate::ids::{IntervalId, PgId};
use crate::pg::Pg;
use crate::pg_log::{Divergence, LogEntry};
use loadline_store::paged::{Edit, LossNote, LostEnds};
use loadline_store::{ObjectNo, Version};
use std::collections::BTreeSet;

/// Log entries that the memory has forgotten are removed from the disk so many at a time.
const TRIM_BATCH: usize = 64;
/// What an edit takes in a transaction's record beside its key and value, at most.
const EDIT_BYTES: usize = 48;

/// Edits as transactions, in their order, none of which takes more than so many bytes of the log; one at least.
pub(crate) fn transactions(edits: Vec<Edit>, bytes_max: usize) -> Vec<Vec<Edit>> {
    let (mut all, mut last, mut bytes) = (Vec::new(), Vec::new(), 0);
    for edit in edits {
        let own = EDIT_BYTES
            + match &edit {
                Edit::Put { key, value } => key.len() + value.len(),
                Edit::Delete { key } => key.len(),
                Edit::SetAttribute { name, value, .. } => name.len() + value.len(),
                _ => 0,
            };
        if !last.is_empty() && bytes + own > bytes_max {
            all.push(std::mem::take(&mut last));
            bytes = 0;
        }
        bytes += own;
        last.push(edit);
    }
    all.push(last);
    all
}

impl GroupDisk {
    /// The disk says no more that the copy lacks an object.
    pub(crate) fn arrived(&mut self, object: ObjectNo) {
        self.lacks.remove(&object);
        self.unsure.remove(&object);
        self.damage.end_stray(object);
    }

    /// Writes of an object that the group goes on without were carried out here, and the disk does not tell yet.
    pub(crate) fn note_divergence(&mut self, object: ObjectNo, divergence: Divergence) {
        if self.damage.astray(object) != Some(Astray::Patchy) {
            self.damage.stray(object, Astray::Diverged(divergence));
            self.unsure.insert(object);
        }
    }

    /// An update has lost a page of an object, and the disk tells so. Under the object's one key stood, perhaps, that it was lacked; what is
    /// no more lacked is taken from the disk with the next interval, and would take with it what stands there now.
    pub(crate) fn note_damage(&mut self, object: ObjectNo) {
        self.unsure.remove(&object);
        self.lacks.remove(&object);
        self.damage.note(object);
    }
}

impl Pg {
    fn record(&self) -> GroupRecord {
        GroupRecord {
            active_in: self.active_in,
            gaps: self.gaps.is_some(),
            filling: self.filling,
            tail: self.log.tail(),
        }
    }

    fn put_record(&mut self, id: PgId) -> Edit {
        let record = self.record();
        self.disk.record = Some(record);
        put(id, &record)
    }

    /// What may be said of the copy while its log is in between.
    fn careful_record(&self) -> GroupRecord {
        let new = self.record();
        match self.disk.record {
            Some(old) => GroupRecord {
                gaps: old.gaps || new.gaps,
                filling: old.filling || new.filling,
                ..old
            },
            None => GroupRecord { active_in: IntervalId::NEVER, filling: true, ..new },
        }
    }

    /// The transactions, of so many bytes at most, that make the disk tell of this copy what the memory does.
    pub(crate) fn save(&mut self, id: PgId, bytes_max: usize) -> Vec<Vec<Edit>> {
        let careful = put(id, &self.careful_record());
        let GroupDisk { entries, lacks, unsure, has_list, damage, .. } =
            std::mem::take(&mut self.disk);
        let is_said = |object: &&ObjectNo| lacks.contains(object) && !unsure.contains(object);
        // A copy that is filled lacks nothing by name, and still has what is none of its objects' states.
        let stay: BTreeSet<ObjectNo> = self.lacks.iter().copied().chain(damage.strays()).collect();
        let new_lacks = stay.iter().filter(|object| !is_said(object));
        let keep_lack = |object: &ObjectNo| keep_lack(id, *object, damage.astray(*object));
        let mut edits: Vec<Edit> = new_lacks.map(keep_lack).collect();
        let tail = self.log.tail();
        let wanted: BTreeSet<Version> = self.log.entries().map(|entry| entry.version).collect();
        let there: BTreeSet<Version> = entries.into_iter().collect();
        let (forgotten, undone): (Vec<Version>, Vec<Version>) =
            there.difference(&wanted).partition(|version| **version <= tail);
        edits.extend(undone.into_iter().map(|version| forget(id, version)));
        let new = self.log.entries().filter(|entry| !there.contains(&entry.version));
        edits.extend(new.map(|entry| keep(id, &entry)));
        edits.push(self.put_record(id));
        edits.extend(forgotten.into_iter().map(|version| forget(id, version)));
        let old_lacks = lacks.union(&unsure).filter(|object| !stay.contains(object));
        edits.extend(old_lacks.map(|object| forget_lack(id, *object)));
        edits.extend(has_list.then(|| Edit::Delete { key: keys::of_group(LACKS, id) }));
        self.disk.entries = wanted.into_iter().collect();
        self.disk.lacks = stay;
        self.disk.damage = damage;
        let mut all = transactions(edits, bytes_max);
        if all.len() > 1 {
            all[0].insert(0, careful);
        }
        all
    }

    /// What is put with an update if it loses a page of its object. If the copy lacks all of it, that is what it says.
    pub(crate) fn note_damage(&self, id: PgId, object: ObjectNo) -> LossNote {
        let is_lacking = self.lacks.contains(&object);
        let value = match is_lacking {
            true if self.disk.damage.astray(object).is_some() => keys::IS_PATCHY,
            true => keys::LACKS_OBJECT,
            false => keys::HAS_LOST_PAGES,
        };
        LossNote::new(&keys::lack_key(id, object), value)
    }

    /// The edit that makes the disk tell that this copy lacks an object.
    pub(crate) fn save_lack(&mut self, id: PgId, object: ObjectNo) -> Edit {
        self.disk.damage.forget(object);
        self.disk.damage.end_stray(object);
        self.disk.lacks.insert(object);
        keep_lack(id, object, None)
    }

    /// The edit that makes the disk tell so no longer, with the last step of the object's way here.
    pub(crate) fn save_arrival(&mut self, id: PgId, object: ObjectNo) -> Edit {
        self.disk.unsure.insert(object);
        forget_lack(id, object)
    }

    /// The edit that makes the disk tell no longer that pages of an object are lost; nothing, if it does not.
    pub(crate) fn save_whole(&mut self, id: PgId, object: ObjectNo) -> Option<Edit> {
        self.disk.damage.forget(object).then(|| forget_lack(id, object))
    }

    /// The edits that keep, instead of a write of this object that could not be carried out, that the copy lacks the object.
    /// The write's log entry was not kept either, and which one it was is not known any more: all of the object's are.
    pub(crate) fn save_missed(&mut self, id: PgId, object: ObjectNo) -> Vec<Edit> {
        self.save_lack(id, object);
        self.disk.unsure.remove(&object);
        self.disk.damage.stray(object, Astray::Patchy);
        let mut edits = vec![keep_lack(id, object, Some(Astray::Patchy))];
        let entries = self.log.entries().filter(|entry| entry.object == object);
        edits.extend(entries.map(|entry| keep(id, &entry)));
        edits
    }

    /// The edits that go with a write: its entry, and now and then the end of those that the log has forgotten.
    pub(crate) fn save_entry(&mut self, id: PgId, entry: &LogEntry) -> Vec<Edit> {
        let mut edits = vec![keep(id, entry)];
        self.disk.entries.push_back(entry.version);
        let tail = self.log.tail();
        let forgotten = self.disk.entries.partition_point(|version| *version <= tail);
        if forgotten >= TRIM_BATCH {
            // A log that was much longer goes in parts.
            let forgotten = forgotten.min(4 * TRIM_BATCH);
            edits.extend(self.disk.entries.drain(..forgotten).map(|version| forget(id, version)));
            edits.push(self.put_record(id));
        }
        edits
    }

    /// The edit with which an entry tells that an update has not changed the pages at these ends of it; nothing, if the log has no such entry.
    pub(crate) fn save_unwritten(
        &mut self,
        id: PgId,
        version: Version,
        ends: LostEnds,
        page: u64,
    ) -> Option<Edit> {
        let entry = self.log.leave_out(version, ends, page)?;
        Some(keep(id, &entry))
    }

    /// The edits with which the next objects of a leaving copy are deleted; with the last ones everything else goes, the record last.
    pub(crate) fn save_deletion(&mut self, id: PgId, last: bool) -> Vec<Edit> {
        let mut edits = vec![self.put_record(id)];
        if last {
            let GroupDisk { entries, lacks, mut unsure, damage, .. } =
                std::mem::take(&mut self.disk);
            edits.extend(entries.into_iter().map(|version| forget(id, version)));
            unsure.extend(damage.objects());
            edits.extend(lacks.union(&unsure).map(|object| forget_lack(id, *object)));
            edits.push(Edit::Delete { key: keys::of_group(LACKS, id) });
            edits.push(Edit::Delete { key: keys::of_group(SCRUBS, id) });
            edits.push(Edit::Delete { key: keys::of_group(GROUPS, id) });
        }
        edits
    }
}

fn put(id: PgId, record: &GroupRecord) -> Edit {
    Edit::Put { key: keys::of_group(GROUPS, id), value: record.encode() }
}

fn keep_lack(id: PgId, object: ObjectNo, astray: Option<Astray>) -> Edit {
    Edit::Put { key: keys::lack_key(id, object).to_vec(), value: keys::lack_value(astray) }
}

fn forget_lack(id: PgId, object: ObjectNo) -> Edit {
    Edit::Delete { key: keys::lack_key(id, object).to_vec() }
}

fn keep(id: PgId, entry: &LogEntry) -> Edit {
    Edit::Put { key: keys::entry_key(id, entry.version), value: keys::entry_value(entry) }
}

fn forget(id: PgId, version: Version) -> Edit {
    Edit::Delete { key: keys::entry_key(id, version) }
}
