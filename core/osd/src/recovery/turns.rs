//! The turns of placement groups for which leave to push was asked, until all have given it.

use super::admission::Turn;
use crate::ids::{OsdId, OsdSet, PgId};
use std::collections::BTreeMap;

/// The turns of placement groups for which leave was asked.
#[derive(Debug, Default)]
pub(super) struct AskedTurns {
    /// Of each group in the order of their asking.
    asked: BTreeMap<PgId, Vec<AskedTurn>>,
}

#[derive(Debug)]
struct AskedTurn {
    pushes: u32,
    /// Who has not answered.
    left: OsdSet,
}

impl AskedTurns {
    pub(super) fn ask(&mut self, turn: Turn, left: OsdSet) {
        self.asked.entry(turn.pg).or_default().push(AskedTurn { pushes: turn.pushes, left });
    }

    /// One gives leave. The answer is the turn to which nobody's is lacking any more.
    pub(super) fn allowed(&mut self, pg: PgId, from: OsdId) -> Option<Turn> {
        let turns = self.asked.get_mut(&pg)?;
        let at = turns.iter().position(|turn| turn.left.contains(from))?;
        turns[at].left.remove(from);
        let pushes = turns[at].left.is_empty().then(|| turns.remove(at).pushes)?;
        if turns.is_empty() {
            self.asked.remove(&pg);
        }
        Some(Turn { pg, pushes })
    }

    /// Forgets a group's turns. The answer is how many pushes were promised to them.
    pub(super) fn forget(&mut self, pg: PgId) -> u32 {
        self.asked.remove(&pg).into_iter().flatten().map(|turn| turn.pushes).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PG: PgId = PgId::new(3);

    fn osds(numbers: &[u32]) -> OsdSet {
        numbers.iter().map(|number| OsdId::new(*number)).collect()
    }

    #[test]
    fn a_turn_comes_when_all_have_given_leave_each_for_the_turn_that_lacks_its_own() {
        let mut turns = AskedTurns::default();
        turns.ask(Turn { pg: PG, pushes: 1 }, osds(&[1, 2]));
        turns.ask(Turn { pg: PG, pushes: 4 }, osds(&[1, 2]));
        let allowed = |turns: &mut AskedTurns, osd| turns.allowed(PG, OsdId::new(osd));
        assert_eq!(allowed(&mut turns, 1), None);
        assert_eq!(allowed(&mut turns, 1), None);
        assert_eq!(allowed(&mut turns, 1), None, "nobody waits for it any more");
        assert_eq!(allowed(&mut turns, 2), Some(Turn { pg: PG, pushes: 1 }));
        assert_eq!(allowed(&mut turns, 2), Some(Turn { pg: PG, pushes: 4 }));
        assert!(turns.is_empty());
    }

    /// A promise that is not given back would be lost to the OSD's other groups.
    #[test]
    fn what_was_promised_to_a_forgotten_group_is_told() {
        let mut turns = AskedTurns::default();
        turns.ask(Turn { pg: PG, pushes: 1 }, osds(&[1]));
        turns.ask(Turn { pg: PG, pushes: 2 }, osds(&[2]));
        assert_eq!((turns.forget(PG), turns.is_empty()), (3, true));
        assert_eq!(turns.allowed(PG, OsdId::new(1)), None);
    }
}
