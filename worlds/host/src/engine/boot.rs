//! How a node begins: disks are opened and made where they are missing, stores restart, the cluster is created or goes on,
//! then pool and images are there, and clients may come.

use super::admin::AdminConnections;
use super::benches::Benches;
use super::client_ops::ClientOps;
use super::config::{DiskSpec, EngineConfig, ImageSpec};
use super::direct_client::DirectDesk;
use super::disk_table::EngineDisks;
use super::doors::{Doors, Speaks};
use super::health::HealthMeter;
use super::host_node::{Alarm, HostNode};
use super::image_work::ImageWork;
use super::mail::Mail;
use super::nbd::NbdConnections;
use super::rack_disks::RackDisks;
use super::racks::Racks;
use super::settings::{NodeSettings, most_on_a_drive};
use super::shared_memory::SharedMemory;
use super::vhost::VhostFaces;
use super::watches::Watches;
use super::{Engine, Stopping};
use crate::new_store::random_u128;
use crate::{
    Clock, DiskOpen, DiskOpenError, Holding, ListenAt, ListenError, Loop, LoopError, LoopOptions,
    NewStoreError, OpenedDisk, raise_descriptors, why, write_store,
};
use loadline_base::{Agenda, Bytes, Span};
use loadline_cluster::settings::Refused;
use loadline_cluster::{PoolSpec, StartError};
use loadline_node::{Delays, Node};
use std::io;

/// The pool that a new node has.
const POOL: &str = "data";
/// Placement groups of that pool per OSD, over its copies: enough to spread evenly, few enough to peer in no time.
const PGS_PER_OSD: u32 = 32;

/// Why a node does not begin.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A disk cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskOpenError),
    /// Of several disks that are to be made, one finds no room.
    #[error(
        "{error}; the node's {disks} new disks take {together} together, and none of them was made"
    )]
    NoRoom {
        /// The one.
        error: DiskOpenError,
        /// How many there are to be.
        disks: usize,
        /// What they take.
        together: Bytes,
    },
    /// No disk at all is there, and none has a size.
    #[error(
        "none of the node's disks is there ({0}): give each its size to have it made, or say where they are"
    )]
    NoDisks(String),
    /// None of the disks belongs to a cluster, and a node was here whose disks did.
    #[error(
        "{} says that a node was here, and none of its disks holds it any more ({disks}): bring them back, or remove that file for a new node", file.display()
    )]
    HadDisks {
        /// Where it is kept which disks a node had.
        file: std::path::PathBuf,
        /// Which these were.
        disks: String,
    },
    /// Disks of a node that is to begin hold nothing, and nobody said that they may be written.
    #[error(
        "{0} holds nothing: `loadline store format {0}` makes it a store, and `loadline serve --format-empty` does so with every empty disk of a new node"
    )]
    Empty(String),
    /// No disk holds a store, and this one holds something else.
    #[error(
        "{0} holds {1} and is left alone: name another disk, or let `loadline store format --force {0}` write over it"
    )]
    Holds(String, Holding),
    /// Disks are there, and none can be used: why the first cannot, and all of them in words.
    #[error("none of the node's disks can be used: {1}")]
    NoneUsable(io::ErrorKind, String),
    /// A node that has not begun yet lacks some of its disks: why the first, and all of them in words.
    #[error("a new node begins with all of its disks: {1}")]
    NewWithout(io::ErrorKind, String),
    /// Disks are given up, and no cluster is there that could have lost them.
    #[error(
        "no disk here belongs to a node yet, so there is no OSD to be given up: leave out --give-up"
    )]
    NothingToGiveUp,
    /// A new disk cannot be made a store.
    #[error(transparent)]
    NewStore(#[from] NewStoreError),
    /// The loop cannot be made.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// A listener cannot be made.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The disks' maps do not lead to a cluster.
    #[error("{why}{left_out}")]
    Start {
        /// What is wrong.
        why: StartError,
        /// The OSDs that are left out, each with the reason.
        left_out: String,
    },
    /// A setting may not stand.
    #[error("{0}")]
    Setting(#[from] Refused),
    /// An image that a guest is to find at a path is not there.
    #[error("--vhost {0}={at}: {1}", at = .2.display())]
    Vhost(String, loadline_cluster::images::ImageError, std::path::PathBuf),
    /// An image cannot be made.
    #[error("image {0}: {1}")]
    Image(String, loadline_cluster::images::ImageError),
    /// A pool that is there has other placement groups than were asked for.
    #[error(
        "pgs: {asked} are asked for, and the pool `{POOL}` has {has}, which it keeps: leave `pgs` (--pgs) out"
    )]
    Pgs {
        /// How many were asked for.
        asked: u32,
        /// How many there are.
        has: u32,
    },
    /// An image that is there has another size than was asked for.
    #[error(
        "image {name}: {asked:#} are asked for, and it has {has:#}: leave --image out, give that size, or let `loadline image resize` change it"
    )]
    OtherSize {
        /// Which.
        name: String,
        /// The size that was asked for.
        asked: Bytes,
        /// The size that it has.
        has: Bytes,
    },
    /// The page's token cannot be written.
    #[error("the page's token: {why}", why = why(.0))]
    Token(io::Error),
    /// Randomness cannot be had.
    #[error("no random number for the new cluster: {0}")]
    Random(io::Error),
    /// The node was told to stop before it had begun.
    #[error("stopped before the disks were open")]
    Stopped,
}

