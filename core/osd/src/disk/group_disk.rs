//! What an OSD knows of that its disk tells of a placement group.

use super::keys::GroupRecord;
use super::load::LoadedGroup;
use crate::damage::CopyDamage;
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
    /// Objects of which it says that they have lost pages.
    pub damage: CopyDamage,
}

impl GroupDisk {
    /// As it was read back.
    pub(crate) fn loaded(group: &LoadedGroup) -> GroupDisk {
        let LoadedGroup { record, entries, lacks, has_list, damaged, astray, .. } = group;
        let has_list = *has_list;
        // Of what stands in the list, nothing may stand under a key of its own.
        let unsure = if has_list { lacks.clone() } else { BTreeSet::new() };
        let entries = entries.iter().map(|entry| entry.version).collect();
        let (record, lacks) = (Some(*record), lacks.clone());
        let damage = CopyDamage::loaded(damaged.clone(), astray.clone());
        GroupDisk { record, entries, lacks, unsure, has_list, damage }
    }
}
