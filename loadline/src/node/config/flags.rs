//! `loadline serve` as it is typed without a file.

use super::file::{FileValue, ImageTyped, NbdTyped, NodeFile, OsdTyped};
use super::words::{PresetName, SocketMode, Typed};
use crate::node::reach::default_dir;
use clap::Args;
use loadline_base::{Bytes, Span};
use loadline_device::Medium;
use loadline_host::{BackendChoice, Direct, Discards};
use loadline_osd::OsdSet;
use loadline_store::paged::{LogMode, Protection};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Size of an OSD's file that is made without --size, where there is no other to go by.
const SIZE: Bytes = Bytes::from_mib(10 << 10);

/// Every flag below but `--config` itself: a node is described in one place.
const INSTEAD_OF_FILE: [&str; 24] = [
    "dir",
    "osds",
    "size",
    "copies",
    "pgs",
    "images",
    "nbd_tcp",
    "connections",
    "connections_per_peer",
    "negotiation",
    "idle",
    "socket_mode",
    "memory",
    "cache",
    "log_mode",
    "protection",
    "medium",
    "preset",
    "scheduler",
    "profile",
    "direct",
    "discards",
    "backend",
    "settings",
];

#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    /// Take everything from this file
    #[arg(long, value_name = "FILE", conflicts_with_all = INSTEAD_OF_FILE)]
    pub(crate) config: Option<PathBuf>,
    /// The node's folder; by default $LOADLINE_DIR, or ./loadline
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// OSDs, on files osd.0, osd.1 … in the folder; by default up to the last that is there
    #[arg(long, value_name = "N")]
    osds: Option<u32>,
    /// Size of each file that is made; by default that of the others, or 10 GiB
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// Copies of each object; by default 3, or as many as there are OSDs
    #[arg(long, value_name = "N")]
    copies: Option<u32>,
    /// Placement groups; by default what suits the number of OSDs
    #[arg(long, value_name = "N")]
    pgs: Option<u32>,
    /// Make this image if it is missing
    #[arg(long = "image", value_name = "NAME=SIZE")]
    images: Vec<ImageFlag>,
    /// Serve NBD on this loopback address too, besides nbd.sock in the folder
    #[arg(long, value_name = "ADDRESS:PORT")]
    nbd_tcp: Option<SocketAddr>,
    /// NBD connections at a time; by default 4096, or what the system has descriptors for
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// NBD connections of one process, or of one address; by default 512
    #[arg(long, value_name = "N")]
    connections_per_peer: Option<u32>,
    /// How long an NBD client may take to choose an export; by default 10 s
    #[arg(long, value_name = "TIME")]
    negotiation: Option<Span>,
    /// End NBD connections that are silent for so long; by default none is
    #[arg(long, value_name = "TIME")]
    idle: Option<Span>,
    /// Rights to the sockets in octal digits, whatever the umask; by default 0600
    #[arg(long, value_name = "MODE")]
    socket_mode: Option<SocketMode>,
    /// All memory that the node may take; by default a quarter of the machine's
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Of it, memory for pages of each OSD; by default 256 MiB, or what there is room for
    #[arg(long, value_name = "SIZE")]
    cache: Option<Bytes>,
    /// When a write is answered: fsync, log-only, background or none; by default log-only
    #[arg(long, value_name = "MODE")]
    log_mode: Option<Typed<LogMode>>,
    /// Where images go that make a torn checkpoint whole: checkpoint or log; by default checkpoint
    #[arg(long, value_name = "WHERE")]
    protection: Option<Typed<Protection>>,
    /// What kind of disks: ssd, hdd or hybrid; by default ssd
    #[arg(long)]
    medium: Option<Typed<Medium>>,
    /// The behaviour: quincy, reef or loadline; by default loadline
    #[arg(long)]
    preset: Option<PresetName>,
    /// The scheduler of every OSD; by default the preset's
    #[arg(long)]
    scheduler: Option<String>,
    /// The profile of every OSD; by default the preset's
    #[arg(long)]
    profile: Option<String>,
    /// Open disks past the page cache: auto, yes or no; by default auto
    #[arg(long)]
    direct: Option<Typed<Direct>>,
    /// What becomes of the blocks of OSDs' files that hold nothing any more: keep, or give-back, which risks that a full file system
    /// makes writes wait; by default keep
    #[arg(long, value_name = "WHAT")]
    discards: Option<Typed<Discards>>,
    /// How disks and sockets are reached: auto, io_uring or threads; by default auto
    #[arg(long)]
    backend: Option<Typed<BackendChoice>>,
    /// Set an option of every OSD
    #[arg(long = "set", value_name = "OPTION=VALUE")]
    settings: Vec<SettingFlag>,
}

