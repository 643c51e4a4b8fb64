//! Who is next on a level: reservations that are due, then weights within their limits, then what nobody else wants. And what
//! the one that went is charged.

use super::level::{Level, is_far, spare_entry};
use super::line::{Line, after, before};
use super::lineup::ABSENT;
use super::rate::FAR;
use super::tournament::KeyedIndex;
use crate::Phase;
use crate::mclock::requests::RequestCharge;
use core::hint::select_unpredictable;
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

/// Why nobody was served plainly. A word, as what stands in its place in an answer is: a byte would make the compiler take that word apart
/// and put it together again.
#[repr(u32)]
pub(super) enum NotPlain {
    /// Nobody is due or within the limit.
    Nobody,
    /// Something about who is next is rare.
    Rare,
}

impl Level {
    /// Chooses and serves at once where nothing about who is next is rare, as it mostly is not; else finds nobody, and
    /// [`Level::choose`] has to look.
    #[inline(always)]
    pub(super) fn serve_plainly<P: PopHead>(
        &mut self,
        now: u64,
        heads: P,
    ) -> Result<(u32, P::Head, Phase), NotPlain> {
        loop {
            let top = self.reserved.first();
            if top.key() > self.time.due(now) {
                break;
            }
            let (index, line) = (top.index(), &self.lines[top.index() as usize]);
            if line.reserved_key == top.key() && line.is_due_plainly() {
                let head = self.serve_by_reservation::<P, true>(now, index, top.key(), heads);
                return Ok((index, head, Phase::Reservation));
            }
            if line.reserved_key == top.key() && line.is_due_slowly() {
                let head = self.serve_slowly_by_reservation(now, index, top.key(), heads);
                return Ok((index, head, Phase::Reservation));
            }
            if !self.is_plain_when_due(now) {
                return Err(NotPlain::Rare);
            }
        }
        if self.limited.first().key() <= now {
            self.release_limited(now);
        }
        loop {
            let top = self.weighted.first();
            // Where there is none the first is no party, or one that is not in the queue and therefore unsure.
            let (index, line) = match self.lines.get(top.index() as usize) {
                Some(line) => (top.index(), line),
                None => return Err(NotPlain::Nobody),
            };
            if !line.is_within_slowly() {
                match self.least_weighted_called(now) {
                    None => return Err(NotPlain::Nobody),
                    Some(least) if self.lines[least as usize].is_within_slowly() => {}
                    Some(_) => return Err(NotPlain::Rare),
                }
            } else if line.start == top.key() {
                if line.is_within_plainly() {
                    let head = self.serve_by_weight::<P, true>(now, index, heads);
                    return Ok((index, head, Phase::Weight));
                }
                let head = self.serve_slowly_by_weight(now, index, heads);
                return Ok((index, head, Phase::Weight));
            } else {
                let start = line.start;
                self.weighted.put_back(start);
            }
        }
    }

    /// Who has slow rates is served by the same code, called.
    #[inline(never)]
    fn serve_slowly_by_reservation<P: PopHead>(
        &mut self,
        now: u64,
        index: u32,
        tag: u64,
        heads: P,
    ) -> P::Head {
        self.serve_by_reservation::<P, false>(now, index, tag, heads)
    }

    /// See [`Level::serve_slowly_by_reservation`].
    #[inline(never)]
    fn serve_slowly_by_weight<P: PopHead>(&mut self, now: u64, index: u32, heads: P) -> P::Head {
        self.serve_by_weight::<P, false>(now, index, heads)
    }

    /// Brings the first of the reserved up to date; whether nothing about it is rare then.
    #[inline(never)]
    fn is_plain_when_due(&mut self, now: u64) -> bool {
        let due = self.due_reservation(self.time.due(now));
        due.is_none_or(|(index, _)| self.lines[index as usize].is_due_slowly())
    }

    #[inline(never)]
    fn least_weighted_called(&mut self, now: u64) -> Option<u32> {
        self.least_weighted(now)
    }

