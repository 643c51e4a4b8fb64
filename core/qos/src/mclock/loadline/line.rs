//! One party of a level, a class among classes or a tenant among the tenants of its class, in one cache line: what is
//! remembered of its past, what its tags are computed from, and what waits.

use super::rate::{FAR, SHIFT_BITS, TickRate};
use crate::LimitPolicy;
use crate::mclock::requests::{RequestCharge, RequestList};

/// Largest requests by which a party may be ahead of its turn, or behind its limit, before more of it is forgotten.
const SLACK: u32 = 4;

/// Not in the heap.
pub(super) const ABSENT: u64 = u64::MAX;

/// The line; see the module. Tags are functions of it, not state: new parameters and a new head show at once.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// Start tag of the head, or of the next head to come, in virtual time.
    pub(super) start: u64,
    /// Reservation tag of the last request that was served by reservation, in reservation time.
    pub(super) reservation_base: u64,
    /// Limit tag of the last request served (under [`LimitPolicy::Reject`]: admitted).
    pub(super) limit_base: u64,
    /// The key of the valid entry in the heap of reservations, a lower bound of the tag; or [`ABSENT`].
    pub(super) reserved_key: u64,
    /// What waits, of the client whose turn it is.
    pub(super) fifo: RequestList,
    /// What the weight and the limit are charged for the head; 0 while nothing waits.
    pub(super) cost: u32,
    /// What the reservation is charged for it.
    pub(super) reserved_cost: u32,
    reservation_mantissa: u32,
    weight_mantissa: u32,
    limit_mantissa: u32,
    /// The three shifts, the greatest cost's power of two, two flags and the limit policy.
    bits: u32,
}

const _: () = assert!(size_of::<Line>() == 64);

const SHIFT_MASK: u32 = (1 << SHIFT_BITS) - 1;
const COST_AT: u32 = 3 * SHIFT_BITS;
const COST_MASK: u32 = 0x3f << COST_AT;
const IN_WEIGHTED: u32 = 1 << 27;
const IN_SPARE: u32 = 1 << 28;
const CONSERVES: u32 = 1 << 29;
const REJECTS: u32 = 1 << 30;
const STRICT: u32 = 1 << 31;

impl Line {
    /// A strict party, which has no rates.
    pub(super) fn strict() -> Line {
        Line {
            start: 0,
            reservation_base: 0,
            limit_base: 0,
            reserved_key: ABSENT,
            fifo: RequestList::EMPTY,
            cost: 0,
            reserved_cost: 0,
            reservation_mantissa: 0,
            weight_mantissa: 0,
            limit_mantissa: 0,
            bits: STRICT,
        }
    }

    pub(super) fn set_rates(&mut self, reservation: TickRate, weight: TickRate, limit: TickRate) {
        self.reservation_mantissa = reservation.mantissa;
        self.weight_mantissa = weight.mantissa;
        self.limit_mantissa = limit.mantissa;
        let shifts = u32::from(reservation.shift)
            | u32::from(weight.shift) << SHIFT_BITS
            | u32::from(limit.shift) << (2 * SHIFT_BITS);
        self.bits = self.bits & !((1 << COST_AT) - 1) & !STRICT | shifts;
    }

    pub(super) fn set_policy(&mut self, policy: LimitPolicy) {
        self.bits &= !(CONSERVES | REJECTS);
        self.bits |= match policy {
            LimitPolicy::Hard => 0,
            LimitPolicy::WorkConserving => CONSERVES,
            LimitPolicy::Reject => REJECTS,
        };
    }

    pub(super) fn policy(&self) -> LimitPolicy {
        match (self.conserves(), self.bits & REJECTS != 0) {
            (true, _) => LimitPolicy::WorkConserving,
            (_, true) => LimitPolicy::Reject,
            _ => LimitPolicy::Hard,
        }
    }

    #[inline(always)]
    fn rate(&self, mantissa: u32, place: u32) -> TickRate {
        TickRate { mantissa, shift: (self.bits >> (place * SHIFT_BITS) & SHIFT_MASK) as u8 }
    }

    #[inline(always)]
    pub(super) fn reservation(&self) -> TickRate {
        self.rate(self.reservation_mantissa, 0)
    }

    #[inline(always)]
    pub(super) fn weight(&self) -> TickRate {
        self.rate(self.weight_mantissa, 1)
    }

    #[inline(always)]
    pub(super) fn limit(&self) -> TickRate {
        self.rate(self.limit_mantissa, 2)
    }

    #[inline(always)]
    pub(super) fn has_reservation(&self) -> bool {
        self.reservation_mantissa != 0
    }

    #[inline(always)]
    pub(super) fn has_weight(&self) -> bool {
        self.weight_mantissa != 0
    }

    #[inline(always)]
    pub(super) fn is_strict(&self) -> bool {
        self.bits & STRICT != 0
    }

    /// Whether it runs on what nobody else wants.
    #[inline(always)]
    pub(super) fn conserves(&self) -> bool {
        self.bits & CONSERVES != 0
    }

    pub(super) fn rejects(&self) -> bool {
        self.limit_mantissa != 0 && self.bits & REJECTS != 0
    }

