//! How much background work enters a disk of bytes beside clients: as much as leaves them what they are promised, which is found by
//! looking.
//!
//! What a disk with its file system, its log and the processor above it can do is known to nobody beforehand, and where a log commits
//! in groups clients held back at the gate get less than the disk could give them. So clients pass here, and background work alone
//! is held back, all of it by the same rule: recovery, backfill, scrubs, trims and deletions. What begins with an item of each, and
//! which may wait, [`Item::paced`](crate::item::Item::paced) says. Four things hold back:
//!
//! - **Parts in flight.** Two of them, so that what a client asks meanwhile is behind as much as the disk does in the latency goal.
//!   This alone holds back what has begun: writes wait for an object that is on its way, so it ends as soon as the disk can.
//! - **A rate** of beginnings, in bytes, or what costs as much. Clients that are promised a share of what they have alone are behind if less than that share of it
//!   ended lately *and* what ended took longer than it takes alone. Who asks for little is never behind by the first, and who is held
//!   up at another disk not by the second. The rate falls while clients are behind and grows while they are not. Lately is the last
//!   second, in which a promise is judged: a store that writes checkpoints serves its clients twice as fast in one half of a second as
//!   in the other, and a rate that followed that would be a saw. Only where clients are far behind, in the last slots, it falls at
//!   once. What has begun is owed, and nothing begins before what is owed is paid at the rate.
//! - **Late accesses.** An access is late that takes longer than 99 of 100 take alone and the latency goal, or longer than those by as much
//!   as the promised share allows, if that is more. The rate of what can wait grows while one in two hundred is late at most, beside as many as are alone, and falls
//!   while more are, whatever clients ask for: who asks for little has nothing but this. While class recovery has the disk, the share alone counts:
//!   objects that lack copies do not wait for a tail.
//! - **Probes.** What clients have alone is seen in one slot of twenty, each time in another place. In it and in the slot before, in
//!   which what has begun ends, no background work begins. Slots are cut by the clock alone, so the probes of OSDs that share a
//!   processor or a disk fall together while all of them probe as often. The mean of the last eight counts, because checkpoints come
//!   and go; time in which no background work has been in flight for a while is a probe for each second of it. Where clients have
//!   clearly more than that beside background work, they ask for other things than at those: probes come sooner, and earlier ones do
//!   not count.
//!
//! While no client asks for anything the rate and the probes hold nothing back.

use crate::waits::WaitHistogram;
use loadline_base::{Span, Time};
use loadline_qos::ServiceClass;
use std::collections::VecDeque;

