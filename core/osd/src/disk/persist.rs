//! What of a placement group is on the disk, and the edits that bring it up to date.

use super::keys::{self, GROUPS, GroupRecord, LACKS};
use crate::ids::PgId;
use crate::pg::Pg;
use crate::pg_log::LogEntry;
use loadline_store::paged::Edit;
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeSet, VecDeque};

/// Log entries that the memory has forgotten are removed from the disk so many at a time.
const TRIM_BATCH: usize = 64;

/// What the disk holds of one placement group's log.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupDisk {
    entries: VecDeque<Version>,
    /// Whether a list of what the copy lacks is there.
    lacks: bool,
}

impl GroupDisk {
    /// As it was read back.
    pub(crate) fn loaded(entries: &[LogEntry], lacks: bool) -> GroupDisk {
        GroupDisk { entries: entries.iter().map(|entry| entry.version).collect(), lacks }
    }
}

impl Pg {
    fn record(&self) -> GroupRecord {
        GroupRecord {
            active_in: self.active_in,
            gaps: self.gaps,
            filling: self.filling,
            tail: self.log.tail(),
        }
    }

    fn put_record(&self, id: PgId) -> Edit {
        Edit::Put { key: keys::of_group(GROUPS, id), value: self.record().encode() }
    }

    /// The edits that make the disk tell of this copy what the memory does, all in one transaction: its log and what it
    /// lacks must not be seen apart.
    pub(crate) fn save(&mut self, id: PgId) -> Vec<Edit> {
        let mut edits = vec![self.put_record(id)];
        if !self.lacks.is_empty() || self.disk.lacks {
            edits.push(self.save_lacks(id, None));
        }
        let wanted: BTreeSet<Version> = self.log.entries().map(|entry| entry.version).collect();
        let there: BTreeSet<Version> = self.disk.entries.iter().copied().collect();
        edits.extend(there.difference(&wanted).map(|version| forget(id, *version)));
        let new = self.log.entries().filter(|entry| !there.contains(&entry.version));
        edits.extend(new.map(|entry| keep(id, entry)));
        self.disk.entries = wanted.into_iter().collect();
        edits
    }

    /// The edit that makes the disk tell what this copy lacks, apart from this object.
    pub(crate) fn save_lacks(&mut self, id: PgId, apart: Option<ObjectNo>) -> Edit {
        let lacks: Vec<ObjectNo> =
            self.lacks.iter().copied().filter(|object| Some(*object) != apart).collect();
        self.disk.lacks = !lacks.is_empty();
        let key = keys::of_group(LACKS, id);
        match self.disk.lacks {
            true => Edit::Put { key, value: keys::encode_objects(&lacks) },
            false => Edit::Delete { key },
        }
    }

    /// The edits that keep, instead of a write of this object that could not be carried out, that the copy lacks the object.
    /// The write's log entry was not kept either, and which one it was is not known any more: all of the object's are.
    pub(crate) fn save_missed(&mut self, id: PgId, object: ObjectNo) -> Vec<Edit> {
        let entries = self.log.entries().filter(|entry| entry.object == object);
        let mut edits: Vec<Edit> = entries.map(|entry| keep(id, entry)).collect();
        edits.push(self.save_lacks(id, None));
        edits
    }

    /// The edits that go with a write: its entry, and now and then the end of those that the log has forgotten.
    pub(crate) fn save_entry(&mut self, id: PgId, entry: &LogEntry) -> Vec<Edit> {
        let mut edits = vec![keep(id, entry)];
        self.disk.entries.push_back(entry.version);
        let tail = self.log.tail();
        let forgotten = self.disk.entries.partition_point(|version| *version <= tail);
        if forgotten >= TRIM_BATCH {
            edits.extend(self.disk.entries.drain(..forgotten).map(|version| forget(id, version)));
            edits.push(self.put_record(id));
        }
        edits
    }

    /// The edits with which the next objects of a leaving copy are deleted; with the last ones everything else goes.
    pub(crate) fn save_deletion(&mut self, id: PgId, last: bool) -> Vec<Edit> {
        if !last {
            return vec![self.put_record(id)];
        }
        let entries = std::mem::take(&mut self.disk.entries);
        let mut edits: Vec<Edit> = entries.iter().map(|version| forget(id, *version)).collect();
        edits.push(Edit::Delete { key: keys::of_group(GROUPS, id) });
        edits.push(Edit::Delete { key: keys::of_group(LACKS, id) });
        edits
    }
}

fn keep(id: PgId, entry: &LogEntry) -> Edit {
    let value = entry.object.0.to_le_bytes().to_vec();
    Edit::Put { key: keys::entry_key(id, entry.version), value }
}

fn forget(id: PgId, version: Version) -> Edit {
    Edit::Delete { key: keys::entry_key(id, version) }
}
