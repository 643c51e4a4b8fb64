//! The memory that connections share, whatever they speak: what they hold, who waits for some, and who has the express part (`budget.rs` has
//! the rules).

use super::budget::{ConnectionCharge, EXPRESS_AFTER, HeldMemory};
use crate::ConnId;
use loadline_base::Time;

/// The connections' part of the node's memory.
#[derive(Debug, Default)]
pub(super) struct SharedMemory {
    held: HeldMemory,
    /// Those with a request that waits for memory, and since when.
    waiting: Vec<(ConnId, Time)>,
    /// Whether memory was given back since it was looked for some for them, and when that was.
    was_freed: bool,
    looked: Time,
    /// The one that has the express part.
    express: Option<ConnId>,
}

impl SharedMemory {
    /// What all of them hold.
    pub(super) fn held(&self) -> HeldMemory {
        self.held
    }

    /// How many wait for memory.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Those that wait.
    pub(super) fn who_waits(&self) -> Vec<ConnId> {
        self.waiting.iter().map(|(conn, _)| *conn).collect()
    }

    /// A connection is charged otherwise than before.
    pub(super) fn charge(&mut self, before: ConnectionCharge, after: ConnectionCharge) {
        self.was_freed |= after.data < before.data;
        self.held.change(before, after);
    }

    /// A connection has found no memory for its request since then.
    pub(super) fn wait(&mut self, conn: ConnId, since: Time) {
        self.waiting.push((conn, since));
    }

    /// Whether a connection has the express part: for one request, and nothing behind it.
    pub(super) fn has_express(&self, conn: ConnId) -> bool {
        self.express == Some(conn)
    }

    /// A connection has had the express part.
    pub(super) fn end_express(&mut self, conn: ConnId) {
        if self.has_express(conn) {
            self.express = None;
        }
    }

    /// A connection is gone, which was charged so much.
    pub(super) fn forget(&mut self, conn: ConnId, charged: ConnectionCharge) {
        self.charge(charged, ConnectionCharge::default());
        self.leave(conn);
        self.end_express(conn);
    }

    /// A connection is gone and waits for nothing any more, while what it began may still hold memory, the express part too.
    pub(super) fn leave(&mut self, conn: ConnId) {
        self.was_freed = true;
        self.waiting.retain(|(waiting, _)| *waiting != conn);
    }

    /// Takes those that wait, if some memory was given back or a second has passed.
    pub(super) fn take_waiting(&mut self, now: Time) -> Vec<(ConnId, Time)> {
        let is_time = now.since(self.looked) >= EXPRESS_AFTER;
        if self.waiting.is_empty() || !(std::mem::take(&mut self.was_freed) || is_time) {
            return Vec::new();
        }
        self.looked = now;
        std::mem::take(&mut self.waiting)
    }

    /// Whoever has waited for long gets the express part, if nobody has it.
    pub(super) fn offer_express(&mut self, conn: ConnId, since: Time, now: Time) {
        if self.express.is_none() && now.since(since) >= EXPRESS_AFTER {
            self.express = Some(conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_express_part_is_for_one_and_comes_back_with_what_it_was_for() {
        let [one, other] = [1, 2].map(ConnId::numbered);
        let mut memory = SharedMemory::default();
        let (soon, later) = (Time::ZERO, Time::ZERO + EXPRESS_AFTER);
        memory.offer_express(one, soon, soon);
        assert!(!memory.has_express(one), "it has not waited");
        memory.offer_express(one, soon, later);
        memory.offer_express(other, soon, later);
        assert_eq!([one, other].map(|conn| memory.has_express(conn)), [true, false]);
        memory.leave(one);
        memory.offer_express(other, soon, later);
        assert!(!memory.has_express(other), "what the first one began still holds it");
        memory.end_express(other);
        assert!(memory.has_express(one), "it is not the other's to end");
        memory.end_express(one);
        memory.offer_express(other, soon, later);
        assert!(memory.has_express(other));
        memory.forget(other, ConnectionCharge::default());
        assert!(!memory.has_express(other));
    }
}
