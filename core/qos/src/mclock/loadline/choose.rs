//! Who is next on a level: reservations that are due, then weights within their limits, then what nobody else wants. And what
//! the one that went is charged.

use super::level::{Level, is_far, spare_entry};
use super::line::{ABSENT, Line, after};
use super::rate::FAR;
use super::tournament::KeyedIndex;
use crate::Phase;
use crate::mclock::requests::RequestCharge;
use loadline_base::Time;

/// What a look at a level finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This party, since its reservation has been due since this tag; it is first among those.
    Reservation(u32, u64),
    /// This party, the first among the weighted.
    Weight(u32),
    /// This party, on what nobody else wants; the first among those.
    Spare(u32),
    /// Nothing may run before this time.
    NotBefore(Time),
    /// Nothing waits.
    Nothing,
}

/// Takes the head out of the list of a party that is served.
pub(super) trait PopHead {
    /// What was taken.
    type Head;

    /// The head, and what the next one is charged.
    fn pop(self, line: &mut Line) -> (Self::Head, RequestCharge);
}

impl Level {
    /// Brings the first entries of the queues up to date and chooses.
    #[inline(always)]
    pub(super) fn choose(&mut self, time: Time, now: u64) -> Choice {
        if let Some((index, tag)) = self.due_reservation(now.saturating_sub(self.time.lag)) {
            return Choice::Reservation(index, tag);
        }
        if self.limited.first().key() <= now {
            self.release_limited(now);
        }
        if let Some(index) = self.least_weighted(now) {
            return Choice::Weight(index);
        }
        self.choose_spare(time)
    }

    /// When a reservation is due, at the earliest: `now` if one is, and nothing if none waits for that.
    pub(super) fn reservation_due_at(&mut self, now: Time) -> Option<Time> {
        let (tick, lag) = (self.tick(now), self.time.lag);
        if self.due_reservation(tick.saturating_sub(lag)).is_some() {
            return Some(now);
        }
        let first = self.reserved.first().key();
        (first != ABSENT).then(|| self.time_of(now, u128::from(first) + u128::from(lag)))
    }

    /// The party whose reservation is due first, if one is due in reservation time.
    #[inline(always)]
    fn due_reservation(&mut self, now: u64) -> Option<(u32, u64)> {
        loop {
            let top = self.reserved.first();
            if top.key() > now {
                return None;
            }
            let line = &mut self.lines[top.index() as usize];
            if line.reserved_key != top.key() {
                self.reserved.pop();
            } else if !line.is_busy() || !line.has_reservation() {
                line.reserved_key = ABSENT;
                self.reserved.pop();
            } else {
                let tag = line.reservation_tag();
                if tag == top.key() {
                    return Some((top.index(), tag));
                }
                line.reserved_key = tag;
                self.reserved.put_back(tag);
            }
        }
    }

    /// Moves the parties whose limit has passed to the weighted. They keep what they are behind, up to the slack.
    #[inline(never)]
    fn release_limited(&mut self, now: u64) {
        while let Some(top) = self.limited.peek()
            && top.key() <= now
        {
            let index = top.index() as usize;
            let line = &mut self.lines[index];
            if self.limited_keys[index] != top.key() {
                self.limited.pop();
                continue;
            }
            let tag = line.held_until();
            if line.is_busy() && line.has_weight() && tag > now {
                self.limited_keys[index] = tag;
                self.limited.replace_top(KeyedIndex::new(tag, top.index()));
                continue;
            }
            self.limited_keys[index] = ABSENT;
            self.limited.pop();
            if line.is_busy() && line.has_weight() && !line.in_weighted() {
                let oldest = self.race.virtual_time().saturating_sub(line.slack_of_weight());
                line.start = line.start.max(oldest);
                line.set_in_weighted(true);
                self.weighted.push(KeyedIndex::new(line.start, top.index()));
            }
        }
    }

    /// The party that is first in virtual time among those within their limits.
    #[inline(always)]
    fn least_weighted(&mut self, now: u64) -> Option<u32> {
        while let Some(top) = self.weighted.peek() {
            let line = &mut self.lines[top.index() as usize];
            if !line.is_busy() || !line.has_weight() {
                line.set_in_weighted(false);
                self.race.leave(line);
                self.weighted.pop();
                continue;
            }
            if line.start != top.key() {
                let start = line.start;
                self.weighted.put_back(start);
                continue;
            }
            let tag = line.held_until();
            if tag <= now {
                return Some(top.index());
            }
            self.hold_first(top.index(), tag);
        }
        None
    }

    /// Puts the first of the weighted, which is at its limit, aside until `tag`.
    #[inline(never)]
    fn hold_first(&mut self, index: u32, tag: u64) {
        let line = &mut self.lines[index as usize];
        line.set_in_weighted(false);
        self.race.leave(line);
        self.weighted.pop();
        self.hold(index, tag);
    }

    /// Nobody is due or within the limit: somebody who may use the rest, or the time to come back.
    #[inline(never)]
    fn choose_spare(&mut self, time: Time) -> Choice {
        while let Some(top) = self.spare.peek() {
            let line = &mut self.lines[top.index() as usize];
            let held = self.limited_keys[top.index() as usize] != ABSENT;
            if !line.is_busy() || !line.conserves() || (line.has_weight() && !held) {
                line.set_in_spare(false);
                self.spare.pop();
                continue;
            }
            let actual = spare_entry(line, top.index());
            if actual == top {
                return Choice::Spare(top.index());
            }
            self.spare.replace_top(actual);
        }
        match self.next_tag() {
            Some(tag) => Choice::NotBefore(self.time_of(time, tag)),
            None => Choice::Nothing,
        }
    }

