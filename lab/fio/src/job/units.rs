//! fio's quantities: `4k` is 4096 bytes, `30` is 30 seconds.

use std::time::Duration;

/// A size in bytes, as fio reads it; `None` if it is none. As long as `kb_base` is not 1000, a unit counts in 1024, but one that ends in `ib` in 1000: fio keeps that
/// reversal for old job files (seen with 3.33: `size=1m`, `1mb` and `1mi` make 1048576 bytes, `1MiB` makes 1000000).
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.as_str() {
        "" | "b" => return Some(number),
        unit if unit.len() == 3 => (unit.strip_suffix("ib")?, 1000u64),
        unit if unit.len() == 2 => (unit.strip_suffix(['b', 'i'])?, 1024),
        unit => (unit, 1024),
    };
    let power = 1 + ["k", "m", "g", "t", "p"].iter().position(|known| *known == prefix)?;
    number.checked_mul(base.checked_pow(power as u32)?)
}

/// Longer than anything runs, and short enough that times can be added.
const SPAN_MAX: Duration = Duration::from_secs(36_500 * 86_400);

/// A length of time; seconds unless it says otherwise.
pub(super) fn span(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let span = match unit.to_ascii_lowercase().as_str() {
        "us" | "usec" => Duration::from_micros(number),
        "ms" | "msec" => Duration::from_millis(number),
        "" | "s" | "sec" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        "h" => Duration::from_secs(number.checked_mul(3_600)?),
        "d" => Duration::from_secs(number.checked_mul(86_400)?),
        _ => return None,
    };
    (span <= SPAN_MAX).then_some(span)
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}
