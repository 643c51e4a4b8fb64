//! Inverse rates as a line keeps them: ticks per unit of cost in 32 significant bits, so that a charge is one
//! multiplication and one shift.

use super::line::after;
use core::hint::select_unpredictable;

/// Fraction bits of a tick: 2^-10 ns.
pub(super) const FRACTION_BITS: u32 = 10;

/// How far before `now` tags reach after a rebase: 26 days. The clock is set back when it has come twice as far, so that
/// half of the range is left for what lies ahead.
pub(super) const PAST: u64 = 1 << (61 - FRACTION_BITS);

/// The last tag: what lies beyond it is found by [`TickRate::exact`]. The sum of two is less than the key of a queue's blank
/// places.
pub(super) const FAR: u64 = (1 << 63) - 1;

/// Shifts from here on are to the left, or none: rates below one unit in two milliseconds.
pub(super) const SLOW: u8 = 64;

/// `mantissa * 2^-shift` ticks per unit of cost (`mantissa * 2^(shift - 64)` where `shift` is 64 or more), rounded
/// down; no mantissa, no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickRate {
    pub(super) mantissa: u32,
    pub(super) shift: u8,
}

/// What is added to a tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightCharge {
    pub(super) ticks: u64,
    /// The same times the power of the rate.
    pub(super) weighed: u64,
}

impl TickRate {
    /// No rate; it is never charged.
    pub(super) const NONE: TickRate = TickRate { mantissa: 0, shift: 0 };

    /// Of a rate in units per second, against tags in time; [`TickRate::NONE`] for 0.
    pub(super) fn per_second(rate: f64) -> TickRate {
        if rate == 0.0 {
            return TickRate::NONE;
        }
        let (significand, exponent) =
            split(1e9 * f64::from(1 << FRACTION_BITS) / rate.max(f64::MIN_POSITIVE));
        TickRate::scaled(significand, exponent)
    }

    /// Of a weight against virtual time with `2^exponent` ticks per unit of cost at weight 1; [`TickRate::NONE`] for 0.
    pub(super) fn of_weight(weight: f64, exponent: i32) -> TickRate {
        let (significand, binary_exponent) = split(weight);
        if weight == 0.0 {
            TickRate::NONE
        } else {
            TickRate::scaled(1.0 / significand, exponent - binary_exponent)
        }
    }

    /// `significand * 2^exponent` ticks, the significand from 1/2 to 2. Out of range means as near as there is.
    fn scaled(significand: f64, exponent: i32) -> TickRate {
        let (significand, exponent) = if significand < 1.0 {
            (significand * 2.0, exponent - 1)
        } else {
            (significand, exponent)
        };
        let mantissa = (significand * f64::from(1u32 << 31)) as u64;
        let (mantissa, exponent) = (mantissa.min(u64::from(u32::MAX)) as u32, exponent - 31);
        match exponent {
            ..=-64 => TickRate { mantissa: 1 << 31, shift: SLOW - 1 },
            -63..=-1 => TickRate { mantissa, shift: exponent.unsigned_abs() as u8 },
            0..=63 => TickRate { mantissa, shift: SLOW + exponent as u8 },
            _ => TickRate { mantissa: u32::MAX, shift: SLOW + 63 },
        }
    }

    /// The nearest rate whose shift, either way, is at most this. Where it is to the left, no more than one unit in 52 days is lost
    /// beyond; where it is to the right, bits of less than a tick.
    pub(super) fn shortened(self, most: u8) -> TickRate {
        let places = self.shift & (SLOW - 1);
        let beyond = u32::from(places.saturating_sub(most));
        if beyond == 0 || self == TickRate::NONE {
            return self;
        }
        if self.is_slow() {
            return TickRate { mantissa: u32::MAX, shift: SLOW | most };
        }
        TickRate { mantissa: self.mantissa.checked_shr(beyond).unwrap_or(0).max(1), shift: most }
    }

    /// Whether its shift is to the left, or none.
    #[inline(always)]
    pub(super) fn is_slow(self) -> bool {
        self.shift & SLOW != 0
    }

    /// Units of cost in 2^32 ticks, as a power of two; 1 if there are fewer.
    #[inline(always)]
    pub(super) fn power(self) -> u64 {
        if self.is_slow() { 1 } else { 1 << self.shift }
    }

    /// Ticks of `cost` units, at most [`FAR`]. A `PLAIN` rate is not slow.
    #[inline(always)]
    pub(super) fn ticks<const PLAIN: bool>(self, cost: u32) -> u64 {
        debug_assert!(!PLAIN || !self.is_slow());
        let product = u64::from(self.mantissa) * u64::from(cost);
        if !PLAIN && self.is_slow() {
            return self.ticks_if_slow(product);
        }
        // By one at least, so that it is no more than FAR.
        product >> (self.shift & (SLOW - 1))
    }