    /// Brings the first entries of the queues up to date and chooses.
    #[inline(always)]
    pub(super) fn choose(&mut self, time: Time, now: u64) -> Choice {
        if let Some((index, tag)) = self.due_reservation(self.time.due(now)) {
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
        let tick = self.tick(now);
        if self.due_reservation(self.time.due(tick)).is_some() {
            return Some(now);
        }
        let (first, lag) = (self.reserved.first().key(), u128::from(self.time.lag));
        (first != ABSENT).then(|| self.time_of(now, u128::from(first) + lag))
    }

    /// The party whose reservation is due first, if one is due in reservation time.
    #[inline(always)]
    pub(super) fn due_reservation(&mut self, now: u64) -> Option<(u32, u64)> {
        loop {
            let top = self.reserved.first();
            if top.key() > now {
                return None;
            }
            let line = &mut self.lines[top.index() as usize];
            if line.reserved_key != top.key() {
                self.reserved.pop();
            } else if line.is_due_slowly() {
                return Some((top.index(), top.key()));
            } else if !line.is_busy() || !line.has_reservation() {
                line.reserved_key = ABSENT;
                self.reserved.pop();
            } else {
                let tag = line.reservation_tag::<false>();
                line.set_due_at_key(true);
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
                let oldest = before(self.race.virtual_time(), line.slack_of_weight::<false>());
                line.start = line.start.max(oldest);
                line.enter_weighted();
                self.weighted.push(KeyedIndex::new(line.start, top.index()));
            }
        }
    }

    /// The party that is first in virtual time among those within their limits.
    #[inline(always)]
    fn least_weighted(&mut self, now: u64) -> Option<u32> {
        while let Some(top) = self.weighted.peek() {
            let line = &mut self.lines[top.index() as usize];
            if !line.is_busy() {
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
                line.set_within_limit(true);
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
    pub(super) fn choose_spare(&mut self, time: Time) -> Choice {
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
        // The common case in one word: nothing lies beyond the range of a tag.
        let reservation = self.due_reservation(FAR - 1).map(|(_, tag)| tag + self.time.lag);
        let limit = self.first_limit();
        match (reservation, limit) {
            (Some(reservation), None) => Choice::NotBefore(self.time_of_near(time, reservation)),
            (Some(reservation), Some(limit)) if reservation.min(limit) < FAR => {
                Choice::NotBefore(self.time_of_near(time, reservation.min(limit)))
            }
            (None, Some(limit)) if limit < FAR && self.reserved.peek().is_none() => {
                Choice::NotBefore(self.time_of_near(time, limit))
            }
            _ => self.next_far(time, limit),
        }
    }

    /// The time to come back, where nothing has a tag within the range or the first limit may come before what has none.
    #[cold]
    fn next_far(&mut self, time: Time, limit: Option<u64>) -> Choice {
        let exact = |line: &Line| line.reservation_tag_exact() + u128::from(self.time.lag);
        let far = self.reserved.iter().map(|entry| &self.lines[entry.index() as usize]);
        let reservation =
            far.filter(|line| line.is_busy() && line.has_reservation()).map(exact).min();
        let mut limit = limit.map(u128::from);
        if limit.is_some_and(|tag| tag >= u128::from(FAR)) {
            let far = self.limited.iter().map(|entry| &self.lines[entry.index() as usize]);
            let far = far.filter(|line| line.is_busy() && line.has_weight());
            limit = far.map(|line| line.limit_tag_exact()).min();
        }
        match reservation.into_iter().chain(limit).min() {
            Some(tag) => Choice::NotBefore(self.time_of(time, tag)),
            None => Choice::Nothing,
        }
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
                (self.serve_by_reservation::<P, false>(now, index, tag, heads), Phase::Reservation)
            }
            Choice::Weight(index) => {
                (self.serve_by_weight::<P, false>(now, index, heads), Phase::Weight)
            }
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
    fn serve_by_reservation<P: PopHead, const PLAIN: bool>(
        &mut self,
        now: u64,
        index: u32,
        tag: u64,
        heads: P,
    ) -> P::Head {
        let Level { lines, terms, reserved, race, time, bursts, .. } = self;
        let line = &mut lines[index as usize];
        time.write_off(now, line, tag);
        if line.holds_at_limit::<PLAIN>() {
            let slack = line.slack_of_limit::<PLAIN>();
            let credit = slack.max(bursts.of(terms, index));
            let tag_of_same = line.charge_limit_until::<PLAIN>(now, now + slack, credit);
            line.doubt_limit(tag_of_same > now);
        }
        line.reservation_base = tag;
        if line.has_weight() {
            race.bring_up(line);
            let is_beyond = race.is_out_of_reach::<PLAIN>(line);
            race.served_beside::<PLAIN>(line, select_unpredictable(is_beyond, 0, line.cost));
        }
        let served = line.charge::<PLAIN>();
        let (head, next) = heads.pop(line);
        if next == served {
            let tag = line.reservation_tag::<PLAIN>();
            line.reserved_key = tag;
            if !PLAIN {
                line.set_due_at_key(true);
            }
            reserved.put_back(tag);
            return head;
        }
        if next.exists() {
            line.set_head(next);
            let tag = line.reservation_tag::<false>();
            line.key_at(tag);
            line.set_within_limit(line.held_until() <= now);
            reserved.put_back(tag);
            return head;
        }
        line.run_empty();
        if reserved.put(index, ABSENT) {
            line.reserved_key = ABSENT;
        }
        head
    }

    /// The weight pays, and virtual time comes to where this service starts. The reservation's base stays where it
    /// is: work done by weight does not consume the reservation.
    #[inline(always)]
    fn serve_by_weight<P: PopHead, const PLAIN: bool>(
        &mut self,
        now: u64,
        index: u32,
        heads: P,
    ) -> P::Head {
        let Level { lines, terms, reserved, weighted, race, bursts, .. } = self;
        let line = &mut lines[index as usize];
        let mut tag_of_same = 0;
        if line.holds_at_limit::<PLAIN>() {
            let credit = line.slack_of_limit::<PLAIN>().max(bursts.of(terms, index));
            tag_of_same = line.charge_limit::<PLAIN>(now, credit);
        }
        race.served::<PLAIN>(line);
        let (start, far) = (line.start, is_far(race.virtual_time()));
        let served = line.charge::<PLAIN>();
        let (head, next) = heads.pop(line);
        if next == served {
            if tag_of_same > now {
                self.hold_first(index, tag_of_same);
            } else {
                weighted.put_back(start);
            }
        } else if next.exists() {
            self.turn_to_other(now, index, served, next);
        } else {
            line.run_empty();
            if line.has_reservation() && reserved.put(index, ABSENT) {
                line.reserved_key = ABSENT;
            }
        }
        if far {
            self.rebase_virtual();
        }
        head
    }

    /// The first of the weighted was served, and its next head costs something else.
    #[inline(always)]
    fn turn_to_other(&mut self, now: u64, index: u32, served: RequestCharge, next: RequestCharge) {
        let line = &mut self.lines[index as usize];
        line.set_head(next);
        let (start, tag) = (line.start, line.held_until());
        if tag > now {
            self.hold_first(index, tag);
        } else {
            line.set_within_limit(true);
            self.weighted.put_back(start);
        }
        if next.reserved != served.reserved && self.lines[index as usize].has_reservation() {
            self.change_reservation(index);
        }
    }

    /// As by weight, but the limit starts again from now: what nobody else wanted is not held against the party.
    #[cold]
    fn served_spare(&mut self, now: u64, index: u32, next: RequestCharge) {
        let line = &mut self.lines[index as usize];
        line.limit_base = now;
        if line.has_weight() {
            self.race.come_to(line.start);
            self.race.bring_up(line);
            self.race.served_beside::<false>(line, line.cost);
        } else {
            // Parties without weight share it in the ratio of their reservations.
            self.time.spare = self.time.spare.max(line.start);
            line.start =
                after(self.time.spare, line.reservation().ticks::<false>(line.reserved_cost));
        }
        line.set_head(next);
        let entry = spare_entry(line, index);
        if next.exists() {
            if line.has_reservation() {
                self.change_reservation(index);
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
