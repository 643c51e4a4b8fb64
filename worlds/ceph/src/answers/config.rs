//! `config dump`, `config log`, `config show` of a daemon, and the cluster's log.

use crate::lenient;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One line of `config dump`: what is stored, which may be something else than what is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StoredOption {
    /// `global`, `osd`, `osd.3`, ...
    pub section: String,
    /// The option.
    pub name: String,
    /// Its value as text.
    #[serde(deserialize_with = "lenient::text")]
    pub value: String,
    /// Whom of the section it is for, such as `class:ssd`; empty for all.
    pub mask: String,
}

impl StoredOption {
    /// Section and mask as `config set` and `config rm` take them.
    pub fn who(&self) -> String {
        match self.mask.as_str() {
            "" => self.section.clone(),
            mask => format!("{}/{mask}", self.section),
        }
    }

    /// Whether it is one of the nine keys of mClock's classes that a profile sets; those of capacity are not among them.
    pub(crate) fn is_class_key(&self) -> bool {
        self.name
            .strip_prefix("osd_mclock_scheduler_")
            .is_some_and(|rest| ["_res", "_wgt", "_lim"].iter().any(|end| rest.ends_with(end)))
    }
}

/// One version of `config log`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConfigVersion {
    /// Grows with every change.
    #[serde(deserialize_with = "lenient::whole")]
    pub version: u64,
    /// What changed.
    pub changes: Vec<ChangedOption>,
}

/// One change of a stored option.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ChangedOption {
    /// `osd.3/osd_mclock_max_capacity_iops_ssd`.
    pub name: String,
    /// What was stored before; absent if nothing was.
    pub previous_value: Option<String>,
    /// What is stored since; absent if nothing is.
    pub new_value: Option<String>,
}

/// One line of the cluster's log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClusterLogLine {
    /// When.
    #[serde(deserialize_with = "lenient::text")]
    pub stamp: String,
    /// Who.
    #[serde(deserialize_with = "lenient::text")]
    pub name: String,
    /// What.
    #[serde(deserialize_with = "lenient::text")]
    pub message: String,
}

/// Of a daemon's own `config show`, a flat object of some 2,000 texts, those options that `wanted` names.
///
/// # Errors
/// If it is no such object.
pub fn shown_options(
    output: &[u8],
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(output)?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(all
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| (name, text(value)))
        .collect())
}
