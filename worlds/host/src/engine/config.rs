//! What a node is made from.

use super::access::NbdAccess;
use super::doors::DoorLimits;
use crate::new_store::random_u128;
use crate::{BackendChoice, Direct, Discards, DiskOpen, ListenAt};
use loadline_base::{Bytes, WallClock};
use loadline_cluster::settings::{DriveLimits, SettingsChange};
use loadline_device::Medium;
use loadline_osd::OsdSet;
use loadline_qos::Preset;
use loadline_store::paged::{LogMode, Protection};
use loadline_tls::TlsServer;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

/// What a node is made from.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Each OSD's disk.
    pub disks: Vec<DiskSpec>,
    /// Where it is kept for later starts which disks these were ([`FormerDisks`](crate::FormerDisks)), if anywhere.
    pub disks_file: Option<PathBuf>,
    /// Copies of each object of the pool that a new node has.
    pub copies: u32,
    /// Placement groups of that pool; by default what suits the number of OSDs.
    pub pgs: Option<u32>,
    /// Size of that pool's objects.
    pub object_bytes: Bytes,
    /// Decides where placement groups of a new node fall.
    pub placement_seed: u64,
    /// Images that are made where they are missing.
    pub images: Vec<ImageSpec>,
    /// How NBD clients are served.
    pub nbd: NbdSpec,
    /// Images that guests find at paths of their own, by vhost-user.
    pub vhost: Vec<VhostSpec>,
    /// Where commands are taken.
    pub admin: ListenAt,
    /// Where the page is, if anywhere.
    pub page: Option<PageSpec>,
    /// What kind of disks: it selects defaults.
    pub medium: Medium,
    /// Whose behaviour the schedulers show.
    pub preset: Preset,
    /// Settings for the stored level of a new node.
    pub settings: SettingsChange,
    /// The duration limits that every disk holds.
    pub drive_limits: DriveLimits,
    /// Loops that carry its work: the first one serves clients and owns the map, and turns OSDs too where the others leave some.
    pub loops: NonZeroUsize,
    /// Memory for pages of each OSD.
    pub cache: Bytes,
    /// All memory that the node may take, these pages among it ([`MemoryPlan`](crate::MemoryPlan)).
    pub memory: Bytes,
    /// Bounds of its connections.
    pub doors: DoorLimits,
    /// Rights to its sockets.
    pub socket_mode: u32,
    /// When a write is answered.
    pub log_mode: LogMode,
    /// Where the images of half-written pages go.
    pub protection: Protection,
    /// Whether disks are opened past the page cache.
    pub direct: Direct,
    /// What becomes of the blocks of the OSDs' files when their contents are discarded.
    pub discards: Discards,
    /// How disks and sockets are reached.
    pub backend: BackendChoice,
    /// Whether SIGTERM and SIGINT stop the node.
    pub stop_on_signals: bool,
    /// Whether disks that hold nothing are made stores, where no disk belongs to a cluster yet.
    pub format_empty: bool,
    /// The OSDs whose disks are given up as lost, so that the node starts with what is left.
    pub give_up: OsdSet,
    /// What the calendar says when the node begins.
    pub clock: WallClock,
}

/// How NBD clients are served.
#[derive(Clone, Debug, Default)]
pub struct NbdSpec {
    /// Where.
    pub at: Vec<ListenAt>,
    /// What those begin with who come by TCP, if they have to.
    pub tls: Option<TlsServer>,
    /// What they may do with images.
    pub access: NbdAccess,
}

/// The page of a node.
#[derive(Clone, Debug)]
pub struct PageSpec {
    /// Where it listens; a loopback address.
    pub at: SocketAddr,
    /// Where its address and its token are written at each start, for whoever may read the node's folder.
    pub token_file: PathBuf,
}

impl EngineConfig {
    /// How each disk of the node is opened, whoever opens it.
    pub(super) fn disk_open(&self, path: impl Into<PathBuf>) -> DiskOpen {
        DiskOpen { direct: self.direct, discards: self.discards, ..DiskOpen::existing(path) }
    }

    /// All places where it listens.
    pub(super) fn listens_at(&self) -> Vec<ListenAt> {
        let vhost = self.vhost.iter().map(|spec| ListenAt::Unix(spec.path.clone()));
        let page = self.page.iter().map(|page| ListenAt::Tcp(page.at));
        self.nbd.at.iter().chain([&self.admin]).cloned().chain(vhost).chain(page).collect()
    }
}

impl PageSpec {
    /// Draws a token and writes it beside the page's address, where its owner alone may read it.
    pub(super) fn write_token(&self) -> io::Result<Arc<str>> {
        let token = format!("{:032x}", random_u128()?);
        // One that is there keeps its rights otherwise.
        match fs::remove_file(&self.token_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut open = fs::OpenOptions::new();
        let mut file = open.write(true).create_new(true).mode(0o600).open(&self.token_file)?;
        let page = serde_json::json!({ "url": format!("http://{}/", self.at), "token": &token });
        writeln!(file, "{page}")?;
        Ok(token.into())
    }

    /// Takes the address and the token away: the page is no more. What cannot be removed is written anew at the next start.
    pub(super) fn remove_token(&self) {
        let _ = fs::remove_file(&self.token_file);
    }
}

/// One OSD's disk.
#[derive(Clone, Debug)]
pub struct DiskSpec {
    /// A file or a block device.
    pub path: PathBuf,
    /// Size of a file that is made where there is none; without it a missing file stays missing.
    pub size: Option<Bytes>,
}

/// An image, or a snapshot, as the disk of a guest that connects at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VhostSpec {
    /// `image` or `image@snapshot`.
    pub image: String,
    /// Where its guest connects.
    pub path: PathBuf,
}

/// One image.
#[derive(Clone, Debug)]
pub struct ImageSpec {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Whether the start is refused where it is there with another size: who types a size wants it, and one that stands in a file is that of a new
    /// image, long before it is resized.
    pub is_exact: bool,
}
