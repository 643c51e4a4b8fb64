//! A small cluster in memory that takes changes as a monitor does, and keeps them in its own spelling: for tests of whoever changes
//! one. It can be deaf to a single command, and its OSDs come and go some seconds after a hook was called.

use crate::connection::{CephConnection, CephError, CommandAnswer, CommandTarget, prefix_of};
use crate::guard::OsdHook;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A cluster of some OSDs. Time goes on only while somebody waits.
pub struct FakeCluster {
    state: Mutex<FakeState>,
}

#[derive(Default)]
struct FakeState {
    passed: Duration,
    /// By section and name.
    stored: BTreeMap<(String, String), String>,
    keys: BTreeMap<String, String>,
    flags: BTreeSet<String>,
    osds: Vec<FakeOsd>,
    epoch: u64,
    pools: BTreeMap<String, Value>,
    balances: bool,
    asked: Vec<(CommandTarget, Value)>,
    /// Which command of which name, counted from now, is not heard.
    deaf: Vec<(String, usize)>,
    hook: FakeHook,
    has_counters: bool,
}

/// What the hook was called for.
#[derive(Default)]
struct FakeHook {
    /// Each call is a line of it.
    file: Option<PathBuf>,
    read: usize,
    /// From a call to the end of the process, or to its beginning.
    takes: Duration,
}

struct FakeOsd {
    is_up: bool,
    is_in: bool,
    up_from: u64,
    /// With which its process began.
    queue: String,
    /// When it ends or begins, as far as the hook was called for it.
    to_come: Vec<(Duration, bool)>,
}

/// An answer, or a refusal with its errno.
type FakeAnswer = Result<Value, (i32, &'static str)>;

const NOTHING: FakeAnswer = Ok(Value::Null);

impl FakeCluster {
    /// So many OSDs, all up and in, under mClock with its counters; the balancer runs.
    pub fn of(osds: u32) -> FakeCluster {
        let osd = |_| FakeOsd {
            is_up: true,
            is_in: true,
            up_from: 1,
            queue: "mclock_scheduler".to_owned(),
            to_come: Vec::new(),
        };
        let osds = (0..osds).map(osd).collect();
        let state = FakeState {
            osds,
            epoch: 1,
            balances: true,
            has_counters: true,
            ..FakeState::default()
        };
        FakeCluster { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().expect("nobody panics with it")
    }

    /// The n-th command of this name from now on, from 1, is not heard, and nobody answers it.
    pub fn deafen(&self, prefix: &str, nth: usize) {
        self.state().deaf.push((prefix.to_owned(), nth));
    }

    /// A hook for its OSDs that writes into a folder what it is called for; a process ends or begins so many seconds later.
    pub fn hook(&self, folder: &Path, takes_s: u64) -> OsdHook {
        let file = folder.join("hook");
        let text = format!("echo {{action}} {{id}} >> {}", file.display());
        self.state().hook =
            FakeHook { file: Some(file), read: 0, takes: Duration::from_secs(takes_s) };
        text.parse().expect("it has a place for the number")
    }

    /// Its release has no counters of mClock's queues.
    pub fn without_counters(&self) {
        self.state().has_counters = false;
    }

    /// What is stored of an option in a section.
    pub fn stored(&self, who: &str, name: &str) -> Option<String> {
        self.state().stored.get(&(who.to_owned(), name.to_owned())).cloned()
    }

    /// The flags that are set.
    pub fn flags(&self) -> Vec<String> {
        self.state().flags.iter().cloned().collect()
    }

    /// The run that holds it, and whatever else is stored under keys.
    pub fn keys(&self) -> BTreeMap<String, String> {
        self.state().keys.clone()
    }

    /// Whether an OSD runs, and the queue that it runs with.
    pub fn osd(&self, osd: u32) -> (bool, String) {
        let mut state = self.state();
        state.go_on();
        let osd = &state.osds[osd as usize];
        (osd.is_up, osd.queue.clone())
    }

    /// Every command that was asked, in order.
    pub fn asked(&self) -> Vec<(CommandTarget, Value)> {
        self.state().asked.clone()
    }
}

impl CephConnection for FakeCluster {
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError> {
        let prefix = prefix_of(command);
        let mut state = self.state();
        state.go_on();
        state.asked.push((target.clone(), command.clone()));
        let silent = |reason: &str| CephError::Unanswered {
            target: target.clone(),
            prefix: prefix.clone(),
            reason: reason.to_owned(),
        };
        if state.is_deaf(&prefix) {
            return Err(silent("it is deaf to it"));
        }
        let answered = match target {
            CommandTarget::Osd(osd) if !state.osds[*osd as usize].is_up => {
                return Err(silent("it is down"));
            }
            CommandTarget::Osd(osd) => state.of_osd(*osd, &prefix, command),
            _ => state.of_cluster(&prefix, command),
        };
        let took = Duration::from_millis(1);
        Ok(match answered {
            Ok(Value::Null) => CommandAnswer { took, ..CommandAnswer::default() },
            Ok(Value::String(text)) => {
                CommandAnswer { output: text.into_bytes(), took, ..CommandAnswer::default() }
            }
            Ok(value) => {
                let output = value.to_string().into_bytes();
                CommandAnswer { output, took, ..CommandAnswer::default() }
            }
            Err((code, text)) => {
                CommandAnswer { code, text: text.to_owned(), took, ..CommandAnswer::default() }
            }
        })
    }

    fn describe(&self) -> String {
        "a cluster in memory".to_owned()
    }

    fn pause(&self, span: Duration) {
        self.state().passed += span;
    }

    fn passed(&self) -> Duration {
        self.state().passed
    }

    fn time_of_day_s(&self) -> f64 {
        self.state().passed.as_secs_f64()
    }
}

fn text<'a>(command: &'a Value, field: &str) -> &'a str {
    command[field].as_str().unwrap_or_default()
}

