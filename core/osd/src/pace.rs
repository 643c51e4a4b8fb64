//! How much background work enters a disk of bytes beside clients: as much as leaves them what they are promised, which is found by
//! looking.
//!
//! What a disk with its file system, its log and the processor above it can do is known to nobody beforehand, and where a log commits
//! in groups clients held back at the gate get less than the disk could give them. So clients pass here, and background work alone
//! is held back, by three things:
//!
//! - **Parts in flight.** Two of them, so that what a client asks meanwhile is behind as much as the disk does in the latency goal.
//!   This alone holds back what has begun: writes wait for an object that is on its way, so it ends as soon as the disk can.
//! - **A rate** of beginnings. Clients that are promised a share of what they have alone are behind, in a slot of time, if less than
//!   that share of it ended in the slot *and* what ended took longer than it takes alone. Who asks for little is never behind by the
//!   first, and who is held up at another disk not by the second. The rate falls while clients are behind and grows while they
//!   are not. A transfer that has begun is owed, and nothing begins before what is owed is paid at the rate.
//! - **Probes.** What clients have alone is seen in one slot of twenty. In it and in the slot before, in which what has begun ends, no
//!   background work begins. Slots are cut by the clock alone, so the probes of OSDs that share a processor or a disk fall together.
//!   The middle one of the last three counts. Where clients have clearly more than that beside background work, they ask for
//!   other things than at those: the next probe comes sooner, and it alone counts.
//!
//! While no client asks for anything the rate and the probes hold nothing back.

use loadline_base::{Span, Time};

/// Slots are this long at least, and one long enough for some requests of a slow disk.
const SLOT_LEAST: Span = Span::from_millis(50);
const SLOT_MOST: Span = Span::from_millis(250);
/// One slot of so many is a probe, or while it is not known what clients have alone.
const SLOTS_PER_PROBE: u64 = 20;
const SLOTS_TO_KNOW: u64 = 5;
/// This part of a probe passes before what it sees counts, in tenths: clients' accesses that stood behind background work end.
const SETTLING_TENTHS: u64 = 3;
/// Clients count as gone when none has asked for anything for this many slots.
const SLOTS_TO_IDLE: u64 = 4;
/// Parts that the disk may have at a time.
const PARTS_IN_FLIGHT: u64 = 2;
/// What is promised is kept in the mean of seconds that vary, so the aim is higher.
const MARGIN: f64 = 1.2;
/// Clients are slow here if their accesses take so many times as long as alone.
const SLOWER: f64 = 1.2;
/// Bytes per second before anything was seen.
const RATE_FIRST: f64 = (32 << 20) as f64;
/// One part may begin in so many slots, whatever was seen.
const SLOTS_PER_PART: f64 = 4.0;
/// In a slot the rate grows by this factor, and falls by at most that.
const GROWTH: f64 = 1.1;
const FALL: f64 = 0.6;
/// What ended lately is a mean in which a new slot counts this much.
const NEW_SLOT: f64 = 0.4;

/// What a pace is told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PaceTerms {
    /// The share of what they have alone that clients are promised.
    pub(crate) share: f64,
    /// How long the disk may take for what is in flight of background work.
    pub(crate) goal: Span,
    /// Bytes of the largest part.
    pub(crate) part: u64,
}

/// The pace of one disk's background work.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundPace {
    terms: PaceTerms,
    slot: Slot,
    /// What clients have alone, as the last three probes saw it.
    probes: [Option<ClientFare>; 3],
    /// What they had lately beside background work.
    beside: Option<ClientFare>,
    /// Bytes per second that may begin.
    rate: f64,
    /// Bytes that have begun beyond what the rate allowed until then.
    owed: (f64, Time),
    /// Until when it is known that something is held back by the rate.
    held_to: Time,
    /// When a client last asked for something.
    asked: Option<Time>,
}

