//! One of WPQ's two queues: sub-queues by priority, and the spans they hold in the lottery.

use super::level::PriorityLevel;
use super::nodes::{Nodes, QueueEntry, WaitingNode};
use super::owners::Move;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Priorities below this are found by a table; Ceph's fit a byte.
const TABLED: usize = 256;

/// How many priorities stay known when nothing of them waits.
const KNOWN: usize = 8;

/// The floors are read this many at a time, without a loop: an OSD has a handful of priorities.
const STRIDE: usize = 4;

/// The table's entry of a priority that is not known.
const UNKNOWN: u32 = u32::MAX;

/// Sub-queues by priority, highest first.
///
/// A priority that runs empty disappears from the lottery, as in the original, but stays *known*: it keeps its
/// place and its memory with an empty span, so that it can come back at once. From the eighth on, one that
/// waits for nothing lends its memory to the next that appears. The steady state allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct Tier {
    levels: Vec<PriorityLevel>,
    spans: Spans,
    places: Box<[u32; TABLED]>,
    ranks: usize,
}

/// What the priorities in which something waits hold in the lottery.
#[derive(Clone, Debug)]
struct Spans {
    /// For each level the sum of the present priorities below it; then zeros.
    floors: Vec<[u64; STRIDE]>,
    present: usize,
    priority_sum: u64,
    /// The place of the highest priority present, while there is one.
    highest: usize,
}

impl Spans {
    /// The priority at `place` enters the lottery: those above it move up by its span.
    #[inline(never)]
    fn appear(&mut self, place: usize, priority: u32) {
        let span = u64::from(priority);
        self.floors.as_flattened_mut()[..place].iter_mut().for_each(|floor| *floor += span);
        self.priority_sum += span;
        self.highest = if self.present == 0 { place } else { self.highest.min(place) };
        self.present += 1;
    }
}

impl Tier {
    pub(super) fn new() -> Tier {
        Tier {
            levels: Vec::new(),
            spans: Spans { floors: Vec::new(), present: 0, priority_sum: 0, highest: 0 },
            places: Box::new([UNKNOWN; TABLED]),
            ranks: 0,
        }
    }

    /// How many priorities have something waiting.
    #[inline(always)]
    pub(super) fn present(&self) -> usize {
        self.spans.present
    }

    /// The sum of the distinct priorities present.
    #[inline(always)]
    pub(super) fn priority_sum(&self) -> u64 {
        self.spans.priority_sum
    }

    /// The place of the highest priority present; a tier is asked only while something waits in it.
    #[inline(always)]
    pub(super) fn highest(&self) -> usize {
        self.spans.highest
    }

    /// The place of the priority that holds `ticket` of `0..priority_sum`: the highest priority holds the
    /// highest numbers. Looks at all of them without a branch, because where it would stop is random.
    #[inline(always)]
    pub(super) fn holder(&self, ticket: u64) -> usize {
        match &self.spans.floors[..] {
            [floors] => floors_above(floors, ticket),
            many => many.iter().map(|floors| floors_above(floors, ticket)).sum(),
        }
    }

    /// The sub-queue at `place`, 0 being the highest known priority.
    #[inline(always)]
    pub(super) fn level(&self, place: usize) -> &PriorityLevel {
        &self.levels[place]
    }

    /// The sub-queues in which something waits, highest priority first.
    pub(super) fn levels(&self) -> impl Iterator<Item = &PriorityLevel> {
        self.levels.iter().filter(|level| !level.is_empty())
    }

    /// The sub-queue of `priority`, into which the caller puts something.
    #[inline(always)]
    pub(super) fn level_mut(&mut self, priority: u32) -> &mut PriorityLevel {
        let place = match self.places.get(priority as usize) {
            Some(place) if *place != UNKNOWN => *place as usize,
            _ => self.search(priority),
        };
        let level = &mut self.levels[place];
        if level.is_empty() {
            self.spans.appear(place, level.priority);
        }
        level
    }

