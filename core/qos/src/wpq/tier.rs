//! One of WPQ's two queues: sub-queues by priority.

use super::level::Level;
use super::nodes::{Node, NodeIndex, Nodes};

/// Sub-queues by priority, highest first.
///
/// A priority that runs empty disappears, as in the original, but its memory is kept for the next one that
/// appears, so the steady state allocates nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Tier {
    /// Priority and index into `levels`, highest priority first.
    order: Vec<(u32, u32)>,
    levels: Vec<Level>,
    spare: Vec<u32>,
    owners: usize,
    priority_sum: u64,
}

impl Tier {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many priorities are present.
    #[inline]
    pub(super) fn priorities(&self) -> usize {
        self.order.len()
    }

    /// The sum of the distinct priorities present.
    pub(super) fn priority_sum(&self) -> u64 {
        self.priority_sum
    }

    /// The place of the priority that holds `ticket` of `1..=priority_sum`: the highest priority holds the highest
    /// numbers. Looks at all of them without a branch, because where it would stop is random.
    #[inline]
    pub(super) fn holder(&self, ticket: u64) -> usize {
        let mut below = self.priority_sum;
        let mut place = 0;
        for (priority, _) in &self.order {
            below -= u64::from(*priority);
            place += usize::from(ticket <= below);
        }
        place
    }

    /// The priority at `place`, 0 being the highest, and the request it would serve next.
    #[inline]
    pub(super) fn candidate(&self, place: usize) -> (u32, NodeIndex) {
        let (priority, level) = self.order[place];
        (priority, self.levels[level as usize].head())
    }

    /// The sub-queues, highest priority first.
    pub(super) fn levels(&self) -> impl Iterator<Item = (u32, &Level)> {
        self.order.iter().map(|(priority, level)| (*priority, &self.levels[*level as usize]))
    }

    /// The sub-queue of `priority`, which appears if nothing of this priority waits.
    #[inline]
    pub(super) fn level_mut(&mut self, priority: u32) -> &mut Level {
        // An OSD has a handful of priorities: counting the higher ones without a branch beats a search.
        let place: usize =
            self.order.iter().map(|(present, _)| usize::from(*present > priority)).sum();
        let level = match self.order.get(place) {
            Some((present, level)) if *present == priority => *level,
            _ => self.appear(place, priority),
        };
        &mut self.levels[level as usize]
    }

    fn appear(&mut self, place: usize, priority: u32) -> u32 {
        let level = self.spare.pop().unwrap_or_else(|| {
            self.levels.push(Level::new(self.owners));
            (self.levels.len() - 1) as u32
        });
        self.order.insert(place, (priority, level));
        self.priority_sum += u64::from(priority);
        level
    }

    fn disappear(&mut self, place: usize) {
        let (priority, level) = self.order.remove(place);
        self.spare.push(level);
        self.priority_sum -= u64::from(priority);
    }

    /// Takes the next request of the priority at `place`. The node can be read until the next is acquired.
    #[inline]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>, place: usize) -> (NodeIndex, T) {
        let level = &mut self.levels[self.order[place].1 as usize];
        let taken = level.pop(nodes);
        if level.is_empty() {
            self.disappear(place);
        }
        taken
    }

    /// Removes what `doomed` names from every sub-queue (of one owner, if `rank` is given).
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        rank: Option<u32>,
        doomed: &mut dyn FnMut(&Node<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        for (_, level) in &self.order {
            let level = &mut self.levels[*level as usize];
            match rank {
                Some(rank) => level.sweep(nodes, rank, doomed, removed),
                None => {
                    let ranks: Vec<u32> = level.owners().map(|(rank, _)| rank).collect();
                    ranks.into_iter().for_each(|rank| level.sweep(nodes, rank, doomed, removed));
                }
            }
        }
        for place in (0..self.order.len()).rev() {
            if self.levels[self.order[place].1 as usize].is_empty() {
                self.disappear(place);
            }
        }
    }

    /// Makes room for a new owner at `rank` in every sub-queue.
    pub(super) fn admit(&mut self, rank: u32) {
        self.owners += 1;
        self.levels.iter_mut().for_each(|level| level.admit(rank));
    }

    /// Forgets the owner at `rank` in every sub-queue.
    pub(super) fn dismiss(&mut self, rank: u32) {
        self.owners -= 1;
        self.levels.iter_mut().for_each(|level| level.dismiss(rank));
    }
}
