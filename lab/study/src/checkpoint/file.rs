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
    /// What is otherwise on real disks.
    pub(super) host: Option<HostSection>,
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

/// The amount of work on real disks, in real time, and what of a disk it needs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostSection {
    pub(super) scale: f64,
    pub(super) warm_up: u32,
    pub(super) periods: u32,
    /// At scale 1, as those of the store.
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) size: Bytes,
    #[serde(deserialize_with = "quantity::deserialize")]
    pub(super) log: Bytes,
}

impl CheckpointFile {
    /// With the figures for real disks, if there are any.
    pub(super) fn on_disks(self) -> CheckpointFile {
        let Some(HostSection { scale, warm_up, periods, size, log }) = self.host else {
            return self;
        };
        let work = WorkSection { scale, warm_up, periods, ..self.work };
        let store = StoreSection { size, log, ..self.store };
        CheckpointFile { work, store, ..self }
    }
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
    #[serde(default = "atomic")]
    pub(super) puts: Spanned<String>,
}

fn atomic() -> Spanned<String> {
    Spanned::new(0..0, "atomic".to_owned())
}

fn log_only() -> Spanned<String> {
    Spanned::new(0..0, "log-only".to_owned())
}
