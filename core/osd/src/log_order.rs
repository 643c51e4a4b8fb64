//! Entries of logs in the order in which their primary has numbered them. Each is charged to the client whose it is, so a scheduler
//! may come to a later one of a placement group first: then those before it go with it, and their own turns are void when
//! they come. It may not know schedulers, nor what an entry does.

use crate::ids::PgId;
use loadline_base::{IdVec, SlotId};
use std::collections::VecDeque;

/// The entries of logs that wait in a shard, by placement group in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct LogOrder {
    waiting: IdVec<PgId, VecDeque<SlotId>>,
    /// Turns that are still to come of what has gone with another's.
    void_turns: usize,
}

impl LogOrder {
    /// An entry waits in this slot, behind those of its placement group that wait already.
    #[inline]
    pub(crate) fn came(&mut self, pg: PgId, slot: SlotId) {
        self.waiting.get_or_default(pg).push_back(slot);
    }

    /// The entry in this slot has the turn. The answer is the next one that has to go before it, until there is none: then it
    /// waits no more itself.
    #[inline]
    pub(crate) fn next_before(&mut self, pg: PgId, slot: SlotId) -> Option<SlotId> {
        let first = self.waiting[pg].pop_front().expect("what has the turn waits");
        self.void_turns += usize::from(first != slot);
        (first != slot).then_some(first)
    }

    /// A turn has come of what had gone with another's.
    pub(crate) fn void_turn_came(&mut self) {
        self.void_turns -= 1;
    }

    /// How many such turns are still to come.
    pub(crate) fn void_turns(&self) -> usize {
        self.void_turns
    }

    /// Nothing waits any more.
    pub(crate) fn clear(&mut self) {
        self.waiting = IdVec::new();
        self.void_turns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_goes_before() {
        let (pg, other, mut order) = (PgId::new(3), PgId::new(1), LogOrder::default());
        (0..4).for_each(|slot| order.came(pg, SlotId::new(slot)));
        order.came(other, SlotId::new(9));
        let mut go = |turn: u32| {
            let turn = SlotId::new(turn);
            std::iter::from_fn(|| order.next_before(pg, turn)).map(SlotId::get).collect::<Vec<_>>()
        };
        assert_eq!(go(2), [0, 1]);
        assert_eq!(go(3), []);
        assert_eq!(order.next_before(other, SlotId::new(9)), None);
    }
}
