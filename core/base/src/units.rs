//! Sizes with units: parse and print.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A text was not a quantity of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    /// What would have been right, as a noun phrase.
    pub wanted: &'static str,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.wanted)
    }
}

impl core::error::Error for ParseUnitError {}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// `n` times 1024 bytes.
    pub const fn from_kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` times 1024² bytes.
    pub const fn from_mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// MiB, for people and plots.
    pub fn as_mib_f64(self) -> f64 {
        self.0 as f64 / (1u64 << 20) as f64
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

const BINARY_UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// In the largest unit that fits, with two digits behind the point where it is no whole number of it. `{:#}` is exact: in the largest unit of which it is a whole
/// number.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, size) in BINARY_UNITS {
            let is_whole = self.0.is_multiple_of(size);
            if self.0 >= size && (is_whole || !f.alternate()) {
                let value = self.0 as f64 / size as f64;
                let digits = if is_whole { 0 } else { 2 };
                return write!(f, "{value:.digits$} {unit}");
            }
        }
        write!(f, "{} B", self.0)
    }
}

/// Reads `4 KiB`, `4KiB`, `1.5 GiB`, `20 MB`, `512 B`; a bare number is bytes.
impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        let wanted = "a size such as `4 KiB`, `40 MiB` or `1.5 GiB`";
        let (value, unit) = split_number(text).ok_or(ParseUnitError { wanted })?;
        let size = match unit {
            "" | "B" => 1.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            "PB" | "PiB" | "EB" | "EiB" => {
                let wanted = "a size in TiB, the largest unit, such as `1.5 TiB`";
                return Err(ParseUnitError { wanted });
            }
            _ => match BINARY_UNITS.iter().find(|(name, _)| *name == unit) {
                Some((_, size)) => *size as f64,
                None => return Err(ParseUnitError { wanted }),
            },
        };
        // Who typed more would be told of another number.
        if value * size >= u64::MAX as f64 {
            return Err(ParseUnitError { wanted: "a size of less than 16777216 TiB" });
        }
        Ok(Bytes(round(value * size)))
    }
}

/// The nearest whole number, of halves the greater, of a value that is not negative; the standard library's is not in `core`.
pub fn round(value: f64) -> u64 {
    let whole = value as u64;
    whole.saturating_add(u64::from(value - whole as f64 >= 0.5))
}

/// Splits `4 KiB` into `(4.0, "KiB")`; the number is finite and not negative.
pub(crate) fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    value.is_finite().then(|| (value, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn numbers_are_rounded_as_the_standard_library_does() {
        for value in [0.0, 0.25, 0.499_999_999_999_999_94, 0.5, 1.5, 2.5, 1e15 + 0.5, 9e18, 1e30] {
            assert_eq!(round(value), f64::round(value) as u64, "{value}");
        }
        assert_eq!((round(f64::NAN), round(-3.0)), (0, 0));
    }

    #[test]
    fn sizes_read_and_print() {
        let check = |text: &str, bytes: u64| assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)));
        check("4 KiB", 4096);
        check("256KiB", 262_144);
        check("1.5 GiB", 1_610_612_736);
        check("512", 512);
        check("20 MB", 20_000_000);
        assert!("4 KB".parse::<Bytes>().is_err());
        assert!("".parse::<Bytes>().is_err());
        let refused = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(refused("16777216TiB"), "expected a size of less than 16777216 TiB");
        assert!(refused("1PiB").contains("TiB, the largest unit"));
        assert_eq!(Bytes::from_mib(4).to_string(), "4 MiB");
        assert_eq!(Bytes::new(1_610_612_736).to_string(), "1.50 GiB");
        assert_eq!(format!("{:#}", Bytes::new(1_610_612_736)), "1536 MiB");
        assert_eq!(Bytes::new(100).to_string(), "100 B");
        assert_eq!(Bytes::new(1023).to_string(), "1023 B");
        assert_eq!(Bytes::new(1024).to_string(), "1 KiB");
    }
}
