//! A level: parties that share what is given to all of them by reservation, weight and limit. The classes of a scheduler
//! are one; the tenants of a class are one. It knows neither requests nor clients, only what a head costs.
//!
//! Busy parties stand in up to four queues by the tags of their heads. Nothing knows where in a queue a party stands: the
//! key is a lower bound of the tag, corrected when it reaches the top; a tag that moves earlier gets a second
//! entry, and the one that is no longer the party's is dropped when it reaches the top.

use super::flow::Inside;
use super::line::{Line, after};
use super::lineup::{ABSENT, Lineup};
use super::race::Race;
use super::rate::{FAR, FRACTION_BITS, PAST, TickRate, power_of_two};
use super::tournament::{KeyedIndex, Tournament};
use crate::Params;
use crate::mclock::requests::RequestCharge;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use loadline_base::{Span, Time};

/// Virtual ticks per unit of cost at the heaviest weight's power of two: a weight's share is right to a millionth at every
/// cost.
const VIRTUAL_BITS: i32 = 20;

/// When virtual time has come this far, it is set back.
const VIRTUAL_MAX: u64 = 1 << 62;

/// What a party is worth, as the caller gave it: read when it is changed or shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartyTerms {
    reservation: f64,
    pub(super) weight: f64,
    limit: f64,
    /// Whose turn it is inside: its owner's business.
    inside: u32,
    /// What a party may take at once after less than its limit, in microseconds of the limit.
    burst_micros: u32,
}

/// How the times of a level stand to the caller's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelTime {
    /// Where tag 0 stands on it, perhaps before its start.
    pub(super) epoch: u64,
    /// How far reservation time is behind it: it stands still while reservations cannot be met.
    pub(super) lag: u64,
    /// Start tag of the last service among parties without weight that use what nobody else wants.
    pub(super) spare: u64,
    /// After less than its reservation a party may have at once what that gives in this time.
    saved: u64,
}

/// Reservations that could not be met are owed for this long, and for a few requests. What lies further back is written
/// off, for all parties alike: who has no reservation must not pay for an hour of too little capacity.
const OWED_TICKS: u64 = 1_000_000_000 << FRACTION_BITS;

impl LevelTime {
    /// Reservation time: what is not later is due. It is never behind by more than all time.
    #[inline(always)]
    pub(super) fn due(&self, now: u64) -> u64 {
        now.wrapping_sub(self.lag)
    }

    /// Reservation time stands still while reservations are met late: that of this party was due at `tag`.
    #[inline(always)]
    pub(super) fn write_off(&mut self, now: u64, line: &Line, tag: u64) {
        if self.lag + tag + OWED_TICKS < now {
            self.fall_behind(now, line.slack_of_reservation(), tag);
        }
    }

    #[cold]
    fn fall_behind(&mut self, now: u64, slack: u64, tag: u64) {
        let late = self.due(now).saturating_sub(tag);
        let owed = OWED_TICKS.saturating_add(slack);
        self.lag = self.lag.saturating_add(late.saturating_sub(owed));
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) lines: Vec<Line>,
    pub(super) terms: Vec<PartyTerms>,
    /// The key of the valid entry of a party in `limited`, or [`ABSENT`].
    pub(super) limited_keys: Vec<u64>,
    /// Rows of removed parties.
    free: VecDeque<u32>,
    /// Parties with a reservation, by reservation tag.
    pub(super) reserved: Lineup,
    /// Parties with a weight that were within their limit when last looked at, by start tag.
    pub(super) weighted: Lineup,
    /// Parties with a weight that are at their limit, by limit tag.
    pub(super) limited: Tournament,
    /// Those at their limit, or without weight, that may use what nobody else wants.
    pub(super) spare: Tournament,
    /// How far those in `weighted` have come.
    pub(super) race: Race,
    /// The power of two of the heaviest weight; only ratios of weights count.
    pub(super) weight_exponent: Option<i32>,
    pub(super) time: LevelTime,
    pub(super) bursts: Bursts,
}

/// Whether a party has ever had a burst: only then is it looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bursts(bool);

impl Bursts {
    /// The burst of a party in ticks.
    #[inline(always)]
    pub(super) fn of(self, terms: &[PartyTerms], index: u32) -> u64 {
        if !self.0 {
            return 0;
        }
        (u64::from(terms[index as usize].burst_micros) * 1_000) << FRACTION_BITS
    }
}

