//! What was sent to placement groups and has no reply yet: how much of it an OSD's disk may have to take.
//!
//! It is kept by group and by OSD, and follows each op and each change of who takes part in a group, because the question comes with every write:
//! whoever counts the open writes then takes longer for each of them the more there are.

use loadline_base::Bytes;
use loadline_osd::{OsdId, OsdSet, PgId};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct SentBytes {
    /// Of groups that something was sent to.
    to: BTreeMap<PgId, SentTo>,
    /// Of OSDs that take part in one of them.
    on: BTreeMap<OsdId, u64>,
}

#[derive(Clone, Copy, Debug)]
struct SentTo {
    members: OsdSet,
    bytes: u64,
}

impl SentBytes {
    /// An op that may take so much, which is more than nothing, is sent to a group of these OSDs.
    pub(crate) fn send(&mut self, pg: PgId, members: OsdSet, bytes: u64) {
        let to = self.to.entry(pg).or_insert(SentTo { members, bytes: 0 });
        debug_assert_eq!(to.members, members, "a change of who takes part was told");
        to.bytes += bytes;
        Self::add(&mut self.on, to.members, bytes);
    }

    /// An op that was sent is on its way no more.
    pub(crate) fn end(&mut self, pg: PgId, bytes: u64) {
        let to = self.to.get_mut(&pg).expect("it was sent to this group");
        to.bytes -= bytes;
        Self::take(&mut self.on, to.members, bytes);
        if to.bytes == 0 {
            self.to.remove(&pg);
        }
    }

    /// These OSDs take part in a group from now on, and get what was sent to it.
    pub(crate) fn change_members(&mut self, pg: PgId, members: OsdSet) {
        let Some(to) = self.to.get_mut(&pg) else { return };
        let before = std::mem::replace(&mut to.members, members);
        Self::take(&mut self.on, before, to.bytes);
        Self::add(&mut self.on, members, to.bytes);
    }

    /// What of it an OSD may have to take.
    pub(crate) fn on(&self, osd: OsdId) -> Bytes {
        Bytes::new(self.on.get(&osd).copied().unwrap_or(0))
    }

    fn add(on: &mut BTreeMap<OsdId, u64>, members: OsdSet, bytes: u64) {
        for osd in members.iter() {
            *on.entry(osd).or_default() += bytes;
        }
    }

    fn take(on: &mut BTreeMap<OsdId, u64>, members: OsdSet, bytes: u64) {
        for osd in members.iter() {
            *on.get_mut(&osd).expect("something was sent to it") -= bytes;
        }
    }
}

#[cfg(test)]
#[path = "sent_tests.rs"]
mod tests;
