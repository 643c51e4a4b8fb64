//! The operator's command that begins and ends an OSD's process on its host: a cluster has none of its own for that.

use crate::answers::{ClusterStatus, OsdMapDump};
use crate::connection::{CephConnection, CephError, CommandTarget, ask};
use crate::program::ended_within;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// A command of the shell with `{id}` where the OSD's number goes, and `{action}` (`start`, `stop`, `restart`) if it can do all three.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OsdHook(String);

/// A text that is no hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a hook has {{id}} where the OSD's number goes, as in 'ssh host systemctl {{action}} ceph-osd@{{id}}'"
)]
pub struct NoHook;

impl FromStr for OsdHook {
    type Err = NoHook;

    fn from_str(text: &str) -> Result<OsdHook, NoHook> {
        if text.contains("{id}") { Ok(OsdHook(text.to_owned())) } else { Err(NoHook) }
    }
}

/// Why an OSD was not begun or ended.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The cluster did not tell.
    #[error(transparent)]
    Cluster(#[from] CephError),
    /// The command failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// As the shell got it.
        command: String,
        /// What it said.
        why: String,
    },
    /// It had no effect in time.
    #[error("{what} within {PATIENCE_S} s")]
    Late {
        /// What did not happen.
        what: String,
    },
}

/// Seconds in which an OSD must be up, or down, after the hook.
const PATIENCE_S: u64 = 90;

/// An OSD that is still up after this was not stopped: a silent one is called down after 20 s (`osd_heartbeat_grace`), and a host does
/// within a few what it is told.
const GRACE: Duration = Duration::from_secs(30);

/// The hook itself ends within this, the way to the host and a clean end of the process included.
const HOOK_LIMIT: Duration = Duration::from_secs(120);

/// So much is read of what a hook says, of which the last line counts.
const WORDS_MAX: u64 = 64 << 10;

impl OsdHook {
    /// Whether it can end a process without beginning it again.
    pub fn can_stop(&self) -> bool {
        self.0.contains("{action}")
    }

    /// The command for an OSD.
    pub fn command(&self, action: &str, osd: u32) -> String {
        self.0.replace("{action}", action).replace("{id}", &osd.to_string())
    }

    fn call(&self, action: &str, osd: u32) -> Result<(), HookError> {
        let command = self.command(action, osd);
        let failed = |why: String| HookError::Failed { command: command.clone(), why };
        // Into a file: the end of a pipe comes when every process has closed it that the command leaves behind, so with a daemon never.
        // A hook works without its words, too.
        let mut words = memfd_create("hook", MemfdFlags::CLOEXEC).map(File::from).ok();
        let to = words.as_ref().and_then(|file| file.try_clone().ok());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).stdin(Stdio::null()).stdout(Stdio::null());
        shell.stderr(to.map_or_else(Stdio::null, Stdio::from));
        let mut child = shell.spawn().map_err(|error| failed(error.to_string()))?;
        let ended = ended_within(&mut child, HOOK_LIMIT).map_err(failed)?;
        if ended.success() {
            return Ok(());
        }
        let mut said = Vec::new();
        if let Some(file) = &mut words {
            // What cannot be read was not said.
            let _ = file.rewind().and_then(|()| file.take(WORDS_MAX).read_to_end(&mut said));
        }
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(failed(format!("{ended} ({last})")))
    }

    pub(super) fn stop(&self, on: &dyn CephConnection, osd: u32) -> Result<(), HookError> {
        self.call("stop", osd)?;
        until(on, &format!("osd.{osd} did not go down"), || Ok(up_from(on, osd)?.is_none()))
    }

    pub(super) fn start(&self, on: &dyn CephConnection, osd: u32) -> Result<(), HookError> {
        self.call(if self.can_stop() { "start" } else { "restart" }, osd)?;
        until(on, &format!("osd.{osd} did not come up"), || {
            Ok(up_from(on, osd)?.is_some() && answers(on, osd))
        })
    }

    /// Begins it again after a stop that may still be under way: the host may do it later than it was told to, and the map tells of it later
    /// still. `stopped` is the map in which the process came up that was to end; another one is a new process.
    pub(super) fn bring_back(
        &self,
        on: &dyn CephConnection,
        osd: u32,
        stopped: Option<u64>,
    ) -> Result<(), HookError> {
        self.call("start", osd)?;
        let mut up_since: Option<Duration> = None;
        until(on, &format!("osd.{osd} did not come up and stay so"), || {
            let Some(came) = up_from(on, osd)? else {
                // To begin what still ran was nothing; it has ended since.
                if up_since.take().is_some() {
                    self.call("start", osd)?;
                }
                return Ok(false);
            };
            let since = *up_since.get_or_insert(on.passed());
            let is_new = stopped.is_some_and(|stopped| stopped != came);
            Ok((is_new || on.passed().saturating_sub(since) >= GRACE) && answers(on, osd))
        })
    }

    /// Waits before it for all groups to serve from every copy, so that two OSDs are never missing at a time.
    pub(super) fn restart(&self, on: &dyn CephConnection, osd: u32) -> Result<(), HookError> {
        until(
            on,
            "not every group served from all its copies before another OSD was to begin anew,",
            || {
                let status: ClusterStatus =
                    ask(on, &CommandTarget::Monitor, &json!({"prefix": "status"}))?;
                Ok(status.is_clean())
            },
        )?;
        let before = up_from(on, osd)?;
        self.call("restart", osd)?;
        until(on, &format!("osd.{osd} did not come up anew"), || {
            let now = up_from(on, osd)?;
            Ok(now.is_some() && now != before && answers(on, osd))
        })
    }
}

