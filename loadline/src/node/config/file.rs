//! What was typed: `node.toml` field by field. Each field that is left out has its default in `meant.rs`.

use super::words::{PresetName, SocketMode, Typed, from_text};
use loadline_base::{Bytes, Span};
use loadline_device::Medium;
use loadline_host::{BackendChoice, Direct, Discards};
use loadline_store::paged::{LogMode, Protection};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A node as it is typed, in a file or as flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    pub(super) dir: Option<PathBuf>,
    pub(super) osds: Vec<OsdTyped>,
    pub(super) copies: Option<u32>,
    pub(super) pgs: Option<u32>,
    pub(super) images: Vec<ImageTyped>,
    pub(super) nbd: NbdTyped,
    pub(super) admin: Option<PathBuf>,
    #[serde(deserialize_with = "from_text")]
    pub(super) cache: Option<Bytes>,
    #[serde(deserialize_with = "from_text")]
    pub(super) memory: Option<Bytes>,
    #[serde(deserialize_with = "from_text")]
    pub(super) log_mode: Option<Typed<LogMode>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) protection: Option<Typed<Protection>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) medium: Option<Typed<Medium>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) preset: Option<PresetName>,
    pub(super) scheduler: Option<String>,
    pub(super) profile: Option<String>,
    #[serde(deserialize_with = "from_text")]
    pub(super) direct: Option<Typed<Direct>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) discards: Option<Typed<Discards>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) backend: Option<Typed<BackendChoice>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) socket_mode: Option<SocketMode>,
    pub(super) limits: LimitsTyped,
    /// By the class's name.
    pub(super) class: BTreeMap<String, ClassTyped>,
    /// Section, option, value.
    pub(super) settings: BTreeMap<String, BTreeMap<String, FileValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OsdTyped {
    pub(super) path: PathBuf,
    #[serde(default, deserialize_with = "from_text")]
    pub(super) size: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ImageTyped {
    pub(super) name: String,
    #[serde(deserialize_with = "from_text")]
    pub(super) size: Option<Bytes>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NbdTyped {
    pub(super) unix: Option<PathBuf>,
    pub(super) tcp: Option<SocketAddr>,
    pub(super) connections: Option<u32>,
    pub(super) connections_per_peer: Option<u32>,
    #[serde(deserialize_with = "from_text")]
    pub(super) negotiation: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) idle: Option<Span>,
    /// Known, so that it is refused with a reason.
    pub(super) tls: Option<toml::Value>,
}

/// The files of duration limit descriptors that were uploaded to every disk.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTyped {
    pub(super) reads: Option<PathBuf>,
    pub(super) writes: Option<PathBuf>,
}

/// On what terms a class's requests go to the disks: short for three options of every OSD.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClassTyped {
    pub(super) priority: Option<String>,
    pub(super) level: Option<FileValue>,
    pub(super) limit: Option<FileValue>,
}

/// A setting's value: options take text, and a file may leave the quotes out where it is no text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum FileValue {
    Flag(bool),
    Count(i64),
    Number(f64),
    Text(String),
}

impl FileValue {
    /// The value as an option reads it.
    pub(super) fn text(&self) -> String {
        match self {
            FileValue::Flag(flag) => flag.to_string(),
            FileValue::Count(count) => count.to_string(),
            FileValue::Number(number) => number.to_string(),
            FileValue::Text(text) => text.clone(),
        }
    }
}
