//! What a run leaves on a cluster for others to know it by, and what is asked of a cluster before it is changed.

use crate::answers::{OsdMapDump, StoredOption};
use crate::connection::{CephConnection, CephError, CommandTarget, ask};
use serde_json::json;

/// The key under which a run says that it is there.
pub const LOCK_KEY: &str = "loadline/run";

/// The application that our pools are labelled with.
pub const APPLICATION: &str = "loadline";

/// Who holds the cluster, if anybody does.
pub(crate) fn holder(on: &dyn CephConnection) -> Result<Option<String>, CephError> {
    let command = json!({"prefix": "config-key get", "key": LOCK_KEY});
    let answer = on.command(&CommandTarget::Monitor, &command)?;
    let text = String::from_utf8_lossy(&answer.output).trim().to_owned();
    Ok((answer.code == 0 && !text.is_empty()).then_some(text))
}

/// What is stored of an option in just this section.
pub(crate) fn stored(
    on: &dyn CephConnection,
    who: &str,
    name: &str,
) -> Result<Option<String>, CephError> {
    let all: Vec<StoredOption> =
        ask(on, &CommandTarget::Monitor, &json!({"prefix": "config dump"}))?;
    let mut found = all.into_iter().filter(|stored| stored.name == name && stored.who() == who);
    Ok(found.next().map(|stored| stored.value))
}

/// The flags of the map that a word of `osd set` stands for: one flag under its own name, but for this one.
pub(crate) fn flags_of(word: &str) -> &[&str] {
    match word {
        "pause" => &["pauserd", "pausewr"],
        _ => &[],
    }
}

/// Those of them that are set, by the names that the map has.
pub(crate) fn set_of<'a>(map: &'a OsdMapDump, word: &str) -> Vec<&'a str> {
    let names = flags_of(word);
    let is_it = |set: &&str| *set == word || names.contains(set);
    map.flags_set.iter().map(String::as_str).filter(is_it).collect()
}

/// The same value, however it is printed.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => is_near(a, b),
        _ => a == b,
    }
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0)
}

/// Whether a cluster that was told `typed` may have stored `found`: it keeps what it has understood, `true` for `1` and
/// 4294967296 for `4G`. Which of the readings is an option's own it does not say, so each of them counts.
pub(crate) fn may_become(typed: &str, found: &str) -> bool {
    is_same(typed, found)
        || readings(typed).any(|read| readings(found).any(|other| is_near(read, other)))
}

/// The numbers that a text may stand for: as a flag, a size, a count or a time.
fn readings(text: &str) -> impl Iterator<Item = f64> {
    let text = text.trim();
    let flag = match text.to_ascii_lowercase().as_str() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => None,
    };
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = number.trim().parse::<f64>().ok();
    let units = factors(unit).into_iter().filter(|factor| *factor > 0.0);
    flag.into_iter().chain(units.filter_map(move |factor| Some(number? * factor)))
}

/// What a unit may multiply by, as a size, as a count and as a time; 0 where it is none.
fn factors(unit: &str) -> [f64; 3] {
    let magnitude = match unit {
        "" | "B" => Some(0),
        "K" | "Ki" => Some(1),
        "M" | "Mi" => Some(2),
        "G" | "Gi" => Some(3),
        "T" | "Ti" => Some(4),
        "P" | "Pi" => Some(5),
        "E" | "Ei" => Some(6),
        _ => None,
    };
    let seconds = match unit {
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "wk" | "week" | "weeks" => 604_800.0,
        _ => 0.0,
    };
    let power = |base: f64| magnitude.map_or(0.0, |magnitude| base.powi(magnitude));
    [power(1_024.0), power(1_000.0), seconds]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_be_stored_in_another_spelling() {
        let check = |typed: &str, found: &str, may: bool| {
            assert_eq!(may_become(typed, found), may, "{typed} as {found}");
        };
        check("1", "true", true);
        check("TRUE", "true", true);
        check("0", "true", false);
        check("4G", "4294967296", true);
        check("4G", "4000000000", true);
        check("4G", "4100000000", false);
        check("5 min", "300", true);
        check("0.7", "0.700000", true);
        check("balanced", "balanced", true);
        check("balanced", "custom", false);
        check("", "", true);
        check("", "0", false);
    }
}
