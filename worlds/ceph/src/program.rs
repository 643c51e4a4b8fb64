//! The `ceph` program, one process for each command: where there is no librados. Slow (a third of a second of processor time for
//! each answer), so it serves what is rare.

use crate::connection::{CephConnection, CephError, CommandAnswer, CommandTarget, prefix_of};
use crate::place::{CephPlace, ConnectBy};
use serde_json::Value;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process is killed when it has not ended after this.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What the program itself gives up after, in seconds.
const CONNECT_TIMEOUT_S: &str = "10";

/// How often it is looked whether a process has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A connection by the `ceph` program.
pub struct CephProgram {
    program: PathBuf,
    conf: PathBuf,
    user: String,
}

impl CephProgram {
    /// Finds the program; nothing is asked yet.
    ///
    /// # Errors
    /// [`CephError::Unreachable`] if it is not installed.
    pub fn connect(place: &CephPlace) -> Result<CephProgram, CephError> {
        let made = CephProgram {
            program: "ceph".into(),
            conf: place.conf.clone(),
            user: place.user.clone(),
        };
        let found = Command::new(&made.program).arg("--version").stdin(Stdio::null()).output();
        let reason = match found {
            Ok(output) if output.status.success() => return Ok(made),
            Ok(output) => format!("`ceph --version` has failed ({})", output.status),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                format!("the `ceph` program is there and cannot be run: {}", error.kind())
            }
            Err(_) => not_installed(place.by).to_owned(),
        };
        Err(CephError::Unreachable { conf: place.conf.display().to_string(), reason })
    }

    /// The same with another program in its place.
    pub fn with_program(place: &CephPlace, program: PathBuf) -> CephProgram {
        CephProgram { program, conf: place.conf.clone(), user: place.user.clone() }
    }
}

/// What is missing: librados too, where it would have done.
fn not_installed(by: ConnectBy) -> &'static str {
    match by {
        ConnectBy::Program => {
            "the `ceph` program is not installed (Debian: apt-get install ceph-common)"
        }
        ConnectBy::Either | ConnectBy::Librados => {
            "neither librados.so.2 nor the `ceph` program is installed (Debian: apt-get install librados2, or ceph-common)"
        }
    }
}

impl CephConnection for CephProgram {
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError> {
        let unanswered = |reason: String| CephError::Unanswered {
            target: target.clone(),
            prefix: prefix_of(command),
            reason,
        };
        let mut process = Command::new(&self.program);
        process.arg("--conf").arg(&self.conf).args(["--name", &self.user]);
        process.args(["--connect-timeout", CONNECT_TIMEOUT_S, "--format", "json"]);
        match target {
            CommandTarget::Monitor | CommandTarget::Manager => {}
            CommandTarget::Osd(osd) => drop(process.args(["tell", &format!("osd.{osd}")])),
            CommandTarget::Pg(pg) => drop(process.args(["tell", pg])),
        }
        process.args(words(command));
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = now();
        let mut child = process.spawn().map_err(|error| unanswered(error.to_string()))?;
        // Both pipes are read while it runs, or a long answer would fill one and stand still.
        let output = read_aside(child.stdout.take().expect("it is piped"));
        let text = read_aside(child.stderr.take().expect("it is piped"));
        let code = ended_within(&mut child, TIMEOUT).map_err(unanswered)?;
        let code = code.code().unwrap_or(libc::EINTR);
        let text = String::from_utf8_lossy(&text.join().unwrap_or_default()).into_owned();
        if code != 0 && text.contains("timed out") {
            return Err(unanswered(text.trim().to_owned()));
        }
        let output = output.join().unwrap_or_default();
        Ok(CommandAnswer { code: -code, output, text, took: began.elapsed() })
    }

    fn describe(&self) -> String {
        "the `ceph` program".to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "a world: a pipe is read beside a process that runs")]
fn read_aside(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before it broke is what there is.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for a process, but not for ever: it is killed after the limit.
#[expect(clippy::disallowed_methods, reason = "a world: it waits for a process, but not for ever")]
pub(crate) fn ended_within(child: &mut Child, limit: Duration) -> Result<ExitStatus, String> {
    let began = now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if began.elapsed() < limit => std::thread::sleep(LOOK_EVERY),
            Ok(None) => {
                // It has ended already if it cannot be killed.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no end within {} s", limit.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a world: how long an answer took")]
fn now() -> Instant {
    Instant::now()
}

/// A command as the program takes it: its words, then its values in the order that the cluster's signature has them.
fn words(command: &Value) -> Vec<String> {
    let mut words: Vec<String> = prefix_of(command).split(' ').map(str::to_owned).collect();
    let order = [
        "detail",
        "who",
        "id",
        "pool",
        "pool2",
        "ids",
        "app",
        "key",
        "var",
        "name",
        "value",
        "val",
        "num",
        "level",
        "channel",
        "pg_num",
        "pgp_num",
        "logger",
        "dumpcontents",
        "pgid",
    ];
    // `log last 20 warn cluster`, `config log 5`: numbers lead there anyway.
    for name in order {
        match &command[name] {
            Value::Null => {}
            Value::Array(all) => words.extend(all.iter().map(plain)),
            one => words.push(plain(one)),
        }
    }
    if command["yes_i_really_really_mean_it"] == Value::Bool(true) {
        words.push("--yes-i-really-really-mean-it".to_owned());
    }
    words
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_becomes_words() {
        let check = |command: Value, typed: &str| assert_eq!(words(&command).join(" "), typed);
        check(json!({"prefix": "status"}), "status");
        check(
            json!({"prefix": "config set", "who": "osd", "name": "osd_max_backfills", "value": "3"}),
            "config set osd osd_max_backfills 3",
        );
        check(json!({"prefix": "osd out", "ids": ["3"]}), "osd out 3");
        check(json!({"prefix": "pg dump", "dumpcontents": ["pgs"]}), "pg dump pgs");
        check(
            json!({"prefix": "log last", "num": 20, "level": "warn", "channel": "cluster"}),
            "log last 20 warn cluster",
        );
        check(
            json!({"prefix": "osd pool application set", "pool": "p", "app": "loadline", "key": "run", "value": "r1"}),
            "osd pool application set p loadline run r1",
        );
        check(
            json!({"prefix": "osd pool delete", "pool": "p", "pool2": "p", "yes_i_really_really_mean_it": true}),
            "osd pool delete p p --yes-i-really-really-mean-it",
        );
        check(json!({"prefix": "config-key set", "key": "k", "val": "{}"}), "config-key set k {}");
    }
}