/// How clients fare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientFare {
    /// Accesses that end in a second.
    pub rate: f64,
    /// Nanoseconds that one takes.
    pub takes: f64,
}

/// How a pace stands at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceReport {
    /// The share of what they have alone that clients are promised.
    pub share: f64,
    /// Bytes of background work that may begin in a second; `None` while no client asks for anything, and nothing is held back.
    pub rate: Option<f64>,
    /// What clients have alone, as the probes saw it, and lately beside background work.
    pub alone: Option<ClientFare>,
    /// See `alone`.
    pub beside: Option<ClientFare>,
}

/// A slot, and what was counted in it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    number: u64,
    /// One slot of so many is a probe.
    per_probe: u64,
    /// Of accesses of clients that ended in it: how long all took together, and how many there were.
    waited: u64,
    ended: u64,
    /// How long something was held back by the rate.
    held: Span,
}

impl BackgroundPace {
    pub(crate) fn new(terms: PaceTerms) -> BackgroundPace {
        BackgroundPace {
            terms,
            slot: Slot { per_probe: SLOTS_TO_KNOW, ..Slot::default() },
            probes: [None; 3],
            beside: None,
            rate: RATE_FIRST,
            owed: (0.0, Time::ZERO),
            held_to: Time::ZERO,
            asked: None,
        }
    }

    /// On new terms; what was seen stays.
    pub(crate) fn on(self, terms: PaceTerms) -> BackgroundPace {
        BackgroundPace { terms, ..self }
    }

    /// Bytes of the largest part.
    pub(crate) fn part(&self) -> u64 {
        self.terms.part
    }

    /// How long the disk may take for what is in flight.
    pub(crate) fn goal(&self) -> Span {
        self.terms.goal
    }

    /// How it stands.
    pub(crate) fn report(&self, now: Time) -> PaceReport {
        PaceReport {
            share: self.terms.share,
            rate: self.has_clients(now).then_some(self.rate),
            alone: self.alone(),
            beside: self.beside,
        }
    }

    /// A client asks for something.
    pub(crate) fn client_asked(&mut self, now: Time) {
        self.asked = Some(now);
    }

    /// An access of a client has ended that began then.
    pub(crate) fn client_ended(&mut self, now: Time, began: Time) {
        self.look(now);
        let settled = self.slot_start() + self.slot_length() * SETTLING_TENTHS / 10;
        if !self.slot.is_probe() || now >= settled {
            self.slot.waited += now.since(began).nanos();
            self.slot.ended += 1;
        }
    }

    /// A transfer of so many bytes begins.
    pub(crate) fn begin(&mut self, now: Time, bytes: u64) {
        self.look(now);
        // What begins while no client asks is owed to nobody.
        let owed = if self.has_clients(now) { self.still_owed(now) + bytes as f64 } else { 0.0 };
        self.owed = (owed, now);
    }

    /// Whether parts have to wait until some of what is in flight has ended.
    pub(crate) fn holds_parts(&self, in_flight: u64) -> bool {
        in_flight > 0 && in_flight + self.terms.part > PARTS_IN_FLIGHT * self.terms.part
    }

    /// Until when no transfer may begin; it is looked at again then.
    pub(crate) fn holds_until(&mut self, now: Time) -> Option<Time> {
        self.look(now);
        if !self.has_clients(now) {
            return None;
        }
        let slot_end = self.slot_start() + self.slot_length();
        if self.slot.is_quiet() {
            return Some(slot_end);
        }
        let owed = self.still_owed(now);
        if owed < 1.0 {
            return None;
        }
        let paid = now + Span::from_secs_f64(owed / self.rate).max(Span::from_micros(1));
        // The rate may have changed by the end of the slot.
        let until = paid.min(slot_end);
        self.slot.held += until.since(self.held_to.max(now).min(until));
        self.held_to = self.held_to.max(until);
        Some(until)
    }

    fn still_owed(&self, now: Time) -> f64 {
        let (owed, at) = self.owed;
        (owed - self.rate * now.since(at).as_secs_f64()).max(0.0)
    }

