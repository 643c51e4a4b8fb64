//! One party of a level, a class among classes or a tenant among the tenants of its class, in one cache line: what is
//! remembered of its past, what its tags are computed from, and what waits.

use super::lineup::ABSENT;
use super::rate::{FAR, FRACTION_BITS, PAST, SLOW, TickRate};
use crate::LimitPolicy;
use crate::mclock::requests::{RequestCharge, RequestList};
use core::hint::select_unpredictable;

/// Largest requests by which a party may be ahead of its turn, or behind its limit, before more of it is forgotten.
const SLACK: u32 = 4;

/// A caller may come back this much late to a class at its limit, by a coarse timer or since nothing could be begun, and
/// the limit is still reached: 0.1 ms.
const LATE_TICKS: u64 = 100_000 << FRACTION_BITS;

/// What lies before a clock that was set back, as ticks.
const PAST_TICKS: u64 = PAST << FRACTION_BITS;

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
    /// The key of the valid entry in the queue of reservations, a lower bound of the tag and the tag itself where [`Line::is_due_plainly`];
    /// or [`ABSENT`].
    pub(super) reserved_key: u64,
    /// What waits, of the client whose turn it is.
    pub(super) fifo: RequestList,
    /// What the weight is charged for the head; 0 while nothing waits.
    pub(super) cost: u32,
    /// What the reservation is charged for it; the limit, the more of the two.
    pub(super) reserved_cost: u32,
    reservation_mantissa: u32,
    weight_mantissa: u32,
    limit_mantissa: u32,
    /// The shifts of reservation, weight and limit, each below flags; the greatest cost's power of two, below the limit policy.
    bits: [u8; 4],
}

const _: () = assert!(size_of::<Line>() == 64);

/// Where the shifts and their flags stand.
const RESERVATION: usize = 0;
const WEIGHT: usize = 1;
const LIMIT: usize = 2;
/// Where the power and the policy stand.
const COST: usize = 3;

/// With the reservation: among those that may use what nobody else wants. With the weight: in the queue by start tag. With the limit:
/// several stand inside.
const FLAG: u8 = 1 << 7;
/// With the reservation: the tag of the head may be later than the key of its entry, or nothing waits. With the weight: the head may be
/// at its limit, or nothing waits.
const UNSURE: u8 = 1 << 6;
/// A reservation's or a weight's shift is to the left, below [`UNSURE`].
const SHORT_SLOW: u8 = 1 << 5;
const SHORT_SHIFT: u8 = SHORT_SLOW - 1;
const POWER_MASK: u8 = 0x1f;
/// Of what costs more the slack has fewer.
const POWER_MAX: u8 = 29;
const COUNTED: u8 = 1 << 5;
const POLICY_MASK: u8 = 3 << 6;
const HARD: u8 = 0;
const CONSERVES: u8 = 1 << 6;
const REJECTS: u8 = 2 << 6;
/// Not a limit policy: a strict party has no limit.
const STRICT: u8 = 3 << 6;

