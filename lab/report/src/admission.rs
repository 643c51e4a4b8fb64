//! Whether the setups of a table let the same amount of recovery begin at once: a table that compares unlike things says so at its head.

use loadline_study::{SetupResult, StudyResult, quoted};
use std::collections::BTreeMap;

/// The options that decide how much recovery may be under way before any scheduler is asked.
const BACKFILLS: &str = "osd_max_backfills";
const ACTIVE: &str = "osd_recovery_max_active";
/// What stands for the second where it is 0.
const ACTIVE_BY_MEDIUM: [(&str, &str); 2] =
    [("osd_recovery_max_active_hdd", "HDD"), ("osd_recovery_max_active_ssd", "SSD")];
/// Settings tell what is not the default.
const DEFAULT: &str = "the default";

/// One sentence, where something was recovered.
pub(crate) fn admission(result: &StudyResult) -> Option<String> {
    let recovered = |setup: &&SetupResult| setup.figure("recovery/seconds").is_some();
    let (mut backfills, mut active) = (BTreeMap::new(), BTreeMap::new());
    for setup in result.setups.iter().filter(recovered) {
        let limit = stored(setup, BACKFILLS).unwrap_or(DEFAULT).to_string();
        let name = quoted(setup.name());
        backfills.entry(limit).or_insert_with(Vec::new).push(name.clone());
        active.entry(active_at_once(setup)).or_insert_with(Vec::new).push(name);
    }
    let limit = backfills.keys().next()?;
    let unlike: Vec<String> = match backfills.values().eq(active.values()) {
        // Both set the same setups apart: one difference, told once.
        true => vec![(BACKFILLS, &backfills)],
        false => vec![(BACKFILLS, &backfills), (ACTIVE, &active)],
    }
    .into_iter()
    .filter(|(_, values)| values.len() > 1)
    .map(|(option, values)| {
        let under =
            |(value, names): (&String, &Vec<String>)| format!("{value} under {}", names.join(", "));
        format!("{option} is {}", values.iter().map(under).collect::<Vec<_>>().join("; "))
    })
    .collect();
    Some(match unlike.is_empty() {
        true => format!("All setups let the same recovery begin: {BACKFILLS} is {limit}."),
        false => format!("Not like with like: {}.", unlike.join(". ")),
    })
}

/// How many objects an OSD may recover at once.
fn active_at_once(setup: &SetupResult) -> String {
    if let Some(value) = stored(setup, ACTIVE).filter(|value| *value != "0") {
        return value.to_string();
    }
    let of_medium =
        |(option, medium): (&str, &str)| Some(format!("{} on {medium}", stored(setup, option)?));
    let by_medium: Vec<String> = ACTIVE_BY_MEDIUM.into_iter().filter_map(of_medium).collect();
    match by_medium.is_empty() {
        true => DEFAULT.to_string(),
        false => by_medium.join(" and "),
    }
}

/// What a setup gives the option, if not its default.
fn stored<'a>(setup: &'a SetupResult, option: &str) -> Option<&'a str> {
    setup.setup.settings.iter().find(|row| row.key == option).map(|row| row.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, SettingRow};

    fn setup(name: &str, limit: &str) -> SetupResult {
        let row =
            SettingRow { key: BACKFILLS.into(), value: limit.into(), origin: "stored".into() };
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
            "Not like with like: osd_max_backfills is 1000 under “a”, “b”; the default under “c”.";
        let mut c = setup("c", "");
        c.setup.settings.clear();
        check(&[a.clone(), c, b.clone()], Some(unlike));
        // Backfills were alike, and the head said that all was, though one setup recovered three objects at a time.
        let with = |mut setup: SetupResult, key: &str, value: &str| {
            let row = SettingRow { key: key.into(), value: value.into(), ..Default::default() };
            setup.setup.settings.push(row);
            setup
        };
        let few = with(b.clone(), ACTIVE, "3");
        let (a, b) = (with(a, ACTIVE, "1000"), with(b, ACTIVE, "1000"));
        let unlike = "Not like with like: osd_recovery_max_active is 1000 under “a”; 3 under “b”.";
        check(&[a.clone(), few], Some(unlike));
        // Both tell the same setups apart: one difference, told once.
        let (c, d) = (with(setup("c", "3"), ACTIVE, "3"), with(setup("d", "3"), ACTIVE, "3"));
        let unlike = "Not like with like: osd_max_backfills is 1000 under “a”; 3 under “c”, “d”.";
        check(&[a.clone(), c, d], Some(unlike));
        // What stands for it by medium counts only where it is 0.
        check(&[a.clone(), with(b, "osd_recovery_max_active_ssd", "10")], Some(all));
        let by_medium =
            with(with(setup("b", "1000"), ACTIVE, "0"), "osd_recovery_max_active_ssd", "10");
        let unlike =
            "Not like with like: osd_recovery_max_active is 10 on SSD under “b”; 1000 under “a”.";
        check(&[a, by_medium], Some(unlike));
    }
}