    /// The same by arithmetic instead of a branch: which way a rate shifts cannot be predicted where among thousands of parties many
    /// have one of either kind.
    #[inline(always)]
    pub(super) fn ticks_either_way<const PLAIN: bool>(self, cost: u32) -> u64 {
        if PLAIN {
            return self.ticks::<PLAIN>(cost);
        }
        let product = u64::from(self.mantissa) * u64::from(cost);
        let places = self.shift & (SLOW - 1);
        let left = select_unpredictable(self.is_slow(), places, 0);
        if product > FAR >> left {
            return self.ticks_if_far(product);
        }
        (product << left) >> (places - left)
    }

    /// See [`TickRate::ticks_either_way`], of what is beyond the range before it is shifted to the right.
    #[cold]
    fn ticks_if_far(self, product: u64) -> u64 {
        if self.is_slow() { FAR } else { product >> self.shift }
    }

    /// The charge to a tag, which stays at most [`FAR`].
    #[inline(always)]
    pub(super) fn charge<const PLAIN: bool>(self, cost: u32, tag: u64) -> WeightCharge {
        let ticks = after(tag, self.ticks::<PLAIN>(cost)) - tag;
        let shift = if !PLAIN && self.is_slow() { 0 } else { self.shift & (SLOW - 1) };
        WeightCharge { ticks, weighed: ticks << shift }
    }

    #[cold]
    fn ticks_if_slow(self, product: u64) -> u64 {
        let places = self.shift - SLOW;
        if product.leading_zeros() > u32::from(places) { product << places } else { FAR }
    }

    /// A tag for a head whose charge is longer than the past before it: a base, and a part of the cost, that give the tag.
    pub(super) fn fit(self, tag: u128) -> (u64, u32) {
        let unit = self.exact(1 << 20).max(1);
        let cost = u32::try_from((tag << 20) / unit).unwrap_or(u32::MAX);
        let base = tag.saturating_sub(self.exact(cost));
        (u64::try_from(base).unwrap_or(FAR).min(FAR), cost)
    }

    /// The same without a bound.
    pub(super) fn exact(self, cost: u32) -> u128 {
        let product = u128::from(self.mantissa) * u128::from(cost);
        if self.shift < SLOW { product >> self.shift } else { product << (self.shift - SLOW) }
    }
}

/// A finite positive number as a significand from 1 to 2 and a power of two.
fn split(value: f64) -> (f64, i32) {
    let (lift, factor) =
        if value < f64::MIN_POSITIVE { (64, (1u128 << 64) as f64) } else { (0, 1.0) };
    let bits = (value * factor).to_bits();
    let significand = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    (significand, (bits >> 52) as i32 - 1023 - lift)
}

/// A power of two, as near as a number with full precision comes to it.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// The power of two at or below a positive finite number.
pub(super) fn floor_log2(value: f64) -> i32 {
    split(value).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against exact arithmetic, for rates that are whole numbers of thousandths: 31 bits, and less than a tick.
    #[test]
    fn charges_are_right_over_the_whole_range() {
        for thousandths in [1u128, 3, 250, 1_000, 7_000, 2_687_500, 10_000_000_000_000] {
            let rate = TickRate::per_second(thousandths as f64 / 1e3);
            for cost in [1u32, 2, 3, 58_525, u32::MAX] {
                let exact = u128::from(cost) * 1_000_000_000_000 * 1024 / thousandths;
                let got = rate.exact(cost);
                assert!(
                    got <= exact + 1 && exact - got.min(exact) <= exact / (1 << 30) + 1,
                    "{thousandths} {cost}"
                );
                assert_eq!(u128::from(rate.ticks::<false>(cost)), got.min(u128::from(FAR)));
                assert_eq!(rate.ticks_either_way::<false>(cost), rate.ticks::<false>(cost));
            }
        }
    }

    #[test]
    fn extremes_saturate() {
        assert_eq!(TickRate::per_second(1e300).ticks::<false>(1), 0);
        assert_eq!(TickRate::per_second(1e-300).ticks::<false>(1), FAR);
        for rate in [1e300, 1e-300, 0.0, 0.01, 477.0, 500.0].map(TickRate::per_second) {
            for cost in [1, 2, u32::MAX] {
                assert_eq!(rate.ticks_either_way::<false>(cost), rate.ticks::<false>(cost));
            }
        }
        assert_eq!(TickRate::per_second(0.0), TickRate::NONE);
        assert_eq!(TickRate::of_weight(0.0, 20), TickRate::NONE);
        assert_eq!(TickRate::of_weight(0.25, 20).ticks::<false>(3), 12 << 20);
        assert_eq!(floor_log2(5e-324), -1074);
        assert_eq!((power_of_two(-3), power_of_two(10)), (0.125, 1024.0));
    }
}
