//! One command and one answer: the whole contract between this program and a cluster.

use loadline_base::json_in_words;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Who in the cluster is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandTarget {
    /// Any monitor of the quorum.
    Monitor,
    /// The active manager.
    Manager,
    /// An OSD.
    Osd(u32),
    /// The primary of a placement group.
    Pg(String),
}

impl fmt::Display for CommandTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandTarget::Monitor => f.write_str("mon"),
            CommandTarget::Manager => f.write_str("mgr"),
            CommandTarget::Osd(osd) => write!(f, "osd.{osd}"),
            CommandTarget::Pg(pg) => write!(f, "pg:{pg}"),
        }
    }
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandAnswer {
    /// 0, or a negative errno.
    pub code: i32,
    /// JSON nearly always.
    pub output: Vec<u8>,
    /// For people: why not, mostly.
    pub text: String,
    /// From the question to the answer.
    pub took: Duration,
}

/// A way to a cluster. It gives up by itself on whoever does not answer within seconds.
pub trait CephConnection: Send + Sync {
    /// Asks once. A refusal is an answer, too.
    ///
    /// # Errors
    /// [`CephError::Unanswered`] if there is none.
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError>;

    /// What kind of way it is, in a few words.
    fn describe(&self) -> String;

    /// Lets time pass.
    #[expect(clippy::disallowed_methods, reason = "a world: time passes by itself")]
    fn pause(&self, span: Duration) {
        std::thread::sleep(span);
    }

    /// The time of day, in seconds since 1970.
    #[expect(
        clippy::disallowed_methods,
        reason = "a world: stamps of the cluster are compared with it"
    )]
    fn time_of_day_s(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0.0, |since| since.as_secs_f64())
    }

    /// Time since some moment. Unlike the time of day it never goes back, so spans are measured by it.
    #[expect(clippy::disallowed_methods, reason = "a world: time passes by itself")]
    fn passed(&self) -> Duration {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        FIRST.get_or_init(Instant::now).elapsed()
    }

    /// Writes an object of this size and of bytes that do not compress.
    ///
    /// # Errors
    /// [`CephError::NoObjects`] if this way has none.
    fn write_object(&self, _pool: &str, _name: &str, _bytes: usize) -> Result<(), CephError> {
        Err(CephError::NoObjects)
    }

    /// Takes a snapshot of a pool's objects as they are for those who write beside it ([`CephConnection::write_beside`]).
    ///
    /// # Errors
    /// [`CephError::NoObjects`] if this way has none.
    fn take_snapshot(&self, _pool: &str) -> Result<u64, CephError> {
        Err(CephError::NoObjects)
    }

    /// Writes an object anew, of which a snapshot keeps what it was as a clone.
    ///
    /// # Errors
    /// [`CephError::NoObjects`] if this way has none.
    fn write_beside(
        &self,
        _snapshot: u64,
        _pool: &str,
        _name: &str,
        _bytes: usize,
    ) -> Result<(), CephError> {
        Err(CephError::NoObjects)
    }

    /// Removes a snapshot; the OSDs trim its clones afterwards.
    ///
    /// # Errors
    /// [`CephError::NoObjects`] if this way has none.
    fn remove_snapshot(&self, _snapshot: u64, _pool: &str) -> Result<(), CephError> {
        Err(CephError::NoObjects)
    }

    /// Makes an image with objects of 4 MiB and no other feature than layering.
    ///
    /// # Errors
    /// [`CephError::NoObjects`] if this way has none.
    fn create_image(&self, _pool: &str, _name: &str, _bytes: u64) -> Result<(), CephError> {
        Err(CephError::NoObjects)
    }
}

/// Why a cluster gave nothing to go on with.
#[derive(Debug, thiserror::Error)]
pub enum CephError {
    /// The file that leads to it cannot be read.
    #[error("cannot read {}: {error}", conf.display())]
    Conf {
        /// Which file.
        conf: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no way to it.
    #[error("no way to the cluster of {conf}: {reason}")]
    Unreachable {
        /// The configuration that was to lead there.
        conf: String,
        /// Why, and what would help.
        reason: String,
    },
    /// It did not answer in time, or the connection broke.
    #[error("{target} did not answer `{prefix}`: {reason}")]
    Unanswered {
        /// Who.
        target: CommandTarget,
        /// What.
        prefix: String,
        /// Why.
        reason: String,
    },
    /// It said no.
    #[error("{target} refused `{prefix}` ({code}): {text}")]
    RefusedCommand {
        /// Who.
        target: CommandTarget,
        /// What.
        prefix: String,
        /// A negative errno.
        code: i32,
        /// Why.
        text: String,
    },
    /// It answered something else than asked.
    #[error("{target} answered `{prefix}` with something unexpected: {}", json_in_words(reason))]
    Garbled {
        /// Who.
        target: CommandTarget,
        /// What.
        prefix: String,
        /// Where it is not what it should be.
        reason: String,
    },
    /// This way leads to no objects.
    #[error(
        "objects and images need librados and librbd on this machine (Debian: apt-get install librados2 librbd1)"
    )]
    NoObjects,
    /// An object or an image was not written.
    #[error("{what} could not be written: {reason}")]
    NotWritten {
        /// Which.
        what: String,
        /// Why.
        reason: String,
    },
}

/// The command's name, for messages.
pub(crate) fn prefix_of(command: &Value) -> String {
    command["prefix"].as_str().unwrap_or("?").to_owned()
}

/// Asks, and demands that it is done; the answer's bytes.
///
/// # Errors
/// [`CephError`] if there is no answer, or it is a refusal.
pub fn tell(
    on: &dyn CephConnection,
    target: &CommandTarget,
    command: &Value,
) -> Result<Vec<u8>, CephError> {
    let answer = on.command(target, command)?;
    if answer.code != 0 {
        let text = answer.text.trim().to_owned();
        let (target, prefix, code) = (target.clone(), prefix_of(command), answer.code);
        return Err(CephError::RefusedCommand { target, prefix, code, text });
    }
    Ok(answer.output)
}

/// Asks, and reads the answer.
///
/// # Errors
/// [`CephError`] if there is no answer, it is a refusal, or it is something else than `T`.
pub fn ask<T: DeserializeOwned>(
    on: &dyn CephConnection,
    target: &CommandTarget,
    command: &Value,
) -> Result<T, CephError> {
    let output = tell(on, target, command)?;
    serde_json::from_slice(&output).map_err(|error| CephError::Garbled {
        target: target.clone(),
        prefix: prefix_of(command),
        reason: error.to_string(),
    })
}