impl BootError {
    /// The system's kind for it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            BootError::Disk(error) => error.problem.kind(),
            BootError::NoRoom { .. } => io::ErrorKind::StorageFull,
            BootError::NoneUsable(kind, _) | BootError::NewWithout(kind, _) => *kind,
            BootError::NewStore(error) => error.kind(),
            BootError::Listen(error) => error.kind(),
            BootError::Token(error) | BootError::Random(error) => error.kind(),
            BootError::NoDisks(_) | BootError::HadDisks { .. } => io::ErrorKind::NotFound,
            BootError::Empty(_) | BootError::Holds(..) => io::ErrorKind::InvalidData,
            BootError::Start {
                why:
                    StartError::NotLost(_)
                    | StartError::NoSuchOsd(_)
                    | StartError::NotGivenUp(_)
                    | StartError::Osds { .. },
                ..
            }
            | BootError::NothingToGiveUp
            | BootError::Setting(_)
            | BootError::Vhost(..)
            | BootError::Image(..)
            | BootError::Pgs { .. }
            | BootError::OtherSize { .. } => io::ErrorKind::InvalidInput,
            BootError::Start { .. } | BootError::Loop(_) => io::ErrorKind::Other,
            BootError::Stopped => io::ErrorKind::Interrupted,
        }
    }
}

/// Memory comes in small pages: a huge one is zeroed when it is first touched, 2 MiB in the middle of an event, which was seen to take
/// 4.8 ms on a virtual machine, fifty times a second beside checkpoints. Where the system refuses, that is how it is.
fn small_pages() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

impl Engine {
    /// Opens everything. Returns when clients are served.
    ///
    /// # Errors
    /// [`BootError`] with one sentence.
    pub fn start(config: EngineConfig) -> Result<Engine, BootError> {
        small_pages();
        let doors = Doors::new(&config.doors, config.vhost.len() as u32, raise_descriptors());
        let options = LoopOptions {
            backend: config.backend,
            connections_max: doors.most(),
            socket_mode: config.socket_mode,
            clock: Some(Clock::start()),
            ..LoopOptions::default()
        };
        let mut world: Loop<Mail> = Loop::new(options)?;
        if config.stop_on_signals {
            world.watch_signals()?;
        }
        let settings = NodeSettings::new(&config)?;
        let on_a_drive = most_on_a_drive(&config.disks);
        let (cluster, stores) = (settings.cluster(&config), settings.store(&config, on_a_drive));
        let mut node = Node::on_disks(&cluster, stores, Delays::default());
        let racks = Racks::start(&mut node, world.mailbox(), config.loops, options)?;
        let host = HostNode {
            now: world.now(),
            world,
            alarms: Agenda::default(),
            node,
            own: RackDisks::default(),
            racks,
            config,
            settings,
            disks: EngineDisks::default(),
            health: HealthMeter::default(),
            told: Vec::new(),
        };
        let mut engine = Engine {
            host,
            doors,
            memory: SharedMemory::default(),
            nbd: NbdConnections::default(),
            vhost: VhostFaces::default(),
            admin: AdminConnections::default(),
            direct: DirectDesk::default(),
            clients: ClientOps::default(),
            image_work: ImageWork::default(),
            bench: Benches::default(),
            watches: Watches::default(),
            stopping: Stopping::No,
        };
        tracing::info!(mode = %engine.host.io_mode(), loops = engine.host.racks.loops(), "event loop");
        match engine.begin() {
            Ok(()) => Ok(engine),
            Err(error) => {
                engine.host.disks.unmake();
                Err(error)
            }
        }
    }

    fn begin(&mut self) -> Result<(), BootError> {
        self.open_disks()?;
        self.begin_cluster()?;
        self.host.tell_absent();
        self.make_what_is_missing()?;
        self.measure_capacities()?;
        self.host.tell_terms();
        self.listen()?;
        self.host.keep_known_disks();
        self.host.alarms.push(self.host.now + Span::from_millis(1000), Alarm::Second);
        Ok(())
    }

    fn begin_cluster(&mut self) -> Result<(), BootError> {
        let given_up = self.host.config.give_up;
        if self.host.node.cluster().is_new() {
            let id = random_u128().map_err(BootError::Random)?;
            tracing::info!(cluster = format!("{id:032x}"), "a new cluster");
            self.host.node.change(self.host.now, |cluster, fx| cluster.create(id, fx));
        } else {
            let started =
                self.host.node.change(self.host.now, |cluster, fx| cluster.start(given_up, fx));
            started.map_err(|why| self.host.cannot_start(why))?;
            for what in self.host.node.cluster().loss_in_words() {
                tracing::warn!("given up: {what}");
            }
            self.host.take_stored_settings();
            self.host.node.change(self.host.now, |cluster, fx| cluster.take_over(fx));
        }
        self.run_until(|engine| engine.host.node.cluster().is_serving())
    }

