//! `loadline serve`: a node on this machine, until it is told to stop.

use crate::cli::ServeCommand;
use crate::failure::Failure;
use crate::node::config::{DISKS_FILE, NodeConfig, PAGE_FILE, ServeArgs};
use crate::notify;
use loadline_base::{Bytes, WallClock, WallTime, in_short};
use loadline_cluster::StartError;
use loadline_host::admin::Client;
use loadline_host::why;
use loadline_host::{
    BootError, DiskSpec, Engine, EngineConfig, ImageSpec, ListenAt, NbdSpec, PageSpec, make_folder,
};
use loadline_osd::OsdSet;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Size of the objects that images are cut into.
const OBJECT: Bytes = Bytes::from_mib(4);

pub(crate) fn carry_out(command: ServeCommand) -> Result<(), Failure> {
    let asked = StartOptions {
        format_empty: command.format_empty,
        give_up: command.give_up.into_iter().map(|osd| osd.0).collect(),
    };
    let plan = planned(command.node.clone(), asked)?;
    log(command.log.as_deref(), command.log_json)?;
    let made = make_folder(&plan.dir).map_err(|error| {
        let text = format!("{}: cannot be made: {}", plan.dir.display(), why(&error));
        Failure::refused(error.kind(), text)
    })?;
    let mut engine = start(&command.node, plan, asked).inspect_err(|_| made.take_away())?;
    tracing::info!("ready");
    notify::ready();
    engine.run().map_err(|early| Failure::NotDurable(early.to_string()))
}

/// Starts the node, by its former number of OSDs where nobody has said how many there are.
fn start(typed: &ServeArgs, plan: NodePlan, asked: StartOptions) -> Result<Engine, Failure> {
    let NodePlan { dir, engine: config } = plan;
    let admin = config.admin.clone();
    let failure = |error: BootError| match &admin {
        // Of a node that runs there already, each disk would be told to be somebody's.
        ListenAt::Unix(socket) if Client::connect(socket).is_ok() => {
            let dir = dir.display();
            Failure::Environment(format!(
                "a node runs in {dir} already: `loadline status --dir {dir}` shows it, and `loadline stop --dir {dir}` ends it"
            ))
        }
        _ => error.into(),
    };
    match Engine::start(config) {
        Err(BootError::Start { why: StartError::Osds { map, given }, left_out }) => {
            let why = StartError::Osds { map, given };
            // The files of the highest numbers may be missing like any other.
            let more = typed.with_osds(map).filter(|_| map > given);
            let typed = more.ok_or_else(|| failure(BootError::Start { why, left_out }))?;
            tracing::warn!(osds = map, found = given, "the node has more OSDs than files are here");
            Engine::start(planned(typed, asked)?.engine).map_err(failure)
        }
        started => started.map_err(failure),
    }
}

impl From<BootError> for Failure {
    fn from(error: BootError) -> Failure {
        match error {
            BootError::Stopped => Failure::Interrupted(error.to_string()),
            _ => Failure::refused(error.kind(), error.to_string()),
        }
    }
}

/// A node that is to be started, and its folder.
struct NodePlan {
    dir: PathBuf,
    engine: EngineConfig,
}

fn planned(typed: ServeArgs, asked: StartOptions) -> Result<NodePlan, Failure> {
    let is_typed = typed.config.is_none();
    let config = NodeConfig::from_args(typed)?;
    Ok(NodePlan { dir: config.dir.clone(), engine: of_engine(config, asked, is_typed) })
}

/// What is asked of one start alone, and of no file.
#[derive(Clone, Copy)]
struct StartOptions {
    format_empty: bool,
    give_up: OsdSet,
}

fn of_engine(config: NodeConfig, asked: StartOptions, is_typed: bool) -> EngineConfig {
    let nbd = [ListenAt::Unix(config.nbd_unix)].into_iter();
    EngineConfig {
        loops: config.loops,
        disks: config
            .osds
            .into_iter()
            .map(|osd| DiskSpec { path: osd.path, size: osd.size })
            .collect(),
        disks_file: Some(config.dir.join(DISKS_FILE)),
        copies: config.copies,
        pgs: config.pgs,
        object_bytes: OBJECT,
        placement_seed: 0,
        images: config
            .images
            .into_iter()
            .map(|image| ImageSpec { name: image.name, size: image.size, is_exact: is_typed })
            .collect(),
        nbd: NbdSpec {
            at: nbd.chain(config.nbd_tcp.map(ListenAt::Tcp)).collect(),
            tls: config.nbd_tls,
            access: config.nbd_access,
        },
        vhost: config.vhost,
        admin: ListenAt::Unix(config.admin),
        page: config.page.map(|at| PageSpec { at, token_file: config.dir.join(PAGE_FILE) }),
        medium: config.medium,
        preset: *config.preset,
        settings: config.settings,
        drive_limits: config.drive_limits,
        cache: config.memory.cache,
        memory: config.memory.memory,
        doors: config.doors,
        socket_mode: config.socket_mode,
        log_mode: config.log_mode,
        protection: config.protection,
        direct: config.direct,
        discards: config.discards,
        backend: config.backend,
        stop_on_signals: true,
        format_empty: asked.format_empty,
        give_up: asked.give_up,
        clock: calendar(),
    }
}

/// What the calendar says now. A clock that stands before 1970 tells nothing.
#[expect(clippy::disallowed_methods, reason = "a node's calendar is the machine's")]
fn calendar() -> WallClock {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    WallClock { at_start: WallTime::from_unix_nanos(nanos) }
}

/// The standard error, where a node logs. A line that cannot be written there is lost, and that is all: a full disk, or a reader that has
/// gone, does not end a node that serves. The library would report the failure there, too, and end the process by that.
struct NodeLog;

impl io::Write for NodeLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Events go to the standard error: lines for people, or JSON for machines.
fn log(filter: Option<&str>, json: bool) -> Result<(), Failure> {
    let typed = filter.unwrap_or("info");
    // A word that is no level would be a part of no name here, and nothing were logged.
    let filter = typed.parse::<Targets>().ok().filter(|_| typed.split(',').all(names_a_level));
    let filter = filter.ok_or_else(|| {
        Failure::Input(format!(
            "--log {}: takes levels, of everything or of parts, such as `info,loadline_host=debug`",
            in_short(typed)
        ))
    })?;
    let lines =
        tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(|| NodeLog);
    match json {
        true => lines.json().finish().with(filter).init(),
        false => {
            let is_terminal = io::stderr().is_terminal();
            lines.with_ansi(is_terminal).with_target(false).finish().with(filter).init();
        }
    }
    Ok(())
}

/// Whether a piece of a filter is a level, or names a part of this program with one.
fn names_a_level(piece: &str) -> bool {
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    match piece.split_once('=') {
        Some((part, level)) => part.starts_with("loadline") && is_level(level),
        None => is_level(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--log inof` logged nothing at all.
    #[test]
    fn a_filter_names_levels() {
        for (typed, good) in [
            ("info", true),
            ("loadline_host=debug", true),
            ("off", true),
            ("inof", false),
            ("", false),
            ("lodline_host=debug", false),
            ("loadline_host=", false),
        ] {
            assert_eq!(names_a_level(typed), good, "{typed}");
        }
    }
}
