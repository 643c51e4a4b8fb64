//! Which colour and which pattern stand for a setup, the same in every chart.

use crate::sheet::Sheet;
use loadline_study::{SetupResult, StudyResult};
use std::collections::BTreeSet;

/// Look of one setup, as classes that the style sheets give their colours.
///
/// The hue tells what is tried (a profile, or WPQ with some limits); the pattern tells the presets
/// apart that try the same. Neither says whether a setup kept what is asked. The hues are close to those of Okabe and Ito, which people with any
/// colour vision can tell apart, darkened to be seen as thin lines on white.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Place of the setup in the result.
    pub(crate) setup: usize,
    hue: usize,
    pattern: usize,
}

/// Hue 0 is the grey of the baseline.
pub(crate) const HUES_LIGHT: [&str; 8] =
    ["#7a8088", "#c77f00", "#d1480b", "#0072b2", "#00856a", "#8f4aa3", "#3a9ad9", "#7a5c3e"];

/// The same on a dark ground.
pub(crate) const HUES_DARK: [&str; 8] =
    ["#9aa2ad", "#e9b03c", "#ff8552", "#58b0ec", "#3cc7a0", "#cb90dd", "#8fd0f7", "#c3a381"];

/// Colours of the stages of a wait, in the order of [`loadline_study::ClassWaits::stages`].
pub(crate) const STAGES_LIGHT: [&str; 7] =
    ["#3b6fb6", "#e3a72f", "#7fb2e5", "#c4553b", "#4a9b7f", "#a58cc4", "#b8bec7"];

/// The same on a dark ground.
pub(crate) const STAGES_DARK: [&str; 7] =
    ["#5b93e0", "#ebbc57", "#9fcbf5", "#e0775e", "#62bd9d", "#bda6dc", "#707883"];

const PATTERNS: usize = 3;
/// Hues of setups that are no baseline.
const HUES: usize = HUES_LIGHT.len() - 1;

impl Look {
    /// The setup's hue with another pattern, for another of its figures.
    pub(crate) fn with_pattern(self, pattern: usize) -> Look {
        assert!(pattern < PATTERNS);
        Look { pattern, ..self }
    }

    /// Classes for the element that draws the setup's data.
    pub(crate) fn classes(self) -> String {
        format!("h{} p{}", self.hue, self.pattern)
    }
}

/// The look of every setup, in the result's order, no two alike while there are looks left. Where a kind has a baseline, what tries the same
/// profile under another preset has the same hue; elsewhere each setup has its own, as far as hues go.
pub(crate) fn looks(result: &StudyResult) -> Vec<Look> {
    let baseline = Sheet::of(result.kind).baseline(result).map(SetupResult::name);
    let tried = tried(result, baseline);
    let mut kinds: Vec<Tried<'_>> = Vec::new();
    let mut looks: Vec<Look> = Vec::new();
    for (setup, (found, tried)) in result.setups.iter().zip(tried).enumerate() {
        if Some(found.name()) == baseline {
            looks.push(Look { setup, hue: 0, pattern: 0 });
            continue;
        }
        let place = kinds.iter().position(|known| *known == tried).unwrap_or(kinds.len());
        if place == kinds.len() {
            kinds.push(tried);
        }
        let own = 1 + place % HUES;
        let any = (0..PATTERNS).flat_map(|pattern| (1..=HUES).map(move |hue| (hue, pattern)));
        let is_free = |(hue, pattern): &(usize, usize)| {
            !looks.iter().any(|of| (of.hue, of.pattern) == (*hue, *pattern))
        };
        let found = (0..PATTERNS).map(|pattern| (own, pattern)).chain(any).find(is_free);
        let (hue, pattern) = found.unwrap_or((own, 0));
        looks.push(Look { setup, hue, pattern });
    }
    looks
}

/// What a setup tries: a profile, or what has none by its name; of those that try one profile under one preset, and so differ in something
/// else, which of them it is.
type Tried<'a> = (&'a str, usize);