    fn has_clients(&self, now: Time) -> bool {
        self.asked.is_some_and(|asked| now.since(asked) < self.slot_length() * SLOTS_TO_IDLE)
    }

    fn slot_length(&self) -> Span {
        slot_length(self.terms.goal)
    }

    fn slot_start(&self) -> Time {
        Time::from_nanos(self.slot.number * self.slot_length().nanos())
    }

    /// Whether the probes tell what clients have alone who ask for what they ask now.
    fn is_known(&self) -> bool {
        let alone = self.alone();
        alone
            .is_some_and(|alone| self.beside.is_none_or(|beside| beside.rate < alone.rate * SLOWER))
    }

    /// Draws its conclusions from the last slot, if it has ended.
    fn look(&mut self, now: Time) {
        let number = now.nanos() / self.slot_length().nanos();
        if number == self.slot.number {
            return;
        }
        // What was paid until now was paid at the rate until now.
        self.owed = (self.still_owed(now), now);
        if let Some(seen) = self.seen() {
            match self.slot.is_probe() {
                true if self.is_known() => {
                    self.probes = [Some(seen), self.probes[0], self.probes[1]];
                }
                true => self.probes = [Some(seen), None, None],
                false => self.follow(seen),
            }
        }
        let per_probe = if self.is_known() { SLOTS_PER_PROBE } else { SLOTS_TO_KNOW };
        self.slot = Slot { number, per_probe, ..Slot::default() };
    }

    /// How clients fared in the slot, if any of their accesses ended in it.
    fn seen(&self) -> Option<ClientFare> {
        let Slot { ended, waited, .. } = self.slot;
        let counted = match self.slot.is_probe() {
            true => self.slot_length() * (10 - SETTLING_TENTHS) / 10,
            false => self.slot_length(),
        };
        (ended > 0).then(|| ClientFare {
            rate: ended as f64 / counted.as_secs_f64(),
            takes: waited as f64 / ended as f64,
        })
    }

    /// What clients have alone.
    fn alone(&self) -> Option<ClientFare> {
        let mut probes: Vec<ClientFare> = self.probes.iter().copied().flatten().collect();
        probes.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        probes.get(probes.len() / 2).copied()
    }

    /// The rate follows how clients fare beside background work.
    fn follow(&mut self, seen: ClientFare) {
        let mix = |old: f64, new: f64| old + NEW_SLOT * (new - old);
        let beside = self.beside.map_or(seen, |old| ClientFare {
            rate: mix(old.rate, seen.rate),
            takes: mix(old.takes, seen.takes),
        });
        self.beside = Some(beside);
        let Some(alone) = self.alone() else { return };
        let promised = alone.rate * (self.terms.share * MARGIN).min(1.0);
        let is_slow = beside.takes > alone.takes * SLOWER;
        let slot = self.slot_length().as_secs_f64();
        // Where parts in flight are the limit, or nothing waits, the rate holds nothing back for long.
        let was_held = self.slot.held * 2 >= self.slot_length();
        let factor = match (beside.rate < promised, is_slow) {
            (true, true) => (beside.rate / promised).max(FALL),
            (false, _) if was_held && self.is_known() => GROWTH,
            _ => 1.0,
        };
        let least = self.terms.part as f64 / slot / SLOTS_PER_PART;
        self.rate = (self.rate * factor).max(least);
    }
}

/// The length of a slot, by the latency goal.
pub(crate) fn slot_length(goal: Span) -> Span {
    (goal * 50).clamp(SLOT_LEAST, SLOT_MOST)
}

impl Slot {
    fn is_probe(&self) -> bool {
        self.number.is_multiple_of(self.per_probe)
    }

    /// Whether it is a probe or the one before.
    fn is_quiet(&self) -> bool {
        self.is_probe() || (self.number + 1).is_multiple_of(self.per_probe)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
