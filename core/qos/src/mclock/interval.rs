//! Inverse rates: what one unit of cost moves a tag by, computed once when parameters change.

use super::tick::{CHARGE_MAX, TICKS_ODD, TICKS_SHIFT};

/// Ticks per unit of cost: `mantissa * 2^exponent`, with 64 significant bits, rounded down.
///
/// Rounding down keeps a tag that is a whole nanosecond in exact arithmetic at that nanosecond once it is
/// rounded up for the caller.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(2))]
pub(super) struct Interval {
    mantissa: u64,
    exponent: i16,
}

/// What an interval is divided from: `odd * 2^shift`.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalScale {
    odd: u64,
    shift: i32,
}

impl IntervalScale {
    /// For rates in units per second against [`Tick`](super::tick::Tick)s.
    pub(super) const SECOND: IntervalScale = IntervalScale { odd: TICKS_ODD, shift: TICKS_SHIFT };

    /// The odd part moved to the top of 127 bits, and how far.
    fn raised(self) -> (u128, i32) {
        let places = u128::from(self.odd).leading_zeros() as i32 - 1;
        (u128::from(self.odd) << places, places)
    }
}

impl Interval {
    /// The interval of no rate at all; it is never charged.
    pub(super) const NONE: Interval = Interval { mantissa: 0, exponent: 0 };

    /// The interval of a finite rate that is not negative; [`Interval::NONE`] for 0.
    pub(super) fn of_rate(rate: f64, scale: IntervalScale) -> Interval {
        if rate == 0.0 {
            return Interval::NONE;
        }
        let (significand, binary_exponent) = decompose(rate);
        let (raised, places) = scale.raised();
        let quotient = raised / u128::from(significand);
        let excess = 64 - quotient.leading_zeros() as i32;
        Interval {
            mantissa: (quotient >> excess) as u64,
            exponent: (scale.shift - places - binary_exponent + excess) as i16,
        }
    }

    /// Whether there is a rate.
    pub(super) fn exists(self) -> bool {
        self.mantissa != 0
    }

    /// Ticks of `cost` units (two 32-bit counts at most), rounded down; no more than [`CHARGE_MAX`].
    #[inline]
    pub(super) fn ticks(self, cost: u64) -> u128 {
        debug_assert!(cost < 1 << 33);
        let product = u128::from(self.mantissa) * u128::from(cost);
        // The product has 97 bits at most, so that a shift by three or more stays within the maximum.
        match self.exponent {
            exponent @ -63..=-3 => product >> (exponent.unsigned_abs() & 63),
            _ => self.ticks_unbounded(cost).min(CHARGE_MAX),
        }
    }

    /// The same without the maximum, for ledgers with 128 bits; saturates.
    pub(super) fn ticks_unbounded(self, cost: u64) -> u128 {
        let product = u128::from(self.mantissa) * u128::from(cost);
        let exponent = i32::from(self.exponent);
        if exponent <= 0 {
            product.checked_shr(exponent.unsigned_abs()).unwrap_or(0)
        } else if exponent.unsigned_abs() < product.leading_zeros() {
            product << exponent
        } else {
            u128::MAX >> 1
        }
    }
}

/// A positive finite number as a 53-bit significand and a power of two.
fn decompose(value: f64) -> (u64, i32) {
    let (value, lift) =
        if value < f64::MIN_POSITIVE { (value * (1u64 << 54) as f64, 54) } else { (value, 0) };
    let bits = value.to_bits();
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    (significand, (bits >> 52) as i32 - 1075 - lift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against exact arithmetic: `cost * 10^9 * 2^24 / rate`, for rates that are whole numbers or whole thousandths.
    #[test]
    fn intervals_are_exact_to_a_millionth_over_the_whole_range() {
        for thousandths in
            [1u128, 3, 1_000, 7_000, 63_000, 2_687_500, 1_000_000_000, 10_000_000_000_000]
        {
            let interval = Interval::of_rate(thousandths as f64 / 1e3, IntervalScale::SECOND);
            for cost in [1u64, 2, 3, 58_525, u64::from(u32::MAX)] {
                let exact = u128::from(cost) * 1_000_000_000_000 * (1 << 24) / thousandths;
                let got = interval.ticks_unbounded(cost);
                assert_eq!(interval.ticks(cost), got.min(CHARGE_MAX));
                let millionth = exact / 1_000_000;
                assert!(
                    got <= exact + millionth / 1_000 && got + millionth >= exact,
                    "{thousandths} {cost}"
                );
            }
        }
    }

    #[test]
    fn whole_intervals_are_whole() {
        let tenth = Interval::of_rate(10.0, IntervalScale::SECOND).ticks(1);
        assert_eq!(tenth, 100_000_000 << 24);
        let third = Interval::of_rate(3.0, IntervalScale::SECOND).ticks(3);
        assert_eq!(third, (1_000_000_000 << 24) - 1, "rounded down, by less than a tick");
    }

    #[test]
    fn extremes_saturate() {
        assert_eq!(Interval::of_rate(1e300, IntervalScale::SECOND).ticks(1), 0);
        assert_eq!(Interval::of_rate(1e-300, IntervalScale::SECOND).ticks(1), CHARGE_MAX);
        assert_eq!(Interval::NONE.ticks(5), 0);
    }
}
