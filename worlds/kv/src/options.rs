//! What may be set on a database.

use loadline_base::{Bytes, Span};
use loadline_host::BackendChoice;
use loadline_store::paged::bounds::{StoreLimits, limits};
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{Format, LogMode, Options, Protection};

/// How a database is opened. All but `size` may differ from one opening to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DbOptions {
    /// Whether a database is made where there is none. Default yes.
    pub create: bool,
    /// Size of the file of a database that is made now, a multiple of 4 KiB: all of it is set aside at once, so that no other file takes its room.
    /// Default 1 GiB.
    pub size: Bytes,
    /// When a commit is answered that does not say so itself ([`WriteBatch::promise`](crate::WriteBatch::promise)), as `docs/checkpoint.md` has it. Default
    /// `log-only`: the death of the process loses nothing that was answered, a power cut what came after the last flush.
    pub log_mode: LogMode,
    /// Memory for pages. Default 256 MiB.
    pub cache: Bytes,
    /// Memory for former values that live snapshots and transactions still see. When it is used up the oldest of them end with
    /// [`DbError::SnapshotTooOld`](crate::DbError). Default 64 MiB.
    pub versions: Bytes,
    /// Where the images are that make a torn checkpoint whole. Default `checkpoint`.
    pub protection: Protection,
    /// How images are stored. Default skip-garbage.
    pub compression: Compression,
    /// How updates are slowed down while a checkpoint runs. Default Loadline's own.
    pub throttle: ThrottlePolicy,
    /// Memory for pages as a running checkpoint needs them, beside `cache`. Zero, the default, takes as much as the cache, at most 256 MiB; of a
    /// cache of 1 GiB or more a quarter.
    pub old_versions: Bytes,
    /// Time between two checkpoints' starts. Default 180 s.
    pub checkpoint_interval: Span,
    /// A checkpoint begins before its time when this share of the cache has changed, in percent. Default 50; at 75 commits wait.
    pub dirty_trigger_percent: u8,
    /// The same for the log, of which a database has a sixteenth of its file. Default 25.
    pub log_trigger_percent: u8,
    /// Who carries system calls out. Default io_uring, or threads where it is refused.
    pub backend: BackendChoice,
}

impl Default for DbOptions {
    fn default() -> DbOptions {
        let store = Options::default();
        DbOptions {
            create: true,
            size: Bytes::from_mib(1024),
            log_mode: store.log_mode,
            cache: Bytes::from_mib(256),
            versions: Bytes::from_mib(64),
            protection: store.protection,
            compression: store.compression,
            throttle: store.throttle,
            old_versions: store.old_versions,
            checkpoint_interval: store.checkpoint_interval,
            dirty_trigger_percent: store.dirty_trigger_percent,
            log_trigger_percent: store.log_trigger_percent,
            backend: BackendChoice::Auto,
        }
    }
}

impl DbOptions {
    /// For tests and examples: a file of 64 MiB and 16 MiB of cache.
    pub fn small() -> DbOptions {
        let (size, cache) = (Bytes::from_mib(64), Bytes::from_mib(16));
        DbOptions { size, cache, ..DbOptions::default() }
    }

    /// The largest things that a database takes which is made with these; `None` if none is made of such a size.
    pub fn limits(&self) -> Option<StoreLimits> {
        Some(limits(&Format::of_disk(1, self.size).layout().ok()?))
    }

    /// What of it is the store's.
    pub(crate) fn store(&self) -> Options {
        Options {
            log_mode: self.log_mode,
            cache: self.cache,
            protection: self.protection,
            compression: self.compression,
            throttle: self.throttle,
            old_versions: self.old_versions,
            checkpoint_interval: self.checkpoint_interval,
            dirty_trigger_percent: self.dirty_trigger_percent,
            log_trigger_percent: self.log_trigger_percent,
            ..Options::default()
        }
    }
}
