//! What an OSD knows of that its disk tells of a placement group.

use super::keys::GroupRecord;
use crate::pg_log::LogEntry;
use loadline_store::{ObjectNo, Version};
use std::collections::{BTreeSet, VecDeque};

/// What the disk holds of one placement group's log.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupDisk {
    pub(super) record: Option<GroupRecord>,
    pub(super) entries: VecDeque<Version>,
    /// Objects that it says the copy lacks.
    pub(super) lacks: BTreeSet<ObjectNo>,
    /// Objects of which it is not known whether it says so: a push that was to end it may have been given up.
    pub(super) unsure: BTreeSet<ObjectNo>,
    /// It has the list that an older program kept of them.
    pub(super) has_list: bool,
}

impl GroupDisk {
    /// As it was read back.
    pub(crate) fn loaded(
        record: GroupRecord,
        entries: &[LogEntry],
        lacks: &BTreeSet<ObjectNo>,
        has_list: bool,
    ) -> GroupDisk {
        // Of what stands in the list, nothing may stand under a key of its own.
        let unsure = if has_list { lacks.clone() } else { BTreeSet::new() };
        let entries = entries.iter().map(|entry| entry.version).collect();
        GroupDisk { record: Some(record), entries, lacks: lacks.clone(), unsure, has_list }
    }
}
