//! What may be set on a database.

use loadline_base::{Bytes, Span};
use loadline_host::BackendChoice;
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{LogMode, Options, Protection};

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
    /// Time between two checkpoints' starts. Default 180 s.
    pub checkpoint_interval: Span,
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
            checkpoint_interval: store.checkpoint_interval,
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

    /// What of it is the store's.
    pub(crate) fn store(&self) -> Options {
        Options {
            log_mode: self.log_mode,
            cache: self.cache,
            protection: self.protection,
            compression: self.compression,
            throttle: self.throttle,
            checkpoint_interval: self.checkpoint_interval,
            ..Options::default()
        }
    }
}
