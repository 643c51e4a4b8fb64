//! Times of day as Ceph writes them.

/// Seconds since 1970 of `2026-11-23T09:12:45.758512+0000`, or of a plain number of seconds, which stands for a time that somebody
/// has set instead of a clock. `None` if it is neither.
pub fn seconds_of(stamp: &str) -> Option<f64> {
    if let Ok(seconds) = stamp.parse::<f64>() {
        return seconds.is_finite().then_some(seconds);
    }
    let (date, time) = stamp.split_once('T')?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let (time, zone) = match time.find(['+', '-', 'Z']) {
        Some(at) => (&time[..at], offset_s(&time[at..])?),
        None => (time, 0.0),
    };
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let in_day = hour * 3600.0 + minute * 60.0 + second;
    (in_day.is_finite())
        .then(|| days_since_1970(year, month, day) as f64 * 86_400.0 + in_day - zone)
}

/// `Z`, `+0000` or `+01:00` in seconds.
fn offset_s(zone: &str) -> Option<f64> {
    if zone == "Z" {
        return Some(0.0);
    }
    let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = (digits.get(..2)?, digits.get(2..4)?);
    Some(sign * (hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0))
}

/// Years are counted from March, so that the leap day is their last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_seconds() {
        let check =
            |stamp: &str, seconds: Option<f64>| assert_eq!(seconds_of(stamp), seconds, "{stamp}");
        check("1970-01-01T00:00:00.000000+0000", Some(0.0));
        check("2026-01-31T23:59:59Z", Some(1_769_903_999.0));
        check("2000-02-29T00:00:00.500000+0100", Some(951_778_800.5));
        check("1.000000", Some(1.0));
        check("0.000000", Some(0.0));
        for none in ["", "soon", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T1:2", "é-é-éTé"]
        {
            check(none, None);
        }
    }
}