#[derive(Clone, Debug)]
struct ImageFlag {
    name: String,
    size: Bytes,
}

impl FromStr for ImageFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<ImageFlag, String> {
        let (name, size) = text.split_once('=').ok_or("expected an image such as `vol0=2GiB`")?;
        let size = size.parse().map_err(|error| format!("`{size}` is not understood: {error}"))?;
        Ok(ImageFlag { name: name.to_owned(), size })
    }
}

#[derive(Clone, Debug)]
struct SettingFlag {
    option: String,
    value: String,
}

impl FromStr for SettingFlag {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SettingFlag, &'static str> {
        let wanted = "expected a setting such as `osd_max_backfills=4`";
        let (option, value) = text.split_once('=').ok_or(wanted)?;
        Ok(SettingFlag { option: option.to_owned(), value: value.to_owned() })
    }
}

impl ServeArgs {
    /// The same with so many OSDs, where nobody has said how many there are and files were counted.
    pub(crate) fn with_osds(&self, osds: u32) -> Option<ServeArgs> {
        let is_counted = self.config.is_none() && self.osds.is_none();
        is_counted.then(|| ServeArgs { osds: Some(osds), ..self.clone() })
    }
}

impl From<ServeArgs> for NodeFile {
    fn from(args: ServeArgs) -> NodeFile {
        let dir = args.dir.unwrap_or_else(default_dir);
        let image = |flag: ImageFlag| ImageTyped { name: flag.name, size: Some(flag.size) };
        let settings: BTreeMap<String, FileValue> = args
            .settings
            .into_iter()
            .map(|flag| (flag.option, FileValue::Text(flag.value)))
            .collect();
        NodeFile {
            osds: osds(&dir, args.osds, args.size),
            dir: Some(dir),
            copies: args.copies,
            pgs: args.pgs,
            images: args.images.into_iter().map(image).collect(),
            nbd: NbdTyped {
                unix: None,
                tcp: args.nbd_tcp,
                connections: args.connections,
                connections_per_peer: args.connections_per_peer,
                negotiation: args.negotiation,
                idle: args.idle,
                tls: None,
            },
            admin: None,
            socket_mode: args.socket_mode,
            memory: args.memory,
            cache: args.cache,
            log_mode: args.log_mode,
            protection: args.protection,
            medium: args.medium,
            preset: args.preset,
            scheduler: args.scheduler,
            profile: args.profile,
            direct: args.direct,
            discards: args.discards,
            backend: args.backend,
            limits: Default::default(),
            class: BTreeMap::new(),
            settings: BTreeMap::from([("osd".to_owned(), settings)]),
        }
    }
}

/// The files `osd.0`, `osd.1` … of a folder: as many as asked for, which are made where they are missing; or all up to
/// the last one that is there, and one that is missing among them stays missing, as a disk does that has failed. Those
/// that are there keep their size unless somebody says which it should be.
fn osds(dir: &Path, asked: Option<u32>, size: Option<Bytes>) -> Vec<OsdTyped> {
    let name = |number: u32| PathBuf::from(format!("osd.{number}"));
    let is_there = |number: u32| dir.join(name(number)).exists();
    let there = (0..OsdSet::OSDS_MAX).rev().find(|number| is_there(*number));
    let count = asked.unwrap_or_else(|| there.map_or(0, |last| last + 1));
    let of_others = || there.and_then(|last| file_size(&dir.join(name(last))));
    let size = |number| match is_there(number) {
        true => size,
        false => asked.map(|_| size.or_else(of_others).unwrap_or(SIZE)),
    };
    (0..count).map(|number| OsdTyped { path: name(number), size: size(number) }).collect()
}

/// A block device has none.
fn file_size(path: &Path) -> Option<Bytes> {
    let facts = path.metadata().ok()?;
    (facts.is_file() && facts.len() > 0).then(|| Bytes::new(facts.len()))
}
