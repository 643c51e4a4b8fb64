//! Numbers as people read them: digits that matter, thousands apart.

/// Three to four significant digits, thousands apart: `18,404`, `97.2`, `5.69`, `0.031`.
pub fn plain(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.995 => 2,
        _ => 3,
    };
    thousands_apart(&format!("{value:.digits$}"))
}

/// A tick of an axis: no trailing zeros.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.4}");
    thousands_apart(text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share of one as whole percent; one decimal below ten.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// How far `ours` is from `theirs`, with its sign: `+1.0 %`, `−12 %`, `±0.0 %`. Nothing is a share of 0.
pub fn difference(ours: f64, theirs: f64) -> Option<String> {
    let share = if ours == theirs { 0.0 } else { ours / theirs - 1.0 };
    let text = percent(share.abs());
    share.is_finite().then(|| match share {
        _ if text == "0.0 %" => "±0.0 %".to_owned(),
        share if share > 0.0 => format!("+{text}"),
        _ => format!("−{text}"),
    })
}

/// How many times as much something is: `2.3 times`, `12 times`.
pub fn times(ratio: f64) -> String {
    let digits = if ratio < 9.95 { 1 } else { 0 };
    format!("{} times", thousands_apart(&format!("{ratio:.digits$}")))
}

/// Seconds with the digits that matter, `9.60 s`, `10.7 s`, `966 s`; above two minutes a reader may want `16 min 6 s` too, see [`duration`].
pub fn seconds(value: f64) -> String {
    format!("{} s", plain(value))
}

/// Seconds as minutes and seconds for running text: `16 min 6 s`, which no line end may tear.
pub fn duration(value: f64) -> String {
    let whole = value.round() as u64;
    let text = match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => seconds(value),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    };
    text.replace(' ', "\u{a0}")
}

fn thousands_apart(text: &str) -> String {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let end = text.find('.').unwrap_or(text.len());
    let mut out = text[..start].to_owned();
    for (place, digit) in text[start..end].char_indices() {
        if place > 0 && (end - start - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        let check = |found: String, wanted: &str| assert_eq!(found, wanted);
        check(plain(18_404.3), "18,404");
        check(plain(1_234_567.0), "1,234,567");
        check(plain(97.24), "97.2");
        check(plain(5.688), "5.69");
        check(plain(0.0312), "0.031");
        check(plain(-1234.0), "-1,234");
        check(plain(0.0), "0");
        check(plain(0.996), "1.00");
        check(plain(9.996), "10.0");
        check(plain(99.96), "100");
        check(tick(20_000.0), "20,000");
        check(tick(0.5), "0.5");
        check(percent(0.857), "86 %");
        check(percent(0.0123), "1.2 %");
        check(percent(0.0996), "10 %");
        let difference = |ours, theirs| difference(ours, theirs).unwrap_or_default();
        check(difference(11_326.0, 11_209.0), "+1.0 %");
        check(difference(0.0, 0.0), "±0.0 %");
        check(difference(3.0, 0.0), "");
        check(difference(2_200.0, 2_544.0), "−14 %");
        check(difference(100.0, 100.01), "±0.0 %");
        check(times(2.04), "2.0 times");
        check(times(12.3), "12 times");
        check(times(1_234.0), "1,234 times");
        check(seconds(9.6), "9.60 s");
        check(seconds(10.66), "10.7 s");
        check(seconds(966.2), "966 s");
        check(seconds(1409.0), "1,409 s");
        check(duration(966.2), "16\u{a0}min\u{a0}6\u{a0}s");
        check(duration(45.0), "45.0\u{a0}s");
        check(duration(59.6), "1\u{a0}min\u{a0}0\u{a0}s");
        check(duration(7_500.0), "2\u{a0}h\u{a0}5\u{a0}min");
    }
}