    /// The place of a priority that the table does not know.
    #[cold]
    fn search(&mut self, priority: u32) -> usize {
        let place = self.levels.partition_point(|level| level.priority > priority);
        match self.levels.get(place) {
            Some(level) if level.priority == priority => place,
            _ => self.learn(priority),
        }
    }

    /// Makes a priority known.
    fn learn(&mut self, priority: u32) -> usize {
        let idle = self.levels.iter().position(PriorityLevel::is_empty);
        let mut level = match idle {
            Some(idle) if self.levels.len() >= KNOWN => self.levels.remove(idle),
            _ => PriorityLevel::new(priority, self.ranks),
        };
        level.priority = priority;
        let place = self.levels.partition_point(|level| level.priority > priority);
        self.levels.insert(place, level);
        self.retable();
        place
    }

    /// Computes the tables from the levels.
    fn retable(&mut self) {
        self.places.fill(UNKNOWN);
        for (place, level) in self.levels.iter().enumerate() {
            if let Some(entry) = self.places.get_mut(level.priority as usize) {
                *entry = place as u32;
            }
        }
        let Spans { floors, present, priority_sum, highest } = &mut self.spans;
        floors.clear();
        floors.resize(self.levels.len().div_ceil(STRIDE), [0; STRIDE]);
        (*present, *priority_sum) = (0, 0);
        let levels = self.levels.iter().zip(floors.as_flattened_mut());
        for (place, (level, floor)) in levels.enumerate().rev() {
            *floor = *priority_sum;
            if !level.is_empty() {
                *present += 1;
                *priority_sum += u64::from(level.priority);
                *highest = place;
            }
        }
    }

    /// The priority at `place` leaves the lottery.
    #[inline(never)]
    fn disappear(&mut self, place: usize) {
        let span = u64::from(self.levels[place].priority);
        let spans = &mut self.spans;
        spans.floors.as_flattened_mut()[..place].iter_mut().for_each(|floor| *floor -= span);
        spans.priority_sum -= span;
        spans.present -= 1;
        if place == spans.highest {
            let next = self.levels.iter().position(|level| !level.is_empty());
            spans.highest = next.unwrap_or(0);
        }
    }

    /// Takes the next request of the priority at `place`, with that priority.
    #[inline(always)]
    pub(super) fn pop<T>(&mut self, nodes: &mut Nodes<T>, place: usize) -> (u32, QueueEntry<T>) {
        let level = &mut self.levels[place];
        let priority = level.priority;
        let (entry, is_last) = level.pop(nodes);
        if is_last {
            self.disappear(place);
        }
        (priority, entry)
    }

    /// Removes what `doomed` names from every sub-queue (of the owner at `rank` alone, if one is given).
    pub(super) fn sweep<T>(
        &mut self,
        nodes: &mut Nodes<T>,
        rank: Option<u32>,
        doomed: &mut dyn FnMut(&WaitingNode<T>) -> bool,
        removed: &mut Vec<T>,
    ) {
        for level in self.levels.iter_mut().filter(|level| !level.is_empty()) {
            level.sweep(nodes, rank, doomed, removed);
        }
        self.retable();
    }

    /// Makes room for ranks below `ranks`.
    pub(super) fn grow(&mut self, ranks: usize) {
        self.ranks = self.ranks.max(ranks);
        self.levels.iter_mut().for_each(|level| level.grow(ranks));
    }

    /// Gives owners other ranks, in every sub-queue.
    pub(super) fn relocate(&mut self, moves: &[Move]) {
        self.levels.iter_mut().for_each(|level| level.relocate(moves));
    }
}

/// How many of the floors lie above the ticket. Sums of distinct 32-bit priorities stay below 2^63, so the top
/// bit of the difference tells.
#[inline(always)]
fn floors_above(floors: &[u64; STRIDE], ticket: u64) -> usize {
    let above: u64 = floors.iter().map(|floor| ticket.wrapping_sub(*floor) >> 63).sum();
    above as usize
}