impl FakeState {
    fn is_deaf(&mut self, prefix: &str) -> bool {
        self.deaf.iter_mut().filter(|(of, _)| of == prefix).for_each(|(_, nth)| *nth -= 1);
        let all = self.deaf.len();
        self.deaf.retain(|(_, nth)| *nth > 0);
        self.deaf.len() < all
    }

    /// What the hook was called for, and what has come of it by now.
    fn go_on(&mut self) {
        let file = self.hook.file.as_deref();
        let calls = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        for call in calls.lines().skip(self.hook.read) {
            self.hook.read += 1;
            let (action, osd) = call.split_once(' ').expect("the hook writes both");
            let osd = &mut self.osds[osd.parse::<usize>().expect("it is a number")];
            // The host does one thing after the other.
            let mut then = osd.to_come.last().map_or(self.passed, |(at, _)| self.passed.max(*at));
            for is_up in [false, true] {
                if action == "restart" || (action == "start") == is_up {
                    then += self.hook.takes;
                    osd.to_come.push((then, is_up));
                }
            }
        }
        for osd in &mut self.osds {
            while osd.to_come.first().is_some_and(|(at, _)| *at <= self.passed) {
                let (_, is_up) = osd.to_come.remove(0);
                if is_up && !osd.is_up {
                    self.epoch += 1;
                    osd.up_from = self.epoch;
                    let key = ("osd".to_owned(), "osd_op_queue".to_owned());
                    let queue = self.stored.get(&key).map_or("mclock_scheduler", String::as_str);
                    osd.queue = queue.to_owned();
                }
                osd.is_up = is_up;
            }
        }
    }

    fn of_osd(&mut self, osd: u32, prefix: &str, command: &Value) -> FakeAnswer {
        let is_mclock = self.osds[osd as usize].queue == "mclock_scheduler";
        match prefix {
            "config get" => {
                let name = text(command, "var");
                let own = format!("osd.{osd}");
                let in_section = |who: &str| self.stored.get(&(who.to_owned(), name.to_owned()));
                let found = in_section(&own).or(in_section("osd")).or(in_section("global"));
                Ok(json!({ name: found.map_or("", String::as_str) }))
            }
            "perf dump" if is_mclock && self.has_counters => {
                Ok(json!({"osd": {"op": 0}, "mclock-shard-queue-0": {}}))
            }
            "perf dump" => Ok(json!({"osd": {"op": 0}})),
            "dump_op_pq_state" if is_mclock => Ok(
                json!({"OSD:ShardedOpWQ:0": {"queue_sizes": {}, "mClockQueues": {"queues": ""}}}),
            ),
            "dump_op_pq_state" => {
                Ok(json!({"OSD:ShardedOpWQ:0": {"high_queues": [], "queues": []}}))
            }
            _ => Err((-libc::EINVAL, "no such command")),
        }
    }

