//! How long a recovery goes on, by what its groups have left and by the queues that they share.
//!
//! Total left over total pace is wrong by half and more where groups move side by side and some queues have more to do than others: each
//! queue keeps its own pace while others run out of work, and the last one decides. It is right where groups wait for slots: who has one
//! hands it on, so that the pace stays.

use alloc::collections::BTreeMap;

/// A group of objects that are on their way, as one look finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLeft<Q> {
    /// Whose pace it shares: what one queue of one OSD sends.
    pub queue: Q,
    /// Copies that are left.
    pub left: f64,
    /// Whether it waits for a slot.
    pub waits: bool,
}

/// How long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// Copies per second, of all queues.
    pub rate_per_s: f64,
    /// Seconds if every queue that runs out of work left its pace to others: it takes so long at the least.
    pub least_s: f64,
    /// Seconds as it goes; `None` while a queue has not moved enough to tell its pace.
    pub about_s: Option<f64>,
}

/// A queue that has moved fewer copies in a window has no pace yet.
const COPIES_MIN: f64 = 4.0;

/// How long the groups take that are left `now`, at the pace of a window that began when `before` were; `None` if nothing has moved in it.
pub fn time_left<G: Ord, Q: Ord + Copy>(
    before: &BTreeMap<G, GroupLeft<Q>>,
    now: &BTreeMap<G, GroupLeft<Q>>,
    window_s: f64,
) -> Option<TimeLeft> {
    let mut queues: BTreeMap<Q, QueueLeft> = BTreeMap::new();
    let mut all = QueueLeft::default();
    let mut add = |queue: Q, before: f64, left: f64| {
        all.add(before, left);
        queues.entry(queue).or_default().add(before, left);
    };
    for (group, of) in now {
        // One that has only now been given something to move has moved nothing.
        add(of.queue, before.get(group).map_or(of.left, |before| before.left), of.left);
    }
    for (_, of) in before.iter().filter(|(group, _)| !now.contains_key(group)) {
        add(of.queue, of.left, 0.0);
    }
    let waits = now.values().any(|of| of.waits && of.left > 0.0);
    let least_s = all.seconds(window_s)?;
    let slowest = || {
        let busy = queues.values().filter(|queue| queue.left > 0.0);
        // A queue without a pace may be the last one, but not where it has next to nothing left.
        busy.filter(|queue| queue.moved >= COPIES_MIN || queue.left >= COPIES_MIN).try_fold(
            least_s,
            |slowest, queue| match queue.moved >= COPIES_MIN {
                true => Some(slowest.max(queue.seconds(window_s)?)),
                false => None,
            },
        )
    };
    let about_s = if waits { Some(least_s) } else { slowest() };
    Some(TimeLeft { rate_per_s: all.moved / window_s, least_s, about_s })
}

/// What one queue has left, and what it has moved.
#[derive(Clone, Copy, Debug, Default)]
struct QueueLeft {
    left: f64,
    moved: f64,
}

impl QueueLeft {
    fn add(&mut self, before: f64, left: f64) {
        self.left += left;
        self.moved += before - left;
    }

    /// At the pace of the window.
    fn seconds(&self, window_s: f64) -> Option<f64> {
        (self.moved > 0.0 && window_s > 0.0).then(|| self.left * window_s / self.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queue, left before, left now.
    fn told(groups: &[(u8, f64, f64)], waits: bool) -> Option<(f64, Option<f64>)> {
        let look = |left: fn(&(u8, f64, f64)) -> f64| {
            let group = |of: &(u8, f64, f64)| GroupLeft { queue: of.0, left: left(of), waits };
            let groups = groups.iter().map(group).enumerate();
            groups.filter(|(_, of)| of.left > 0.0).collect::<BTreeMap<usize, _>>()
        };
        let found = time_left(&look(|of| of.1), &look(|of| of.2), 10.0)?;
        Some((found.least_s, found.about_s))
    }

    #[test]
    fn the_queue_that_takes_longest_decides() {
        assert_eq!(told(&[(1, 100.0, 80.0), (2, 400.0, 380.0)], false), Some((115.0, Some(190.0))));
        // Groups of one queue share its pace, however it is divided among them.
        assert_eq!(told(&[(1, 100.0, 80.0), (1, 400.0, 380.0)], false), Some((115.0, Some(115.0))));
    }

    #[test]
    fn who_waits_for_a_slot_gets_the_pace_of_who_has_one() {
        assert_eq!(told(&[(1, 100.0, 80.0), (2, 400.0, 400.0)], true), Some((240.0, Some(240.0))));
    }

    #[test]
    fn a_queue_that_has_not_moved_has_no_pace() {
        assert_eq!(
            told(&[(1, 100.0, 80.0), (2, 400.0, 399.0)], false),
            Some((479.0 * 10.0 / 21.0, None))
        );
        assert_eq!(told(&[(1, 100.0, 80.0), (2, 3.0, 3.0)], false), Some((41.5, Some(41.5))));
    }

    #[test]
    fn a_group_that_has_come_has_moved_nothing_and_one_that_has_gone_all_it_had() {
        assert_eq!(told(&[(1, 100.0, 80.0), (1, 0.0, 60.0)], false), Some((70.0, Some(70.0))));
        assert_eq!(told(&[(1, 100.0, 80.0), (2, 20.0, 0.0)], false), Some((20.0, Some(40.0))));
    }

    #[test]
    fn nothing_that_moves_has_no_end() {
        assert_eq!(told(&[(1, 100.0, 100.0)], false), None);
        assert_eq!(told(&[(1, 100.0, 110.0)], true), None);
        assert_eq!(told(&[], false), None);
    }
}
