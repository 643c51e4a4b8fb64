//! What a loop is made from, and what it tells about itself.

use crate::{Clock, why};
use loadline_base::{Bytes, in_short};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Who carries the calls out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// io_uring, or threads where the system refuses it.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// Threads, even where io_uring would do.
    Threads,
}

/// A loop's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopOptions {
    /// Who carries the calls out.
    pub backend: BackendChoice,
    /// How many calls are handed to the ring at a time; more wait in line.
    pub entries: u32,
    /// Memory of each disk for what is in flight, a power of two and at least 64 KiB. A request that finds none
    /// waits in line; one longer than a quarter of it is carried out in pieces.
    pub disk_memory: Bytes,
    /// With threads: how many requests each disk works on at a time.
    pub disk_threads: usize,
    /// So many connections at most; further peers wait until one closes.
    pub connections_max: usize,
    /// Rights to the Unix sockets that it listens at, whatever the process's umask.
    pub socket_mode: u32,
    /// By which clock it goes, where loops are to agree about the time; by one of its own if by none.
    pub clock: Option<Clock>,
}

impl Default for LoopOptions {
    /// 256 entries fill a ring page; 16 MiB hold four whole objects or four thousand pages; 16 threads keep most
    /// flash drives busy.
    fn default() -> LoopOptions {
        LoopOptions {
            backend: BackendChoice::Auto,
            entries: 256,
            disk_memory: Bytes::from_mib(16),
            disk_threads: 16,
            connections_max: 4096,
            socket_mode: 0o600,
            clock: None,
        }
    }
}

/// Who carries the calls out, as reports state it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// io_uring.
    Uring {
        /// Why the disks' memory is not registered with the ring, if it is not.
        unregistered: Option<String>,
    },
    /// Threads, and the system's reason for refusing io_uring if it was not the owner's wish.
    Threads {
        /// The reason.
        refused: Option<String>,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mode::Uring { unregistered: None } => f.write_str("io_uring"),
            Mode::Uring { unregistered: Some(reason) } => {
                write!(f, "io_uring (memory not registered: {reason})")
            }
            Mode::Threads { refused: None } => f.write_str("threads (as configured)"),
            Mode::Threads { refused: Some(reason) } => {
                write!(f, "threads (io_uring refused: {reason})")
            }
        }
    }
}

/// A loop could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The system refuses io_uring and nothing else was allowed.
    #[error("the system refuses io_uring: {}; choose the backend `auto` or `threads`", why(.0))]
    UringRefused(io::Error),
    /// No descriptor or memory left for what every loop needs.
    #[error("the event loop cannot be set up: {}", why(.0))]
    System(#[from] io::Error),
}

/// What is longer is no socket's path, and a sentence repeats how it begins.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAt {
    /// A Unix socket. What a dead process left at this path is replaced.
    Unix(PathBuf),
    /// A TCP address; port 0 lets the system choose.
    Tcp(SocketAddr),
}

impl ListenAt {
    /// Whether other machines may reach it.
    pub fn is_outside(&self) -> bool {
        matches!(self, ListenAt::Tcp(address) if !address.ip().is_loopback())
    }
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAt::Unix(path) if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX => {
                f.write_str(&in_short(&path.to_string_lossy()))
            }
            ListenAt::Unix(path) => write!(f, "{}", path.display()),
            ListenAt::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A listener could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens there.
    #[error("{0}: another process listens there")]
    InUse(ListenAt),
    /// The path exists and is no socket, so it is not for us to remove.
    #[error("{0}: there is a file that is no socket")]
    NotASocket(ListenAt),
    /// Any other refusal of the system.
    #[error("{at}: cannot listen there: {}", why(error))]
    System {
        /// Where.
        at: ListenAt,
        /// The system's answer.
        error: io::Error,
    },
}

impl ListenError {
    /// The system's kind for it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            ListenError::InUse(_) => io::ErrorKind::AddrInUse,
            ListenError::NotASocket(_) => io::ErrorKind::AlreadyExists,
            ListenError::System { error, .. } => error.kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_say_who_carries_the_calls_out_and_why() {
        let check = |mode: Mode, text: &str| assert_eq!(mode.to_string(), text);
        let because = || Some("reason".to_string());
        check(Mode::Uring { unregistered: None }, "io_uring");
        let text = "io_uring (memory not registered: reason)";
        check(Mode::Uring { unregistered: because() }, text);
        check(Mode::Threads { refused: None }, "threads (as configured)");
        check(Mode::Threads { refused: because() }, "threads (io_uring refused: reason)");
    }
}
