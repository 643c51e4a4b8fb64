//! Writes of replicas in the order in which their primary has numbered them. Each is charged to the client whose it is, so a scheduler
//! may come to a later one of a placement group first: that turn is then the earliest one's, and the later one has the turn of the
//! earlier. It may not know schedulers, nor what a write does.

use crate::ids::PgId;
use loadline_base::SlotId;
use std::collections::VecDeque;

/// The entries of logs that wait in a shard, by placement group in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct LogOrder {
    waiting: Vec<VecDeque<SlotId>>,
}

impl LogOrder {
    /// An entry waits in this slot, behind those of its placement group that wait already.
    #[inline]
    pub(crate) fn came(&mut self, pg: PgId, slot: SlotId) {
        let at = usize::from(pg);
        if self.waiting.len() <= at {
            self.waiting.resize_with(at + 1, VecDeque::new);
        }
        self.waiting[at].push_back(slot);
    }

    /// The entry in this slot has the turn. The answer is the slot of the one that must go instead, if that is another: the two
    /// are to change places.
    #[inline]
    pub(crate) fn go(&mut self, pg: PgId, slot: SlotId) -> Option<SlotId> {
        let waiting = &mut self.waiting[usize::from(pg)];
        let first = waiting.pop_front().expect("what has the turn waits");
        if first == slot {
            return None;
        }
        let stays = waiting.iter_mut().find(|waits| **waits == slot);
        *stays.expect("what has the turn waits") = first;
        Some(first)
    }

    /// Nothing waits any more.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_used_in_the_order_of_arrival() {
        let (pg, mut order, mut items) = (PgId::new(3), LogOrder::default(), vec![10, 11, 12, 13]);
        (0..4).for_each(|slot| order.came(pg, SlotId::new(slot)));
        let mut gone = Vec::new();
        for turn in [2, 3, 0, 1] {
            if let Some(first) = order.go(pg, SlotId::new(turn)) {
                items.swap(turn as usize, usize::from(first));
            }
            gone.push(items[turn as usize]);
        }
        assert_eq!(gone, [10, 11, 12, 13]);
    }
}