// A record is a party with its one client: the line, its terms, a key, and the flow (see `flow`).
pub(super) const PARTY_BYTES: usize =
    size_of::<Line>() + size_of::<PartyTerms>() + size_of::<u64>();

impl Level {
    pub(super) fn new() -> Level {
        Level {
            lines: Vec::new(),
            terms: Vec::new(),
            limited_keys: Vec::new(),
            free: VecDeque::new(),
            reserved: Lineup::new(),
            weighted: Lineup::new(),
            limited: Tournament::new(),
            spare: Tournament::new(),
            race: Race::new(),
            weight_exponent: None,
            time: LevelTime { epoch: 0u64.wrapping_sub(PAST), lag: 0, spare: 0, saved: 0 },
            bursts: Bursts(false),
        }
    }

    /// Adds a party; without parameters it is a strict one. `inside` is the caller's.
    pub(super) fn add(&mut self, params: Option<Params>, inside: Inside) -> u32 {
        let terms = PartyTerms {
            reservation: 0.0,
            weight: 0.0,
            limit: 0.0,
            inside: inside.encode(),
            burst_micros: 0,
        };
        let index = match self.free.front() {
            Some(index) if self.is_clean(*index) => {
                let index = self.free.pop_front().expect("it was there");
                self.lines[index as usize] = Line::strict();
                self.terms[index as usize] = terms;
                self.limited_keys[index as usize] = ABSENT;
                index
            }
            _ => {
                self.lines.push(Line::strict());
                self.terms.push(terms);
                self.limited_keys.push(ABSENT);
                u32::try_from(self.lines.len() - 1).expect("fewer than 2^32 parties")
            }
        };
        self.set_inside(index, inside);
        if let Some(params) = params {
            self.give_terms(index, params);
        }
        index
    }

    /// Takes a party out in which nothing waits.
    pub(super) fn remove(&mut self, index: u32) {
        debug_assert!(!self.line(index).is_busy());
        self.set_inside(index, Inside::Closed);
        self.free.push_back(index);
        self.catch_up();
        self.sweep();
        if 2 * self.free.len() > self.lines.len() + 64 && !self.is_clean(self.free[0]) {
            self.clean_free();
        }
    }

    /// Whether no entry by start tag is left of a removed party: those must not come later than the next party's.
    fn is_clean(&self, index: u32) -> bool {
        !self.line(index).in_weighted() && !self.line(index).in_spare()
    }

    /// Takes the entries out that are left of removed parties, when these are the greater part: nobody comes to the entries of some as long
    /// as others have work. All of them are used again before the next time.
    #[cold]
    fn clean_free(&mut self) {
        let Level { lines, free, race, .. } = self;
        for index in free.iter() {
            let line = &mut lines[*index as usize];
            line.set_in_weighted(false);
            line.set_in_spare(false);
            race.leave(line);
        }
        self.rebuild_by_start(self.race.virtual_time());
    }

    #[inline(always)]
    pub(super) fn line(&self, index: u32) -> &Line {
        &self.lines[index as usize]
    }

    #[inline(always)]
    pub(super) fn line_mut(&mut self, index: u32) -> &mut Line {
        &mut self.lines[index as usize]
    }

    /// Whether a party has this row.
    pub(super) fn is_open(&self, index: u32) -> bool {
        let terms = self.terms.get(index as usize);
        terms.is_some_and(|terms| Inside::decode(terms.inside) != Inside::Closed)
    }

    #[inline]
    pub(super) fn inside(&self, index: u32) -> u32 {
        self.terms[index as usize].inside
    }

    /// The turns that clients take in a party, if they do. The party's terms are read only if it is shared.
    #[inline(always)]
    pub(super) fn turns(&self, index: u32) -> Option<u32> {
        if !self.line(index).is_shared() {
            return None;
        }
        match Inside::decode(self.inside(index)) {
            Inside::Turns(turns) => Some(turns),
            _ => None,
        }
    }

