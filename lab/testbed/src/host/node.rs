//! The node of one run: fresh disks, a thread that runs it, and nothing left of either when the run is over.

use super::ground::RunDisks;
use super::spec::{HostedSpec, LOG_MODE, PROTECTION};
use crate::TestImage;
use crate::place::ClientKind;
use loadline_base::{Bytes, WallClock};
use loadline_cluster::settings::DriveLimits;
use loadline_host::{
    BackendChoice, Direct, DirectAsk, DirectClient, Discards, DiskSpec, DoorLimits, Engine,
    EngineConfig, ImageSpec, ListenAt, Mail, Mailbox, MemoryPlan, NbdSpec, write_empty_store,
};
use loadline_osd::OsdSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

/// Memory of each OSD for pages: less than the smallest image takes, so that reads of a study may miss.
const CACHE: Bytes = Bytes::from_mib(128);

/// A running node. Dropping it ends it, and removes what it was made of.
pub(super) struct RunningNode {
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
    ground: RunDisks,
}

impl RunningNode {
    /// Makes the disks of a run and starts a node on them.
    pub(super) fn start(spec: &HostedSpec) -> Result<(RunningNode, DirectClient), String> {
        let ground = RunDisks::prepare(&spec.ground())?;
        if !ground.make_files {
            for device in &ground.disks {
                write_empty_store(device, PROTECTION).map_err(|error| error.to_string())?;
            }
        }
        let config = config(spec, &ground);
        let (tell, began) = channel();
        let thread = Builder::new().name("node".to_owned()).spawn(move || {
            match Engine::start(config) {
                Ok(mut engine) => {
                    // Nobody hears of it only when the run is being given up.
                    let _ = tell.send(Ok((engine.direct_client(), engine.mailbox())));
                    engine.run();
                }
                Err(error) => drop(tell.send(Err(error.to_string()))),
            }
        });
        let thread = thread.map_err(|error| format!("no thread for the node: {error}"))?;
        let began = began.recv().unwrap_or_else(|_| Err("the node did not begin".to_owned()));
        let (client, mailbox) = began?;
        Ok((RunningNode { mailbox, thread: Some(thread), ground }, client))
    }

    /// Where NBD clients find it.
    pub(super) fn socket(&self) -> &Path {
        &self.ground.socket
    }

    /// Where a run may leave files for as long as it lasts.
    pub(super) fn folder(&self) -> &Path {
        &self.ground.folder
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        // A node that has ended already needs no mail, and one that panicked has said why.
        let _ = self.mailbox.post(Mail::Direct(DirectAsk::Leave));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn config(spec: &HostedSpec, ground: &RunDisks) -> EngineConfig {
    let size = ground.make_files.then_some(spec.osd_size);
    let disk = |path: &std::path::PathBuf| DiskSpec { path: path.clone(), size };
    let image = |image: &TestImage| ImageSpec { name: image.name.clone(), size: image.load.image };
    let over_nbd = spec.place.client == ClientKind::Fio;
    EngineConfig {
        loops: NonZeroUsize::MIN,
        page: None,
        disks: ground.disks.iter().map(disk).collect(),
        copies: spec.copies,
        pgs: Some(spec.pgs),
        object_bytes: spec.object_size,
        placement_seed: spec.placement_seed,
        images: spec.images.iter().filter(|_| over_nbd).map(image).collect(),
        nbd: NbdSpec {
            at: over_nbd.then(|| ListenAt::Unix(ground.socket.clone())).into_iter().collect(),
            ..NbdSpec::default()
        },
        vhost: Vec::new(),
        admin: ListenAt::Unix(ground.folder.join("admin.sock")),
        medium: spec.medium,
        preset: spec.preset,
        settings: spec.settings.clone(),
        drive_limits: DriveLimits::default(),
        cache: CACHE,
        memory: MemoryPlan::enough(ground.disks.len() as u32, CACHE).memory,
        doors: DoorLimits::default(),
        socket_mode: 0o600,
        log_mode: LOG_MODE,
        protection: PROTECTION,
        direct: Direct::Auto,
        discards: Discards::Keep,
        backend: BackendChoice::default(),
        stop_on_signals: false,
        format_empty: false,
        give_up: OsdSet::EMPTY,
        clock: WallClock::default(),
    }
}
