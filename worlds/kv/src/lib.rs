//! A key-value store for programs to embed: the paged store of `core/store` behind one owner thread.
//!
//! ```
//! use loadline_kv::{Db, DbOptions, WriteBatch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("db");
//! let db = Db::open(&path, DbOptions::small())?; // from here on, from any number of threads
//! let users = db.keyspace("users")?;
//! db.put(&users, b"ada", b"1815")?;
//! assert_eq!(db.get(&users, b"ada")?.as_deref(), Some(&b"1815"[..]));
//!
//! // Several changes at once, or none of them.
//! let mut batch = WriteBatch::new();
//! batch.put(&users, b"grace", b"1906").remove(&users, b"ada");
//! db.write(batch)?;
//!
//! // A transaction: what it has read must still be so when it commits.
//! db.transact(|tx| {
//!     let born = tx.get(&users, b"grace")?.unwrap_or_default();
//!     tx.put(&users, b"grace again", &born);
//!     Ok(())
//! })?;
//!
//! let snapshot = db.snapshot()?;
//! db.put(&users, b"later", b"unseen")?;
//! let names: Result<Vec<_>, _> = snapshot.scan(&users).prefix(b"grace").iter().collect();
//! assert_eq!(names?.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! Reading order: `db` is the front door with `batch`, `snapshot`, `transaction`, `watch` and `scan`; `pending` is an answer on its way;
//! `owner` is the thread that has the store: `owner/versions` keeps what snapshots still see, `owner/watches` what is watched, `owner/commits` who waits for whose
//! commit; `record` says how keys and values stand in the store; `backup` is the stream. `docs/kv.md` tells what is promised.
//!
//! This crate may not know clusters, OSDs or studies: of the host world it uses the loop and its disks alone, and nothing of how the store
//! does its work.

mod backup;
mod batch;
mod copies;
mod db;
mod error;
mod handle;
mod keyspace;
mod naming;
mod notes;
mod options;
mod owner;
mod pending;
mod record;
mod scan;
mod snapshot;
mod transaction;
mod update;
mod wall;
mod watch;

pub use backup::{BackupError, StreamFault, verify_backup};
pub use batch::WriteBatch;
pub use copies::{grow, restore};
pub use db::Db;
pub use error::{DbError, DbOpenError, UPDATE_BYTES_MAX};
pub use keyspace::Keyspace;
pub use notes::NoteWalk;
pub use options::DbOptions;
pub use owner::{DbStatistics, SCAN_PART_BYTES};
pub use pending::Pending;
pub use record::{DbEntry, ENTRY_BYTES_MAX, KEYSPACE_BYTES_MAX};
pub use scan::{DbIterator, DbScan};
pub use snapshot::DbSnapshot;
pub use transaction::DbTransaction;
pub use update::{DbUpdate, UpdateKeys};
pub use wall::now_ms;
pub use watch::DbWatch;

/// The README's program is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct KvReadme;

pub use loadline_base::{Bytes, Span};
pub use loadline_store::paged::check::CheckReport;
pub use loadline_store::paged::ids::CheckpointId;
pub use loadline_store::paged::image::Compression;
pub use loadline_store::paged::metrics::{CheckpointReason, CheckpointReport};
pub use loadline_store::paged::throttle::ThrottlePolicy;
pub use loadline_store::paged::{Bound, Exceeded, LogMode, Protection, StoreLimits};
