//! Whether the setups of a table let the same amount of recovery begin at once: a table that compares unlike things says so at its head.

use loadline_study::{SetupResult, StudyResult};
use std::collections::BTreeMap;

/// The option that decides how much recovery may be under way before any scheduler is asked.
const LIMIT: &str = "osd_max_backfills";
/// Settings tell what is not the default.
const DEFAULT: &str = "the default";

/// One sentence, where something was recovered.
pub(crate) fn admission(result: &StudyResult) -> Option<String> {
    let mut by_limit: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let recovered = |setup: &&SetupResult| setup.figure("recovery/seconds").is_some();
    for setup in result.setups.iter().filter(recovered) {
        let limit = setup.setup.settings.iter().find(|row| row.key == LIMIT);
        by_limit.entry(limit.map_or(DEFAULT, |row| &row.value)).or_default().push(setup.name());
    }
    let told = |(limit, names): (&&str, &Vec<&str>)| format!("{limit} under {}", names.join(", "));
    match by_limit.len() {
        0 => None,
        1 => by_limit
            .keys()
            .next()
            .map(|limit| format!("All setups let the same recovery begin: {LIMIT} is {limit}.")),
        _ => Some(format!(
            "Not like with like: {LIMIT} is {}.",
            by_limit.iter().map(told).collect::<Vec<_>>().join("; ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, SettingRow};

    fn setup(name: &str, limit: &str) -> SetupResult {
        let row = SettingRow { key: LIMIT.into(), value: limit.into(), origin: "stored".into() };
        SetupResult {
            setup: Configuration { name: name.into(), settings: vec![row], ..Default::default() },
            figures: Figures::default().with([("recovery/seconds", 1.0)]),
            ..SetupResult::default()
        }
    }

    /// A table of all setups had lifted limits under one preset and the defaults under another, and said nothing of it.
    #[test]
    fn a_table_says_whether_it_compares_like_with_like() {
        let check = |setups: &[SetupResult], wanted: Option<&str>| {
            let result = StudyResult { setups: setups.to_vec(), ..StudyResult::default() };
            assert_eq!(admission(&result).as_deref(), wanted);
        };
        let alone = SetupResult::default();
        check(std::slice::from_ref(&alone), None);
        let (a, b) = (setup("a", "1000"), setup("b", "1000"));
        let all = "All setups let the same recovery begin: osd_max_backfills is 1000.";
        check(&[alone, a.clone(), b.clone()], Some(all));
        let unlike =
            "Not like with like: osd_max_backfills is 1000 under a, b; the default under c.";
        let mut c = setup("c", "");
        c.setup.settings.clear();
        check(&[a, c, b], Some(unlike));
    }
}