    fn of_cluster(&mut self, prefix: &str, command: &Value) -> FakeAnswer {
        match prefix {
            "status" => Ok(self.status()),
            "osd dump" => Ok(self.map()),
            "config log" => Ok(json!([])),
            "config dump" => {
                let line = |((who, name), value): (&(String, String), &String)| {
                    let (section, mask) = who.split_once('/').unwrap_or((who, ""));
                    json!({"section": section, "mask": mask, "name": name, "value": value})
                };
                Ok(self.stored.iter().map(line).collect())
            }
            "config set" => {
                let (who, name) = (text(command, "who"), text(command, "name"));
                let value = as_stored(name, text(command, "value"));
                self.stored.insert((who.to_owned(), name.to_owned()), value);
                NOTHING
            }
            "config rm" => {
                let (who, name) = (text(command, "who"), text(command, "name"));
                self.stored.remove(&(who.to_owned(), name.to_owned()));
                NOTHING
            }
            "config-key get" => {
                let found = self.keys.get(text(command, "key")).cloned();
                found.map(Value::String).ok_or((-libc::ENOENT, "there is no such key"))
            }
            "config-key set" => {
                self.keys.insert(text(command, "key").to_owned(), text(command, "val").to_owned());
                NOTHING
            }
            "config-key rm" => {
                self.keys.remove(text(command, "key"));
                NOTHING
            }
            "osd set" | "osd unset" => {
                for flag in as_flags(text(command, "key")) {
                    match prefix {
                        "osd set" => drop(self.flags.insert((*flag).to_owned())),
                        _ => drop(self.flags.remove(*flag)),
                    }
                }
                NOTHING
            }
            "osd in" | "osd out" => {
                let osd = command["ids"][0].as_str().and_then(|id| id.parse::<usize>().ok());
                self.osds[osd.expect("it is named")].is_in = prefix == "osd in";
                NOTHING
            }
            "balancer status" => Ok(json!({"active": self.balances})),
            "balancer on" | "balancer off" => {
                self.balances = prefix == "balancer on";
                NOTHING
            }
            _ => self.of_pools(prefix, command),
        }
    }

    fn of_pools(&mut self, prefix: &str, command: &Value) -> FakeAnswer {
        let name = text(command, "pool").to_owned();
        match prefix {
            "df" => Ok(json!({"pools": []})),
            "versions" => {
                Ok(json!({"osd": {"ceph version 18.2.4 (0) reef (stable)": self.osds.len()}}))
            }
            "osd df" => {
                let osd = |id: usize| json!({"id": id, "kb": 1u64 << 30, "kb_used": 0});
                Ok(json!({"nodes": (0..self.osds.len()).map(osd).collect::<Vec<_>>()}))
            }
            "osd pool stats" => Ok(json!([])),
            "osd pool create" => {
                let number = self.pools.len() + 1;
                let made = json!({
                    "pool": number, "pool_name": name, "pg_num": command["pg_num"],
                    "application_metadata": {},
                });
                self.pools.entry(name).or_insert(made);
                NOTHING
            }
            "osd pool application enable" => {
                let pool = self.pools.get_mut(&name).ok_or((-libc::ENOENT, "no such pool"))?;
                pool["application_metadata"][text(command, "app")] = json!({});
                NOTHING
            }
            "osd pool application set" => {
                let pool = self.pools.get_mut(&name).ok_or((-libc::ENOENT, "no such pool"))?;
                let (app, key) = (text(command, "app"), text(command, "key"));
                pool["application_metadata"][app][key] = command["value"].clone();
                NOTHING
            }
            "osd pool delete" => {
                let key = ("mon".to_owned(), "mon_allow_pool_delete".to_owned());
                if self.stored.get(&key).is_none_or(|allowed| allowed != "true") {
                    return Err((-libc::EPERM, "mon_allow_pool_delete is false"));
                }
                self.pools.remove(&name);
                NOTHING
            }
            _ => Err((-libc::EINVAL, "no such command")),
        }
    }

    fn status(&self) -> Value {
        let up = self.osds.iter().filter(|osd| osd.is_up).count();
        let is_in = self.osds.iter().filter(|osd| osd.is_in).count();
        let groups: u64 = self.pools.values().filter_map(|pool| pool["pg_num"].as_u64()).sum();
        let state =
            if up == self.osds.len() { "active+clean" } else { "active+undersized+degraded" };
        json!({
            "fsid": "f", "health": {"status": "HEALTH_OK"},
            "osdmap": {"num_osds": self.osds.len(), "num_up_osds": up, "num_in_osds": is_in},
            "pgmap": {
                "num_pgs": groups, "pgs_by_state": [{"state_name": state, "count": groups}],
            },
        })
    }

    fn map(&self) -> Value {
        let osd = |(id, osd): (usize, &FakeOsd)| {
            json!({
                "osd": id, "up": u8::from(osd.is_up), "in": u8::from(osd.is_in), "up_from": osd.up_from,
            })
        };
        let pools: Vec<&Value> = self.pools.values().collect();
        json!({
            "epoch": self.epoch, "flags_set": self.flags, "pools": pools,
            "osds": self.osds.iter().enumerate().map(osd).collect::<Vec<_>>(),
        })
    }
}

/// A monitor keeps what it has understood, and not what was typed.
fn as_stored(name: &str, value: &str) -> String {
    match (name, value) {
        ("osd_mclock_override_recovery_settings" | "mon_allow_pool_delete", "1") => {
            "true".to_owned()
        }
        ("osd_memory_target", "3G") => (3u64 << 30).to_string(),
        _ => value.to_owned(),
    }
}

/// One word may be two flags in the map.
fn as_flags(flag: &str) -> &[&str] {
    match flag {
        "pause" => &["pauserd", "pausewr"],
        "noscrub" => &["noscrub"],
        "nodeep-scrub" => &["nodeep-scrub"],
        _ => &["noout"],
    }
}
