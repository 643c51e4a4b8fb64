//! How long a recovery goes on, by what its groups have left and by the queues that they share.
//!
//! Total left over total pace is wrong by half and more where groups move side by side and some queues have more to do than others: each
//! queue keeps its own pace while others run out of work, and the last one decides. It is right where groups wait for slots: who has one
//! hands it on, so that the pace stays.

use std::collections::BTreeMap;

/// A group of objects that are on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupLeft<Q> {
    /// Whose pace it shares: what one queue of one OSD sends.
    pub queue: Q,
    /// Copies that were left when the window began.
    pub before: f64,
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

/// How long these groups take at the pace of a window; `None` if nothing has moved in it.
pub fn time_left<Q: Ord>(
    groups: impl IntoIterator<Item = GroupLeft<Q>>,
    window_s: f64,
) -> Option<TimeLeft> {
    let mut queues: BTreeMap<Q, QueueLeft> = BTreeMap::new();
    let mut all = QueueLeft::default();
    let mut waits = false;
    for group in groups {
        waits |= group.waits && group.left > 0.0;
        all.add(group.before, group.left);
        queues.entry(group.queue).or_default().add(group.before, group.left);
    }
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
        let group = |(queue, before, left): &(u8, f64, f64)| GroupLeft {
            queue: *queue,
            before: *before,
            left: *left,
            waits,
        };
        let found = time_left(groups.iter().map(group), 10.0)?;
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
    fn nothing_that_moves_has_no_end() {
        assert_eq!(told(&[(1, 100.0, 100.0)], false), None);
        assert_eq!(told(&[(1, 100.0, 110.0)], true), None);
        assert_eq!(told(&[], false), None);
    }
}
