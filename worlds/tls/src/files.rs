//! Where an operator keeps certificates and keys, and why they cannot be used.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// How a file is opened that somebody has named.
pub type OpenFile = fn(&Path) -> io::Result<File>;

/// The files that a server is known by, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and behind it those between it and the CA.
    pub certificate: PathBuf,
    /// Its private key, which not everybody may read.
    pub key: PathBuf,
    /// The CAs by which clients' certificates must be. Without them nobody is asked for one.
    pub client_ca: Option<PathBuf>,
}

/// One of [`TlsFiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// The server's certificate.
    Certificate,
    /// Its key.
    Key,
    /// The clients' CAs.
    ClientCa,
}

/// Why the files make no server: which of them is to blame, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct TlsFileFault {
    /// Which.
    pub file: TlsFile,
    /// What is wrong.
    pub problem: TlsProblem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    /// The feature is not built in.
    #[error("this build has no TLS")]
    NotBuilt,
    /// A file is not there, or may not be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds nothing of what it should.
    #[error("{}: there is no {what} in it, in PEM", path.display())]
    Without {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The key is not secret.
    #[error("{}: everybody on this machine may read this key; take that right away (chmod o-r)", path.display())]
    OpenKey {
        /// Which.
        path: PathBuf,
    },
    /// What is in a file cannot be used.
    #[error("{}: cannot be used: {why}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}
