//! Tag time: fixed point, finer than a nanosecond, with room for the past and for very slow rates.

use loadline_base::{Span, Time};

/// Bits behind the nanosecond: 2^-24 ns resolves the interval of 10^10 units per second (0.1 ns) to 6e-7.
const FRACTION_BITS: u32 = 24;

/// Where the caller's time 0 stands: 2^70 ns (37,000 years) of past fit before it.
const EPOCH: u128 = 1 << 94;

/// No single charge moves a tag further than this, so that [`StoredTick::NEVER_SERVED`] plus any charge is still past.
pub(super) const CHARGE_MAX: u128 = EPOCH;

/// The last tick. 95 bits: a heap compares the difference of two 96-bit keys by its sign.
const LATEST: u128 = (1 << 95) - 1;

// The whole range of the caller's clock lies between the epoch and the last tick.
const _: () = assert!(EPOCH + ((u64::MAX as u128) << FRACTION_BITS) < LATEST);

/// Ticks in a second, as `TICKS_ODD << TICKS_SHIFT` (10^9 is 5^9 * 2^9): what an interval is divided from.
pub(super) const TICKS_ODD: u64 = 5u64.pow(9);
/// See [`TICKS_ODD`].
pub(super) const TICKS_SHIFT: i32 = 9 + FRACTION_BITS as i32;

/// A reservation or limit tag: a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tick(u128);

impl Tick {
    /// The tick of a whole nanosecond.
    pub(super) fn from_time(time: Time) -> Tick {
        Tick(EPOCH + (u128::from(time.nanos()) << FRACTION_BITS))
    }

    /// The first whole nanosecond that is not before the tick, within the clock's range.
    pub(super) fn ceil(self) -> Time {
        let ticks = self.0.saturating_sub(EPOCH);
        let nanos = (ticks + (1 << FRACTION_BITS) - 1) >> FRACTION_BITS;
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The tick `charge` ticks later, at most [`CHARGE_MAX`] of them; the end of time is kept.
    #[inline]
    pub(super) fn after(self, charge: u128) -> Tick {
        debug_assert!(charge <= CHARGE_MAX);
        Tick((self.0 + charge).min(LATEST))
    }

    /// The tick `charge` ticks earlier; the start of time is kept.
    pub(super) fn before(self, charge: u128) -> Tick {
        Tick(self.0.saturating_sub(charge))
    }

    /// The tick a span later.
    pub(super) fn after_span(self, span: Span) -> Tick {
        self.after(u128::from(span.nanos()) << FRACTION_BITS)
    }

    /// The tick a span earlier.
    pub(super) fn before_span(self, span: Span) -> Tick {
        self.before(u128::from(span.nanos()) << FRACTION_BITS)
    }

    /// A published weighted tag, which runs in ticks too but further, in seconds of the caller's clock.
    pub(super) fn ledger_seconds(ledger: i128) -> f64 {
        (ledger - EPOCH as i128) as f64 / (1u64 << FRACTION_BITS) as f64 / 1e9
    }

    /// The raw 96-bit key, ordered as the ticks are.
    pub(super) fn key(self) -> u128 {
        self.0
    }

    /// The tick of a raw key.
    pub(super) fn from_key(key: u128) -> Tick {
        Tick(key)
    }
}

/// A [`Tick`] in 12 bytes, as records keep it.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(super) struct StoredTick {
    low: u64,
    high: u32,
}

impl StoredTick {
    /// The tag of what was never served: before every arrival, whatever is charged to it.
    pub(super) const NEVER_SERVED: StoredTick = StoredTick { low: 0, high: 0 };

    /// The tick.
    pub(super) fn get(self) -> Tick {
        Tick(u128::from(self.low) | u128::from(self.high) << 64)
    }
}

impl From<Tick> for StoredTick {
    fn from(tick: Tick) -> StoredTick {
        StoredTick { low: tick.0 as u64, high: (tick.0 >> 64) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_up_to_whole_nanoseconds() {
        let at = Tick::from_time(Time::from_nanos(7));
        assert_eq!(at.ceil(), Time::from_nanos(7));
        assert_eq!(at.after(1).ceil(), Time::from_nanos(8));
        assert_eq!(at.before(1).ceil(), Time::from_nanos(7));
    }

    #[test]
    fn the_ends_of_time_are_kept() {
        assert_eq!(Tick::from_time(Time::MAX).after(CHARGE_MAX).ceil(), Time::MAX);
        assert_eq!(Tick::from_time(Time::ZERO).before(u128::MAX), StoredTick::NEVER_SERVED.get());
        assert!(StoredTick::NEVER_SERVED.get().after(CHARGE_MAX) <= Tick::from_time(Time::ZERO));
    }

    #[test]
    fn storing_keeps_all_bits() {
        for key in [0, 1, u128::from(u64::MAX), LATEST] {
            assert_eq!(StoredTick::from(Tick(key)).get(), Tick(key));
        }
    }
}
