//! Which disks the node has mended by itself, so that it does so once for each.

use loadline_osd::{OsdId, OsdSet};
use loadline_store::paged::ids::PageNo;
use std::collections::BTreeMap;

/// It is forgotten with the process.
#[derive(Debug, Default)]
pub(crate) struct Healing {
    /// The OSDs whose damaged disks were made empty in this life.
    pub emptied: OsdSet,
    /// Those of them that have not all back yet.
    pub filling: OsdSet,
    /// The one of them whose disk is not empty yet.
    pub emptying: Option<OsdId>,
    /// The OSDs that were opened once more in this life.
    pub opened_again: OsdSet,
    /// The OSDs whose scrubs have found a page of their store bad that is nowhere else on the disk.
    pub rotten: BTreeMap<OsdId, PageNo>,
}

impl Healing {
    /// An OSD's damaged disk is made empty now.
    pub(crate) fn begin(&mut self, osd: OsdId) {
        self.emptied.insert(osd);
        self.filling.insert(osd);
        self.emptying = Some(osd);
        self.rotten.remove(&osd);
    }

    /// An OSD gets another disk, or is none any more: what is known is known of the one that it had.
    pub(crate) fn forget(&mut self, osd: OsdId) {
        self.is_over(osd);
        self.emptied.remove(osd);
        self.filling.remove(osd);
        self.opened_again.remove(osd);
        self.rotten.remove(&osd);
    }

    /// An OSD's disk is not being made empty any more.
    pub(crate) fn is_over(&mut self, osd: OsdId) {
        self.emptying = self.emptying.filter(|emptying| *emptying != osd);
    }
}
