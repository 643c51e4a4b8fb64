//! What can be typed about databases.

use crate::tls::TlsTyped;
use clap::{Args, Subcommand};
use loadline_base::{Bytes, Span};
use loadline_kv::LogMode;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum KvCommand {
    /// Print the value of a key
    Get {
        /// The key
        #[arg(allow_negative_numbers = true)]
        key: String,
        #[command(flatten)]
        of: KeyspaceArgs,
    },
    /// Set a key; the database is made if there is none
    Put {
        /// The key
        #[arg(allow_negative_numbers = true)]
        key: String,
        /// Its value; - reads it from the standard input
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// It is gone when so much time has passed
        #[arg(long, value_name = "TIME")]
        ttl: Option<Span>,
        /// Size of the file of a database that is made, by default 1 GiB; one that is there has it already
        #[arg(long, value_name = "SIZE")]
        size: Option<Bytes>,
        #[command(flatten)]
        of: ChangeArgs,
    },
    /// Remove a key, if it is there
    Remove {
        /// The key
        #[arg(allow_negative_numbers = true)]
        key: String,
        #[command(flatten)]
        of: ChangeArgs,
    },
    /// Print keys with their values, in order
    Scan(ScanArgs),
    /// What a database holds, and its keyspaces
    Show(DbArgs),
    /// Read everything that the last checkpoint has left, and check it
    Verify(DbArgs),
    /// Write a backup
    Backup {
        /// Where it goes: a new file, or an earlier backup, which it replaces; - is the standard output. A device, a pipe or a link is written as it is
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        db: DbArgs,
    },
    /// Read a backup and check every frame of it; with --dir make a database of it
    Restore {
        /// Where it is; - is the standard input
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The folder of the database that is made; without it the backup is only checked
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Size of its file
        #[arg(long, value_name = "SIZE", requires = "dir", default_value = "1GiB")]
        size: Bytes,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Serve a database by Redis' protocol, until it is told to stop; it is made if there is none
    Serve(KvServeArgs),
    /// Give a database a larger file; meanwhile the disk holds both
    Grow {
        /// Size of the new file
        #[arg(long, value_name = "SIZE")]
        size: Bytes,
        #[command(flatten)]
        db: DbArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    /// The folder of the database
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) cache: Bytes,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KvServeArgs {
    /// The folder of the database
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Size of the file of a database that is made, by default 1 GiB; one that is there has it already
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub(crate) cache: Bytes,
    /// Listen on a socket, which only this user may use
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Listen on an address; off the loopback with --tls-certificate and passwords in --users
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) tcp: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) tls: TlsTyped,
    /// When a commit is answered: always (it survives a power cut), everysec (it survives the process), no
    #[arg(long, value_name = "WHEN", default_value = "everysec")]
    pub(crate) appendfsync: String,
    /// A file of users with their passwords, reservations, weights and limits
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// Connections at a time
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) clients: usize,
    /// Memory for what connections have sent in part and not taken; past it they wait
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub(crate) memory: Bytes,
    /// Close a connection that says nothing for so long
    #[arg(long, value_name = "TIME")]
    pub(crate) idle: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyspaceArgs {
    /// The keyspace's name
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = keyspace_name)]
    pub(crate) keyspace: String,
    #[command(flatten)]
    pub(crate) db: DbArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// When a change is answered: fsync, log-only, background or none. The command ends with a sync in any case
    #[arg(long, value_name = "MODE", default_value = "log-only")]
    pub(crate) log_mode: LogMode,
    #[command(flatten)]
    pub(crate) of: KeyspaceArgs,
}

/// Names stand in lines of text, between commas.
fn keyspace_name(text: &str) -> Result<String, &'static str> {
    match text.contains(char::is_control) {
        true => Err("a keyspace's name has no line ends or other control characters"),
        false => Ok(text.to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Only keys that begin so
    #[arg(long, value_name = "TEXT", default_value = "", allow_negative_numbers = true)]
    pub(crate) prefix: String,
    /// Only keys from this one on
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) from: Option<String>,
    /// Only keys below this one
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) until: Option<String>,
    /// The greatest key first
    #[arg(long)]
    pub(crate) backward: bool,
    /// So many keys at most
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<usize>,
    /// The keyspace's name
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = keyspace_name)]
    pub(crate) keyspace: String,
    #[command(flatten)]
    pub(crate) db: DbArgs,
}
