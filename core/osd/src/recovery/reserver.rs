//! A reserver: a number of slots, granted to placement groups by priority, with preemption.

use crate::ids::PgId;
use crate::message::ReservationPriority;

/// What changed when a reserver was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserverChange {
    /// The placement group has a slot now.
    Granted(PgId),
    /// The placement group lost its slot to a more urgent one and waits again at the end of its priority.
    Preempted(PgId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotClaim {
    pg: PgId,
    priority: ReservationPriority,
    /// Order of asking, to serve equal priorities first come, first served.
    asked: u64,
}

/// Slots of one OSD for one side of recovery (`osd_max_backfills`; qos.md 9.2).
#[derive(Clone, Debug)]
pub struct Reserver {
    slots: usize,
    priority_min: ReservationPriority,
    granted: Vec<SlotClaim>,
    waiting: Vec<SlotClaim>,
    asked: u64,
}

impl Reserver {
    /// `slots` at once, for claims of at least `priority_min` (`osd_min_recovery_priority`).
    pub fn new(slots: usize, priority_min: ReservationPriority) -> Reserver {
        Reserver { slots, priority_min, granted: Vec::new(), waiting: Vec::new(), asked: 0 }
    }

    /// Asks for a slot; a placement group asks once at a time.
    pub fn ask(
        &mut self,
        pg: PgId,
        priority: ReservationPriority,
        changes: &mut Vec<ReserverChange>,
    ) {
        if self.granted.iter().chain(&self.waiting).any(|claim| claim.pg == pg) {
            return;
        }
        self.asked += 1;
        self.waiting.push(SlotClaim { pg, priority, asked: self.asked });
        self.settle(changes);
    }

    /// Claims of these groups are as urgent as this from now on, whether they hold a slot or wait for one. Their places among equals stay.
    pub fn set_priority(
        &mut self,
        is_meant: impl Fn(PgId) -> bool,
        priority: ReservationPriority,
        changes: &mut Vec<ReserverChange>,
    ) {
        let all = self.granted.iter_mut().chain(&mut self.waiting);
        all.filter(|claim| is_meant(claim.pg)).for_each(|claim| claim.priority = priority);
        self.settle(changes);
    }

    /// Gives a slot back, or stops waiting for one.
    pub fn release(&mut self, pg: PgId, changes: &mut Vec<ReserverChange>) {
        self.granted.retain(|claim| claim.pg != pg);
        self.waiting.retain(|claim| claim.pg != pg);
        self.settle(changes);
    }

    /// Changes the number of slots and the least priority. What was granted beyond a smaller number, or below a
    /// higher priority, keeps its slot until released.
    pub fn resize(
        &mut self,
        slots: usize,
        priority_min: ReservationPriority,
        changes: &mut Vec<ReserverChange>,
    ) {
        (self.slots, self.priority_min) = (slots, priority_min);
        self.settle(changes);
    }

    /// Whether the placement group holds a slot.
    pub fn holds(&self, pg: PgId) -> bool {
        self.granted.iter().any(|claim| claim.pg == pg)
    }

    /// How many slots nobody holds.
    pub fn free(&self) -> usize {
        self.slots.saturating_sub(self.granted.len())
    }

    /// The placement groups that hold a slot or wait for one.
    pub(crate) fn claimants(&self) -> impl Iterator<Item = PgId> {
        self.granted.iter().chain(&self.waiting).map(|claim| claim.pg)
    }

    /// Whether nobody holds a slot or waits for one.
    pub fn is_idle(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_empty()
    }

    /// Slots, placement groups that hold one, and placement groups that wait, most urgent first.
    pub fn state(&self) -> (usize, Vec<PgId>, Vec<PgId>) {
        let mut waiting = self.waiting.clone();
        waiting.sort_by_key(|claim| (std::cmp::Reverse(claim.priority), claim.asked));
        let pgs = |claims: &[SlotClaim]| claims.iter().map(|claim| claim.pg).collect();
        (self.slots, pgs(&self.granted), pgs(&waiting))
    }

    fn settle(&mut self, changes: &mut Vec<ReserverChange>) {
        while let Some(next) = self.most_urgent_waiting() {
            if self.granted.len() >= self.slots && !self.preempt_for(next, changes) {
                return;
            }
            self.waiting.retain(|claim| claim.pg != next.pg);
            self.granted.push(next);
            changes.push(ReserverChange::Granted(next.pg));
        }
    }

    fn most_urgent_waiting(&self) -> Option<SlotClaim> {
        let eligible = self.waiting.iter().filter(|claim| claim.priority >= self.priority_min);
        eligible.min_by_key(|claim| (std::cmp::Reverse(claim.priority), claim.asked)).copied()
    }

    /// Takes a slot from the least urgent holder, the latest among equals, if `next` is more urgent.
    fn preempt_for(&mut self, next: SlotClaim, changes: &mut Vec<ReserverChange>) -> bool {
        let victim = self
            .granted
            .iter()
            .min_by_key(|claim| (claim.priority, std::cmp::Reverse(claim.asked)))
            .copied();
        let Some(victim) = victim
            .filter(|victim| victim.priority < next.priority && self.granted.len() <= self.slots)
        else {
            return false;
        };
        self.granted.retain(|claim| claim.pg != victim.pg);
        self.asked += 1;
        self.waiting.push(SlotClaim { asked: self.asked, ..victim });
        changes.push(ReserverChange::Preempted(victim.pg));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::ReserverChange::{Granted, Preempted};
    use super::*;

    fn pg(n: u32) -> PgId {
        PgId::new(n)
    }

    #[test]
    fn equal_priorities_wait_their_turn_and_higher_ones_preempt() {
        let mut reserver = Reserver::new(1, 0);
        let mut changes = Vec::new();
        reserver.ask(pg(1), 100, &mut changes);
        reserver.ask(pg(2), 100, &mut changes);
        reserver.ask(pg(3), 180, &mut changes);
        assert_eq!(changes, [Granted(pg(1)), Preempted(pg(1)), Granted(pg(3))]);
        changes.clear();
        reserver.release(pg(3), &mut changes);
        assert_eq!(changes, [Granted(pg(2))], "the preempted one waits behind its equals");
        assert_eq!(reserver.state(), (1, vec![pg(2)], vec![pg(1)]));
    }

    /// Of two that became more urgent together the first took the other one's slot, as long as that was not, and as they became less urgent it was the other
    /// way round: deletions were begun anew for nothing.
    #[test]
    fn those_that_change_their_urgency_together_take_no_slot_from_one_another() {
        for holder in [1, 2] {
            let mut reserver = Reserver::new(1, 0);
            let mut changes = Vec::new();
            let both = [holder, 3 - holder].map(pg);
            both.iter().for_each(|pg| reserver.ask(*pg, 100, &mut changes));
            changes.clear();
            for priority in [180, 100] {
                reserver.set_priority(|pg| both.contains(&pg), priority, &mut changes);
                assert_eq!((changes.as_slice(), reserver.holds(both[0])), (&[][..], true));
            }
            // It is as urgent as it is said to be.
            reserver.set_priority(|pg| pg == both[1], 180, &mut changes);
            assert_eq!(changes, [Preempted(both[0]), Granted(both[1])]);
        }
    }

    #[test]
    fn slots_grow_at_once_and_shrink_by_release() {
        let mut reserver = Reserver::new(1, 0);
        let mut changes = Vec::new();
        for n in 0..4 {
            reserver.ask(pg(n), 100, &mut changes);
        }
        reserver.resize(3, 0, &mut changes);
        assert_eq!(changes, [Granted(pg(0)), Granted(pg(1)), Granted(pg(2))]);
        changes.clear();
        reserver.resize(1, 0, &mut changes);
        reserver.release(pg(0), &mut changes);
        assert_eq!(changes, []);
        assert!(reserver.holds(pg(1)) && !reserver.holds(pg(3)));
    }

    #[test]
    fn below_the_minimum_nothing_is_granted() {
        let mut reserver = Reserver::new(1, 150);
        let mut changes = Vec::new();
        reserver.ask(pg(1), 100, &mut changes);
        assert_eq!(changes, []);
        reserver.resize(1, 100, &mut changes);
        assert_eq!(changes, [Granted(pg(1))]);
    }
}
