//! A limits study's file as it is typed.

use crate::claim::Claim;
use crate::kind::StudyKind;
use crate::setup::{SchedulerName, TypedOptions};
use loadline_base::Span;
use loadline_load::{LoadSpec, quantity};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `studies/cdl-*.toml`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsFile {
    pub(super) title: String,
    pub(super) question: String,
    #[serde(rename = "kind")]
    pub(super) _kind: StudyKind,
    pub(super) drive: Spanned<String>,
    pub(super) steps: StepsSection,
    pub(super) client: LoadSpec,
    pub(super) background: LoadSpec,
    #[serde(rename = "limit")]
    pub(super) limits: Vec<Spanned<LimitSection>>,
    /// Of every setup.
    #[serde(default)]
    pub(super) settings: TypedOptions,
    pub(super) sets: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(rename = "setup")]
    pub(super) setups: Vec<Spanned<LimitsSetupSection>>,
    /// What must hold of the result.
    #[serde(default, rename = "expect")]
    pub(super) expectations: Vec<Spanned<Claim>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepsSection {
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) ramp: Span,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) measured: Span,
    pub(super) window: u32,
}

/// A descriptor that is uploaded to the drive; the first is number 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitSection {
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) guideline: Span,
    #[serde(default)]
    pub(super) policy: PolicyWord,
}

/// What the drive does when a guideline has passed, as `cdladm` spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PolicyWord {
    #[default]
    CompleteEarliest,
    ContinueNextLimit,
    ContinueNoLimit,
    CompleteUnavailable,
    Abort,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsSetupSection {
    pub(super) name: Spanned<String>,
    /// What it is, in half a sentence.
    #[serde(default)]
    pub(super) about: String,
    pub(super) preset: Spanned<String>,
    pub(super) scheduler: SchedulerName,
    pub(super) profile: Option<Spanned<String>>,
    /// In the place of the study's.
    pub(super) window: Option<u32>,
    #[serde(default)]
    pub(super) settings: TypedOptions,
}