    /// The pool of a new node, and images that somebody asked for and that are not there.
    fn make_what_is_missing(&mut self) -> Result<(), BootError> {
        if self.host.node.cluster().map().pools().is_empty() {
            let osds = self.host.disks.of.len() as u32;
            let copies = self.host.config.copies;
            let spec = PoolSpec {
                name: POOL.to_owned(),
                pgs: self.host.config.pgs.unwrap_or_else(|| pgs_that_suit(osds, copies)),
                copies,
                object_bytes: self.host.config.object_bytes.get(),
                recovery_priority: 0,
            };
            self.host.node.change(self.host.now, |cluster, fx| cluster.create_pool(spec, fx));
        }
        self.refuse_other_pgs()?;
        for image in self.host.config.images.clone() {
            let (name, size) = (&image.name, image.size.get());
            self.check_size(&image)?;
            self.host
                .node
                .change(self.host.now, |cluster, fx| cluster.ensure_image(name, size, fx))
                .map_err(|error| BootError::Image(image.name.clone(), error))?;
        }
        let change = self.host.node.cluster().last_change();
        self.run_until(|engine| engine.host.node.cluster().is_kept(change))
    }

    /// A pool keeps its placement groups: who asks for another number is not to think that it has them.
    fn refuse_other_pgs(&self) -> Result<(), BootError> {
        let mut pools = self.host.node.cluster().map().pools().values();
        let has = pools.find(|pool| pool.spec.name == POOL).map(|pool| pool.spec.pgs);
        match (self.host.config.pgs, has) {
            (Some(asked), Some(has)) if asked != has => Err(BootError::Pgs { asked, has }),
            _ => Ok(()),
        }
    }

    /// An image that is there is as large as it is.
    fn check_size(&self, spec: &ImageSpec) -> Result<(), BootError> {
        let (name, asked) = (spec.name.clone(), spec.size);
        let found = self.host.node.cluster().images().image(&name);
        match found.map(|image| Bytes::new(image.size)).ok().filter(|has| *has != asked) {
            Some(has) if spec.is_exact => Err(BootError::OtherSize { name, asked, has }),
            Some(has) => {
                tracing::warn!(image = name, %has, %asked, "an image has another size than a new one would have");
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn listen(&mut self) -> Result<(), BootError> {
        for at in self.host.config.nbd.at.clone() {
            let listener = self.host.world.listen(&at)?;
            self.doors.opened(listener, Speaks::Nbd);
            // With the port that the system chose, where nobody else has.
            let at = self.host.world.address(listener).map_or(at, ListenAt::Tcp);
            let tls = self.host.config.nbd.tls.clone().filter(|_| matches!(at, ListenAt::Tcp(_)));
            if tls.is_some() {
                self.nbd_needs_tls_at(listener);
            }
            tracing::info!(%at, tls = tls.is_some(), "NBD");
            if at.is_outside() && !tls.is_some_and(|tls| tls.asks_clients()) {
                tracing::warn!(%at, "whoever reaches this address may read and write images: nothing asks who it is");
            }
        }
        self.vhost_listen()?;
        let listener = self.host.world.listen(&self.host.config.admin)?;
        self.doors.opened(listener, Speaks::Admin);
        tracing::info!(at = %self.host.config.admin, "admin");
        if let Some(page) = self.host.config.page.clone() {
            let at = ListenAt::Tcp(page.at);
            let listener = self.host.world.listen(&at)?;
            self.admin.page_token = page.write_token().map_err(BootError::Token)?;
            self.doors.opened(listener, Speaks::Page);
            tracing::info!(at = format!("http://{at}/"), token = %page.token_file.display(), "page");
        }
        Ok(())
    }

    /// Lets things happen until `ready` says so.
    pub(super) fn run_until(&mut self, ready: impl Fn(&Engine) -> bool) -> Result<(), BootError> {
        let mut happenings = Vec::new();
        self.settle();
        while !ready(self) {
            if self.is_stopping() {
                return Err(BootError::Stopped);
            }
            self.turn(&mut happenings);
        }
        Ok(())
    }
}

/// Placement groups of a pool, unless somebody says otherwise.
pub(super) fn pgs_that_suit(osds: u32, copies: u32) -> u32 {
    (osds * PGS_PER_OSD / copies).next_power_of_two()
}

/// Opens a disk, and writes an empty store onto a file that has just been made.
pub(super) fn open_or_make(
    spec: &DiskSpec,
    config: &EngineConfig,
) -> Result<OpenedDisk, BootError> {
    let opened = DiskOpen { create: spec.size, ..config.disk_open(&spec.path) }.open()?;
    if opened.was_created()
        && let Err(error) = write_store(&spec.path, opened.size(), config.protection)
    {
        opened.unmake();
        return Err(error.into());
    }
    Ok(opened)
}