/// Slots are this long at least, and one long enough for some requests of a slow disk.
const SLOT_LEAST: Span = Span::from_millis(50);
const SLOT_MOST: Span = Span::from_millis(250);
/// One slot of so many is a probe, or while it is not known what clients have alone.
const SLOTS_PER_PROBE: u64 = 20;
const SLOTS_TO_KNOW: u64 = 5;
/// From round to round the probe moves on by so many slots, which shares no divisor with the slots that it may have.
const PROBE_STEP: u64 = 7;
/// This part of a probe passes before what it sees counts, in tenths: clients' accesses that stood behind background work end.
const SETTLING_TENTHS: u64 = 3;
/// Clients count as gone when none has asked for anything for this many slots.
const SLOTS_TO_IDLE: u64 = 4;
/// Parts that the disk may have at a time.
const PARTS_IN_FLIGHT: u64 = 2;
/// What is promised is kept in the mean of seconds that vary, so the aim is higher by this factor; but never more than this share of what
/// clients have alone, or nothing would be left to grow on.
const MARGIN: f64 = 1.25;
const AIM_MOST: f64 = 0.95;
/// Clients are slow here if their accesses take so many times as long as alone.
const SLOWER: f64 = 1.2;
/// Bytes per second before anything was seen.
const RATE_FIRST: f64 = (32 << 20) as f64;
/// One part may begin in so many slots, whatever was seen.
const SLOTS_PER_PART: f64 = 4.0;
/// In a slot the rate grows by so much where clients have twice the aim, in the last slots and in the last second, and falls by that
/// where they lack a fifth of it; in between in proportion, so that it comes to rest. What a stall of the disk has taken from it is
/// back within seconds where much is to be had.
const GROWTH: f64 = 0.16;
const GROWTH_AT: f64 = 1.0;
const FALL: f64 = 0.15;
const FALL_AT: f64 = 0.2;
/// Where clients have had less than this share of the aim in the last slots, it falls by at most that.
const FAR_BEHIND: f64 = 0.6;
const STEEP_FALL: f64 = 0.6;
/// An access is late that takes longer than this share of them do alone, by more than is allowed.
const TAIL: f64 = 0.99;
/// So many may be late beyond those that are so alone, in a mean over slots; it is half of those beyond the tail, because an op is as late as
/// the latest of its copies.
const LATE_MOST: f64 = 0.005;
/// In a slot in which none is late the rate of what can wait grows by so much at most: what it does to the tail is seen for certain only after
/// some hundred accesses. By that it falls at most.
const PATIENT_GROWTH: f64 = 0.03;
const PATIENT_FALL: f64 = 0.2;
/// Fewer accesses in a slot count as so many, or a rate beside clients that ask now and then would hardly grow.
const ACCESSES_LEAST: f64 = 40.0;
/// What ended in the last slots is a mean in which a new one counts this much, and of the last second one in which a slot counts as
/// much as it is of a second.
const NEW_SLOT: f64 = 0.25;
const LATELY: Span = Span::from_secs(1);
/// Probes that count, and how many slots they have to last together to tell enough.
const PROBES: usize = 8;
const PROBES_TO_KNOW: u64 = 2;
/// Clients count as alone when no background work has been in flight at this disk for so long. Other disks of the same processor may have
/// some meanwhile, so a disk that is only now and then asked for it must not take what those leave for what clients have alone.
const ALONE_AFTER: Span = Span::from_secs(2);
/// A time in which they are alone is a probe for each such part of it.
const ALONE_PROBE: Span = Span::from_secs(1);

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
    /// What clients have alone, as the last probes saw it, the newest first.
    probes: VecDeque<ClientSample>,
    /// What is seen of them now, while nothing else is asked of the disk.
    idle: ClientSample,
    /// When background work was last in flight.
    disturbed: Option<Time>,
    /// When some that cannot wait began last.
    pressed: Option<Time>,
    /// What counts as late, if it is known what clients have alone.
    lateness: Option<ClientLateness>,
    /// What they had lately beside background work.
    beside: Option<Beside>,
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

/// Accesses of clients that ended in a time.
#[derive(Clone, Debug, Default)]
struct ClientSample {
    length: Span,
    took: WaitHistogram,
}

/// Accesses that take longer than this are late, and so large a share of them may be.
#[derive(Clone, Copy, Debug)]
struct ClientLateness {
    after: Span,
    share: f64,
}

/// How clients fared beside background work.
#[derive(Clone, Copy, Debug)]
struct Beside {
    /// In the last slots.
    now: ClientFare,
    /// In the last second.
    lately: ClientFare,
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
#[derive(Clone, Debug, Default)]
struct Slot {
    number: u64,
    /// One slot of so many is a probe.
    per_probe: u64,
    /// Accesses of clients that ended in it, but for the beginning of a probe, and how many of them were late.
    took: WaitHistogram,
    late: u64,
    /// How long something was held back by the rate.
    held: Span,
}

impl BackgroundPace {
    pub(crate) fn new(terms: PaceTerms) -> BackgroundPace {
        BackgroundPace {
            terms,
            slot: Slot { per_probe: SLOTS_TO_KNOW, ..Slot::default() },
            probes: VecDeque::new(),
            idle: ClientSample::default(),
            disturbed: None,
            pressed: None,
            lateness: None,
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
            beside: self.beside.map(|beside| beside.lately),
        }
    }

    /// A client asks for something.
    pub(crate) fn client_asked(&mut self, now: Time) {
        self.asked = Some(now);
    }

    /// An access of a client has ended that began then, while background work was in flight or not.
    pub(crate) fn client_ended(&mut self, now: Time, began: Time, beside: bool) {
        self.look(now);
        if beside {
            self.disturb(now);
        }
        let settled = self.slot_start() + self.slot_length() * SETTLING_TENTHS / 10;
        if !self.slot.is_probe() || now >= settled {
            let took = now.since(began);
            self.slot.took.record(took);
            self.slot.late += u64::from(self.lateness.is_some_and(|late| took > late.after));
        }
    }

