//! A node as it was meant.

use loadline_base::Bytes;
use loadline_cluster::settings::{DriveLimits, SettingsChange};
use loadline_device::Medium;
use loadline_host::{
    BackendChoice, Direct, Discards, DoorLimits, MemoryPlan, NbdAccess, VhostSpec,
};
use loadline_qos::Preset;
use loadline_store::paged::{LogMode, Protection};
use loadline_tls::TlsServer;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where a node keeps in its folder which disks were its OSDs'.
pub(crate) const DISKS_FILE: &str = "disks.json";
/// Where it keeps there what opens its page.
pub(crate) const PAGE_FILE: &str = "page.json";
/// All files that it writes there, the first one's draft among them.
pub(super) const OWN_FILES: [&str; 3] = [DISKS_FILE, "disks.part", PAGE_FILE];

/// What a node is to be. Paths are relative to where the program was started, or absolute.
#[derive(Clone, Debug)]
pub(crate) struct NodeConfig {
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// Its OSDs, by number.
    pub(crate) osds: Vec<OsdConfig>,
    /// Copies of each object in the pool that is made at the first start.
    pub(crate) copies: u32,
    /// Placement groups of that pool; `None` for what suits the number of OSDs.
    pub(crate) pgs: Option<u32>,
    /// Images to be made in it where they are missing.
    pub(crate) images: Vec<ImageConfig>,
    /// Images that guests find at paths of their own.
    pub(crate) vhost: Vec<VhostSpec>,
    /// Where NBD clients are served: a Unix socket.
    pub(crate) nbd_unix: PathBuf,
    /// Where NBD clients are served besides, by TCP.
    pub(crate) nbd_tcp: Option<SocketAddr>,
    /// What those begin with, if they have to.
    pub(crate) nbd_tls: Option<TlsServer>,
    /// What NBD clients may do with images.
    pub(crate) nbd_access: NbdAccess,
    /// Where the live page and metrics are served; on loopback only.
    pub(crate) page: Option<SocketAddr>,
    /// Where commands are taken.
    pub(crate) admin: PathBuf,
    /// Bounds of NBD connections.
    pub(crate) doors: DoorLimits,
    /// Rights to the sockets.
    pub(crate) socket_mode: u32,
    /// How its memory is shared out.
    pub(crate) memory: MemoryPlan,
    /// When a write is answered.
    pub(crate) log_mode: LogMode,
    /// Where the images of half-written pages go.
    pub(crate) protection: Protection,
    /// What kind of disks.
    pub(crate) medium: Medium,
    /// Whose behaviour the schedulers show.
    pub(crate) preset: &'static Preset,
    /// Whether disks are opened past the page cache.
    pub(crate) direct: Direct,
    /// What becomes of blocks that hold nothing any more.
    pub(crate) discards: Discards,
    /// How disks and sockets are reached.
    pub(crate) backend: BackendChoice,
    /// Loops that carry the work.
    pub(crate) loops: NonZeroUsize,
    /// The duration limits that every disk holds.
    pub(crate) drive_limits: DriveLimits,
    /// Settings for the stored level, scheduler and profile among them. The option table accepts them together.
    pub(crate) settings: SettingsChange,
}

/// One OSD's disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OsdConfig {
    /// A file or a block device.
    pub(crate) path: PathBuf,
    /// Size of a file that is to be made; `None` means that the disk has to be there.
    pub(crate) size: Option<Bytes>,
}

/// One image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageConfig {
    /// Its name.
    pub(crate) name: String,
    /// Its size.
    pub(crate) size: Bytes,
}
