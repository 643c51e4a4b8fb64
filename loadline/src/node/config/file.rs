//! What was typed: `node.toml` field by field, and for most fields the flag of `loadline serve` that says the same. A field that is left
//! out has its default in `meant.rs`; one that is skipped among the flags is said in files alone, or typed in another way (`flags.rs`).

use super::words::{PresetName, SocketMode, Typed, from_text};
use crate::tls::TlsTyped;
use clap::Args;
use loadline_base::{Bytes, Span, in_short};
use loadline_device::Medium;
use loadline_host::{BackendChoice, Direct, Discards};
use loadline_store::paged::{LogMode, Protection};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A node as it is typed, in a file or as flags.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    /// The node's folder; by default $LOADLINE_DIR, or ./loadline
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    #[arg(skip)]
    pub(super) osds: Vec<OsdTyped>,
    /// Copies of each object; by default 3, or as many as there are OSDs
    #[arg(long, value_name = "N")]
    pub(super) copies: Option<u32>,
    /// Placement groups; by default what suits the number of OSDs
    #[arg(long, value_name = "N")]
    pub(super) pgs: Option<u32>,
    /// Make this image if it is missing
    #[arg(long = "image", value_name = "NAME=SIZE")]
    pub(super) images: Vec<ImageTyped>,
    /// Serve this image, or `IMAGE@SNAPSHOT`, as a virtual machine's disk by vhost-user-blk at this path; may be repeated
    #[arg(long, value_name = "IMAGE=PATH")]
    pub(super) vhost: Vec<VhostTyped>,
    #[arg(skip)]
    pub(super) nbd: NbdTyped,
    #[arg(skip)]
    pub(super) admin: Option<PathBuf>,
    /// Serve the live page and /metrics on this loopback address, such as `127.0.0.1:7480`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) page: Option<SocketAddr>,
    /// Rights to the sockets in octal digits, whatever the umask; by default 0600
    #[arg(long, value_name = "MODE")]
    #[serde(deserialize_with = "from_text")]
    pub(super) socket_mode: Option<SocketMode>,
    /// All memory that the node may take; by default a quarter of the machine's
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "from_text")]
    pub(super) memory: Option<Bytes>,
    /// Of it, memory for pages of each OSD; by default 256 MiB, or what there is room for
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "from_text")]
    pub(super) cache: Option<Bytes>,
    /// When a write is answered: fsync, log-only, background or none; by default log-only
    #[arg(long, value_name = "MODE")]
    #[serde(deserialize_with = "from_text")]
    pub(super) log_mode: Option<Typed<LogMode>>,
    /// Where images go that make a torn checkpoint whole: checkpoint or log; by default checkpoint
    #[arg(long, value_name = "WHERE")]
    #[serde(deserialize_with = "from_text")]
    pub(super) protection: Option<Typed<Protection>>,
    /// What kind of disks: ssd, hdd or hybrid; by default ssd
    #[arg(long)]
    #[serde(deserialize_with = "from_text")]
    pub(super) medium: Option<Typed<Medium>>,
    /// The behaviour: quincy, reef or loadline; by default loadline
    #[arg(long)]
    #[serde(deserialize_with = "from_text")]
    pub(super) preset: Option<PresetName>,
    /// The scheduler of every OSD; by default the preset's
    #[arg(long)]
    pub(super) scheduler: Option<String>,
    /// The profile of every OSD; by default the preset's
    #[arg(long)]
    pub(super) profile: Option<String>,
    /// Open disks past the page cache: auto, yes or no; by default auto
    #[arg(long)]
    #[serde(deserialize_with = "from_text")]
    pub(super) direct: Option<Typed<Direct>>,
    /// What becomes of the blocks of OSDs' files that hold nothing any more: keep, or give-back, which risks that a full file system
    /// makes writes wait; by default keep
    #[arg(long, value_name = "WHAT")]
    #[serde(deserialize_with = "from_text")]
    pub(super) discards: Option<Typed<Discards>>,
    /// How disks and sockets are reached: auto, io_uring or threads; by default auto
    #[arg(long)]
    #[serde(deserialize_with = "from_text")]
    pub(super) backend: Option<Typed<BackendChoice>>,
    /// Loops that carry the work, each on a processor of its own where the system lets it: the first serves clients, and OSDs are spread
    /// over all; by default 1
    #[arg(long, value_name = "N")]
    pub(super) loops: Option<usize>,
    #[arg(skip)]
    pub(super) limits: LimitsTyped,
    // By the class's name.
    #[arg(skip)]
    pub(super) class: BTreeMap<String, ClassTyped>,
    // Section, option, value.
    #[arg(skip)]
    pub(super) settings: BTreeMap<String, BTreeMap<String, FileValue>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OsdTyped {
    pub(super) path: PathBuf,
    #[serde(default, deserialize_with = "from_text")]
    pub(super) size: Option<Bytes>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ImageTyped {
    pub(super) name: String,
    #[serde(deserialize_with = "from_text")]
    pub(super) size: Option<Bytes>,
}

impl FromStr for ImageTyped {
    type Err = String;

    fn from_str(text: &str) -> Result<ImageTyped, String> {
        let (name, size) = text.split_once('=').ok_or("expected an image such as `vol0=2GiB`")?;
        let size = size
            .parse()
            .map_err(|error| format!("`{}` is not understood: {error}", in_short(size)))?;
        Ok(ImageTyped { name: name.to_owned(), size: Some(size) })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VhostTyped {
    pub(super) image: String,
    pub(super) path: PathBuf,
}

impl FromStr for VhostTyped {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<VhostTyped, &'static str> {
        let parts =
            text.split_once('=').filter(|(image, path)| !image.is_empty() && !path.is_empty());
        let (image, path) =
            parts.ok_or("expected an image and a path, such as `vol0=vol0.sock`")?;
        Ok(VhostTyped { image: image.to_owned(), path: path.into() })
    }
}

#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NbdTyped {
    #[arg(skip)]
    pub(super) unix: Option<PathBuf>,
    /// Serve NBD on this address too, besides nbd.sock in the folder; off loopback with --tls-client-ca, or --nbd-insecure
    #[arg(long = "nbd-tcp", value_name = "ADDRESS:PORT")]
    pub(super) tcp: Option<SocketAddr>,
    /// Serve NBD to whoever reaches --nbd-tcp from outside, who may read and write every image and is not asked who it is
    #[arg(long = "nbd-insecure")]
    pub(super) insecure: bool,
    /// Let NBD clients read this image and not write it, or `vm-*` for all whose names begin so; may be repeated
    #[arg(long, value_name = "IMAGE")]
    pub(super) read_only: Vec<String>,
    /// NBD connections at a time; by default 4096, or what the system has descriptors for
    #[arg(long, value_name = "N")]
    pub(super) connections: Option<u32>,
    /// NBD connections of one process, or of one address; by default 512
    #[arg(long, value_name = "N")]
    pub(super) connections_per_peer: Option<u32>,
    /// How long an NBD client may take to choose an export; by default 10 s
    #[arg(long, value_name = "TIME")]
    #[serde(deserialize_with = "from_text")]
    pub(super) negotiation: Option<Span>,
    /// End NBD connections that are silent for so long; by default none is
    #[arg(long, value_name = "TIME")]
    #[serde(deserialize_with = "from_text")]
    pub(super) idle: Option<Span>,
    #[arg(skip)]
    pub(super) tls: TlsTyped,
    // By a name in the client's certificate.
    #[arg(skip)]
    pub(super) clients: BTreeMap<String, ClientTyped>,
}

/// The images of a client that TLS knows by its certificate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClientTyped {
    pub(super) read: Vec<String>,
    pub(super) write: Vec<String>,
}

/// The files of duration limit descriptors that were uploaded to every disk.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTyped {
    pub(super) reads: Option<PathBuf>,
    pub(super) writes: Option<PathBuf>,
}

/// On what terms a class's requests go to the disks: short for three options of every OSD.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClassTyped {
    pub(super) priority: Option<String>,
    pub(super) level: Option<FileValue>,
    pub(super) limit: Option<FileValue>,
}

/// A setting's value: options take text, and a file may leave the quotes out where it is no text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "an option takes a number, text, `true` or `false`")]
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
