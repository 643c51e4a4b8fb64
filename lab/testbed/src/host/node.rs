//! The node of one run: fresh disks, a thread that runs it, and nothing left of either when the run is over.

use super::ground::{RunDisks, RunPaths};
use super::spec::{HostedSpec, LOG_MODE, NODE_CACHE, PROTECTION};
use crate::TestImage;
use crate::place::ClientKind;
use loadline_cluster::Config;
use loadline_host::{
    DirectAsk, DirectClient, DiskSpec, Engine, EngineConfig, ImageSpec, ListenAt, Mail, Mailbox,
    NbdSpec, write_empty_store,
};
use loadline_store::paged;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

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
        if !ground.paths.make_files {
            for device in &ground.paths.disks {
                write_empty_store(device, PROTECTION).map_err(|error| error.to_string())?;
            }
        }
        let config = config(spec, &ground.paths);
        let (tell, began) = channel();
        let thread = Builder::new().name("node".to_owned()).spawn(move || {
            match Engine::start(config) {
                Ok(mut engine) => {
                    // Nobody hears of it only when the run is being given up.
                    let _ = tell.send(Ok((engine.direct_client(), engine.mailbox())));
                    // What the run wrote is not needed after it.
                    let _ = engine.run();
                }
                Err(error) => drop(tell.send(Err(error.to_string()))),
            }
        });
        let thread = thread.map_err(|error| format!("no thread for the node: {error}"))?;
        let began = began.recv().unwrap_or_else(|_| Err("the node did not begin".to_owned()));
        let (client, mailbox) = began?;
        Ok((RunningNode { mailbox, thread: Some(thread), ground }, client))
    }

    /// Where a run may leave files for as long as it lasts.
    pub(super) fn folder(&self) -> &Path {
        &self.ground.paths.folder
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

/// What the OSDs of such a node and their stores are set to, where so many of them are on one drive.
///
/// # Errors
/// What of its settings cannot stand, as a sentence.
pub fn engine_of(spec: &HostedSpec, on_a_drive: u32) -> Result<(Config, paged::Options), String> {
    let disks = (0..spec.osds).map(|osd| format!("osd.{osd}").into()).collect();
    let config = config(spec, &RunPaths { disks, ..RunPaths::default() });
    config.engine(on_a_drive).map_err(|refused| refused.to_string())
}

fn config(spec: &HostedSpec, paths: &RunPaths) -> EngineConfig {
    let size = paths.make_files.then_some(spec.osd_size);
    let disk = |path: &std::path::PathBuf| DiskSpec { path: path.clone(), size };
    let image = |image: &TestImage| ImageSpec {
        name: image.name.clone(),
        size: image.load.image,
        is_exact: true,
    };
    let over_nbd = spec.place.client == ClientKind::Fio;
    let disks = paths.disks.iter().map(disk).collect();
    EngineConfig {
        copies: spec.copies,
        pgs: Some(spec.pgs),
        object_bytes: spec.object_size,
        placement_seed: spec.placement_seed,
        images: spec.images.iter().filter(|_| over_nbd).map(image).collect(),
        nbd: NbdSpec {
            at: over_nbd.then(|| ListenAt::Unix(paths.nbd_socket())).into_iter().collect(),
            ..NbdSpec::default()
        },
        medium: spec.medium,
        preset: spec.preset,
        settings: spec.settings.clone(),
        log_mode: LOG_MODE,
        protection: PROTECTION,
        ..EngineConfig::inside(paths.admin_socket(), disks, NODE_CACHE)
    }
}
