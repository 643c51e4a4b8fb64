//! Pages of object data that a restart cannot have, though a transaction of its log changes a part of them.
//!
//! The page was in memory when the transaction was carried out first, and has gone bad on the device since. The rest of the transaction
//! is as good as ever, and so is everything else that is stored: that page alone is lost, as one is into which an update
//! [goes past damage](crate::paged::PastDamage).

use crate::paged::api::{LossNote, ObjectId};
use crate::paged::ids::PageNo;
use std::collections::BTreeMap;

/// A page is read so often before an op or a restart goes on without it: what comes wrong may have been read wrong.
pub const READS: u32 = 3;

/// Why a page that was asked for is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadFault {
    /// The device gives other bytes than it was given.
    Damaged,
    /// It gives none, and may some day.
    Unreadable,
}

/// What is put where an object loses a page, unless its key has a value already, which says more.
pub type NoteOfLoss = fn(ObjectId) -> LossNote;

/// See [above](self).
#[derive(Clone, Debug, Default)]
pub struct ReplayLosses {
    /// How often each page came bad for the step in hand, by its place and checksum.
    reads: BTreeMap<(PageNo, u32), u32>,
    note: Option<NoteOfLoss>,
}

impl ReplayLosses {
    /// This is noted of objects that lose a page.
    pub fn note_by(&mut self, note: NoteOfLoss) {
        self.note = Some(note);
    }

    /// A page has come, and is not what it should be, or the device does not read it. Answers whether the step in hand may go on: it reads the
    /// page again, or loses it. What may be read another time is not lost: whether others have it a restart can ask nobody.
    pub fn came_bad(&mut self, (number, sum): (PageNo, u32), is_damaged: bool) -> bool {
        let reads = self.reads.entry((number, sum)).or_default();
        *reads += 1;
        *reads < READS || is_damaged
    }

    /// The step in hand is carried out.
    pub fn end_step(&mut self) {
        self.reads.clear();
    }

    /// Whether a page is lost.
    pub(super) fn has(&self, number: PageNo, sum: u32) -> bool {
        self.reads.get(&(number, sum)).is_some_and(|reads| *reads >= READS)
    }

    /// What is noted of an object that loses a page.
    pub(super) fn note_of(&self, object: ObjectId) -> Option<LossNote> {
        self.note.map(|note| note(object))
    }
}
