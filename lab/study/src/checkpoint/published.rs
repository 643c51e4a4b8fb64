//! Published figures of checkpoint studies, and ratios and claims made from them.

use super::figure::CheckpointFigure;
use super::record::{CheckpointSetupResult, ComparedRatio};
use crate::input::{InputError, Source};
use crate::published::Figure;
use crate::result::Statement;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One published study.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedCheckpointSet {
    /// Where the figures stand.
    pub source: String,
    /// What they were measured on.
    pub measured_on: String,
    /// Figures by setup.
    pub setups: BTreeMap<String, BTreeMap<CheckpointFigure, Figure>>,
    /// Ratios and claims.
    pub comparisons: Vec<Comparison>,
}

/// "`figure` of `of` is so many times that of `than`", or so much where `than` is left out: a published ratio, a claim in
/// words, or both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What is compared, in words.
    pub text: String,
    /// The figure.
    pub figure: CheckpointFigure,
    /// The setup that is compared.
    pub of: String,
    /// The setup it is compared with; without one the figure itself is compared.
    pub than: Option<String>,
    /// The published ratio.
    pub published: Option<f64>,
    /// As a claim: the ratio is at least this.
    pub at_least: Option<f64>,
    /// As a claim: the ratio is at most this.
    pub at_most: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    source: String,
    study: Vec<StudySection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    name: String,
    measured_on: String,
    #[serde(default)]
    setup: BTreeMap<String, BTreeMap<CheckpointFigure, Figure>>,
    #[serde(default)]
    comparison: Vec<toml::Spanned<Comparison>>,
}

impl PublishedCheckpointSet {
    /// The figures for the study of this name, if the file has any.
    ///
    /// # Errors
    /// [`InputError`] naming file and line.
    pub fn find(
        source: &Source,
        study: &str,
    ) -> Result<Option<PublishedCheckpointSet>, InputError> {
        let file: PublishedFile =
            toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
        for comparison in file.study.iter().flat_map(|study| &study.comparison) {
            let Comparison { published, at_least, at_most, .. } = comparison.get_ref();
            if published.or(*at_least).or(*at_most).is_none() {
                let reason = "a comparison has `published`, `at_least` or `at_most`";
                return Err(source.error_at(comparison.span().start, reason));
            }
        }
        let found = file.study.into_iter().find(|section| section.name == study);
        Ok(found.map(|section| PublishedCheckpointSet {
            source: file.source,
            measured_on: section.measured_on,
            setups: section.setup,
            comparisons: section.comparison.into_iter().map(toml::Spanned::into_inner).collect(),
        }))
    }
}

impl Comparison {
    /// Ours, where both setups ran.
    fn ratio(&self, setups: &[CheckpointSetupResult]) -> Option<f64> {
        let of = |name: &str| {
            let setup = setups.iter().find(|setup| setup.name == name)?;
            setup.figures.get(&self.figure).copied().filter(|value| *value > 0.0)
        };
        match &self.than {
            Some(than) => Some(of(&self.of)? / of(than)?),
            None => of(&self.of),
        }
    }

    /// The ratio beside the published one, if there is one.
    pub(super) fn compared(&self, setups: &[CheckpointSetupResult]) -> Option<ComparedRatio> {
        let published = self.published?;
        Some(ComparedRatio { text: self.text.clone(), ours: self.ratio(setups), published })
    }

    /// The claim tested, if it is one.
    pub(super) fn tested(&self, setups: &[CheckpointSetupResult]) -> Option<Statement> {
        let bounds = match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => return None,
        };
        let ours = self.ratio(setups);
        let holds = ours.map(|ours| {
            self.at_least.is_none_or(|least| ours >= least)
                && self.at_most.is_none_or(|most| ours <= most)
        });
        let detail = match (ours, &self.than) {
            (Some(ours), Some(than)) => {
                format!("{} is {ours:.2} × {than}; stated: {bounds} ×", self.of)
            }
            (Some(ours), None) => format!("{}: {ours:.2}; stated: {bounds}", self.of),
            (None, than) => {
                let than = than.as_ref().map_or(String::new(), |than| format!(" and {than}"));
                format!("needs {}{than}; stated: {bounds}", self.of)
            }
        };
        Some(Statement { text: self.text.clone(), holds, detail })
    }
}
