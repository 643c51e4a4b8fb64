//! What was sent to placement groups and has no reply yet: how much of it an OSD's disk may have to take.
//!
//! It is kept by group and by OSD, and follows each op and each change of who takes part in a group, because the question comes with every write:
//! whoever counts the open writes then takes longer for each of them the more there are.

use loadline_base::{Bytes, IdVec};
use loadline_osd::{OsdId, OsdSet, PgId};

#[derive(Clone, Debug, Default)]
pub(crate) struct SentBytes {
    to: IdVec<PgId, SentTo>,
    on: IdVec<OsdId, u64>,
}

/// What was sent to a group, and who takes part in it, as far as it was told.
#[derive(Clone, Copy, Debug, Default)]
struct SentTo {
    members: OsdSet,
    bytes: u64,
}

impl SentBytes {
    /// An op that may take so much, which is more than nothing, is sent to a group of these OSDs.
    pub(crate) fn send(&mut self, pg: PgId, members: OsdSet, bytes: u64) {
        let to = self.to.get_or_default(pg);
        debug_assert!(
            to.bytes == 0 || to.members == members,
            "a change of who takes part was told"
        );
        (to.members, to.bytes) = (members, to.bytes + bytes);
        Self::add(&mut self.on, members, bytes);
    }

    /// An op that was sent is on its way no more.
    pub(crate) fn end(&mut self, pg: PgId, bytes: u64) {
        let to = &mut self.to[pg];
        to.bytes -= bytes;
        Self::take(&mut self.on, to.members, bytes);
    }

    /// These OSDs take part in a group from now on, and get what was sent to it.
    pub(crate) fn change_members(&mut self, pg: PgId, members: OsdSet) {
        let to = self.to.get_or_default(pg);
        let before = std::mem::replace(&mut to.members, members);
        Self::take(&mut self.on, before, to.bytes);
        Self::add(&mut self.on, members, to.bytes);
    }

    /// What of it an OSD may have to take.
    pub(crate) fn on(&self, osd: OsdId) -> Bytes {
        Bytes::new(self.on.get(osd).copied().unwrap_or(0))
    }

    fn add(on: &mut IdVec<OsdId, u64>, members: OsdSet, bytes: u64) {
        members.iter().for_each(|osd| *on.get_or_default(osd) += bytes);
    }

    fn take(on: &mut IdVec<OsdId, u64>, members: OsdSet, bytes: u64) {
        members.iter().for_each(|osd| *on.get_or_default(osd) -= bytes);
    }
}

#[cfg(test)]
#[path = "sent_tests.rs"]
mod tests;
