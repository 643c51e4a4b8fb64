//! When tags come near the end of their range, or the unit of virtual time has to change: everything is counted anew, rarely
//! enough not to matter (weeks of the clock, 2^42 units of cost at the heaviest weight).

use super::level::{Level, spare_entry};
use super::lineup::ABSENT;
use super::rate::{FRACTION_BITS, PAST, floor_log2};
use super::tournament::KeyedIndex;
use loadline_base::Time;

impl Level {
    /// Sets the clock back so that `now` is [`PAST`] after tag 0. What lies further back is all the same past.
    #[cold]
    pub(super) fn rebase(&mut self, now: Time) {
        let epoch = now.nanos().wrapping_sub(PAST);
        let passed = epoch.wrapping_sub(self.time.epoch);
        let ticks = u128::from(passed) << FRACTION_BITS;
        self.time.epoch = epoch;
        let lag = core::mem::take(&mut self.time.lag);
        let lines = &mut self.lines;
        for line in lines.iter_mut() {
            line.set_back(ticks, lag);
            line.reserved_key = ABSENT;
        }
        self.limited_keys.fill(ABSENT);
        self.reserved.rebuild(|entry| {
            let line = &mut lines[entry.index() as usize];
            let wanted = line.is_busy() && line.has_reservation() && line.reserved_key == ABSENT;
            line.reserved_key =
                if wanted { line.reservation_tag::<false>() } else { line.reserved_key };
            wanted.then(|| KeyedIndex::new(line.reserved_key, entry.index()))
        });
        let keys = &mut self.limited_keys;
        self.limited.rebuild(|entry| {
            let line = &lines[entry.index() as usize];
            let key = &mut keys[entry.index() as usize];
            let wanted = line.is_busy() && line.has_weight() && *key == ABSENT;
            *key = if wanted { line.held_until() } else { *key };
            wanted.then(|| KeyedIndex::new(*key, entry.index()))
        });
    }

    /// Sets virtual time back. Called before it can overflow.
    #[cold]
    pub(super) fn rebase_virtual(&mut self) {
        let (weighted, spare) = (self.race.virtual_time(), self.time.spare);
        for line in &mut self.lines {
            let passed = if line.has_weight() { weighted } else { spare };
            line.start = line.start.saturating_sub(passed);
        }
        self.time.spare = 0;
        self.rebuild_by_start(0);
    }

    /// After virtual time was set, or start tags changed beneath their entries, or parties left the queues.
    pub(super) fn rebuild_by_start(&mut self, virtual_time: u64) {
        let Level { lines, weighted, spare, race, .. } = self;
        race.recount(virtual_time, lines);
        weighted.rebuild(|entry| {
            let line = &lines[entry.index() as usize];
            line.in_weighted().then(|| KeyedIndex::new(line.start, entry.index()))
        });
        spare.rebuild(|entry| {
            let line = &lines[entry.index() as usize];
            line.in_spare().then(|| spare_entry(line, entry.index()))
        });
    }

    /// Virtual time is counted in units of the heaviest weight: one that is heavier than all before sets it back.
    pub(super) fn weigh(&mut self, weight: f64) {
        if weight == 0.0 {
            return;
        }
        let exponent = floor_log2(weight);
        let known = *self.weight_exponent.get_or_insert(exponent);
        if exponent <= known {
            return;
        }
        self.weight_exponent = Some(exponent);
        let fewer = |ticks: u64| ticks.checked_shr((exponent - known).unsigned_abs()).unwrap_or(0);
        for index in 0..self.lines.len() {
            let weight = self.rate_of_weight(self.terms[index].weight);
            let line = &mut self.lines[index];
            if line.has_weight() {
                line.start = fewer(line.start);
                line.set_rates(line.reservation(), weight, line.limit());
            }
        }
        self.rebuild_by_start(fewer(self.race.virtual_time()));
    }
}