    /// So many bytes begin, of this class.
    pub(crate) fn begin(&mut self, now: Time, bytes: u64, class: ServiceClass) {
        self.look(now);
        self.disturb(now);
        if class != ServiceClass::BestEffort {
            self.pressed = Some(now);
        }
        // What begins while no client asks is owed to nobody.
        let owed = if self.has_clients(now) { self.still_owed(now) + bytes as f64 } else { 0.0 };
        self.owed = (owed, now);
    }

    /// Whether parts have to wait until some of what is in flight has ended.
    pub(crate) fn holds_parts(&self, in_flight: u64) -> bool {
        in_flight > 0 && in_flight + self.terms.part > PARTS_IN_FLIGHT * self.terms.part
    }

    /// Until when nothing may begin; it is looked at again then.
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

    /// Background work is in flight.
    fn disturb(&mut self, now: Time) {
        self.disturbed = Some(now);
        let seen = std::mem::take(&mut self.idle);
        if seen.length > Span::ZERO {
            self.note_alone(seen);
        }
    }

    fn is_alone(&self, now: Time) -> bool {
        self.disturbed.is_none_or(|at| now.since(at) >= ALONE_AFTER)
    }

    /// Whether work that cannot wait has the disk. At a low rate one object of it begins in many slots.
    fn is_pressed(&self, now: Time) -> bool {
        self.pressed.is_some_and(|at| now.since(at) < ALONE_AFTER)
    }

    fn note_alone(&mut self, seen: ClientSample) {
        let kept = if self.have_more() { 0 } else { PROBES - 1 };
        self.probes.truncate(kept);
        self.probes.push_front(seen);
        let mut alone = WaitHistogram::default();
        self.probes.iter().for_each(|probe| alone.merge(&probe.took));
        let tail = alone.quantile(TAIL);
        let by_share = Span::from_secs_f64(tail.as_secs_f64() / self.aim());
        let after = by_share.max(tail + self.terms.goal);
        let share = LATE_MOST + alone.beyond(after) as f64 / alone.count().max(1) as f64;
        self.lateness = Some(ClientLateness { after, share });
    }

    /// The share of what they have alone that clients are to have.
    fn aim(&self) -> f64 {
        (self.terms.share * MARGIN).min(AIM_MOST)
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

    /// Whether clients have clearly more than the probes saw: they ask for something else than they did then.
    fn have_more(&self) -> bool {
        let both = self.alone().zip(self.beside);
        both.is_some_and(|(alone, beside)| beside.lately.rate >= alone.rate * SLOWER)
    }

    /// Whether the probes tell what clients have alone who ask for what they ask now.
    fn is_known(&self) -> bool {
        let length = self.probes.iter().fold(Span::ZERO, |sum, probe| sum + probe.length);
        length >= self.slot_length() * PROBES_TO_KNOW && !self.have_more()
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
            if self.is_alone(self.slot_start()) {
                self.beside = None;
                self.idle.add(&seen);
                if self.idle.length >= ALONE_PROBE {
                    let seen = std::mem::take(&mut self.idle);
                    self.note_alone(seen);
                }
            } else if self.slot.is_probe() {
                self.note_alone(seen);
            } else {
                let factor = self.by_share(seen.fare());
                let patient = if self.is_pressed(now) { f64::INFINITY } else { self.by_tail() };
                self.rate = (self.rate * factor.min(patient)).max(self.rate_least());
            }
        }
        let per_probe = if self.is_known() { SLOTS_PER_PROBE } else { SLOTS_TO_KNOW };
        self.slot = Slot { number, per_probe, ..Slot::default() };
    }

    /// How clients fared in the slot, if any of their accesses ended in it.
    fn seen(&self) -> Option<ClientSample> {
        let length = match self.slot.is_probe() {
            true => self.slot_length() * (10 - SETTLING_TENTHS) / 10,
            false => self.slot_length(),
        };
        let took = &self.slot.took;
        (took.count() > 0).then(|| ClientSample { length, took: took.clone() })
    }

