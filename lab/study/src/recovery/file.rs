//! A recovery study's file as it is typed.

use crate::claim::Claim;
use crate::kind::Kind;
use loadline_base::{Bytes, Span};
use loadline_load::{LoadSpec, quantity};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `studies/recovery-*.toml`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    pub(crate) title: String,
    pub(crate) question: String,
    #[serde(rename = "kind")]
    pub(crate) _kind: Kind,
    pub(crate) drive: Spanned<String>,
    pub(crate) published: Option<Spanned<String>>,
    pub(crate) cluster: ClusterSection,
    pub(crate) recovery: RecoverySection,
    pub(crate) load: LoadSpec,
    #[serde(default)]
    pub(crate) companions: Companions,
    pub(crate) sets: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(rename = "setup")]
    pub(crate) setups: Vec<Spanned<SetupSection>>,
    /// What must hold of the result.
    #[serde(default, rename = "expect")]
    pub(crate) expectations: Vec<Spanned<Claim>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterSection {
    pub(crate) osds: u32,
    pub(crate) copies: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoverySection {
    pub(crate) objects: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) object_size: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) baseline: Span,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(crate) limit: Span,
}

/// Shorter runs beside the main ones, which tell how far a result depends on what nobody published.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Companions {
    /// Scale of the runs without the study era's software stage.
    pub variant_scale: f64,
    /// How many other placements of the placement groups are tried.
    pub spread_placements: u32,
    /// Scale of those runs.
    pub spread_scale: f64,
}

impl Default for Companions {
    /// Rates do not depend on the amount of work, so a few hundred objects per placement group are enough for
    /// them; together these runs take about a tenth of the main ones' time.
    fn default() -> Companions {
        Companions { variant_scale: 0.05, spread_placements: 5, spread_scale: 0.02 }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetupSection {
    pub(crate) name: Spanned<String>,
    pub(crate) preset: Spanned<String>,
    #[serde(default = "mclock")]
    pub(crate) scheduler: Scheduler,
    pub(crate) profile: Option<Spanned<String>>,
    /// Whether an OSD returns and is filled; the baseline has none.
    #[serde(default = "yes")]
    pub(crate) recovery: bool,
    /// Whether the study era's software stage is in the way, as in the published runs.
    #[serde(default)]
    pub(crate) as_published: bool,
    #[serde(default)]
    pub(crate) settings: BTreeMap<Spanned<String>, SettingValue>,
}

/// The scheduler, as people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scheduler {
    Mclock,
    Wpq,
    Fifo,
}

impl Scheduler {
    /// As studies and results spell it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Scheduler::Mclock => "mclock",
            Scheduler::Wpq => "wpq",
            Scheduler::Fifo => "fifo",
        }
    }

    /// As `osd_op_queue` spells it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Scheduler::Mclock => "mclock_scheduler",
            other => other.word(),
        }
    }
}

/// A setting's value, typed in whichever way comes naturally.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number, `true`, `false` or a text such as `\"4 KiB\"`")]
pub(crate) enum SettingValue {
    Whole(u64),
    Number(f64),
    Flag(bool),
    Text(String),
}

impl SettingValue {
    pub(crate) fn text(&self) -> String {
        match self {
            SettingValue::Whole(number) => number.to_string(),
            SettingValue::Number(number) => number.to_string(),
            SettingValue::Flag(flag) => flag.to_string(),
            SettingValue::Text(text) => text.clone(),
        }
    }
}

fn mclock() -> Scheduler {
    Scheduler::Mclock
}

fn yes() -> bool {
    true
}