    pub(super) fn set_inside(&mut self, index: u32, inside: Inside) {
        self.terms[index as usize].inside = inside.encode();
        let is_shared = matches!(inside, Inside::Turns(_) | Inside::Tenants(_));
        self.line_mut(index).set_shared(is_shared);
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The parameters in force; `None` for a strict party.
    pub(super) fn params(&self, index: u32) -> Option<Params> {
        let line = self.line(index);
        let terms = self.terms[index as usize];
        let params = Params::new(terms.reservation, terms.weight, terms.limit);
        let params = || params.expect("they were valid when set");
        (!line.is_strict()).then(|| {
            params()
                .with_limit_policy(line.policy())
                .with_burst(Span::from_micros(u64::from(terms.burst_micros)))
        })
    }

    /// From now on parties may have at once what their reservations give in this time, after less than that.
    pub(super) fn save(&mut self, saved: Span) {
        self.time.saved = saved.nanos() << FRACTION_BITS;
    }

    /// Changes what a party is worth. The caller tells of the head again ([`Level::changed`]).
    pub(super) fn set_terms(&mut self, now: u64, index: u32, params: Params) {
        let line = self.line(index);
        let was_due = if line.has_reservation() { line.reservation_tag::<false>() } else { FAR };
        let had_weight = line.has_weight();
        let reservation_now = self.reservation_time(now);
        self.give_terms(index, params);
        let Level { lines, time, .. } = self;
        let line = &mut lines[index as usize];
        if line.is_busy() && line.has_reservation() {
            // A reservation that begins, or grows, makes the head due no earlier than now, or than it was before: nothing is owed of it for
            // the time when there was none, and who waits for his own would pay for that.
            let due = was_due.min(reservation_now);
            line.wake_reservation(due, time.saved, line.reserved_cost);
        }
        if line.has_weight() != had_weight {
            self.begin_in_other_unit(index);
        }
    }

    /// A party has a weight from now on, or none any more: its start tag, which is counted in units of the weight or in those of the
    /// reservation, begins at the least of those that it is among from now on.
    fn begin_in_other_unit(&mut self, index: u32) {
        let virtual_time = self.race.virtual_time();
        let line = &mut self.lines[index as usize];
        line.start = if line.has_weight() { virtual_time } else { self.time.spare };
        line.set_in_weighted(false);
        self.rebuild_by_start(virtual_time);
    }

    fn give_terms(&mut self, index: u32, params: Params) {
        let limit = params.limit().unwrap_or(0.0);
        let terms = &mut self.terms[index as usize];
        (terms.reservation, terms.weight, terms.limit) =
            (params.reservation(), params.weight(), limit);
        let micros = params.burst().nanos() / 1_000;
        terms.burst_micros = u32::try_from(micros).unwrap_or(u32::MAX);
        self.bursts.0 |= micros > 0;
        self.weigh(params.weight());
        let weight = self.rate_of_weight(params.weight());
        let reservation = TickRate::per_second(params.reservation());
        let Level { lines, race, .. } = self;
        let line = &mut lines[index as usize];
        race.reweigh(line, |line| {
            line.set_rates(reservation, weight, TickRate::per_second(limit));
        });
        line.set_policy(params.limit_policy());
    }

    pub(super) fn rate_of_weight(&self, weight: f64) -> TickRate {
        TickRate::of_weight(weight, VIRTUAL_BITS + self.weight_exponent.unwrap_or(0))
    }

    /// A virtual tag as cost units at weight 1.
    pub(super) fn units(&self, start: u64) -> f64 {
        start as f64 * power_of_two(-VIRTUAL_BITS - self.weight_exponent.unwrap_or(0))
    }

    /// The clock as a tag.
    #[inline(always)]
    pub(super) fn tick(&mut self, now: Time) -> u64 {
        if now.nanos().wrapping_sub(self.time.epoch) >= 2 * PAST {
            self.rebase(now);
        }
        self.tick_at(now)
    }

    /// The same for a time to which the clock has come.
    #[inline(always)]
    pub(super) fn tick_at(&self, now: Time) -> u64 {
        now.nanos().wrapping_sub(self.time.epoch) << FRACTION_BITS
    }

    /// The first whole nanosecond that is not before a tag, given that the clock shows `now`.
    pub(super) fn time_of(&self, now: Time, tag: u128) -> Time {
        let ahead = tag.saturating_sub(u128::from(self.tick_at(now)));
        let nanos = (ahead + (1 << FRACTION_BITS) - 1) >> FRACTION_BITS;
        Time::from_nanos(u64::try_from(u128::from(now.nanos()) + nanos).unwrap_or(u64::MAX))
    }

    /// The same for a tag that is not beyond the range.
    #[inline]
    pub(super) fn time_of_near(&self, now: Time, tag: u64) -> Time {
        let ahead = tag.saturating_sub(self.tick_at(now));
        let nanos = (ahead + (1 << FRACTION_BITS) - 1) >> FRACTION_BITS;
        Time::from_nanos(now.nanos().saturating_add(nanos))
    }

    /// The same for a tag that may have passed.
    pub(super) fn time_of_past(&self, now: Time, tag: u128) -> Time {
        let behind = u128::from(self.tick_at(now)).saturating_sub(tag) >> FRACTION_BITS;
        let passed = u64::try_from(behind).unwrap_or(u64::MAX);
        Time::from_nanos(self.time_of(now, tag).nanos().saturating_sub(passed))
    }

    /// The start tag of a party that comes back from its limit now, or that was not at it.
    pub(super) fn start_if_released(&self, index: u32) -> u64 {
        let line = self.line(index);
        if line.in_weighted() {
            return line.start;
        }
        line.start.max(self.race.virtual_time().saturating_sub(line.slack_of_weight::<false>()))
    }

    /// Reservation time, from which a claim begins now. While nothing is taken nothing is written off: that is made up for first, or a claim
    /// that began late in a pause would be due only when it has passed once more.
    #[inline(always)]
    fn reservation_time(&mut self, now: u64) -> u64 {
        let time = self.time.due(now);
        if self.reserved.first().key() < time.saturating_sub(OWED_TICKS) {
            return self.reservation_time_after_pause(now);
        }
        time
    }

    #[cold]
    fn reservation_time_after_pause(&mut self, now: u64) -> u64 {
        if let Some((index, tag)) = self.due_reservation(self.time.due(now)) {
            self.time.write_off(now, &self.lines[index as usize], tag);
        }
        self.time.due(now)
    }

    /// A party in which nothing waited has a head.
    #[inline(always)]
    pub(super) fn wakes(&mut self, now: u64, index: u32, head: RequestCharge) {
        self.catch_up();
        let reservation_now = self.reservation_time(now);
        let Level { lines, terms, limited_keys, reserved, weighted, race, time, bursts, .. } = self;
        // One look at the line for all of it.
        let line = &mut lines[index as usize];
        line.forget_costs();
        line.set_head(head);
        let mut held_until = 0;
        if line.holds_at_limit::<false>() {
            let charge = line.limit().ticks_either_way::<false>(head.of_limit());
            let burst = bursts.of(terms, index);
            line.limit_base = line.limit_base.max(now.saturating_sub(charge.max(burst)));
            held_until = after(line.limit_base, charge);
        }
        let mut is_aside = !line.has_weight() && line.conserves();
        if line.has_weight() {
            race.bring_up(line);
            if line.in_weighted() {
                line.set_within_limit(held_until <= now);
            } else if held_until > now || limited_keys[index as usize] != ABSENT {
                is_aside = true;
            } else {
                line.enter_weighted();
                weighted.push(KeyedIndex::new(line.start, index));
            }
        }
        if line.has_reservation() {
            let tag = line.wake_reservation(reservation_now, time.saved, head.reserved);
            if reserved.put(index, tag) {
                line.key_at(tag);
            } else {
                self.key_in_crowd(tag, index);
            }
        }
        if is_aside {
            self.wakes_aside(index, held_until);
        }
    }

    /// The same of one that is at its limit, or has no weight and may use what nobody else wants.
    #[inline]
    fn wakes_aside(&mut self, index: u32, held_until: u64) {
        let line = &mut self.lines[index as usize];
        if line.has_weight() {
            return self.hold(index, held_until);
        }
        line.start = line.start.max(self.time.spare);
        self.enter_spare(index);
    }

    /// Virtual time comes to the least start tag: while only reservations are served it would stand still, and who comes
    /// then would be ahead of all others.
    #[inline(always)]
    fn catch_up(&mut self) {
        while let Some(top) = self.weighted.peek() {
            let line = &mut self.lines[top.index() as usize];
            if !line.is_busy() {
                line.set_in_weighted(false);
                self.race.leave(line);
                self.weighted.pop();
            } else if line.start == top.key() {
                self.race.come_to(top.key());
                return;
            } else {
                let start = line.start;
                self.weighted.put_back(start);
            }
        }
    }

    /// Puts a busy party with a weight among those within their limit, or aside until it is.
    #[inline(always)]
    fn enter(&mut self, now: u64, index: u32, tag: u64) {
        if tag > now || self.limited_keys[index as usize] != ABSENT {
            return self.hold(index, tag);
        }
        let line = &mut self.lines[index as usize];
        line.enter_weighted();
        self.weighted.push(KeyedIndex::new(line.start, index));
    }

    /// Puts a party at its limit aside until `tag`.
    #[inline]
    pub(super) fn hold(&mut self, index: u32, tag: u64) {
        let key = &mut self.limited_keys[index as usize];
        if tag < *key {
            *key = tag;
            self.limited.push(KeyedIndex::new(tag, index));
            self.sweep();
        }
        if self.lines[index as usize].conserves() {
            self.enter_spare(index);
        }
    }

    fn enter_spare(&mut self, index: u32) {
        let line = &mut self.lines[index as usize];
        if !line.in_spare() {
            line.set_in_spare(true);
            self.spare.push(spare_entry(line, index));
        }
    }

    /// A party's head has changed without a service, or its terms have.
    pub(super) fn changed(&mut self, now: u64, index: u32, head: RequestCharge) {
        self.catch_up();
        let line = &mut self.lines[index as usize];
        line.set_head(head);
        if !line.is_busy() {
            return;
        }
        if line.has_reservation() {
            self.change_reservation(index);
        }
        let line = &mut self.lines[index as usize];
        if line.has_weight() {
            let is_new = !line.in_weighted() && self.limited_keys[index as usize] == ABSENT;
            if is_new {
                self.race.bring_up(line);
            }
            if !line.in_weighted() {
                let tag = line.held_until();
                self.enter(now, index, tag);
            }
        } else if line.conserves() {
            self.enter_spare(index);
        }
        self.sweep();
    }

    /// The tag of a busy party's reservation is another.
    #[inline(always)]
    pub(super) fn change_reservation(&mut self, index: u32) {
        self.key_reservation(self.lines[index as usize].reservation_tag::<false>(), index);
    }

    /// Makes sure that an entry stands in the queue that is not later than the tag.
    #[inline(always)]
    fn key_reservation(&mut self, tag: u64, index: u32) {
        if self.reserved.put(index, tag) {
            self.lines[index as usize].key_at(tag);
        } else {
            self.key_in_crowd(tag, index);
        }
    }

    /// The same where a party may have several entries.
    #[inline(always)]
    fn key_in_crowd(&mut self, tag: u64, index: u32) {
        let line = &mut self.lines[index as usize];
        line.set_due_at_key(tag <= line.reserved_key);
        if tag < line.reserved_key {
            line.reserved_key = tag;
            self.push_reservation(tag, index);
        }
    }

    /// Adds an entry. It takes the place of the first if that is of a party in which nothing waits: a server with time to spare
    /// empties one party while another wakes.
    #[inline(always)]
    fn push_reservation(&mut self, tag: u64, index: u32) {
        let first = self.reserved.first();
        match self.lines.get_mut(first.index() as usize) {
            Some(line) if !line.is_busy() => {
                if line.reserved_key == first.key() {
                    line.reserved_key = ABSENT;
                }
                self.reserved.replace_first(KeyedIndex::new(tag, index));
            }
            _ => self.reserved.push(KeyedIndex::new(tag, index)),
        }
    }

    /// Drops entries that are nobody's any more when they are the greater part.
    #[inline(always)]
    pub(super) fn sweep(&mut self) {
        let most = 2 * self.lines.len() + 64;
        if self.reserved.len() > most {
            let lines = &self.lines;
            self.reserved.rebuild(|entry| {
                (lines[entry.index() as usize].reserved_key == entry.key()).then_some(entry)
            });
        }
        if self.limited.len() > most {
            let keys = &self.limited_keys;
            self.limited
                .rebuild(|entry| (keys[entry.index() as usize] == entry.key()).then_some(entry));
        }
    }

    /// Charges an arrival to a party that rejects, or says when it would be within the limit.
    pub(super) fn admit(&mut self, now: u64, index: u32, cost: u32) -> Result<(), u128> {
        let burst = self.bursts.of(&self.terms, index);
        let line = &mut self.lines[index as usize];
        let charge = line.limit().ticks::<false>(cost);
        let base = line.limit_base.max(now.saturating_sub(charge.max(burst)));
        if after(base, charge) > now {
            return Err(u128::from(base) + line.limit().exact(cost));
        }
        line.limit_base = after(base, charge);
        Ok(())
    }
}

/// Where a party stands among those that may use what nobody else wants: those with a weight first, by start tag.
pub(super) fn spare_entry(line: &Line, index: u32) -> KeyedIndex {
    let after_weights = u64::from(!line.has_weight()) << 63;
    KeyedIndex::new(after_weights | line.start.min(i64::MAX as u64), index)
}

/// Whether virtual time has to be set back.
#[inline(always)]
pub(super) fn is_far(virtual_time: u64) -> bool {
    virtual_time > VIRTUAL_MAX
}