fn tried<'a>(result: &'a StudyResult, baseline: Option<&str>) -> Vec<Tried<'a>> {
    let by_profile = Sheet::of(result.kind).background.is_some();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let of = |setup: &'a SetupResult| {
        let profile = setup.setup.profile.as_deref().filter(|_| by_profile);
        let name = profile.unwrap_or(setup.name());
        let under = (name, setup.setup.preset.as_str());
        let before = seen.iter().filter(|other| **other == under).count();
        if Some(setup.name()) != baseline {
            seen.push(under);
        }
        (name, before)
    };
    let finely: Vec<Tried<'_>> = result.setups.iter().map(of).collect();
    match finely.iter().collect::<BTreeSet<_>>().len() <= HUES {
        true => finely,
        // Not each can have a hue; then those of one profile share theirs.
        false => finely.into_iter().map(|(name, _)| (name, 0)).collect(),
    }
}

/// Rules that give `h0`… and `s0`… the colours of one ground, for a file that stands alone.
pub(crate) fn literal_rules() -> String {
    let hues = HUES_LIGHT.iter().enumerate().map(|(n, ink)| format!(".h{n}{{color:{ink}}}"));
    let stages = STAGES_LIGHT.iter().enumerate().map(|(n, ink)| format!(".s{n}{{color:{ink}}}"));
    hues.chain(stages).collect()
}

/// The same rules by variable, for a page that is shown on a light and on a dark ground.
pub(crate) fn variable_rules() -> String {
    let hues = (0..HUES_LIGHT.len()).map(|n| format!(".h{n}{{color:var(--h{n})}}"));
    let stages = (0..STAGES_LIGHT.len()).map(|n| format!(".s{n}{{color:var(--s{n})}}"));
    hues.chain(stages).collect()
}

/// The variables themselves, for one ground.
pub(crate) fn variables(hues: &[&str], stages: &[&str]) -> String {
    let hues = hues.iter().enumerate().map(|(n, ink)| format!("--h{n}:{ink};"));
    let stages = stages.iter().enumerate().map(|(n, ink)| format!("--s{n}:{ink};"));
    hues.chain(stages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, Library, Shelf, Study};

    fn setup(name: &str, profile: Option<&str>) -> SetupResult {
        let setup = Configuration {
            name: name.to_owned(),
            preset: if name.ends_with("(reef)") { "reef" } else { "quincy" }.to_owned(),
            profile: profile.map(str::to_owned),
            ..Default::default()
        };
        let mut figures = Figures::default();
        if name != "baseline" {
            figures.put("recovery/seconds", 1.0);
        }
        SetupResult { setup, figures, ..Default::default() }
    }

    /// The same profile keeps its hue under another preset and changes its pattern; what differs from it in something else has its own.
    #[test]
    fn a_profile_keeps_its_hue_under_every_preset() {
        let result = StudyResult {
            setups: vec![
                setup("baseline", Some("high_client_ops")),
                setup("WPQ(Def)", None),
                setup("balanced", Some("balanced")),
                setup("balanced (reef)", Some("balanced")),
                setup("balanced, limited", Some("balanced")),
            ],
            ..Default::default()
        };
        let classes: Vec<_> = looks(&result).into_iter().map(Look::classes).collect();
        assert_eq!(classes, ["h0 p0", "h1 p0", "h2 p0", "h2 p1", "h3 p0"]);
    }

    /// Four setups of one profile and one preset had three looks: a neighbour that was limited looked as one of whom nothing was said.
    #[test]
    fn no_two_setups_of_a_study_look_alike() {
        let library = Library::built_in();
        let mut most = 0;
        for name in library.names(Shelf::Studies) {
            let study = Study::new(&library.inputs(&name, Vec::new()).unwrap()).unwrap();
            let of = |setup: &Configuration| {
                let figures = [("recovery/seconds", 1.0), ("services", 1.0)];
                let figures = Figures::default().with(figures);
                SetupResult { setup: setup.clone(), figures, ..Default::default() }
            };
            let setups: Vec<SetupResult> = study.setups.iter().map(of).collect();
            most = most.max(setups.len());
            let result = StudyResult { kind: study.kind, setups, ..Default::default() };
            let looks: BTreeSet<String> = looks(&result).into_iter().map(Look::classes).collect();
            assert_eq!(looks.len(), result.setups.len(), "{name}");
        }
        assert!(most > 2 * HUES, "the largest study has {most}");
    }
}
