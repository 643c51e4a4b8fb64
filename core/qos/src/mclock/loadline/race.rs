//! How far those that share by weight have come: the mean of their start tags.
//!
//! Virtual time alone cannot say. It is the least start tag, and that stands still while others are served once each, then
//! leaps: by as much as a request of the dearest if all come round together. The mean moves with every service, by what it
//! cost over the sum of all weights.

use super::line::{Line, before};
use super::rate::WeightCharge;

/// The parties of the queue by start tag that weight has served, until their reservations have brought them beyond the mean. One
/// in which nothing waits leaves when virtual time reaches it. Weights count by their power of two: any that are more than
/// nothing give a mean that moves as the parties do.
#[derive(Clone, Debug)]
pub(super) struct Race {
    /// Start tag of the last service by weight.
    virtual_time: u64,
    /// Sum of the weights.
    weight: u64,
    /// Sum of the start tags, each times its weight.
    starts: u128,
    /// Cost of the dearest request; it fades with every service by reservation beyond the mean, as long as it is 256 or more.
    dearest: u32,
}

/// A party may be as far ahead of the mean as this many of the dearest requests move it: service times vary, and with them what
/// is due by reservation meanwhile.
const STEPS: u128 = 16;

/// What a unit of cost adds to the sum of the start tags, at most.
const UNIT: u128 = 1 << 32;

impl Race {
    pub(super) fn new() -> Race {
        Race { virtual_time: 0, weight: 0, starts: 0, dearest: 0 }
    }

    /// Start tag of the last service by weight.
    #[inline(always)]
    pub(super) fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// Who has this start tag is served by weight, or nobody waits before it.
    #[inline(always)]
    pub(super) fn come_to(&mut self, start: u64) {
        self.virtual_time = self.virtual_time.max(start);
    }

    /// A party whose start tag is below virtual time has no claim for that.
    #[inline(always)]
    pub(super) fn bring_up(&mut self, line: &mut Line) {
        if line.start < self.virtual_time {
            if line.is_counted() {
                let passed = self.virtual_time - line.start;
                self.starts += weighed(passed, line.weight().power());
            }
            line.start = self.virtual_time;
        }
    }

    #[cold]
    fn count(&mut self, line: &mut Line) {
        line.set_counted(true);
        self.weight += line.weight().power();
        self.starts += weighed(line.start, line.weight().power());
    }

    /// A party is no longer among them, if it was: without a branch, since whether it was cannot be predicted.
    #[inline(always)]
    pub(super) fn leave(&mut self, line: &mut Line) {
        let weight = u64::from(line.is_counted()) * line.weight().power();
        line.set_counted(false);
        self.weight -= weight;
        self.starts -= weighed(line.start, weight);
    }

    /// A party of the queue is served by weight, and virtual time comes to where that starts.
    #[inline(always)]
    pub(super) fn served<const PLAIN: bool>(&mut self, line: &mut Line) {
        self.come_to(line.start);
        if !line.is_counted() {
            self.count(line);
        }
        self.starts += u128::from(self.charge::<PLAIN>(line, line.cost));
    }

    /// A party is served otherwise, and its weight charged so much: perhaps nothing, which cannot be predicted.
    #[inline(always)]
    pub(super) fn served_beside<const PLAIN: bool>(&mut self, line: &mut Line, cost: u32) {
        let is_counted = u64::from(line.is_counted());
        self.starts += u128::from(is_counted * self.charge::<PLAIN>(line, cost));
    }

    /// Charges a party's weight; what that adds to the sum of the start tags.
    #[inline(always)]
    fn charge<const PLAIN: bool>(&mut self, line: &mut Line, cost: u32) -> u64 {
        if cost > self.dearest {
            self.dearest = cost;
        }
        let WeightCharge { ticks, weighed } = line.weight().charge::<PLAIN>(cost, line.start);
        line.start += ticks;
        weighed
    }

    /// Whether a party is so far ahead of the others, by its reservation, that it does not share by weight at all. It is no longer
    /// counted as soon as it is, but for the slack that one request more or less makes.
    #[inline(always)]
    pub(super) fn is_out_of_reach<const PLAIN: bool>(&mut self, line: &mut Line) -> bool {
        let is_below_mean = self.weight != 0 && weighed(line.start, self.weight) <= self.starts;
        !is_below_mean && self.is_far_above_mean::<PLAIN>(line)
    }

    /// The same for one that is above the mean.
    #[inline(always)]
    fn is_far_above_mean<const PLAIN: bool>(&mut self, line: &mut Line) -> bool {
        let before = before(line.start, line.slack_of_weight::<PLAIN>());
        if self.weight == 0 {
            return before > self.virtual_time;
        }
        self.dearest -= self.dearest >> 8;
        let most = self.starts + u128::from(self.dearest) * (STEPS * UNIT);
        if line.is_counted() && weighed(line.start, self.weight) > most {
            self.leave(line);
        }
        weighed(before, self.weight) > most
    }

    /// The weight of a party becomes another.
    pub(super) fn reweigh(&mut self, line: &mut Line, change: impl FnOnce(&mut Line)) {
        let was_counted = line.is_counted();
        self.leave(line);
        change(line);
        if was_counted && line.has_weight() {
            self.count(line);
        }
    }

    /// Counts all anew, after start tags or the unit of weights changed, and virtual time with them.
    pub(super) fn recount(&mut self, virtual_time: u64, lines: &[Line]) {
        (self.virtual_time, self.weight, self.starts) = (virtual_time, 0, 0);
        for line in lines.iter().filter(|line| line.is_counted()) {
            self.weight += line.weight().power();
            self.starts += weighed(line.start, line.weight().power());
        }
    }
}

#[inline(always)]
fn weighed(start: u64, weight: u64) -> u128 {
    u128::from(start) * u128::from(weight)
}
