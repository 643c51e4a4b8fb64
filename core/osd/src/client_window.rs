//! How much of clients' work a disk of bytes has at a time where somebody among them was promised something.
//!
//! A promise is worth what the scheduler can do for it, and it orders only what waits. Where clients are alike, the store's window is as wide as
//! the log's groups are good for, and who asks for much makes the accesses of all long. So beside an image that is promised ops, the
//! window is as wide as leaves accesses about as long as they are through the narrowest one: an op passes two disks, its primary's and
//! another copy's, and may wait as long before each of them as in it, so that a quarter of the latency goal more than that for each is
//! the goal for the op. What is promised passes a full window ([`Shard::pump`](crate::shard::Shard::pump)).
//!
//! What an access takes through the narrowest window is seen in one slot of two hundred, of reads and of updates apart: a read may come from
//! memory, and an update waits for the log. The kind that is longest beyond its wanted time decides. Slots are cut by the clock alone, as those of
//! [`BackgroundPace`](crate::pace::BackgroundPace).

use crate::pace::slot_length;
use loadline_base::{Span, Time};

/// The narrowest window: one op at the device and one that is being made ready.
const LEAST: u32 = 2;
/// One slot of so many shows what accesses take at least.
const SLOTS_PER_PROBE: u64 = 200;
/// In a slot the window falls by at most this factor, and grows by this one.
const FALL: f64 = 0.7;
const GROWTH: f64 = 1.1;

/// How long accesses of one kind take.
#[derive(Clone, Copy, Debug, Default)]
struct AccessTimes {
    /// One through the narrowest window, in nanoseconds.
    least: Option<f64>,
    /// Of those that ended in the slot: how long all took together, and how many there were.
    waited: u64,
    ended: u64,
}

/// The window of one disk.
#[derive(Clone, Debug)]
pub(crate) struct ClientWindow {
    goal: Span,
    ops: f64,
    /// Reads and updates.
    of: [AccessTimes; 2],
    slot: u64,
    /// Whether work waited for the window in it.
    was_full: bool,
    in_flight: u32,
    /// What workers have, and has not reached the store.
    on_workers: u32,
}

impl ClientWindow {
    pub(crate) fn new(goal: Span) -> ClientWindow {
        ClientWindow {
            goal,
            ops: f64::from(LEAST),
            of: [AccessTimes::default(); 2],
            slot: 0,
            was_full: false,
            in_flight: 0,
            on_workers: 0,
        }
    }

    /// With another goal; what was seen stays.
    pub(crate) fn with_goal(self, goal: Span) -> ClientWindow {
        ClientWindow { goal, ..self }
    }

    /// So many ops are in the store.
    pub(crate) fn set_in_flight(&mut self, now: Time, ops: u32) {
        self.look(now);
        self.in_flight = ops;
        self.was_full |= !self.admits();
    }

    /// Whether the store gets more.
    pub(crate) fn admits(&self) -> bool {
        self.in_flight + self.on_workers < self.ops()
    }

    /// Nothing is in flight any more.
    pub(crate) fn clear(&mut self) {
        (self.in_flight, self.on_workers) = (0, 0);
    }

    /// A worker begins an item.
    pub(crate) fn begun(&mut self) {
        self.on_workers += 1;
    }

    /// A worker has carried an item out. It may have begun before the window was there.
    pub(crate) fn carried_out(&mut self) {
        self.on_workers = self.on_workers.saturating_sub(1);
    }

    /// An access of a client has ended that began then.
    pub(crate) fn ended(&mut self, now: Time, began: Time, is_read: bool) {
        self.look(now);
        // What began before a probe went through a wider window.
        let counts = !self.is_known() || !self.is_probe() || self.slot_at(began) == self.slot;
        if counts {
            let of = &mut self.of[usize::from(!is_read)];
            of.waited += now.since(began).nanos();
            of.ended += 1;
        }
    }

    /// How many ops clients may have in the store.
    pub(crate) fn ops(&self) -> u32 {
        if self.is_probe() { LEAST } else { self.ops as u32 }
    }

    fn slot_at(&self, now: Time) -> u64 {
        now.nanos() / slot_length(self.goal).nanos()
    }

    /// Until it is known what accesses take at least, every slot is one that shows it.
    fn is_probe(&self) -> bool {
        !self.is_known() || self.slot.is_multiple_of(SLOTS_PER_PROBE)
    }

    fn is_known(&self) -> bool {
        self.of.iter().any(|of| of.least.is_some())
    }

    /// Draws its conclusions from the last slot, if it has ended.
    fn look(&mut self, now: Time) {
        let slot = self.slot_at(now);
        if slot == self.slot {
            return;
        }
        let (was_probe, more) = (self.is_probe(), self.goal.nanos() as f64 / 4.0);
        let found = self.of.iter_mut().filter_map(|of| of.slot_ended(was_probe, more));
        if let Some(wanted) = found.reduce(f64::min) {
            self.follow(wanted);
        }
        (self.slot, self.was_full) = (slot, false);
    }

    /// Accesses took this part of the time that they may, or so many times as long.
    fn follow(&mut self, wanted: f64) {
        if wanted < 1.0 {
            self.ops = (self.ops * wanted.max(FALL)).max(f64::from(LEAST));
        } else if self.was_full {
            // The store's own window is far below where this one would leave the range.
            self.ops = (self.ops * GROWTH).min(f64::from(u16::MAX));
        }
    }
}

impl AccessTimes {
    /// A slot has ended. What those that ended in it may take, as a multiple of what they took; nothing if there were none, or if it was
    /// to show what they take at least.
    fn slot_ended(&mut self, was_probe: bool, more: f64) -> Option<f64> {
        let AccessTimes { least, waited, ended } = *self;
        (self.waited, self.ended) = (0, 0);
        let takes = (ended > 0).then(|| waited as f64 / ended as f64)?;
        // A kind that comes for the first time beside others shows it in a window that may be wide, and better at the next probe.
        self.least = Some(least.filter(|_| !was_probe).map_or(takes, |least| least.min(takes)));
        (!was_probe).then(|| (self.least.unwrap_or(takes) + more) / takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that takes `base` and `each` for every op that it has, with work waiting always.
    fn settle(base: Span, each: Span, goal: Span) -> (u32, Span) {
        let mut window = ClientWindow::new(goal);
        let (mut now, mut most) = (Time::from_secs(1), 0);
        let mut takes = Span::ZERO;
        for _ in 0..20_000 {
            window.set_in_flight(now, 0);
            let mut ops = 0;
            while window.admits() {
                ops += 1;
                window.set_in_flight(now, ops);
            }
            takes = base + each * u64::from(ops);
            let began = now;
            now += takes;
            (0..ops).for_each(|_| window.ended(now, began, false));
            most = ops;
        }
        (most, takes)
    }

    #[test]
    fn accesses_take_a_quarter_of_the_goal_longer_than_at_least() {
        let micros = Span::from_micros;
        // At least 100 + 2 x 50, so 100 + n x 50 is to be about 450.
        let (ops, takes) = settle(micros(100), micros(50), micros(1_000));
        assert!((5..=8).contains(&ops), "{ops} ops take {takes}");
        // A log that commits in groups: what one op more costs is little.
        let (ops, _) = settle(micros(2_000), micros(5), micros(1_000));
        assert!((40..=60).contains(&ops), "{ops}");
        // Nothing but ops that wait for each other: never less than two.
        let (ops, _) = settle(micros(0), micros(5_000), micros(1_000));
        assert_eq!(ops, 2);
    }
}
