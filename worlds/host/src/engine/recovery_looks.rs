//! What recovery had left at the end of each of the last seconds, and how long it still takes at that pace.

use loadline_base::{Time, TimeLeft, time_left};
use loadline_node::LeftToRecover;
use std::collections::VecDeque;

/// Looks that are kept: the pace is that of five seconds, as the rates beside it.
const LOOKS: usize = 6;

/// The last looks, from the first one on at which there was something to move.
#[derive(Debug, Default)]
pub(super) struct RecoveryLooks {
    /// The oldest first.
    looks: VecDeque<(Time, LeftToRecover)>,
}

impl RecoveryLooks {
    /// So much is left now.
    pub(super) fn note(&mut self, now: Time, left: LeftToRecover) {
        self.looks.push_back((now, left));
        if self.looks.len() > LOOKS {
            self.looks.pop_front();
        }
        // The time before it began has no pace.
        while self.looks.front().is_some_and(|(_, left)| left.is_empty()) {
            self.looks.pop_front();
        }
    }

    /// How long what was left at the last look takes from then on; `None` if nothing was, or nothing has moved.
    pub(super) fn time_left(&self) -> Option<TimeLeft> {
        let ((began, before), (ended, left)) = (self.looks.front()?, self.looks.back()?);
        if left.is_empty() {
            return None;
        }
        time_left(before, left, ended.since(*began).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::GroupLeft;
    use loadline_osd::{OsdId, PgId, ShardId};

    /// Copies left of a group of each OSD.
    fn left(copies: &[u32]) -> LeftToRecover {
        let groups = (0..).map(PgId::new).zip(copies).filter(|(_, left)| **left > 0);
        let osd = |pg: PgId| OsdId::new(pg.get());
        let group = |(pg, left): (PgId, &u32)| {
            let queue = (osd(pg), ShardId::new(0));
            (pg, GroupLeft { queue, left: f64::from(*left), waits: false })
        };
        groups.map(group).collect()
    }

    /// By all that was left at the pace of all it was told as 13 s, and the second OSD takes 20.
    #[test]
    fn the_osd_that_takes_longest_tells_when_recovery_ends() {
        let mut looks = RecoveryLooks::default();
        for second in 0..20 {
            let moved = second * 10;
            looks.note(Time::from_secs(second.into()), left(&[220 - moved, 400 - moved]));
        }
        let told = looks.time_left().expect("it moves");
        assert_eq!((told.rate_per_s, told.about_s), (20.0, Some(21.0)));
        assert_eq!(told.least_s, 12.0);
    }

    #[test]
    fn the_window_begins_with_the_recovery() {
        let mut looks = RecoveryLooks::default();
        looks.note(Time::from_secs(1), left(&[]));
        looks.note(Time::from_secs(2), left(&[100]));
        assert_eq!(looks.time_left(), None);
        looks.note(Time::from_secs(3), left(&[90]));
        assert_eq!(looks.time_left().map(|told| told.least_s), Some(9.0));
        looks.note(Time::from_secs(4), left(&[0]));
        assert_eq!(looks.time_left(), None);
    }
}