    /// The first tag at which a party may run again, on the clock, when none may run now.
    fn next_tag(&mut self) -> Option<u128> {
        let mut reservation = self
            .due_reservation(FAR - 1)
            .map(|(_, tag)| u128::from(tag) + u128::from(self.time.lag));
        let mut limit = self.first_limit().map(u128::from);
        if reservation.is_none() {
            let exact = |line: &Line| line.reservation_tag_exact() + u128::from(self.time.lag);
            let far = self.reserved.iter().map(|entry| &self.lines[entry.index() as usize]);
            reservation =
                far.filter(|line| line.is_busy() && line.has_reservation()).map(exact).min();
        }
        if limit.is_some_and(|tag| tag >= u128::from(FAR)) {
            let far = self.limited.iter().map(|entry| &self.lines[entry.index() as usize]);
            let far = far.filter(|line| line.is_busy() && line.has_weight());
            limit = far.map(|line| line.limit_tag_exact()).min();
        }
        reservation.into_iter().chain(limit).min()
    }

    fn first_limit(&mut self) -> Option<u64> {
        while let Some(top) = self.limited.peek() {
            let index = top.index() as usize;
            let line = &self.lines[index];
            if self.limited_keys[index] != top.key() {
                self.limited.pop();
            } else if !line.is_busy() || !line.has_weight() {
                self.limited_keys[index] = ABSENT;
                self.limited.pop();
            } else {
                let tag = line.held_until();
                if tag == top.key() {
                    return Some(tag);
                }
                self.limited_keys[index] = tag;
                self.limited.replace_top(KeyedIndex::new(tag, top.index()));
            }
        }
        None
    }

    /// Serves the party that was chosen.
    #[inline(always)]
    pub(super) fn serve<P: PopHead>(
        &mut self,
        now: u64,
        choice: Choice,
        heads: P,
    ) -> (P::Head, Phase) {
        match choice {
            Choice::Reservation(index, tag) => {
                (self.serve_by_reservation(now, index, tag, heads), Phase::Reservation)
            }
            Choice::Weight(index) => (self.serve_by_weight(now, index, heads), Phase::Weight),
            Choice::Spare(index) => {
                let (head, next) = heads.pop(&mut self.lines[index as usize]);
                self.served_spare(now, index, next);
                (head, Phase::Spare)
            }
            _ => unreachable!("somebody was served"),
        }
    }

    /// The reservation pays, and the weight: what a party gets by reservation counts for its share. But it is never further
    /// ahead than the slack; what it gets beyond its share is forgotten, or it would starve when the reservation
    /// goes. The same against the limit, which a reservation may pass.
    #[inline(always)]
    fn serve_by_reservation<P: PopHead>(
        &mut self,
        now: u64,
        index: u32,
        tag: u64,
        heads: P,
    ) -> P::Head {
        let Level { lines, terms, reserved, race, time, bursts, .. } = self;
        let line = &mut lines[index as usize];
        let (head, next) = heads.pop(line);
        time.write_off(now, line, tag);
        if line.holds_at_limit() {
            let slack = line.slack_of_limit();
            if line.limit_base <= now + slack {
                line.charge_limit(now, slack.max(bursts.of(terms, index)));
            }
        }
        line.reservation_base = tag;
        if line.has_weight() {
            race.bring_up(line);
            if !race.is_out_of_reach(line) {
                race.served_beside(line);
            }
        }
        line.set_head(next);
        if next.exists() {
            let tag = line.reservation_tag();
            line.reserved_key = tag;
            reserved.put_back(tag);
        }
        head
    }

    /// The weight pays, and virtual time comes to where this service starts. The reservation's base stays where it
    /// is: work done by weight does not consume the reservation.
    #[inline(always)]
    fn serve_by_weight<P: PopHead>(&mut self, now: u64, index: u32, heads: P) -> P::Head {
        let Level { lines, terms, weighted, race, bursts, .. } = self;
        let line = &mut lines[index as usize];
        let (head, next) = heads.pop(line);
        if line.holds_at_limit() {
            let burst = bursts.of(terms, index);
            line.charge_limit(now, line.slack_of_limit().max(burst));
        }
        race.served(line);
        let is_due_earlier = line.has_reservation() && next.reserved < line.reserved_cost;
        line.set_head(next);
        let far = is_far(race.virtual_time());
        if next.exists() {
            let (start, tag) = (line.start, line.held_until());
            if tag > now {
                self.hold_first(index, tag);
            } else {
                weighted.put_back(start);
            }
            if is_due_earlier {
                self.lower_reservation(index);
            }
        }
        if far {
            self.rebase_virtual();
        }
        head
    }

    /// As by weight, but the limit starts again from now: what nobody else wanted is not held against the party.
    #[cold]
    fn served_spare(&mut self, now: u64, index: u32, next: RequestCharge) {
        let line = &mut self.lines[index as usize];
        line.limit_base = now;
        if line.has_weight() {
            self.race.come_to(line.start);
            self.race.bring_up(line);
            self.race.served_beside(line);
        } else {
            // Parties without weight share it in the ratio of their reservations.
            self.time.spare = self.time.spare.max(line.start);
            line.start = after(self.time.spare, line.reservation().ticks(line.reserved_cost));
        }
        line.set_head(next);
        let entry = spare_entry(line, index);
        if next.exists() {
            if line.has_reservation() {
                self.lower_reservation(index);
            }
            let tag = self.lines[index as usize].held_until();
            self.spare.replace_top(entry);
            if self.lines[index as usize].has_weight() {
                self.hold(index, tag);
            }
        }
        if is_far(self.race.virtual_time().max(self.time.spare)) {
            self.rebase_virtual();
        }
        self.sweep();
    }
}
