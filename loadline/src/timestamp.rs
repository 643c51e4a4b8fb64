//! Times of day, for manifests.

use std::time::{SystemTime, UNIX_EPOCH};

/// RFC 3339 in UTC, to the second: `2026-01-31T23:59:59Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date of a day counted from 1970-01-01. Years are counted from March, so that the leap day is
/// their last, in eras of 400 years, which all have the same length.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    /// From 0000-03-01 to 1970-01-01.
    const DAYS_BEFORE_1970: u64 = 719_468;
    const DAYS_OF_ERA: u64 = 146_097;
    let days = days_since_1970 + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (DAYS_OF_ERA - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_times_of_day() {
        let check = |seconds: u64, text: &str| {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(951_868_799, "2000-02-29T23:59:59Z");
        check(1_709_164_800, "2024-02-29T00:00:00Z");
        check(1_767_225_599, "2025-12-31T23:59:59Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }
}
