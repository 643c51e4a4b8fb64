//! What a node is to be: from a file (`--config node.toml`) or from flags, which both become the same [`NodeConfig`].
//!
//! What was typed is a [`NodeFile`], whoever typed it; [`NodeConfig`] is what was meant, checked as far as that is
//! possible before a disk is opened. `docs/node-toml.md` describes the file.

mod file;
mod flags;
mod meant;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use flags::ServeArgs;

/// Where a node keeps in its folder which disks were its OSDs'.
pub(crate) const DISKS_FILE: &str = "disks.json";

use crate::failure::Failure;
use crate::typed::WANTED_ADDRESS;
use file::NodeFile;
use loadline_base::Bytes;
use loadline_cluster::settings::{DriveLimits, SettingsChange};
use loadline_device::Medium;
use loadline_host::{BackendChoice, Direct, Discards, DoorLimits, NbdAccess, VhostSpec};
use loadline_host::{read_text, why};
use loadline_qos::Preset;
use loadline_store::paged::{LogMode, Protection};
use loadline_tls::TlsServer;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

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
    /// All memory that the node may take; `None` for what suits the machine.
    pub(crate) memory: Option<Bytes>,
    /// Memory for pages of each OSD; `None` for what suits the budget.
    pub(crate) cache: Option<Bytes>,
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

impl NodeConfig {
    /// What the flags mean, or the file that they name.
    ///
    /// # Errors
    /// [`Failure::Input`] with one sentence that names the file, line and field, or the flag; [`Failure::Environment`] if the node's
    /// folder cannot be entered.
    pub(crate) fn from_args(args: ServeArgs) -> Result<NodeConfig, Failure> {
        match &args.config {
            Some(path) => NodeConfig::read(path),
            // Asked before each is looked for in the folder: it would be looked for as often.
            None => {
                args.check_folder()?;
                args.check_osds()
                    .and_then(|()| NodeFile::from(args).meant(Path::new("")))
                    .map_err(|fault| Failure::Input(fault.of_flags()))
            }
        }
    }

    fn read(path: &Path) -> Result<NodeConfig, Failure> {
        let shown = path.display().to_string();
        let text = read_text(path)
            .map_err(|error| Failure::Input(format!("{shown}: cannot be read: {}", why(&error))))?;
        NodeConfig::parse(&shown, path.parent().unwrap_or(Path::new("")), &text)
            .map_err(Failure::Input)
    }

    /// Reads a file's text. Relative paths in it are relative to its `folder`.
    fn parse(shown: &str, folder: &Path, text: &str) -> Result<NodeConfig, String> {
        let file: NodeFile = toml::from_str(text).map_err(|problem| {
            let line = problem.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let place = line.map_or(shown.to_owned(), |line| format!("{shown}:{line}"));
            format!("{place}: {}", in_words(problem.message()))
        })?;
        file.meant(folder).map_err(|fault| fault.of_file(shown, text))
    }
}

/// What the reader of TOML says, but for a sentence of the standard library that does not say what would be right.
fn in_words(message: &str) -> &str {
    if message.starts_with("invalid socket address") { WANTED_ADDRESS } else { message }
}
