//! One client record of the published mode: the tags assigned last, and how the next are computed.

use super::super::interval::{Interval, IntervalScale};
use super::super::requests::{RequestCharge, RequestList};
use super::super::tick::{StoredTick, Tick};
use crate::{ClassId, ClientKey, LimitPolicy, Params};
use core::num::NonZeroU32;
use loadline_base::{Span, Time};

/// The class of a flow that is not open.
pub(super) const CLOSED: ClassId = ClassId::new(u32::MAX);

/// The weighted tag before the first request: earlier than any arrival, whatever is added.
const NEVER_SERVED: i128 = i128::MIN;

// A record, and its places in the three heaps.
const _: () = assert!(size_of::<ClientRecord>() + 3 * size_of::<u32>() <= 128);

/// What the tags of a class are computed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagRates {
    pub(super) params: Params,
    pub(super) reservation: Interval,
    weight: Interval,
    pub(super) limit: Interval,
}

impl TagRates {
    /// The weight is a rate too: published weighted tags are seconds.
    pub(super) fn new(params: Params) -> TagRates {
        TagRates {
            params,
            reservation: Interval::of_rate(params.reservation(), IntervalScale::SECOND),
            weight: Interval::of_rate(params.weight(), IntervalScale::SECOND),
            limit: Interval::of_rate(params.limit().unwrap_or(0.0), IntervalScale::SECOND),
        }
    }

    /// Whether requests are refused over the limit.
    pub(super) fn rejects(&self) -> bool {
        self.params.limit_policy() == LimitPolicy::Reject && self.limit.exists()
    }
}

/// A 128-bit key that does not ask for 16-byte alignment.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(super) struct UnalignedKey(pub(super) i128);

/// Which tags of the head are finite, and in which state a record is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) has_reservation: bool,
    pub(super) has_proportion: bool,
    pub(super) has_limit: bool,
    /// The limit of the head has passed in a weight phase, or never held it.
    pub(super) ready: bool,
    pub(super) idle: bool,
    pub(super) erased: bool,
    /// A pass has come by since the last request.
    pub(super) marked: bool,
    /// An entry of this record is in the heap of ledgers.
    pub(super) in_ledgers: bool,
}

/// A client record. Finite tags of the head *are* the previous tags of the next, so they are kept once.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(super) struct ClientRecord {
    pub(super) client: ClientKey,
    pub(super) class: ClassId,
    pub(super) fifo: RequestList,
    pub(super) reservation: StoredTick,
    pub(super) limit: StoredTick,
    pub(super) proportion: UnalignedKey,
    /// Added to the weighted tag wherever records are compared; set when the record was idle.
    pub(super) proportion_delta: UnalignedKey,
    /// Limit tag of the request admitted last, under [`LimitPolicy::Reject`].
    pub(super) admitted: StoredTick,
    /// Arrival of the request tagged last.
    tagged_arrival: Time,
    /// The first pass since the last request, where there was one.
    marked: Time,
    /// How often the handle was closed before.
    pub(super) generation: NonZeroU32,
    pub(super) flags: Flags,
}

impl ClientRecord {
    pub(super) fn new(class: ClassId, client: ClientKey, generation: NonZeroU32) -> ClientRecord {
        ClientRecord {
            client,
            class,
            fifo: RequestList::EMPTY,
            reservation: StoredTick::NEVER_SERVED,
            limit: StoredTick::NEVER_SERVED,
            proportion: UnalignedKey(NEVER_SERVED),
            proportion_delta: UnalignedKey(0),
            admitted: StoredTick::NEVER_SERVED,
            tagged_arrival: Time::ZERO,
            marked: Time::ZERO,
            generation,
            flags: Flags { idle: true, ..Flags::default() },
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.class != CLOSED
    }

    /// How old it is at a pass: its age counts from the first pass since its last request (qos.md 2.6).
    pub(super) fn age_at_pass(&mut self, now: Time) -> Span {
        if !self.flags.marked {
            self.flags.marked = true;
            self.marked = now;
        }
        now.since(self.marked)
    }

    /// The weighted tag as records are compared by it; `None` without a weight.
    pub(super) fn effective_proportion(&self) -> Option<i128> {
        let tag = self.proportion.0.saturating_add(self.proportion_delta.0);
        self.flags.has_proportion.then_some(tag)
    }

    /// The smallest weighted tag that stands for this record's past: its head's, or the last one.
    pub(super) fn ledger(&self) -> Option<i128> {
        let known = self.proportion.0 != NEVER_SERVED
            && (self.fifo.is_empty() || self.flags.has_proportion);
        known.then(|| self.proportion.0.saturating_add(self.proportion_delta.0))
    }

    /// Computes the tags of the head from the previous ones (qos.md 2.2).
    pub(super) fn tag(
        &mut self,
        arrived: Time,
        head: RequestCharge,
        rates: &TagRates,
        anticipation: Span,
    ) {
        let arrival = self.anticipated(arrived, anticipation);
        self.tagged_arrival = arrived;
        self.flags.has_reservation = rates.reservation.exists();
        self.flags.has_proportion = rates.weight.exists();
        self.flags.has_limit = rates.limit.exists();
        self.flags.ready = false;
        if self.flags.has_reservation {
            let charge = rates.reservation.ticks(u64::from(head.reserved));
            self.reservation = self.reservation.get().after(charge).max(arrival).into();
        }
        if self.flags.has_proportion {
            let charge = rates.weight.ticks_unbounded(u64::from(head.cost));
            let tag = self.proportion.0.saturating_add_unsigned(charge);
            self.proportion = UnalignedKey(tag.max(arrival.key() as i128));
        }
        if self.flags.has_limit {
            let charge = rates.limit.ticks(u64::from(head.cost));
            self.limit = self.limit.get().after(charge).max(arrival).into();
        }
    }

    /// The arrival as tags see it: earlier by the anticipation timeout when the client came back within it.
    fn anticipated(&self, arrival: Time, anticipation: Span) -> Tick {
        let seen = Tick::from_time(arrival);
        let early = seen.before_span(anticipation);
        if early < Tick::from_time(self.tagged_arrival) { early } else { seen }
    }
}