    /// Whether its heads may have to wait for their limit tag.
    #[inline(always)]
    pub(super) fn holds_at_limit(&self) -> bool {
        self.limit_mantissa != 0 && self.bits & REJECTS == 0
    }

    #[inline(always)]
    pub(super) fn in_weighted(&self) -> bool {
        self.bits & IN_WEIGHTED != 0
    }

    #[inline(always)]
    pub(super) fn set_in_weighted(&mut self, is_in: bool) {
        self.bits = (self.bits & !IN_WEIGHTED) | (u32::from(is_in) * IN_WEIGHTED);
    }

    pub(super) fn in_spare(&self) -> bool {
        self.bits & IN_SPARE != 0
    }

    pub(super) fn set_in_spare(&mut self, is_in: bool) {
        self.bits = (self.bits & !IN_SPARE) | (u32::from(is_in) * IN_SPARE);
    }

    /// Whether something waits.
    #[inline(always)]
    pub(super) fn is_busy(&self) -> bool {
        self.cost != 0
    }

    /// What waits at the head from now on; `None` if nothing does.
    #[inline(always)]
    pub(super) fn set_head(&mut self, head: Option<RequestCharge>) {
        let head = head.unwrap_or(RequestCharge { cost: 0, reserved: 0 });
        self.cost = head.cost;
        self.reserved_cost = head.reserved;
        let power = (32 - head.cost.leading_zeros()) << COST_AT;
        if power > self.bits & COST_MASK {
            self.bits = self.bits & !COST_MASK | power;
        }
    }

    /// Forgets how dear requests were, when a party becomes busy.
    #[inline(always)]
    pub(super) fn forget_costs(&mut self) {
        self.bits &= !COST_MASK;
    }

    /// A few times the greatest cost since the party became busy.
    #[inline(always)]
    fn slack(&self) -> u32 {
        let cost = 1u64 << ((self.bits & COST_MASK) >> COST_AT);
        u32::try_from(cost * u64::from(SLACK)).unwrap_or(u32::MAX)
    }

    /// The slack against the reservation.
    pub(super) fn slack_of_reservation(&self) -> u64 {
        self.reservation().ticks(self.slack())
    }

    /// The slack in virtual time.
    #[inline(always)]
    pub(super) fn slack_of_weight(&self) -> u64 {
        self.weight().ticks(self.slack())
    }

    /// The slack against the limit.
    #[inline(always)]
    pub(super) fn slack_of_limit(&self) -> u64 {
        self.limit().ticks(self.slack())
    }

    /// When the reservation of the head is due, in reservation time.
    #[inline(always)]
    pub(super) fn reservation_tag(&self) -> u64 {
        after(self.reservation_base, self.reservation().ticks(self.reserved_cost))
    }

    /// When the head is within the limit.
    #[inline(always)]
    pub(super) fn limit_tag(&self) -> u64 {
        after(self.limit_base, self.limit().ticks(self.cost))
    }

    /// The tags that lie beyond the range of a tag, in full.
    pub(super) fn reservation_tag_exact(&self) -> u128 {
        u128::from(self.reservation_base) + self.reservation().exact(self.reserved_cost)
    }

    /// See [`Line::reservation_tag_exact`].
    pub(super) fn limit_tag_exact(&self) -> u128 {
        u128::from(self.limit_base) + self.limit().exact(self.cost)
    }

    /// From when on the head may go, if nobody else wants to; `lag` is how far reservation time is behind.
    pub(super) fn ready_at(&self, lag: u64) -> u128 {
        let due = self.reservation_tag_exact() + u128::from(lag);
        let within = if self.holds_at_limit() { self.limit_tag_exact() } else { 0 };
        match (self.has_reservation(), self.has_weight()) {
            _ if self.conserves() => 0,
            (true, true) => due.min(within),
            (true, false) => due,
            _ => within,
        }
    }

    /// The clock is set back by `ticks`, and reservation time comes to it again after it was `lag` behind. A tag keeps its
    /// distance; what was before tag 0 is all the same past.
    pub(super) fn set_back(&mut self, ticks: u128, lag: u64) {
        let moved = |base: u64, lag: u64, rate: TickRate, cost: u32| {
            let base = u128::from(base) + u128::from(lag);
            let tag = base + rate.exact(cost);
            match base.checked_sub(ticks) {
                Some(base) => (u64::try_from(base).unwrap_or(FAR), cost),
                None if tag > ticks => rate.fit(tag - ticks),
                None => (0, cost),
            }
        };
        (self.reservation_base, self.reserved_cost) =
            moved(self.reservation_base, lag, self.reservation(), self.reserved_cost);
        let was_busy = self.is_busy();
        (self.limit_base, self.cost) = moved(self.limit_base, 0, self.limit(), self.cost);
        self.cost = self.cost.max(u32::from(was_busy));
    }

    /// When the limit lets the head go; always, without one that holds it.
    #[inline(always)]
    pub(super) fn held_until(&self) -> u64 {
        if self.holds_at_limit() { self.limit_tag() } else { 0 }
    }
}

/// The tag `ticks` later.
#[inline(always)]
pub(super) fn after(tag: u64, ticks: u64) -> u64 {
    tag.saturating_add(ticks).min(FAR)
}
