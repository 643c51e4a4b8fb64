//! A checkpoint study's file as it is typed.

use crate::claim::Claim;
use crate::kind::StudyKind;
use loadline_base::{Bytes, Span};
use loadline_load::puts::PutSpec;
use loadline_load::quantity;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `studies/checkpoint-*.toml`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointFile {
    pub(super) title: String,
    pub(super) question: String,
    #[serde(rename = "kind")]
    pub(super) _kind: StudyKind,
    pub(super) drive: Spanned<String>,
    pub(super) published: Option<Spanned<String>>,
    pub(super) work: WorkSection,
    pub(super) store: StoreSection,
    #[serde(default)]
    pub(super) queue: QueueSection,
    pub(super) load: PutSpec,
    pub(super) sets: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(rename = "setup")]
    pub(super) setups: Vec<Spanned<CheckpointSetupSection>>,
    /// What must hold of the result.
    #[serde(default, rename = "expect")]
    pub(super) expectations: Vec<Spanned<Claim>>,
}

/// The amount of work of one published server node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkSection {
    pub(super) scale: f64,
    pub(super) keys: u64,
    pub(super) filled: u64,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) period: Span,
    pub(super) warm_up: u32,
    pub(super) periods: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreSection {
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) size: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) cache: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) old_versions: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) log: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) recovery: Bytes,
    pub(super) log_trigger_percent: u8,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QueueSection {
    pub(super) preset: String,
    pub(super) profile: String,
}

impl Default for QueueSection {
    /// Loadline's own behaviour.
    fn default() -> QueueSection {
        QueueSection { preset: "loadline".to_owned(), profile: "balanced".to_owned() }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointSetupSection {
    pub(super) name: Spanned<String>,
    /// What it is, in half a sentence.
    #[serde(default)]
    pub(super) about: String,
    pub(super) protection: Spanned<String>,
    #[serde(default = "log_only")]
    pub(super) log_mode: Spanned<String>,
    pub(super) compression: Spanned<String>,
    pub(super) throttle: Spanned<String>,
}

fn log_only() -> Spanned<String> {
    Spanned::new(0..0, "log-only".to_owned())
}
