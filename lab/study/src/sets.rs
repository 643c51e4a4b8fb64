//! Names for groups of setups, and what a choice on the command line names.

use crate::input::{InputError, Source, unknown};
use std::collections::BTreeMap;
use toml::Spanned;

/// Groups by name, each with its setups.
pub(crate) type Sets = Vec<(String, Vec<String>)>;

/// The sets of a file, of which one is `default` and each names known setups.
pub(crate) fn read_sets(
    sets: &BTreeMap<String, Vec<Spanned<String>>>,
    source: &Source,
    setups: &[&str],
) -> Result<Sets, InputError> {
    for name in sets.values().flatten() {
        if !setups.contains(&name.get_ref().as_str()) {
            let reason = unknown("setup", name.get_ref(), setups.iter().copied());
            return Err(source.error_at(name.span().start, reason));
        }
    }
    if let Some(empty) = sets.iter().find_map(|(set, names)| names.is_empty().then_some(set)) {
        let reason = format!("the set `{empty}` names no setup: nothing would run");
        return Err(source.error_under("sets", empty, reason));
    }
    if !sets.contains_key("default") {
        let reason = "`[sets]` must have a `default`: the setups that run if nothing else is said";
        return Err(source.error_in("default", reason));
    }
    let names =
        |names: &Vec<Spanned<String>>| names.iter().map(|name| name.get_ref().clone()).collect();
    Ok(sets.iter().map(|(set, of)| (set.clone(), names(of))).collect())
}

/// The setups that a choice names: a set, or setups separated by commas. In the study's order.
pub(crate) fn choose(
    choice: &str,
    setups: &[&str],
    sets: &[(String, Vec<String>)],
) -> Result<Vec<usize>, InputError> {
    let set = sets.iter().find(|(name, _)| name == choice).map(|(_, names)| names.clone());
    let names = match set {
        Some(names) => names,
        None => split_names(choice, setups),
    };
    for name in &names {
        if name.is_empty() {
            let reason =
                "takes a set, or names of setups with commas between them: one of them is empty";
            return Err(InputError::new("--setups", reason));
        }
        if sets.iter().any(|(set, _)| set == name) {
            let reason = format!("the set `{name}` stands alone: leave the other names out");
            return Err(InputError::new("--setups", reason));
        }
        if !setups.contains(&name.as_str()) {
            let sets = sets.iter().map(|(name, _)| name.as_str());
            let known: Vec<&str> = sets.chain(setups.iter().copied()).collect();
            return Err(InputError::new("--setups", unknown("setup or set", name, known)));
        }
    }
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        let reason = format!("`{}` stands there twice: name each setup once", names[twice]);
        return Err(InputError::new("--setups", reason));
    }
    let chosen = |index: &usize| names.iter().any(|name| name == setups[*index]);
    Ok((0..setups.len()).filter(chosen).collect())
}

/// What stands between commas. Some names have a comma themselves: of what begins at a place, the longest that is a name counts.
fn split_names(choice: &str, setups: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = Some(choice);
    while let Some(here) = rest {
        let mut ends = here.match_indices(',').map(|(at, _)| at).chain([here.len()]);
        let is_name = |end: &usize| setups.contains(&here[..*end].trim());
        let first = here.find(',').unwrap_or(here.len());
        let end = ends.rfind(is_name).unwrap_or(first);
        names.push(here[..end].trim().to_owned());
        rest = here.get(end + 1..);
    }
    names
}

/// Refuses a setup's name that stands twice.
pub(crate) fn refuse_twins<'a>(
    source: &Source,
    names: impl Iterator<Item = &'a Spanned<String>>,
) -> Result<(), InputError> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if known.contains(&name.get_ref().as_str()) {
            let reason = format!("the setup `{}` stands here twice", name.get_ref());
            return Err(source.error_at(name.span().start, reason));
        }
        known.push(name.get_ref());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--setups 'WPQ, 10 slots'` named no setup: "there is no setup or set `10 slots`".
    #[test]
    fn names_with_commas_are_names() {
        let setups = ["baseline", "WPQ", "WPQ, 10 slots", "WPQ, 10 slots, cold"];
        let choose = |choice| choose(choice, &setups, &[]);
        assert_eq!(choose("WPQ, 10 slots").expect("it is one"), [2]);
        assert_eq!(choose("WPQ,baseline").expect("they are two"), [0, 1]);
        assert_eq!(choose("WPQ, 10 slots, WPQ , baseline").expect("they are three"), [0, 1, 2]);
        assert_eq!(choose("WPQ, 10 slots, cold").expect("it is one"), [3]);
        let refused = choose("WPQ, 11 slots").expect_err("there is none");
        assert!(refused.to_string().contains("`11 slots`"), "{refused}");
        assert!(choose("WPQ,").is_err());
    }

    /// `--setups all,WPQ`: "there is no setup or set `all`: known are all, …; did you mean `all`?"
    #[test]
    fn a_set_stands_alone() {
        let sets = [("all".to_owned(), vec!["WPQ".to_owned()])];
        let refused = |choice| choose(choice, &["WPQ"], &sets).expect_err("it is none").to_string();
        assert!(
            refused("all,WPQ").contains("the set `all` stands alone"),
            "{}",
            refused("all,WPQ")
        );
        assert!(refused("").contains("one of them is empty"), "{}", refused(""));
    }
}