/// The map in which the OSD's process came up; `None` if it is down.
pub(super) fn up_from(on: &dyn CephConnection, osd: u32) -> Result<Option<u64>, CephError> {
    let map: OsdMapDump = ask(on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
    let found = map.osds.iter().find(|entry| entry.id == u64::from(osd) && entry.up);
    Ok(found.map(|entry| entry.up_from))
}

/// One that is up in the map may be too young to answer.
fn answers(on: &dyn CephConnection, osd: u32) -> bool {
    !queue_of(on, osd).is_empty()
}

/// What [`queue_of`] tells of an OSD that answers and does not tell.
pub const UNKNOWN_QUEUE: &str = "unknown";

/// The queue that an OSD runs with; empty if it does not answer. Its own `config get` tells another one as soon as the option is removed, while
/// the process keeps the queue that it began with. mClock's has counters from Squid 19.2.1 and Reef 18.2.5 on; without them the dump of
/// the queue itself tells.
pub fn queue_of(on: &dyn CephConnection, osd: u32) -> String {
    let command = json!({"prefix": "perf dump"});
    let found: Result<Map<String, Value>, CephError> = ask(on, &CommandTarget::Osd(osd), &command);
    let Ok(groups) = found else { return String::new() };
    let is_mclock = groups.keys().any(|name| name.starts_with("mclock-shard-queue"));
    if !groups.contains_key("osd") {
        return String::new();
    }
    let queue = if is_mclock { "mclock_scheduler" } else { dumped_queue(on, osd) };
    queue.to_owned()
}

/// The queue by its dump, an object for each shard with names of its own.
fn dumped_queue(on: &dyn CephConnection, osd: u32) -> &'static str {
    let command = json!({"prefix": "dump_op_pq_state"});
    let shards: Result<Map<String, Value>, CephError> = ask(on, &CommandTarget::Osd(osd), &command);
    let shards = shards.unwrap_or_default();
    let every = |names: &[&str]| {
        let has = |shard: &Value| names.iter().all(|name| shard.get(name).is_some());
        !shards.is_empty() && shards.values().all(has)
    };
    match (every(&["mClockQueues"]), every(&["high_queues", "queues"])) {
        (true, false) => "mclock_scheduler",
        (false, true) => "wpq",
        _ => UNKNOWN_QUEUE,
    }
}

fn until(
    on: &dyn CephConnection,
    otherwise: &str,
    mut is_so: impl FnMut() -> Result<bool, HookError>,
) -> Result<(), HookError> {
    let began = on.passed();
    loop {
        match is_so() {
            Ok(true) => return Ok(()),
            // Who does not answer has not said that it is otherwise, while an OSD comes or goes least of all.
            Ok(false) | Err(HookError::Cluster(_)) => {}
            Err(error) => return Err(error),
        }
        if on.passed().saturating_sub(began) >= Duration::from_secs(PATIENCE_S) {
            return Err(HookError::Late { what: otherwise.to_owned() });
        }
        on.pause(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_has_a_place_for_the_number_and_perhaps_for_the_action() {
        let hook: OsdHook = "systemctl {action} ceph-osd@{id}".parse().unwrap();
        assert!(hook.can_stop());
        assert_eq!(hook.command("stop", 7), "systemctl stop ceph-osd@7");
        let hook: OsdHook = "ceph orch daemon restart osd.{id}".parse().unwrap();
        assert!(!hook.can_stop());
        assert_eq!(hook.command("restart", 12), "ceph orch daemon restart osd.12");
        assert_eq!("reboot".parse::<OsdHook>(), Err(NoHook));
    }

    /// What the hook says of itself goes to whoever asked.
    #[test]
    fn a_hook_that_fails_says_why() {
        let hook: OsdHook = "echo no host for osd.{id} >&2; exit 3".parse().unwrap();
        let why = hook.call("stop", 2).unwrap_err().to_string();
        assert!(why.contains("no host for osd.2") && why.contains("exit status: 3"), "{why}");
    }
}
