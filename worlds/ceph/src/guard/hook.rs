//! The operator's command that begins and ends an OSD's process on its host: a cluster has none of its own for that.

use crate::answers::{ClusterStatus, OsdMapDump};
use crate::connection::{CephConnection, CephError, CommandTarget, ask};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::process::Command;
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
const PATIENCE_S: u32 = 90;

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
        let done = Command::new("sh")
            .args(["-c", &command])
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(failed(format!("{} ({last})", done.status)))
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
fn up_from(on: &dyn CephConnection, osd: u32) -> Result<Option<u64>, CephError> {
    let map: OsdMapDump = ask(on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
    let found = map.osds.iter().find(|entry| entry.id == u64::from(osd) && entry.up);
    Ok(found.map(|entry| entry.up_from))
}

/// One that is up in the map may be too young to answer.
fn answers(on: &dyn CephConnection, osd: u32) -> bool {
    !queue_of(on, osd).is_empty()
}

/// The queue that an OSD runs with; empty if it does not answer. Its own `config get` tells another one as soon as the option is removed, while
/// the process keeps the queue that it began with: mClock's has counters, the other has none.
pub fn queue_of(on: &dyn CephConnection, osd: u32) -> String {
    let command = json!({"prefix": "perf dump"});
    let found: Result<Map<String, Value>, CephError> = ask(on, &CommandTarget::Osd(osd), &command);
    let Ok(groups) = found else { return String::new() };
    let is_mclock = groups.keys().any(|name| name.starts_with("mclock-shard-queue"));
    let is_young = !groups.contains_key("osd");
    match (is_young, is_mclock) {
        (true, _) => String::new(),
        (false, true) => "mclock_scheduler".to_owned(),
        (false, false) => "wpq".to_owned(),
    }
}

fn until(
    on: &dyn CephConnection,
    otherwise: &str,
    mut is_so: impl FnMut() -> Result<bool, CephError>,
) -> Result<(), HookError> {
    for _ in 0..PATIENCE_S {
        if is_so()? {
            return Ok(());
        }
        on.pause(Duration::from_secs(1));
    }
    Err(HookError::Late { what: otherwise.to_owned() })
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