/// What makes a line other than most: slow rates, several inside, a limit that does more than hold.
const RARE: [u8; 4] = [SHORT_SLOW, SHORT_SLOW, FLAG | SLOW, POLICY_MASK];

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
            bits: [0, 0, 0, STRICT],
        }
    }

    pub(super) fn set_rates(&mut self, reservation: TickRate, weight: TickRate, limit: TickRate) {
        let (reservation, weight) =
            (reservation.shortened(SHORT_SHIFT), weight.shortened(SHORT_SHIFT));
        self.reservation_mantissa = reservation.mantissa;
        self.weight_mantissa = weight.mantissa;
        self.limit_mantissa = limit.mantissa;
        for (at, rate) in [(RESERVATION, reservation), (WEIGHT, weight)] {
            let slow = if rate.is_slow() { SHORT_SLOW } else { 0 };
            self.bits[at] = self.bits[at] & FLAG | UNSURE | slow | rate.shift & SHORT_SHIFT;
        }
        self.bits[LIMIT] = self.bits[LIMIT] & FLAG | limit.shift;
    }

    pub(super) fn set_policy(&mut self, policy: LimitPolicy) {
        let policy = match policy {
            LimitPolicy::Hard => HARD,
            LimitPolicy::WorkConserving => CONSERVES,
            LimitPolicy::Reject => REJECTS,
        };
        self.bits[COST] = self.bits[COST] & !POLICY_MASK | policy;
        self.set_unsure();
    }

    pub(super) fn policy(&self) -> LimitPolicy {
        match self.bits[COST] & POLICY_MASK {
            CONSERVES => LimitPolicy::WorkConserving,
            REJECTS => LimitPolicy::Reject,
            _ => LimitPolicy::Hard,
        }
    }

    #[inline(always)]
    fn short_rate(&self, mantissa: u32, at: usize) -> TickRate {
        let bits = self.bits[at];
        let slow = (bits & SHORT_SLOW) << (SLOW.trailing_zeros() - SHORT_SLOW.trailing_zeros());
        TickRate { mantissa, shift: bits & SHORT_SHIFT | slow }
    }

    #[inline(always)]
    pub(super) fn reservation(&self) -> TickRate {
        self.short_rate(self.reservation_mantissa, RESERVATION)
    }

    #[inline(always)]
    pub(super) fn weight(&self) -> TickRate {
        self.short_rate(self.weight_mantissa, WEIGHT)
    }

    #[inline(always)]
    pub(super) fn limit(&self) -> TickRate {
        TickRate { mantissa: self.limit_mantissa, shift: self.bits[LIMIT] & !FLAG }
    }

    #[inline(always)]
    fn has_none_of(&self, bits: [u8; 4]) -> bool {
        u32::from_le_bytes(self.bits) & u32::from_le_bytes(bits) == 0
    }

    /// Whether the key of its entry is the tag of its head, which waits, and nothing about it is rare.
    #[inline(always)]
    pub(super) fn is_due_plainly(&self) -> bool {
        let [reservation, weight, limit, policy] = RARE;
        self.has_none_of([reservation | UNSURE, weight, limit, policy])
    }

    /// The same, but rates may be slow.
    #[inline(always)]
    pub(super) fn is_due_slowly(&self) -> bool {
        self.has_none_of([UNSURE, 0, FLAG, POLICY_MASK])
    }

    /// The same of its limit, but rates may be slow.
    #[inline(always)]
    pub(super) fn is_within_slowly(&self) -> bool {
        self.has_none_of([0, UNSURE, FLAG, POLICY_MASK])
    }

    /// Whether its head, which waits, is within its limit, and nothing about it is rare.
    #[inline(always)]
    pub(super) fn is_within_plainly(&self) -> bool {
        let [reservation, weight, limit, policy] = RARE;
        self.has_none_of([reservation, weight | UNSURE, limit, policy])
    }

    /// The tag of its head may be another than its entries say.
    #[inline(always)]
    pub(super) fn set_unsure(&mut self) {
        self.bits[RESERVATION] |= UNSURE;
        self.bits[WEIGHT] |= UNSURE;
    }

    /// The key of its entry is, or may not be, the tag of its head.
    #[inline(always)]
    pub(super) fn set_due_at_key(&mut self, is_sure: bool) {
        let unsure = !is_sure || self.cost != self.reserved_cost;
        self.bits[RESERVATION] = self.bits[RESERVATION] & !UNSURE | if unsure { UNSURE } else { 0 };
    }

    /// Its head is within the limit, or may not be. Whoever is not in the queue by start tag is unsure.
    #[inline(always)]
    pub(super) fn set_within_limit(&mut self, is_sure: bool) {
        let unsure = !is_sure || self.cost != self.reserved_cost || !self.in_weighted();
        self.bits[WEIGHT] = self.bits[WEIGHT] & !UNSURE | if unsure { UNSURE } else { 0 };
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
        self.bits[COST] >= STRICT
    }

    /// Whether it runs on what nobody else wants.
    #[inline(always)]
    pub(super) fn conserves(&self) -> bool {
        self.bits[COST] & POLICY_MASK == CONSERVES
    }

    pub(super) fn rejects(&self) -> bool {
        self.limit_mantissa != 0 && self.bits[COST] >= REJECTS
    }

    /// Whether its heads may have to wait for their limit tag.
    #[inline(always)]
    pub(super) fn holds_at_limit<const PLAIN: bool>(&self) -> bool {
        self.limit_mantissa != 0 && (PLAIN || self.bits[COST] < REJECTS)
    }

    #[inline(always)]
    pub(super) fn in_weighted(&self) -> bool {
        self.bits[WEIGHT] & FLAG != 0
    }

    #[inline(always)]
    pub(super) fn set_in_weighted(&mut self, is_in: bool) {
        self.set_flag(WEIGHT, is_in);
        if !is_in {
            self.bits[WEIGHT] |= UNSURE;
        }
    }

    /// Comes into the queue by start tag, since its head is within the limit.
    #[inline(always)]
    pub(super) fn enter_weighted(&mut self) {
        let unsure = self.cost != self.reserved_cost;
        self.bits[WEIGHT] = self.bits[WEIGHT] & !UNSURE | FLAG | if unsure { UNSURE } else { 0 };
    }

    /// Whether it counts among those that share by weight.
    #[inline(always)]
    pub(super) fn is_counted(&self) -> bool {
        self.bits[COST] & COUNTED != 0
    }

    #[inline(always)]
    pub(super) fn set_counted(&mut self, is_counted: bool) {
        self.bits[COST] = self.bits[COST] & !COUNTED | if is_counted { COUNTED } else { 0 };
    }

    pub(super) fn in_spare(&self) -> bool {
        self.bits[RESERVATION] & FLAG != 0
    }

    pub(super) fn set_in_spare(&mut self, is_in: bool) {
        self.set_flag(RESERVATION, is_in);
    }

    /// Whether clients take turns in it, or tenants share it.
    #[inline(always)]
    pub(super) fn is_shared(&self) -> bool {
        self.bits[LIMIT] & FLAG != 0
    }

    pub(super) fn set_shared(&mut self, is_shared: bool) {
        self.set_flag(LIMIT, is_shared);
    }

    #[inline(always)]
    fn set_flag(&mut self, at: usize, is_set: bool) {
        self.bits[at] = self.bits[at] & !FLAG | if is_set { FLAG } else { 0 };
    }

    /// Whether a request only has to be appended: it is not strict, no policy looks at it, and its party has one client.
    #[inline(always)]
    pub(super) fn appends(&self) -> bool {
        self.has_none_of([0, 0, FLAG, REJECTS])
    }

    /// Whether something waits.
    #[inline(always)]
    pub(super) fn is_busy(&self) -> bool {
        self.cost != 0
    }

    /// What waits at the head from now on, if anything does.
    #[inline(always)]
    pub(super) fn set_head(&mut self, head: RequestCharge) {
        self.cost = head.cost;
        self.reserved_cost = head.reserved;
        self.set_unsure();
        // The five bits of the power are those that a shift takes.
        if head.of_limit().wrapping_shr(u32::from(self.bits[COST])) != 0 {
            self.note_cost(head.of_limit());
        }
    }

    /// Nothing waits from now on.
    #[inline(always)]
    pub(super) fn run_empty(&mut self) {
        (self.cost, self.reserved_cost) = (0, 0);
        self.set_unsure();
    }

    #[inline]
    fn note_cost(&mut self, most: u32) {
        let power = (32 - most.leading_zeros() as u8).min(POWER_MAX);
        self.bits[COST] = self.bits[COST] & !POWER_MASK | power;
    }

    /// What the head is charged: of a `PLAIN` line the same against weight and reservation.
    #[inline(always)]
    pub(super) fn charge<const PLAIN: bool>(&self) -> RequestCharge {
        debug_assert!(!PLAIN || self.cost == self.reserved_cost);
        let reserved = if PLAIN { self.cost } else { self.reserved_cost };
        RequestCharge { cost: self.cost, reserved }
    }

    /// Forgets how dear requests were, when a party becomes busy.
    #[inline(always)]
    pub(super) fn forget_costs(&mut self) {
        self.bits[COST] &= !POWER_MASK;
    }

    /// A few times the greatest cost since the party became busy.
    #[inline(always)]
    fn slack(&self) -> u32 {
        SLACK << (self.bits[COST] & POWER_MASK)
    }

    /// The slack against the reservation.
    pub(super) fn slack_of_reservation(&self) -> u64 {
        self.reservation().ticks::<false>(self.slack())
    }

    /// The slack in virtual time.
    #[inline(always)]
    pub(super) fn slack_of_weight<const PLAIN: bool>(&self) -> u64 {
        self.weight().ticks::<PLAIN>(self.slack())
    }

    /// The slack against the limit.
    #[inline(always)]
    pub(super) fn slack_of_limit<const PLAIN: bool>(&self) -> u64 {
        self.limit().ticks_either_way::<PLAIN>(self.slack())
    }

    /// When the reservation of the head of a party that wakes is due: on arrival, or when the last one's interval is over; before that for
    /// what was `saved`.
    #[inline(always)]
    pub(super) fn wake_reservation(&mut self, now: u64, saved: u64, cost: u32) -> u64 {
        let charge = self.reservation().ticks::<false>(cost);
        let due = self.reservation_base.max(now.saturating_sub(charge.max(saved)));
        self.reservation_base = due;
        if charge > now && due == 0 {
            self.fit_reservation(now);
            return self.reservation_tag::<false>();
        }
        after(due, charge)
    }

    /// The entry of the head has this key, which is its tag.
    #[inline(always)]
    pub(super) fn key_at(&mut self, tag: u64) {
        self.reserved_key = tag;
        self.set_due_at_key(true);
    }

    /// Makes the head's reservation due at `tag`, when its charge is longer than the past before that.
    #[cold]
    pub(super) fn fit_reservation(&mut self, tag: u64) {
        (self.reservation_base, self.reserved_cost) = self.reservation().fit(u128::from(tag));
        self.set_unsure();
    }

    /// When the reservation of the head is due, in reservation time.
    #[inline(always)]
    pub(super) fn reservation_tag<const PLAIN: bool>(&self) -> u64 {
        let cost = if PLAIN { self.cost } else { self.reserved_cost };
        after(self.reservation_base, self.reservation().ticks::<PLAIN>(cost))
    }

    fn limited_cost(&self) -> u32 {
        self.cost.max(self.reserved_cost)
    }

    /// What the head is charged to the limit.
    #[inline(always)]
    fn limit_charge<const PLAIN: bool>(&self) -> u64 {
        let cost = if PLAIN { self.cost } else { self.limited_cost() };
        self.limit().ticks_either_way::<PLAIN>(cost)
    }

    /// When the head is within the limit.
    #[inline(always)]
    pub(super) fn limit_tag<const PLAIN: bool>(&self) -> u64 {
        after(self.limit_base, self.limit_charge::<PLAIN>())
    }

    /// The tags that lie beyond the range of a tag, in full.
    pub(super) fn reservation_tag_exact(&self) -> u128 {
        u128::from(self.reservation_base) + self.reservation().exact(self.reserved_cost)
    }

    /// See [`Line::reservation_tag_exact`].
    pub(super) fn limit_tag_exact(&self) -> u128 {
        u128::from(self.limit_base) + self.limit().exact(self.limited_cost())
    }

    /// From when on the head may go, if nobody else wants to; `lag` is how far reservation time is behind.
    pub(super) fn ready_at(&self, lag: u64) -> u128 {
        let due = self.reservation_tag_exact() + u128::from(lag);
        let within = if self.holds_at_limit::<false>() { self.limit_tag_exact() } else { 0 };
        match (self.has_reservation(), self.has_weight()) {
            _ if self.conserves() => 0,
            (true, true) => due.min(within),
            (true, false) => due,
            _ => within,
        }
    }

    /// So much was served elsewhere, which counts against the limit.
    #[cold]
    pub(super) fn limit_elsewhere(&mut self, cost: u32) {
        self.limit_base = after(self.limit_base, self.limit().ticks::<false>(cost));
        self.set_unsure();
    }

    /// The limit's tag of the head, which is served now, late or not: lateness counts as credit, up to this one. The tag of a next one
    /// that costs the same.
    #[inline(always)]
    pub(super) fn charge_limit<const PLAIN: bool>(&mut self, now: u64, credit: u64) -> u64 {
        self.charge_limit_until::<PLAIN>(now, u64::MAX, credit)
    }

    /// The same, but only if the limit's tag before is not later than `latest`.
    #[inline(always)]
    pub(super) fn charge_limit_until<const PLAIN: bool>(
        &mut self,
        now: u64,
        latest: u64,
        credit: u64,
    ) -> u64 {
        let charge = self.limit_charge::<PLAIN>();
        // Signed: what is before tag 0 is before every tag.
        let oldest = now.wrapping_sub(credit.max(LATE_TICKS)) as i64;
        let charged = (after(self.limit_base, charge) as i64).max(oldest) as u64;
        self.limit_base = select_unpredictable(self.limit_base <= latest, charged, self.limit_base);
        self.limit_base + charge
    }

    /// Its head may be at its limit, if it is so.
    #[inline(always)]
    pub(super) fn doubt_limit(&mut self, is_so: bool) {
        self.bits[WEIGHT] |= u8::from(is_so) << UNSURE.trailing_zeros();
    }

    /// The clock is set back by `ticks`, and reservation time comes to it again after it was `lag` behind. A tag keeps its
    /// distance; what was before tag 0 is all the same past.
    pub(super) fn set_back(&mut self, ticks: u128, lag: u64) {
        let moved = |base: u64, lag: u64, rate: TickRate, cost: u32| {
            let base = u128::from(base) + u128::from(lag);
            let tag = base + rate.exact(cost);
            match base.checked_sub(ticks) {
                Some(base) => (u64::try_from(base).unwrap_or(FAR).min(FAR), cost),
                None if tag > ticks => rate.fit(tag - ticks),
                // A charge that is longer than the past would make a tag that has passed one to come.
                None if rate.exact(cost) > u128::from(PAST_TICKS) => {
                    rate.fit(u128::from(PAST_TICKS))
                }
                None => (0, cost),
            }
        };
        self.set_unsure();
        let (was_busy, whole) = (u32::from(self.is_busy()), self.limited_cost());
        (self.reservation_base, self.reserved_cost) =
            moved(self.reservation_base, lag, self.reservation(), self.reserved_cost);
        let limited;
        (self.limit_base, limited) = moved(self.limit_base, 0, self.limit(), whole);
        if limited < whole {
            self.cost = self.cost.min(limited).max(was_busy);
            self.reserved_cost = self.reserved_cost.min(limited).max(was_busy);
        }
    }

    /// When the limit lets the head go; always, without one that holds it.
    #[inline(always)]
    pub(super) fn held_until(&self) -> u64 {
        if self.holds_at_limit::<false>() { self.limit_tag::<false>() } else { 0 }
    }
}

/// The tag `ticks` later, at most [`FAR`]. That it is beyond is seen by its sign, and rare: a branch costs less than to find the lesser.
#[inline(always)]
pub(super) fn after(tag: u64, ticks: u64) -> u64 {
    let tag = tag + ticks;
    if tag > FAR { far() } else { tag }
}

/// The tag `ticks` earlier, or tag 0.
#[inline(always)]
pub(super) fn before(tag: u64, ticks: u64) -> u64 {
    if ticks > tag { start() } else { tag - ticks }
}

#[cold]
#[inline(never)]
fn far() -> u64 {
    FAR
}

#[cold]
#[inline(never)]
fn start() -> u64 {
    0
}
