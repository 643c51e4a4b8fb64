//! TLS as a server's side speaks it, by the certificates of an operator ([`TlsServer`]): bytes in, bytes out ([`TlsTalk`]), with clients
//! known by the names in theirs ([`ClientNames`]); or a stream over another one ([`TlsServer::accept`]), for who has tasks that wait.
//!
//! The protocol itself, its checks and its cryptography are rustls'; this crate turns its state machine, and reads files. There is no
//! socket here, no thread and no time-out, which are the owner's, as is the memory that a talk says it holds.
//!
//! This crate may not know what goes through a connection, nor which client may do what. Without the feature `rustls` it has the same
//! door and lets nobody in, so that who stands on it is the same program.

mod files;
mod names;
mod secret;

#[cfg(not(feature = "rustls"))]
mod absent;
#[cfg(feature = "rustls")]
mod server;
#[cfg(feature = "rustls")]
mod stream;
#[cfg(feature = "rustls")]
mod talk;

#[cfg(not(feature = "rustls"))]
pub use absent::{NoServer as TlsServer, NoTalk as TlsTalk};
pub use files::{OpenFile, TlsFile, TlsFileFault, TlsFiles, TlsProblem};
pub use names::ClientNames;
pub use secret::SecretFile;
#[cfg(feature = "rustls")]
pub use server::TlsServer;
#[cfg(feature = "rustls")]
pub use talk::TlsTalk;

/// Why TLS with a client has come to nothing. Displays as what is said of the client in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFault(pub(crate) String);

impl std::fmt::Display for TlsFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsFault {}
