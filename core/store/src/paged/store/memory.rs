//! The memory for pages: what it may hold, and what is on its way there.

use crate::paged::bounds::Room;
use crate::paged::contents::Miss;
use crate::paged::ids::PageNo;
use loadline_base::SlotId;
use std::collections::BTreeMap;

/// What may be in memory, and what is on its way there. Its loads are begun and ended in `loads.rs`.
pub(super) struct Memory {
    room: Room,
    pub(super) loads: BTreeMap<PageNo, LoadUnderWay>,
    /// Pages kept for ops that wait for others.
    pub(super) pinned: u32,
}

impl Memory {
    /// Memory of this size in which nothing is on its way.
    pub(super) fn new(room: Room) -> Memory {
        Memory { room, loads: BTreeMap::new(), pinned: 0 }
    }

    /// What may be held at once.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Whether a page is on its way.
    pub(super) fn is_loading(&self, page: PageNo) -> bool {
        self.loads.contains_key(&page)
    }

    /// How many pages are on their way.
    pub(super) fn loads(&self) -> usize {
        self.loads.len()
    }
}

/// A page on its way.
#[derive(Clone, Debug)]
pub(super) struct LoadUnderWay {
    /// What must be on it.
    pub wanted: Miss,
    /// Who waits for it, each with what the page is to it: several objects may own it.
    pub waiters: Vec<(SlotId, Miss)>,
}
