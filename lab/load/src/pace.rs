//! When the next op goes.

use loadline_base::{Rng, Time};
use serde::Deserialize;
use std::fmt;

/// How the ops of an open loop are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Independent of each other: exponential intervals.
    #[default]
    Poisson,
    /// At equal intervals.
    Fixed,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Poisson => "Poisson",
            Arrivals::Fixed => "fixed intervals",
        })
    }
}

/// Fraction bits of a nanosecond in which an open loop keeps its schedule, so that rounding does not shift a
/// rate: at 10^9 ops per second the error of an interval is 2^-16 of itself.
const FRACTION_BITS: u32 = 16;

/// The intended starts of an open loop, independent of when anything completes.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// Mean interval in 2^-16 ns.
    interval: u64,
    /// The next intended start in 2^-16 ns.
    next: u128,
    rng: Rng,
}

impl Schedule {
    pub(crate) fn new(rate: f64, arrivals: Arrivals, rng: Rng) -> Schedule {
        let interval = (1e9 * f64::from(1u32 << FRACTION_BITS) / rate).round() as u64;
        Schedule { arrivals, interval, next: 0, rng }
    }

    /// The first op is due one interval after `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        self.next = u128::from(now.nanos()) << FRACTION_BITS;
        self.advance();
    }

    /// When the next op is intended to start; a world that wakes then is never early.
    pub(crate) fn next(&self) -> Time {
        Time::from_nanos(self.next.div_ceil(1 << FRACTION_BITS) as u64)
    }

    /// When an op that is due by `now` was intended to start; the next one is due an interval after that.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Time> {
        let intended = self.next();
        (intended <= now).then(|| {
            self.advance();
            intended
        })
    }

    fn advance(&mut self) {
        self.next += match self.arrivals {
            Arrivals::Fixed => u128::from(self.interval),
            Arrivals::Poisson => exponential(u128::from(self.interval), &mut self.rng),
        };
    }
}

/// An exponentially distributed length with this mean.
///
/// Von Neumann's method (1951): it compares uniform numbers and needs no logarithm, whose last bit differs
/// between machines. The lengths of falling runs of uniforms are odd with probability `e^-u` given the first
/// one, `u`; every run of even length adds one mean.
fn exponential(mean: u128, rng: &mut Rng) -> u128 {
    let mut whole = 0;
    loop {
        let first = rng.next_u64();
        let (mut previous, mut falling) = (first, 1u32);
        loop {
            let drawn = rng.next_u64();
            if drawn >= previous {
                break;
            }
            (previous, falling) = (drawn, falling + 1);
        }
        if falling % 2 == 1 {
            return whole * mean + ((u128::from(first) * mean) >> 64);
        }
        whole += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200,000 intervals of mean m: the sample mean has the standard deviation m / sqrt(n) = 0.00224 m, the
    /// sample variance that of sqrt(8 / n) m² = 0.00632 m² (the exponential's fourth central moment is 9 m⁴).
    /// Five of each are 1.12 % and 3.2 %. The share above the mean is 1/e = 0.3679 with 0.00108; five are 0.0054.
    #[test]
    fn exponential_lengths_have_their_mean_variance_and_tail() {
        let (n, mean, mut rng) = (200_000, 1_000_000u128, Rng::new(11));
        let drawn: Vec<f64> = (0..n).map(|_| exponential(mean, &mut rng) as f64 / 1e6).collect();
        let average = drawn.iter().sum::<f64>() / f64::from(n);
        let variance = drawn.iter().map(|x| (x - average).powi(2)).sum::<f64>() / f64::from(n - 1);
        let tail = drawn.iter().filter(|x| **x > 1.0).count() as f64 / f64::from(n);
        assert!((average - 1.0).abs() < 0.0112, "mean {average}");
        assert!((variance - 1.0).abs() < 0.032, "variance {variance}");
        assert!((tail - (-1.0f64).exp()).abs() < 0.0054, "{tail} above the mean");
    }

    /// A third of a second is no whole number of nanoseconds.
    #[test]
    fn who_wakes_when_told_to_is_not_early() {
        let mut schedule = Schedule::new(3.0, Arrivals::Fixed, Rng::new(1));
        schedule.begin(Time::ZERO);
        assert_eq!(schedule.take_due(Time::from_nanos(333_333_333)), None);
        let due = Time::from_nanos(333_333_334);
        assert_eq!((schedule.next(), schedule.take_due(due)), (due, Some(due)));
    }

    #[test]
    fn fixed_intervals_do_not_drift() {
        let mut schedule = Schedule::new(3.0, Arrivals::Fixed, Rng::new(1));
        schedule.begin(Time::from_secs(10));
        for _ in 1..3_000_000 {
            schedule.advance();
        }
        // 3,000,000 intervals of a third of a second; each is rounded by at most half of 2^-16 ns: 23 ns in all.
        let at = schedule.next().nanos().abs_diff(1_000_010 * 1_000_000_000);
        assert!(at <= 24, "{at} ns off after 3,000,000 intervals");
    }
}
