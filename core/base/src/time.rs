//! Integer time: a point ([`Time`]) and a length ([`Span`]), both in whole nanoseconds.

use crate::units::{ParseUnitError, round, split_number};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

/// A point in time: nanoseconds since the start of the world that gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of the world.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` after the start of the world.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// The point `seconds` after the start of the world.
    pub const fn from_secs(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    /// Nanoseconds since the start of the world.
    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the world, for people and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero if `earlier` is the later one.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `n` nanoseconds.
    #[inline]
    pub const fn from_nanos(n: u64) -> Span {
        Span(n)
    }

    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Span {
        Span(n * 1_000)
    }

    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Span {
        Span(n * 1_000_000)
    }

    /// A span of `n` seconds.
    pub const fn from_secs(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }

    /// The nearest whole number of nanoseconds to `seconds`; negative and NaN become zero.
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span(round(seconds * 1e9))
    }

    /// Whole nanoseconds.
    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for people and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, for people and plots.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => (self.0 as f64, "ns"),
            1_000..1_000_000 => (self.0 as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => (self.0 as f64 / 1e6, "ms"),
            _ => (self.0 as f64 / 1e9, "s"),
        };
        match f.precision() {
            Some(digits) => write!(f, "{value:.digits$} {unit}"),
            None => write!(f, "{value} {unit}"),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

/// Reads `90 s`, `50 ms`, `2.5 us`, `10 min`, `1 h`; a bare `0` needs no unit.
impl FromStr for Span {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Span, ParseUnitError> {
        let wanted = "a time such as `50 ms`, `300 s` or `10 min`";
        let (value, unit) = split_number(text).ok_or(ParseUnitError { wanted })?;
        let nanos = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            "" if value == 0.0 => 1.0,
            _ => return Err(ParseUnitError { wanted }),
        };
        Ok(Span(round(value * nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_read_and_print() {
        let check = |text: &str, nanos: u64| assert_eq!(text.parse::<Span>(), Ok(Span(nanos)));
        check("50 ms", 50_000_000);
        check("2.5us", 2_500);
        check("10 min", 600_000_000_000);
        check("0", 0);
        assert!("50".parse::<Span>().is_err());
        assert!("fast".parse::<Span>().is_err());
        assert!("-1 s".parse::<Span>().is_err());
        assert_eq!(Span::from_micros(2_790).to_string(), "2.79 ms");
    }

    #[test]
    fn time_stops_at_its_ends() {
        let last = Span::from_nanos(u64::MAX - 1);
        assert_eq!(Time::MAX + Span(1), Time::MAX);
        assert_eq!(Time::ZERO - Span(1), Time::ZERO);
        assert_eq!(last + Span(5), Span::MAX);
        assert_eq!(last * 2, Span::MAX);
        assert_eq!(Span(1) - Span(2), Span::ZERO);
    }
}
