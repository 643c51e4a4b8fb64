//! Numbers with a fraction: added as what they are written as, with as many places as the original tells of its own.

use crate::refusal::RespRefusal;

/// Places behind the point that are exact: those that the original tells.
const PLACES: u32 = 17;
/// What is less than this is exact: two of them can be added.
const EXACT_MAX: i128 = 10_i128.pow(20 + PLACES);

/// A sum that is finite, as text.
pub(super) fn float_sum(old: Option<&[u8]>, more: &[u8]) -> Result<Vec<u8>, RespRefusal> {
    let (old, more) = (old.map_or(Ok("0"), text)?, text(more)?);
    let (rounded_old, rounded_more) = (float(old)?, float(more)?);
    if let (Some(old), Some(more)) = (units(old), units(more)) {
        return Ok(decimal(old + more).into_bytes());
    }
    let sum = rounded_old + rounded_more;
    match sum.is_finite() {
        true => Ok(sum.to_string().into_bytes()),
        false => Err(RespRefusal::NotFinite),
    }
}

fn text(bytes: &[u8]) -> Result<&str, RespRefusal> {
    std::str::from_utf8(bytes).map_err(|_| RespRefusal::NoFloat)
}

/// A number, finite, to the nearest that the processor has.
fn float(text: &str) -> Result<f64, RespRefusal> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or(RespRefusal::NoFloat)
}

/// The same in units of the last place that is exact; `None` if it has more places, or is too large.
fn units(number: &str) -> Option<i128> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let places = places.trim_end_matches('0');
    let mut units: i128 = 0;
    for digit in whole.bytes().chain(places.bytes()).filter(u8::is_ascii_digit) {
        units = units.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let exponent: i16 = exponent.parse().ok()?;
    let power = i64::from(PLACES) + i64::from(exponent) - i64::try_from(places.len()).ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?)?;
    let units = match power < 0 {
        true => (units % scale == 0).then_some(units / scale)?,
        false => units.checked_mul(scale)?,
    };
    let signed = if whole.starts_with('-') { -units } else { units };
    (units < EXACT_MAX).then_some(signed)
}

/// Units as text, without a point where nothing is behind it.
fn decimal(units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let scale = 10_u128.pow(PLACES);
    let (whole, places) = (units.unsigned_abs() / scale, units.unsigned_abs() % scale);
    let text = format!("{sign}{whole}.{places:0width$}", width = PLACES as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums were rounded to 53 bits: a counter stood still at 2^53, and a tenth and two made 0.30000000000000004.
    #[test]
    fn sums_are_exact_as_far_as_they_are_told() {
        for (old, more, sum) in [
            ("9007199254740992", "1", "9007199254740993"),
            ("0.1", "0.2", "0.3"),
            ("-0.5", "+0.5", "0"),
            ("3.0e3", "200", "3200"),
            ("10.5", "0.1", "10.6"),
            (".5", "5.", "5.5"),
            ("-1.25E-1", "1e-17", "-0.12499999999999999"),
            ("10", "100e-1", "20"),
            (
                "99999999999999999999.99999999999999999",
                "0.00000000000000001",
                "100000000000000000000",
            ),
            ("0e300", "1", "1"),
            // Beyond that they are rounded.
            ("100000000000000000000", "1", "100000000000000000000"),
            ("1e-18", "1", "1"),
        ] {
            let told = float_sum(Some(old.as_bytes()), more.as_bytes());
            assert_eq!(told, Ok(sum.as_bytes().to_vec()), "{old} {more}");
        }
        assert_eq!(float_sum(None, b"5e3"), Ok(b"5000".to_vec()));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["x", "", ".", "1e", "inf", "nan", "1e400", "1 ", "--1", "1.2.3", "1e1.0"] {
            let refused =
                [float_sum(Some(text.as_bytes()), b"1"), float_sum(Some(b"1"), text.as_bytes())];
            assert_eq!(refused, [Err(RespRefusal::NoFloat), Err(RespRefusal::NoFloat)], "{text}");
        }
        assert_eq!(float_sum(Some(b"\xff"), b"1"), Err(RespRefusal::NoFloat));
        assert_eq!(float_sum(Some(b"1e308"), b"1e308"), Err(RespRefusal::NotFinite));
    }
}