    /// What clients have alone.
    fn alone(&self) -> Option<ClientFare> {
        let probes = self.probes.iter().map(ClientSample::fare);
        let (rates, waits) = probes.fold((0.0, 0.0), |(rates, waits), probe| {
            (rates + probe.rate, waits + probe.rate * probe.takes)
        });
        let count = self.probes.len() as f64;
        (count > 0.0).then(|| ClientFare { rate: rates / count, takes: waits / rates })
    }

    /// By how much the rate changes, for clients have got so much beside background work.
    fn by_share(&mut self, seen: ClientFare) -> f64 {
        let slot = self.slot_length().as_secs_f64();
        let of_second = (slot / LATELY.as_secs_f64()).min(NEW_SLOT);
        let alone = self.alone();
        // Before the first slot beside background work they were alone.
        let before = Beside { now: seen, lately: alone.unwrap_or(seen) };
        let old = self.beside.unwrap_or(before);
        let beside = Beside {
            now: old.now.mixed(seen, NEW_SLOT),
            lately: old.lately.mixed(seen, of_second),
        };
        self.beside = Some(beside);
        let Some(alone) = alone else { return 1.0 };
        let aim = alone.rate * self.aim();
        let is_behind =
            |had: ClientFare, wanted: f64| had.rate < wanted && had.takes > alone.takes * SLOWER;
        let surplus = beside.now.rate.min(beside.lately.rate) / aim - 1.0;
        if is_behind(beside.now, aim * FAR_BEHIND) {
            (beside.now.rate / (aim * FAR_BEHIND)).max(STEEP_FALL)
        } else if !self.is_known() {
            1.0
        } else if is_behind(beside.lately, aim) {
            1.0 - FALL * ((1.0 - beside.lately.rate / aim) / FALL_AT).min(1.0)
        } else if surplus >= 0.0 && self.was_held() {
            1.0 + GROWTH * (surplus / GROWTH_AT).min(1.0)
        } else {
            1.0
        }
    }

    /// By how much the rate of what can wait changes, for so many accesses were late.
    fn by_tail(&self) -> f64 {
        let Some(ClientLateness { share, .. }) = self.lateness else { return 1.0 };
        let ended = (self.slot.took.count() as f64).max(ACCESSES_LEAST);
        let change = PATIENT_GROWTH * (1.0 - self.slot.late as f64 / (ended * share));
        match change > 0.0 && !self.was_held() {
            true => 1.0,
            false => 1.0 + change.max(-PATIENT_FALL),
        }
    }

    /// Where parts in flight are the limit, or nothing waits, the rate holds nothing back for long.
    fn was_held(&self) -> bool {
        self.slot.held * 2 >= self.slot_length()
    }

    fn rate_least(&self) -> f64 {
        self.terms.part as f64 / self.slot_length().as_secs_f64() / SLOTS_PER_PART
    }
}

impl ClientSample {
    /// Another time as well.
    fn add(&mut self, other: &ClientSample) {
        self.length += other.length;
        self.took.merge(&other.took);
    }

    /// How clients fared. Some accesses have ended.
    fn fare(&self) -> ClientFare {
        let ended = self.took.count() as f64;
        ClientFare {
            rate: ended / self.length.as_secs_f64(),
            takes: self.took.sum().nanos() as f64 / ended,
        }
    }
}

impl ClientFare {
    /// A mean in which the new one counts so much.
    fn mixed(self, new: ClientFare, share: f64) -> ClientFare {
        let mix = |old: f64, new: f64| old + share * (new - old);
        ClientFare { rate: mix(self.rate, new.rate), takes: mix(self.takes, new.takes) }
    }
}

/// The length of a slot, by the latency goal.
pub(crate) fn slot_length(goal: Span) -> Span {
    (goal * 50).clamp(SLOT_LEAST, SLOT_MOST)
}

impl Slot {
    fn is_probe(&self) -> bool {
        self.number % self.per_probe == self.place_of_probe()
    }

    /// Whether it is a probe or the one before.
    fn is_quiet(&self) -> bool {
        self.is_probe() || self.number % self.per_probe + 1 == self.place_of_probe()
    }

    /// Which slot of its round is the probe: each time another one, so that what comes and goes with the rounds is not always seen at the
    /// same point. All of a round but the first, which has none before it, have their turn.
    fn place_of_probe(&self) -> u64 {
        1 + self.number / self.per_probe * PROBE_STEP % (self.per_probe - 1)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
